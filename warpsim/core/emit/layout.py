"""Value layout: LLVM types of flattened values, and the byte layout of a launch's arguments.

In registers every value is a flat list of LLVM scalars. An array is `data, grad` (byte pointers),
`shape` and `strides` (64-bit), then the index arrays of an indexed array (byte pointers) and the extents behind them.

The argument block of a launch:

    word 0      address of the report that failed checks write, or 0
    words 1-4   launch dimensions, unused ones 1
    word 5      threads of a block, where blocks are no matter of the device's
    then        every parameter at an 8-byte boundary: scalars and compounds in their memory
                layout, structs with C alignment, arrays as descriptors (see `types.arrays`)
"""

from __future__ import annotations

import struct
from typing import Any

from llvmlite import ir as ll

from ..ops.values import from_memory, llvm_type, memory_type, to_memory
from ..types import scalars, structs
from ..types.arrays import ArrayType, ValueType, descriptor_words
from ..types.compounds import is_compound

I1, I8, I32, I64 = ll.IntType(1), ll.IntType(8), ll.IntType(32), ll.IntType(64)
BYTES = I8.as_pointer()
WORD = 8
HEADER_WORDS = 6
BLOCK_WORD = 5
"""Where the header says how many threads a block has."""
CONCURRENT, SCATTERED_PRIVATE, GATHERED_PRIVATE = 1, 2, 4
"""Flags of a call: other threads run beside it; sums go to private copies, those at scattered or shared addresses."""

_HEADER = struct.Struct(f"<{HEADER_WORDS}Q")


def header(dims: tuple[int, ...], block_dim: int = 1) -> bytes:
    """The first words of an argument block: no report, up to four launch dimensions, and the threads of a block."""
    return _HEADER.pack(0, *(*dims, 1, 1, 1, 1)[: BLOCK_WORD - 1], block_dim)


