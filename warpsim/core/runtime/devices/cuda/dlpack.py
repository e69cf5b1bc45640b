"""DLPack capsules of CUDA memory: exported to other frameworks, and imported from them.

A capsule that is made here keeps its memory alive until the consumer's deleter call, or until it is dropped
untaken; whichever comes frees it once. A capsule that is read here counts as taken at once: `Lent.held` calls
the producer's deleter when nothing uses the memory any more. The layout is that of DLPack 1.0 and of the form
before it (`dlpack.h` of the DLPack project); memory of the host goes through NumPy's capsules instead.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .....errors import ArrayError
from ....emit.native.linker import NativeObject
from ....emit.native.native import assemble
from ....types import scalars

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
"""Kinds of devices; pinned memory of the host, and memory that the driver moves, have kinds of their own."""

READ_ONLY, COPIED = 1, 2  # flags of a versioned tensor
_TENSOR = struct.Struct("<QiiiBBHQQQ")  # data, kind, number, rank, code, bits, lanes, shape, strides, byte offset
_HEAD = struct.Struct("<IIQQQ")  # major, minor, manager_ctx, deleter, flags: before a versioned tensor
_TAIL = struct.Struct("<QQ")  # manager_ctx, deleter: after a legacy one
_LEGACY, _VERSIONED = ctypes.create_string_buffer(b"dltensor"), ctypes.create_string_buffer(b"dltensor_versioned")
_TAKEN = {
    id(_LEGACY): ctypes.create_string_buffer(b"used_dltensor"),
    id(_VERSIONED): ctypes.create_string_buffer(b"used_dltensor_versioned"),
}
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT16 = 4
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _bind(name: str, result: type[Any] | None, *arguments: type[Any]) -> Any:
    """A function of Python's C interface, with a signature of its own: the shared one is for everybody."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _bind("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_is_valid = _bind("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_pointer = _bind("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
_rename = _bind("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_allocate = _bind("PyMem_RawMalloc", ctypes.c_void_p, ctypes.c_size_t)
_free = _bind("PyMem_RawFree", None, ctypes.c_void_p)
_hold = _bind("Py_IncRef", None, ctypes.py_object)
_let_go = _bind("Py_DecRef", None, ctypes.py_object)


_linked: list[NativeObject] = []  # for ever: capsules of other frameworks hold addresses


def _functions() -> NativeObject:
    """dlpack.ll as machine code (a few milliseconds)."""
    if not _linked:
        _linked.append(_link())  # threads that meet here link it twice, and both stay
    return _linked[0]


def _link() -> NativeObject:
    names = ["Py_IsInitialized", "PyGILState_Ensure", "PyGILState_Release", "Py_DecRef", "PyMem_RawFree"]
    names += ["PyCapsule_IsValid", "PyCapsule_GetPointer"]
    symbols = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in names}
    return NativeObject(assemble(Path(__file__).with_name("dlpack.ll").read_text(encoding="utf-8"), opt=1), symbols)


# ----- making capsules --------------------------------------------------------------------------


