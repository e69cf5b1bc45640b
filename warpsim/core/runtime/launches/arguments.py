"""Launch arguments to bytes: checked against the kernel's types, packed as `emit.layout` says.

The fast path compares one tag per array and packs numbers with precompiled structs; whatever does
not fit goes through `explain`, which converts foreign arrays or raises an error that tells all.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ....errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ArrayError,
    DeviceError,
    ReadOnlyError,
    StructureIdError,
    WarpsimError,
    counted,
    shown,
)
from ...emit.layout import WORD
from ...frontend.functions.overloads import operand_pattern_type
from ...ir.host_arrays import ABSENT
from ...ops.handles import open_handle
from ...passes.analysis.array_uses import ArrayUses
from ...types import compounds, scalars, structs
from ...types.array_ref import ArrayRef, Fields
from ...types.arrays import ArrayType, descriptor_words, type_name
from ...types.handles import LIVE
from ..arrays.array import array
from ..arrays.held import owners_of
from ..arrays.host_memory import as_numpy, element_rank, fit, is_memory_of
from ..arrays.indexed import indexedarray
from ..devices.cuda import interop
from ..devices.device import CPU, Device
from .struct_bytes import bits_of, format_of, struct_packer

_PROTOCOLS = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")

UNFIT = (AttributeError, TypeError, ValueError, OverflowError, struct.error)
"""What packing an argument that does not fit may raise."""


def padding(size: int) -> int:
    return -size % WORD


def scalar_packer(t: type) -> Callable[[Any], bytes]:
    """Packs one number into an eight-byte slot; raises on anything that is not a fitting number."""
    code = format_of(t)
    pack = struct.Struct(f"<{code}{padding(struct.calcsize(code))}x").pack
    if t is scalars.bool_:
        # struct would take anything as a bool; NumPy's has no index
        return lambda value: pack(bool(value if isinstance(value, np.bool_) else operator.index(value)))
    if scalars.is_bfloat16(t):
        bits = bits_of(t)
        return lambda value: pack(bits(value))
    return pack


def id_packer(t: Any, pack: Callable[[Any], bytes], device: Device) -> Callable[[Any], bytes]:
    """Packs the id of a structure that holds a `t`; raises `StructureIdError` on another one that is not 0."""
    space = device.memory_space

    def pack_id(value: Any) -> bytes:
        handle = LIVE.get(value)
        if (handle is None or handle.type is not t) and value:
            open_handle(value, t)
        if handle is not None and handle.device.memory_space != space:
            raise StructureIdError(
                f"the structure of this id is on {handle.device}\n"
                f"expected: one on {device}, where the kernel is launched"
            )
        return pack(value)

    return pack_id


def compound_packer(t: Any) -> Callable[[Any], bytes]:
    """Packs a vector, matrix or anything with as many components."""
    size = t.size * np.dtype(t.dtype).itemsize
    tail = bytes(padding(size))

    def pack(value: Any) -> bytes:
        if value.__class__ is not t:
            fits = np.size(value) == t.size and not loses_digits(value, t)
            value = t.wrap(np.asarray(value)) if fits else _refuse(t, value)
        memory: np.ndarray = value._data
        return memory.tobytes() + tail

    return pack


def loses_digits(value: Any, t: Any) -> bool:
    """Whether a vector or matrix of one scalar type would be rounded to another one: `vec3d` for `vec3`.

    Sequences and arrays of NumPy lose digits where floats are taken for integers.
    """
    if not compounds.is_compound(type(value)):
        return scalars.is_integer(t.dtype) and np.asarray(value).dtype.kind == "f"
    if not scalars.is_float(value.dtype):
        return False
    return not scalars.is_float(t.dtype) or scalars.rounding(value.dtype) < scalars.rounding(t.dtype)


def _refuse(t: Any, value: Any) -> Any:
    raise TypeError(f"{counted(np.size(value), 'component')} for {type_name(t)}")


def exact_packer(
    t: Any, device: Device = CPU, written: frozenset[str] = frozenset(), dense: bool = False
) -> Callable[[Any], bytes] | None:
    """The packer of a generic parameter: another type of value means another compiled form."""
    pack = packer(t, device, written, dense)
    if pack is None:
        return None

    def pack_exactly(value: Any) -> bytes:
        pattern = operand_pattern_type(value)
        if pattern is not t and getattr(pattern, "default", None) is not t:
            raise TypeError(f"compiled for {type_name(t)}")
        return pack(value)

    return pack_exactly


def packer(
    t: Any, device: Device = CPU, written: frozenset[str] = frozenset(), dense: bool = False
) -> Callable[[Any], bytes] | None:
    """How to pack a parameter of type `t`; None for arrays, whose bytes they carry themselves.

    device: where it is launched; written: the arrays in a struct that the kernel writes to, by fields; dense: whether
    the kernel is made for structs whose arrays are contiguous.
    """
    if isinstance(t, ArrayType):
        return None
    if structs.is_struct(t):
        return struct_packer(t, device, written, dense)
    return compound_packer(t) if compounds.is_compound(t) else scalar_packer(t)


def block_packer(tags: list[Any], packers: list[Callable[[Any], bytes] | None]) -> Callable[[Any, bytes], bytes | None]:
    """A function that joins a header and arguments into an argument block, or returns None.

    None means that an array is not of the kind compiled for. The function is generated, because
    straight-line Python is twice as fast here as a loop over the arguments.
    """
    names = [f"a{k}" for k in range(len(packers))]
    arrays = [k for k, pack in enumerate(packers) if pack is None]
    test = " or ".join(f"a{k}._tag is not t{k}" for k in arrays) or "False"
    parts = ", ".join(f"a{k}._words" if pack is None else f"p{k}(a{k})" for k, pack in enumerate(packers))
    unpack = f"    {', '.join(names)}, = args\n" if names else ""
    text = f"def pack(args, header):\n{unpack}    if {test}:\n        return None\n    return join((header, {parts}))\n"
    scope: dict[str, Any] = {"join": b"".join}
    scope.update({f"t{k}": tags[k] for k in arrays})
    scope.update({f"p{k}": pack for k, pack in enumerate(packers) if pack is not None})
    exec(text, scope)
    pack: Callable[[Any, bytes], bytes | None] = scope["pack"]
    return pack


def adapt(value: Any, t: Any, name: str, kernel: str, device: Device) -> Any:
    """A launch argument as the kernel wants it; foreign arrays are wrapped. Raises `ArgumentTypeError`."""
    if not isinstance(t, ArrayType):
        return t() if value is None and structs.none_is_empty(t) else value
    if value is None:
        return empty_array(t, device)
    if isinstance(value, array | indexedarray):
        check_array(value, t, name, kernel, device)
        return value
    if isinstance(value, str | bytes | int | float) or compounds.is_compound(type(value)):
        raise ArgumentTypeError(mismatch(name, kernel, type(value).__name__, t))
    return wrap(value, t, name, kernel, device)


def check_array(value: array | indexedarray, t: ArrayType, name: str, kernel: str, device: Device) -> None:
    """Raise unless the array has the kernel's dtype, rank and device."""
    if value.type is not t and not fits(value, t):
        wrong = "rank" if value.dtype is t.dtype and value.ndim != t.ndim else "dtype"
        raise ArgumentTypeError(mismatch(name, kernel, repr(value.type), t, wrong))
    if not device.can_access(value.device):
        raise DeviceError(
            f"argument {name!r} of kernel {kernel!r} is on {value.device}\n"
            f"expected: {device}, where the kernel is launched\n"
            f"help: {name}.to({str(device)!r}), or launch with device={str(value.device)!r}"
        )


