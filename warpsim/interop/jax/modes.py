"""Graph and preload modes of functions of JAX.

Programs of JAX for CUDA devices launch no kernels here, so nothing is captured: modes are checked, and those in which
this package would capture a graph are refused where a program is made for the CPU.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from ...errors import ArgumentTypeError, DeviceError


class JaxCallableGraphMode(IntEnum):
    """Who captures the launches of a function in a CUDA graph: nobody, JAX, or this package, in several ways."""

    NONE = 0
    JAX = 1
    WARP = 2
    WARP_STAGED = 3
    WARP_STAGED_EX = 4


class JaxModulePreloadMode(IntEnum):
    """Where kernels are compiled before a program of JAX calls them. Here programs compile them as they are made."""

    NONE = 0
    CURRENT_DEVICE = 1
    ALL_DEVICES = 2


def check_captured(mode: JaxCallableGraphMode, owner: str) -> None:
    """Raise `DeviceError` in programs for the CPU where the mode asks for a CUDA graph of this package's."""
    if mode > JaxCallableGraphMode.JAX:
        raise DeviceError(
            f"{owner} with graph_mode {mode.name} in a program of JAX for cpu\nexpected: a CUDA device for it, or NONE "
            "or JAX"
        )


def check_staged(names: Iterable[str] | None, known: Iterable[str], what: str) -> None:
    """Raise `ArgumentTypeError` for names that are none of the arrays of a function."""
    if names is None:
        return
    arrays = list(known)
    for name in [names] if isinstance(names, str) else names:
        if isinstance(names, str) or name not in arrays:
            raise ArgumentTypeError(f"{what} has {name!r}\nexpected: a list of names among {', '.join(arrays)}")