def argument_offsets(types: list[Any]) -> tuple[list[int], int]:
    """Byte offset of every parameter in the argument block, and the block's size."""
    offsets, at = [], HEADER_WORDS * WORD
    for t in types:
        offsets.append(at)
        at += -(-structs.numpy_dtype(t).itemsize // WORD) * WORD
    return offsets, at


def register_types(t: ValueType) -> list[ll.Type]:
    """LLVM types of the flattened value."""
    if isinstance(t, ArrayType):
        tables = t.ndim if t.indexed else 0
        return [BYTES, BYTES, *[I64] * (2 * t.ndim), *[BYTES] * tables, *[I64] * tables]
    if structs.is_struct(t):
        return [leaf for field in t.fields.values() for leaf in register_types(field)]
    if is_compound(t):
        return [llvm_type(t.dtype)] * t.size
    return [llvm_type(t)]


_FLOAT_BYTES = {ll.HalfType: 2, ll.FloatType: 4, ll.DoubleType: 8}


def stack_bytes(t: ll.Type) -> int:
    """The bytes that a value of an LLVM type takes on the stack, without alignment."""
    if isinstance(t, ll.VectorType | ll.ArrayType):
        return int(t.count) * stack_bytes(t.element)
    if isinstance(t, ll.IntType):
        return -(-int(t.width) // 8)
    return WORD if isinstance(t, ll.PointerType) else _FLOAT_BYTES[type(t)]


def constant_leaves(t: ValueType, value: Any) -> list[ll.Constant]:
    """A host constant as flattened LLVM constants."""
    if structs.is_struct(t):
        return [leaf for name, field in t.fields.items() for leaf in constant_leaves(field, getattr(value, name))]
    if isinstance(t, ArrayType):
        return [ll.Constant(r, None if isinstance(r, ll.PointerType) else 0) for r in register_types(t)]
    parts = value.numpy().ravel() if is_compound(t) else [value]
    scalar = t.dtype if is_compound(t) else t
    return [ll.Constant(llvm_type(scalar), _python(x, scalar)) for x in parts]


def _python(x: Any, t: type) -> Any:
    if t is scalars.bool_:
        return int(bool(x))
    return float(x) if scalars.is_float(t) else int(x)


def load(b: ll.IRBuilder, address: ll.Value, t: ValueType, constant: bool = False) -> list[Any]:
    """Read a value of type `t` from memory at a byte pointer; `constant` memory keeps what it holds."""
    if isinstance(t, ArrayType):
        return _load_descriptor(b, address, t, constant)
    if structs.is_struct(t):
        parts = ((structs.offsets(t)[name], field) for name, field in t.fields.items())
        return [leaf for at, field in parts for leaf in load(b, _offset(b, address, at), field, constant)]
    return [_load_scalar(b, _offset(b, address, at), leaf, constant) for leaf, at in structs.leaves(t)]


def contiguous(b: ll.IRBuilder, t: ValueType, flat: list[Any]) -> list[Any]:
    """A flattened value whose arrays are contiguous: their strides follow from shapes, which lets loops vectorise."""
    if isinstance(t, ArrayType):
        stride: Any = ll.Constant(I64, structs.numpy_dtype(t.dtype).itemsize)
        strides: list[Any] = []
        for extent in reversed(flat[2 : 2 + t.ndim]):
            strides.insert(0, stride)
            stride = b.mul(stride, extent, flags=("nsw",))
        return [*flat[: 2 + t.ndim], *strides, *flat[2 + 2 * t.ndim :]]
    if not structs.is_struct(t):
        return flat
    parts, at = [], 0
    for field in t.fields.values():
        end = at + len(register_types(field))
        parts += contiguous(b, field, flat[at:end])
        at = end
    return parts


def store(b: ll.IRBuilder, address: ll.Value, t: ValueType, flat: list[Any]) -> None:
    """Write a flattened value to memory at a byte pointer."""
    if isinstance(t, ArrayType):
        for k, x in enumerate(flat):
            word = b.ptrtoint(x, I64) if isinstance(x.type, ll.PointerType) else x
            b.store(word, _typed_pointer(b, _offset(b, address, k * WORD), I64))
    elif structs.is_struct(t):
        at = 0
        for name, field in t.fields.items():
            size = len(register_types(field))
            store(b, _offset(b, address, structs.offsets(t)[name]), field, flat[at : at + size])
            at += size
    else:
        for (leaf, offset), x in zip(structs.leaves(t), flat, strict=True):
            b.store(to_memory(b, x, leaf), _typed_pointer(b, _offset(b, address, offset), memory_type(leaf)))


def _load_descriptor(b: ll.IRBuilder, address: ll.Value, t: ArrayType, constant: bool) -> list[Any]:
    kinds = register_types(t)
    places = [_typed_pointer(b, _offset(b, address, k * WORD), I64) for k in range(descriptor_words(t))]
    words = [load_word(b, place, constant) for place in places]
    pairs = zip(words, kinds, strict=True)
    return [b.inttoptr(w, BYTES) if isinstance(kind, ll.PointerType) else w for w, kind in pairs]


def _load_scalar(b: ll.IRBuilder, address: ll.Value, t: type, constant: bool) -> Any:
    return from_memory(b, load_word(b, _typed_pointer(b, address, memory_type(t)), constant), t)


def load_word(b: ll.IRBuilder, pointer: ll.Value, constant: bool) -> Any:
    """Read one scalar; `constant` as in `load`."""
    word = b.load(pointer)
    if constant:  # so that loops need not load it again after each store
        word.set_metadata("invariant.load", b.module.add_metadata([]))
    return word


def _typed_pointer(b: ll.IRBuilder, address: ll.Value, t: ll.Type) -> Any:
    return b.bitcast(address, t.as_pointer())


def _offset(b: ll.IRBuilder, address: ll.Value, offset: int) -> Any:
    return address if offset == 0 else b.gep(address, [ll.Constant(I64, offset)])
