"""Addresses in argument blocks and in elements of structs: where they stand, and the memory that they lead to."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..emit.layout import argument_offsets
from ..runtime.devices.memory_range import span_of
from ..types import structs
from ..types.arrays import WORD, ArrayType, descriptor_words

_TABLE_ENTRY = 4  # bytes of an index in a table


class Pointer(NamedTuple):
    """An address in bytes. at: where it stands there; size: of the memory from there on [bytes].

    element, shape, strides: of memory whose elements hold addresses themselves; element is None for other memory.
    """

    at: int
    address: int
    size: int
    element: Any = None
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


def pointers_of_arguments(types: list[Any], block: bytes) -> Iterator[Pointer]:
    """The addresses in an argument block."""
    for t, offset in zip(types, argument_offsets(types)[0], strict=True):
        yield from pointers(t, block, offset)


def pointers(t: Any, content: bytes, at: int) -> Iterator[Pointer]:
    """The addresses in a value of type `t`."""
    if structs.is_struct(t):
        for name, offset in structs.offsets(t).items():
            yield from pointers(t.fields[name], content, at + offset)
    elif isinstance(t, ArrayType):
        yield from _of_descriptor(t, content, at)


def _of_descriptor(t: ArrayType, content: bytes, at: int) -> Iterator[Pointer]:
    data, gradient, *rest = struct.unpack_from(f"<{descriptor_words(t)}Q", content, at)
    n = t.ndim
    extents, strides, tables = rest[:n], tuple(rest[n : 2 * n]), rest[2 * n : 3 * n]
    shape = tuple(rest[3 * n :] if t.indexed else extents)
    size = span_of(shape, strides, structs.numpy_dtype(t.dtype).itemsize)
    nested = (t.dtype, shape, strides) if structs.holds_arrays(t.dtype) else ()
    for k, address in enumerate((data, gradient)):
        if address:
            yield Pointer(at + k * WORD, address, size, *nested)
    for k, address in enumerate(tables):
        if address:
            yield Pointer(at + (2 + 2 * n + k) * WORD, address, _TABLE_ENTRY * extents[k])


def elements(pointer: Pointer) -> Iterator[int]:
    """The addresses of the elements that a pointer to an array of structs leads to."""
    for index in np.ndindex(pointer.shape):
        yield pointer.address + sum(i * step for i, step in zip(index, pointer.strides, strict=True))
