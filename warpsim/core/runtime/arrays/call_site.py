"""Call sites: where a host call stands in the source of the user, taken in a fraction of a us, resolved when asked."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import NamedTuple

_latest: CodeType | None = None  # code outside of this package: most calls stand where the one before did


def user_frame(inside: int) -> FrameType:
    """The frame of the nearest call that stands outside this package.

    inside: how many frames above the caller are the package's for certain, and not looked at.
    """
    global _latest
    frame = sys._getframe(inside + 2)
    while frame.f_code is not _latest and frame.f_back is not None:
        if not frame.f_globals.get("__name__", "").startswith("warpsim."):
            _latest = frame.f_code
            break
        frame = frame.f_back
    return frame


class CallSite(NamedTuple):
    """A call: the code object that made it, and the bytecode offset of the call."""

    code: CodeType | None
    offset: int

    @staticmethod
    def of_caller(depth: int = 1) -> CallSite:
        """The call that is `depth` frames above the caller of this function."""
        frame = sys._getframe(depth + 1)
        return CallSite(frame.f_code, frame.f_lasti)

    @staticmethod
    def outside(frame: FrameType | None = None) -> CallSite:
        """The nearest call that stands outside this package, from a frame (the caller's) upwards."""
        frame = frame or sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("warpsim."):
            frame = frame.f_back
        return CallSite(frame.f_code, frame.f_lasti)

    @staticmethod
    def unknown() -> CallSite:
        return CallSite(None, 0)

    @property
    def file(self) -> str:
        return self.code.co_filename if self.code is not None else "?"

    @property
    def line(self) -> int:
        """1-based; 0 when it is unknown."""
        if self.code is None:
            return 0
        for start, end, line in self.code.co_lines():
            if start <= self.offset < end and line:
                return line
        return self.code.co_firstlineno

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"