def fits(value: Any, t: ArrayType) -> bool:
    """Whether an array has the dtype, rank and kind of `t`; what stands for None was made for the parameter."""
    alike = t.indexed == isinstance(value, indexedarray) or is_missing(value)
    return value.dtype is t.dtype and value.ndim == t.ndim and alike


def wrap(value: object, t: ArrayType, name: str, kernel: str, device: Device) -> array:
    """An array of NumPy or another framework as an argument, without copying."""
    memory = _foreign(value, t, name, kernel, device)
    layout = structs.numpy_dtype(t.dtype)
    if memory.dtype != layout.base or not any(hasattr(value, protocol) for protocol in _PROTOCOLS):
        raise ArgumentTypeError(mismatch(name, kernel, f"{type(value).__name__} of {memory.dtype}", t))
    inner = memory.shape[memory.ndim - len(layout.shape) :]
    if memory.ndim != t.ndim + element_rank(t.dtype) or inner != layout.shape:
        raise ArgumentTypeError(mismatch(name, kernel, f"an array of shape {memory.shape}", t, "rank"))
    memory = fit(memory, t.dtype, layout, None)
    argument = array._wrap(memory, t.dtype, device, owner=value)
    if argument._held is not None:
        argument._held.add(owners_of(memory, t.dtype))
    return argument