def capsule(memory: np.ndarray, place: tuple[int, int], versioned: bool, copied: bool = False) -> Any:
    """A capsule of memory at `place` (kind and number of the device), which it keeps alive.

    Raises `BufferError` for what DLPack cannot say: structs, strides between elements, read-only legacy tensors.
    """
    code = _BFLOAT16 if scalars.is_bfloat16(memory.dtype.type) else _KINDS.get(memory.dtype.kind)
    if code is None:
        raise BufferError(f"elements of {memory.dtype} have no form in DLPack")
    if any(step % memory.itemsize for step in memory.strides):
        raise BufferError(f"strides of {memory.strides} bytes are no whole numbers of elements\nhelp: a.contiguous()")
    writable = memory.flags.writeable
    if not (versioned or writable):
        raise BufferError("read-only memory\nhelp: ask for DLPack 1.0 (max_version=(1, 0)), or pass a copy")
    rank, start = memory.ndim, (_HEAD.size if versioned else _TAIL.size) + _TENSOR.size
    block = _allocate(start + 16 * rank)
    if not block:
        raise MemoryError
    shape_at, strides_at = block + start, block + start + 8 * rank
    bits = 8 * memory.itemsize
    tensor = _TENSOR.pack(memory.ctypes.data, *place, rank, code, bits, 1, shape_at, strides_at, 0)
    owner = id(memory)
    if versioned:
        flags = (not writable) * READ_ONLY | copied * COPIED
        front = _HEAD.pack(1, 0, owner, _functions().address("delete_versioned"), flags) + tensor
    else:
        front = tensor + _TAIL.pack(owner, _functions().address("delete_legacy"))
    steps = [step // memory.itemsize for step in memory.strides]
    content = front + struct.pack(f"<{2 * rank}q", *memory.shape, *steps)
    ctypes.memmove(block, content, len(content))
    return _make_capsule(block, memory, versioned)


def _make_capsule(block: int, memory: np.ndarray, versioned: bool) -> Any:
    """The block as a capsule that owns it, and one reference to the memory."""
    _hold(memory)
    try:
        name = ctypes.addressof(_VERSIONED if versioned else _LEGACY)
        return _new(block, name, _functions().address("drop"))
    except BaseException:
        _let_go(memory)
        _free(block)
        raise


# ----- reading capsules -------------------------------------------------------------------------


@dataclass(frozen=True)
class Lent:
    """Memory of another framework. place: kind and number of its device; strides in bytes."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    place: tuple[int, int]
    read_only: bool
    held: Any


class _Tensor:
    """A taken tensor, given back to its framework when nothing refers to this any more."""

    __slots__ = ("__weakref__", "address", "deleter")

    def __init__(self, address: int, deleter: int):
        self.address, self.deleter = address, deleter

    def __del__(self) -> None:
        if self.deleter and sys is not None and not sys.is_finalizing():
            with contextlib.suppress(Exception):
                _DELETER(self.deleter)(self.address)


def take(tensor_capsule: object) -> Lent:
    """The tensor in a capsule, which nobody can take again.

    Raises `ArrayError` for a capsule that was taken before, for a DLPack from the future, and for elements or
    strides that NumPy has no name for.
    """
    name = next((n for n in (_VERSIONED, _LEGACY) if _is_valid(tensor_capsule, ctypes.addressof(n))), None)
    if name is None:
        raise ArrayError(f"{tensor_capsule!r} holds no tensor\nexpected: a DLPack capsule that nobody has taken yet")
    block, versioned = _pointer(tensor_capsule, ctypes.addressof(name)), name is _VERSIONED
    major, minor, _, deleter, flags = _HEAD.unpack(ctypes.string_at(block, _HEAD.size)) if versioned else (0,) * 5
    if versioned and major != 1:  # of such a tensor nothing but the first four fields is known
        raise ArrayError(f"a DLPack tensor of version {major}.{minor}\nexpected: version 1")
    if not versioned:
        _, deleter = _TAIL.unpack(ctypes.string_at(block + _TENSOR.size, _TAIL.size))
    _rename(tensor_capsule, ctypes.addressof(_TAKEN[id(name)]))
    return _read(block + (_HEAD.size if versioned else 0), bool(flags & READ_ONLY), _Tensor(block, deleter))


def _read(tensor: int, read_only: bool, held: _Tensor) -> Lent:
    data, kind, number, rank, code, bits, lanes, shape_at, strides_at, offset = _TENSOR.unpack(
        ctypes.string_at(tensor, _TENSOR.size)
    )
    dtype = _dtype(code, bits, lanes)
    shape = _integers(shape_at, rank)
    strides = _integers(strides_at, rank) if strides_at else packed_strides(shape)
    steps = tuple(dtype.itemsize * n for n in strides)
    return Lent(data + offset, shape, steps, dtype, (kind, number), read_only, held)


def _dtype(code: int, bits: int, lanes: int) -> np.dtype:
    """What NumPy calls elements of DLPack."""
    if (code, bits, lanes) == (_BFLOAT16, 16, 1):
        bfloat16: np.dtype = np.dtype(scalars.bfloat16)
        return bfloat16
    letter = next((k for k, value in _KINDS.items() if value == code), None)
    sizes = (8,) if letter == "b" else (16, 32, 64) if letter == "f" else (8, 16, 32, 64)
    if letter in (None, "c") or bits not in sizes or lanes != 1:
        raise ArrayError(
            f"elements of DLPack type code {code}, {bits} bits, {lanes} lanes\n"
            "expected: bool, integers, bfloat16, float16, float32 or float64\n"
            "help: view them as integers of the same size"
        )
    return np.dtype(f"{letter}{bits // 8}")


def packed_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides [elements] of memory without gaps, the last index fastest."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def _integers(address: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}q", ctypes.string_at(address, 8 * count)) if count else ()
