"""Captures with the options that programs written for Warp give them, and which have no effect.

A capture is a list of steps, from which CUDA graphs are made when it first runs: every graph can be written into a file
(`apic`, see `capture_save`), no stream is captured, and calls of other libraries are never in the way (`capture_mode`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from ..core.runtime.commands import graph
from ..core.runtime.commands.graph import Graph

if TYPE_CHECKING:
    from ..core.runtime.devices.device import DeviceLike
    from ..core.runtime.devices.stream import Stream


class CaptureMode(IntEnum):
    """How strictly CUDA refuses calls that do not belong into a capture: of all threads, of its own one, of none."""

    GLOBAL = 0
    THREAD_LOCAL = 1
    RELAXED = 2


def capture_begin(
    device: DeviceLike = None,
    stream: Stream | None = None,
    force_module_load: bool | None = None,
    external: bool = False,
    apic: bool = False,
    capture_mode: CaptureMode = CaptureMode.THREAD_LOCAL,
) -> None:
    """Start recording launches and array operations of this thread instead of running them.

    The options after `device` have no effect. Raises `LaunchError` when a capture is running already, `ValueError` for
    what is no `CaptureMode`.
    """
    CaptureMode(capture_mode)
    graph.capture_begin(device)


def capture_end(device: DeviceLike = None, stream: Stream | None = None) -> Graph:
    """Stop recording and return the graph.

    Raises `LaunchError` when no capture is running, `TapeError` when a tape that began in it records still.
    """
    return graph.capture_end()


class ScopedCapture(graph.ScopedCapture):
    """`with ScopedCapture() as capture:` records the block; run it with `capture_launch(capture.graph)`."""

    def __init__(
        self,
        device: DeviceLike = None,
        stream: Stream | None = None,
        force_module_load: bool | None = None,
        external: bool = False,
        apic: bool = False,
        capture_mode: CaptureMode = CaptureMode.THREAD_LOCAL,
    ):
        super().__init__(device)
        self.capture_mode = CaptureMode(capture_mode)