def _foreign(value: object, t: ArrayType, name: str, kernel: str, device: Device) -> np.ndarray:
    """The memory of a foreign array where it is, which must be where the kernel runs."""
    try:
        there = interop.memory_of(value, device)
    except (ArrayError, DeviceError) as error:
        raise type(error)(f"argument {name!r} of kernel {kernel!r}: {error}") from error
    try:
        memory = as_numpy(value)[0] if there is None else there
    except Exception as error:
        raise ArgumentTypeError(mismatch(name, kernel, type(value).__name__, t)) from error
    if not is_memory_of(memory, device):
        place = "memory of the host" if there is None else f"on {there.device}"
        raise DeviceError(
            f"argument {name!r} of kernel {kernel!r} is {type(value).__name__} {place}\nexpected: memory of {device}, "
            f"where the kernel is launched\nhelp: wp.array({name}, device={str(device)!r}) makes a copy there"
        )
    return memory


def is_missing(value: Any) -> bool:
    """Whether a launch argument stands for None: an array at no address."""
    return value is None or not any(value._words)


def refuse_missing(demands: Iterable[ArrayRef], args: Sequence[Any], names: Sequence[str], kernel: str) -> None:
    """Raise for an array that is None although every thread reads or writes it; structs are known to fit."""
    for ref in demands:
        if is_missing(ref.of(args)):
            name = ref.name(names)
            raise ArgumentTypeError(f"array {name!r} of kernel {kernel!r} is None, and every thread uses it\n{ABSENT}")


def demanding(pack: Callable[[Any], bytes], paths: list[Fields]) -> Callable[[Any], bytes]:
    """The packer of a struct some of whose arrays every thread uses."""
    arrays = [operator.attrgetter(".".join(path)) for path in paths]

    def pack_demanding(value: Any) -> bytes:
        words = pack(value)
        for of in arrays:
            if of(value) is None:
                raise ArgumentTypeError("an array in it is None, and every thread uses it")
        return words

    return pack_demanding


def empty_array(t: ArrayType, device: Device) -> array:
    """What `None` means for an array argument: no elements, at no address, so that a use is noticed at once."""
    empty = array(dtype=t.dtype, shape=(0,) * t.ndim, device=device)
    empty._words = bytes(WORD * descriptor_words(t))
    return empty


def unfit(value: object, t: Any, name: str, kernel: str, error: Exception) -> ArgumentTypeError:
    """The error for a number, vector or struct that packing refused with `error`."""
    what = f"{shown(value)} ({type(value).__name__})"
    cure = str(error) if isinstance(error, WarpsimError) else _cure(value, t, name)
    refused = ArgumentValueError if compounds.is_compound(t) else ArgumentTypeError
    return refused(
        f"argument {name!r} of kernel {kernel!r} is {what}\nexpected: {type_name(t)}" + (cure and f"\nhelp: {cure}")
    )


def _cure(value: object, t: Any, name: str) -> str:
    """What to do about an argument that is no array."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if scalars.is_integer(t) and number:
        limits = np.iinfo(t)
        return f"pass a whole number from {limits.min} to {limits.max}"
    if scalars.is_scalar(t) and isinstance(value, int):
        return f"pass a number up to {scalars.largest(t)}"
    if scalars.is_scalar(t):
        return f"pass one number; for an array annotate the parameter {name}: wp.array(dtype={type_name(t)})"
    if structs.none_is_empty(t):
        return f"pass a {t.__name__}, or None"
    if structs.is_struct(t):
        return f"pass {t.__name__}({', '.join(f'{field}=...' for field in t.fields)})"
    return f"pass {type_name(t)}(...), or {t.size} numbers"


def written_fields(uses: ArrayUses) -> dict[int, frozenset[str]]:
    """By parameter, the arrays in structs that a program writes to: the fields that lead there, joined by points."""
    refs = [ref for ref in uses.changed if ref.path]
    return {k: frozenset(".".join(r.path) for r in refs if r.position == k) for k in {r.position for r in refs}}


def mismatch(name: str, kernel: str, described: str, t: ArrayType, wrong: str = "dtype") -> str:
    cures = {"dtype": f"wp.array({name}, dtype={type_name(t.dtype)}) converts", "rank": f"{name}.reshape(...)"}
    return f"argument {name!r} of kernel {kernel!r} is {described}\nexpected: {t!r}\nhelp: {cures[wrong]}"


def check_writable(value: Any, name: str, kernel: str) -> None:
    if not value._tag.writable:
        raise ReadOnlyError(
            f"argument {name!r} of kernel {kernel!r} is read-only memory, and the kernel writes to it\n"
            "expected: a writable array\nhelp: pass a copy: wp.array(x)"
        )
