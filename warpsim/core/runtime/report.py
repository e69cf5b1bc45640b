"""What failed checks of a compiled kernel report, turned into exceptions.

A kernel with assertions, or compiled with `config.verify`, gets the address of a record in its
argument block; the first thread whose check fails claims the record and fills it.
"""

from __future__ import annotations

from typing import Any

from ...errors import KernelAssertionError, OutOfBoundsError, StructureIdError
from ..emit.layout import WORD
from ..types.scalars import int64
from .memory import allocate, on_host

_WORDS = 5  # claimed, site, index, extent, thread


class Report:
    """The record of one launch."""

    def __init__(self, launcher: Any, args: list[Any]):
        self.launcher, self.args = launcher, args
        self.record = allocate((_WORDS,), int64, device=launcher.device)

    def attached(self, block: bytes) -> bytes:
        """The argument block with the record's address in its first word."""
        return int(self.record.ctypes.data).to_bytes(WORD, "little") + block[WORD:]

    def raise_if_failed(self) -> None:
        claimed, number, index, limit, thread = (int(x) for x in on_host(self.record))
        if not claimed:
            return
        site = self.launcher.code.sites[number]
        place = f"  --> {site.location}\n{site.location.excerpt()}\n" if site.location else ""
        where = f"{place}in kernel {self.launcher.kernel.key!r}, thread {thread}"
        if site.kind == "assert":
            raise KernelAssertionError(f"{site.text}\n{where}")
        if site.kind == "id":
            raise StructureIdError(
                f"id {index & (1 << 64) - 1:#x} stands for no open structure that holds {site.text}\n{where}"
            )
        raise OutOfBoundsError(f"index {index} is outside {site.text} of length {limit}\n{where}")
