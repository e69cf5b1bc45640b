"""What the host does beside launches: compilation, copies, new arrays, operations, waiting, named blocks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .timeline import OpenSpan, lines, present

_INSIDE = ("warpsim.", "torch.", "jax.")
"""Modules whose calls are not the user's: frameworks call kernels that are their operators."""


def is_inside(frame: FrameType) -> bool:
    """Whether a call is not the user's. functools stands between a property that is kept, and where it is read."""
    name = frame.f_globals.get("__name__", "")
    return name.startswith(_INSIDE) or name == "functools"


def user_frame(inside: int) -> FrameType:
    """The frame of the nearest call by the program itself. inside: frames above the caller that are not looked at."""
    frame = sys._getframe(inside + 2)
    while is_inside(frame) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def site() -> tuple[Any, int]:
    """The call of the program that led here, or what stands for it."""
    place = present().place
    if place is not None:
        return place
    frame = user_frame(0)
    return frame.f_code, frame.f_lasti


def count_calls(kind: str, name: str) -> Callable[[Any], Callable[..., Any]]:
    """Stand-ins that count calls under one name, each at its call site."""

    def around(function: Any) -> Callable[..., Any]:
        def watched(*args: Any, **options: Any) -> Any:
            with OpenSpan(kind, name, *site()):
                return function(*args, **options)

        return watched

    return around


# ----- compilation ------------------------------------------------------------------------------


def time_stage(stage: str) -> Callable[[Any], Callable[..., Any]]:
    """Stand-ins that count a stage of compilation by the name of the kernel."""

    def around(function: Any) -> Callable[..., Any]:
        def watched(*args: Any, **options: Any) -> Any:
            with OpenSpan(stage, kernel_name(args)):
                return function(*args, **options)

        return watched

    return around


def kernel_name(args: tuple[Any, ...]) -> str:
    """The name of what is compiled, among the arguments of a stage: a source, a function, a program, or the name."""
    for value in args[:2]:
        value = getattr(value, "fn", value)
        name = getattr(value, "name", None)
        if name:
            return str(name)
    return next(value for value in args if isinstance(value, str))


# ----- arrays -----------------------------------------------------------------------------------


def time_writes(change: Any) -> Callable[..., Any]:
    """Writes to arrays from the host: `assign`, `fill_`, `zero_`, `wp.copy`, item assignment."""

    def watched(self: Any, *args: Any, **options: Any) -> Any:
        name = next((value for value in args if isinstance(value, str)), "assign")
        with OpenSpan("copy", name, *site()):
            return change(self, *args, **options)

    return watched


def time_reads(contents: Any) -> Callable[..., Any]:
    """Contents of arrays as the host sees them: of a CUDA device, a copy."""

    def watched(self: Any) -> Any:
        if self.device.shares_host_memory:
            return contents(self)
        with OpenSpan("copy", "to the host", *site()):
            return contents(self)

    return watched


def time_creation(initialize: Any) -> Callable[..., Any]:
    """Arrays that are copies of what the host has."""

    def watched(self: Any, data: Any = None, *args: Any, **options: Any) -> None:
        with OpenSpan("allocation" if data is None else "copy", "new array", *site()):
            initialize(self, data, *args, **options)

    return watched


def time_operations(run: Any) -> Callable[..., Any]:
    """Operations on whole arrays: sums, scans, sorts, transforms."""

    def watched(self: Any) -> Any:
        with OpenSpan("operation", self.name, *site()):
            return run(self)

    return watched


# ----- named blocks -----------------------------------------------------------------------------


def begin_block(enter: Any) -> Callable[..., Any]:
    """The beginning of a `ScopedTimer`: a block with its name."""

    def watched(self: Any) -> Any:
        result = enter(self)
        if lines():
            self.block = OpenSpan("block", self.name, *site())
            self.block.__enter__()
        return result

    return watched


def end_block(leave: Any) -> Callable[..., Any]:
    """The end of it."""

    def watched(self: Any, *error: object) -> Any:
        block, self.block = getattr(self, "block", None), None
        if block is not None:
            block.__exit__(*error)
        return leave(self, *error)

    return watched
