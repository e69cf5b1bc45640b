"""Bytes that launches move, by the sizes of their arrays."""

from __future__ import annotations

from typing import Any

from ..core.types.structs import numpy_dtype
from .timeline import Row

_MOST_SIZES = 4096
_sizes: dict[tuple[Any, bytes], int] = {}


def forget_sizes() -> None:
    """Forget what was worked out for launches."""
    _sizes.clear()


def count_launch(row: Row, call: Any) -> None:
    """Add the threads and bytes of a launch to its row."""
    if row.block != call.block:
        row.block, row.size = call.block, bytes_of(call)
    row.bytes += row.size
    if call.total > row.threads:
        row.threads = call.total


def bytes_of(call: Any) -> int:
    """The bytes of the arrays that a launch reads, and of those that it writes, by their sizes.

    Of an array that threads use at their own index alone, as many elements as there are threads; of others all. An
    array that is updated counts twice. Arrays that elements refer to, and structures behind ids, do not count.
    """
    if call.block.__class__ is not bytes:
        return _bytes_of(call)
    key = (call.launcher, call.block)
    size = _sizes.get(key)
    if size is None:
        if len(_sizes) >= _MOST_SIZES:
            _sizes.clear()
        size = _sizes[key] = _bytes_of(call)
    return size


def _bytes_of(call: Any) -> int:
    program, size = call.launcher.program, 0
    if program is None:
        return 0
    own = program.own or {}
    for ref, use in program.uses.items():
        a = None if ref.in_elements else ref.of(call.args)
        if a is None or not hasattr(a, "_array") or (ref.is_grad and a._array._gradient is None):
            continue
        elements = a.size
        if len({axis for axis, _ in own.get(ref, ())}) == a.ndim:  # an element for each thread
            elements = min(elements, call.total)
        times = 2 if use.updates else int(use.reads) + int(use.writes)
        size += times * elements * numpy_dtype(a.dtype).itemsize
    return size
