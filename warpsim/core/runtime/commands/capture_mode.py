"""`CaptureMode`: what other calls of the CUDA runtime are allowed while a graph is captured, as CUDA names it."""

from __future__ import annotations

from enum import IntEnum


class CaptureMode(IntEnum):
    """How strictly CUDA refuses calls that do not belong into a capture: of all threads, of the capturing one, of none.

    A capture here is a list of steps, from which CUDA graphs are made when it first runs; so the mode, which scripts
    for Warp name, has no effect: nothing that another library does in between is refused.
    """

    GLOBAL = 0
    THREAD_LOCAL = 1
    RELAXED = 2
