"""The standard floating-point mode for what the host computes in place of kernels, whatever mode its thread is in."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from ...emit.cpu import float_mode
from ...emit.native.linker import NativeObject
from ...emit.native.native import assemble

P = ParamSpec("P")
R = TypeVar("R")

_TEXT = """
define i64 @ws_enter_float_mode() {
  %standard = call i1 @float_mode_is_standard()
  br i1 %standard, label %there, label %other
there:
  ret i64 0
other:
  %mode = call i64 @enter_float_mode()
  ret i64 %mode
}
define void @ws_leave_float_mode(i64 %mode) {
  call void @leave_float_mode(i64 %mode)
  ret void
}
"""


class _Switch:
    """Sets the mode, and puts back what the register held, unless that is 0: then the mode was the standard one."""

    def __init__(self) -> None:
        code = NativeObject(assemble(float_mode.functions() + _TEXT))
        self.enter = code.function("ws_enter_float_mode", ctypes.PYFUNCTYPE(ctypes.c_uint64))
        self.leave = code.function("ws_leave_float_mode", ctypes.PYFUNCTYPE(None, ctypes.c_uint64))


_switch = cache(_Switch)


class StandardMode:
    """In a `with` statement: what this thread computes inside has the bits that it has in the standard mode."""

    __slots__ = ("before", "switch")

    def __enter__(self) -> None:
        self.switch = _switch()
        self.before = self.switch.enter()

    def __exit__(self, *about: object) -> None:
        if self.before:
            self.switch.leave(self.before)


def in_standard_mode(compute: Callable[P, R]) -> Callable[P, R]:
    """Decorator: the function computes in the standard mode."""

    @wraps(compute)
    def compute_in_mode(*args: P.args, **options: P.kwargs) -> Any:
        switch = _switch()
        before = switch.enter()
        try:
            return compute(*args, **options)
        finally:
            if before:
                switch.leave(before)

    return compute_in_mode
