"""Structs as argument bytes: packed by straight-line code, with their arrays checked as plain arguments are.

The code is generated per type of struct: it reads each field once and packs all of them in one call.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import DeviceError, ReadOnlyError, WarpsimError
from ...emit.layout import WORD
from ...types import compounds, scalars, structs
from ...types.answers import per_type
from ...types.arrays import ArrayType, descriptor_words

if TYPE_CHECKING:
    from ..devices.device import Device


FORMATS: dict[type, str] = {scalars.bool_: "?", scalars.int8: "b", scalars.uint8: "B", scalars.int16: "h"}
FORMATS |= {scalars.uint16: "H", scalars.int32: "i", scalars.uint32: "I", scalars.int64: "q", scalars.uint64: "Q"}
FORMATS |= {scalars.float16: "e", scalars.float32: "f", scalars.float64: "d"}


def format_of(t: type) -> str:
    """How `struct` packs a scalar type; of bfloat16 it gets the `bits_of`."""
    return "H" if scalars.is_bfloat16(t) else FORMATS[t]


def bits_of(t: type) -> Callable[[Any], int]:
    """The bits of a number that is converted to a 16-bit type, as an integer; raises for what is no number."""
    return lambda value: int(np.uint16(t(float(value)).view(np.uint16)))


class RefusedField(ValueError):
    """An array in a struct that the launch may not have: `error` makes the exception that says so."""

    def __init__(self, path: str, array: Any, device: Device):
        super().__init__(path)
        self.path, self.array, self.device = path, array, device

    def error(self, name: str, kernel: str) -> WarpsimError:
        what = f"argument '{name}.{self.path}' of kernel {kernel!r} is"
        if self.device.can_access(self.array.device):
            return ReadOnlyError(
                f"{what} read-only memory, and the kernel writes to it\n"
                "expected: a writable array\nhelp: pass a copy: wp.array(x)"
            )
        return DeviceError(
            f"{what} on {self.array.device}\nexpected: {self.device}, where the kernel is launched\n"
            f"help: {name}.{self.path}.to({str(self.device)!r}), or launch with device={str(self.array.device)!r}"
        )


def has_dense_arrays(value: Any) -> bool:
    """Whether all arrays in a struct are contiguous: kernels are made for such structs, and for any."""
    return all(member._tag.contiguous for _, member in structs.members(value) if hasattr(member, "_tag"))


@per_type
def struct_packer(
    t: Any, device: Device, written: frozenset[str] = frozenset(), dense: bool = False
) -> Callable[[Any], bytes]:
    """Packs a struct with C alignment; raises `RefusedField` for arrays elsewhere, and for `written` read-only ones.

    dense: raises `ValueError` for arrays that are not contiguous.
    """
    writer = _Writer(device, written, dense)
    writer.struct(t, "value", "", 0)
    writer.skip_to(structs.numpy_dtype(t).itemsize)
    writer.skip_to(-(-writer.end // WORD) * WORD)
    text = "\n".join(
        [
            "def pack(value):",
            "    if not isinstance(value, kind):",
            "        raise TypeError(type(value).__name__)",
            *writer.lines,
            f"    return join({', '.join(writer.values)})",
        ]
    )
    scope = {**writer.scope, "kind": t, "join": struct.Struct("<" + "".join(writer.codes)).pack}
    exec(text, scope)
    packed: Callable[[Any], bytes] = scope["pack"]
    return packed


class _Writer:
    """Collects the lines, formats and values of a packer."""

    def __init__(self, device: Device, written: frozenset[str], dense: bool):
        self.device, self.written, self.dense = device, written, dense
        self.lines: list[str] = []
        self.codes: list[str] = []
        self.values: list[str] = []
        self.scope: dict[str, Any] = {
            "space": device.memory_space,
            "reaches": lambda a: device.can_access(a.device),
            "refuse": self.refuse,
        }
        self.end = 0

    def refuse(self, path: str, array: Any) -> None:
        raise RefusedField(path, array, self.device)

    def skip_to(self, offset: int) -> None:
        if offset > self.end:
            self.codes.append(f"{offset - self.end}x")
            self.end = offset

    def struct(self, t: Any, source: str, path: str, base: int) -> None:
        for name, at in structs.offsets(t).items():
            field, var, inner = t.fields[name], f"v{len(self.lines)}", f"{path}.{name}" if path else name
            self.lines.append(f"    {var} = {source}.{name}")
            if structs.is_struct(field):
                self.struct(field, var, inner, base + at)
                continue
            self.skip_to(base + at)
            if isinstance(field, ArrayType):
                self.array(field, var, inner)
            elif compounds.is_compound(field):
                self.add(f"{var}._data.tobytes()", f"{field.size * np.dtype(field.dtype).itemsize}s")
            else:
                self.scalar(field, var)

    def scalar(self, t: type, var: str) -> None:
        if scalars.is_bfloat16(t):
            self.scope["bits"] = bits_of(t)
            var = f"bits({var})"
        self.add(var, format_of(t))

    def array(self, t: ArrayType, var: str, path: str) -> None:
        size = WORD * descriptor_words(t)
        locked = f" or not {var}._tag.writable" if path in self.written else ""
        self.lines += [
            f"    if {var} is None:",
            f"        {var} = bytes({size})",
            "    else:",
            f"        if ({var}._tag.space != space and not reaches({var})){locked}:",
            f"            refuse({path!r}, {var})",
            *([f"        if not {var}._tag.contiguous:", "            raise ValueError"] if self.dense else ()),
            f"        {var} = {var}._words",
        ]
        self.add(var, f"{size}s")

    def add(self, value: str, code: str) -> None:
        self.codes.append(code)
        self.values.append(value)
        self.end += struct.calcsize("<" + code)
