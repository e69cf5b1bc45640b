"""Compound types, made on demand and made once, and their values on the host: `vec3(1, 2, 3)` with arithmetic.

They mean in Python exactly what they mean in a kernel: `*` is the product of the kind (matrix
product, quaternion product, scaling), `==` compares all components. Values are small NumPy arrays
with a type; they are mutable through components, as in kernels.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import ArrayError, ComponentCountError, counted, shown
from . import scalars
from .buffers import Array, ArrayType, c_type, holds, layout, value_over
from .components import Components, check_whole
from .value_operators import Operators

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

MAX_SIZE = 1024


class CompoundType(type):
    """The class of compound types. A class that only gives one a name, `class vec9(vector(9, float)): pass`, is it."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> CompoundType:
        named = _named_again(bases, body)
        return named or super().__new__(cls, name, bases, body)

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]):
        """Nothing: a class that is found again must stay as it is."""


class BufferedType(ArrayType, CompoundType):
    """The class of compound types whose values are buffers, which C, NumPy and `bytes.join` read where they lie."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> CompoundType:
        base: Any = bases[0]
        memory = {} if "kind" in body else layout(base.shape, base.dtype)
        return _named_again(bases, body) or ArrayType.__new__(cls, name, bases, body | memory)

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]):
        if _named_again(bases, body) is not None:
            return
        ArrayType.__init__(cls, name, bases, body)  # from Python 3.13 on, this lays out the memory
        base: Any = cls
        for field, value in _for_programs(base.shape, base.dtype).items():
            setattr(cls, field, value)


def _named_again(bases: tuple[type, ...], body: dict[str, Any]) -> CompoundType | None:
    """The compound type that a class statement only gives a name."""
    named = next(iter(bases), None)
    if not isinstance(named, CompoundType) or "kind" not in vars(named) or len(bases) != 1:
        return None
    return named if set(body) <= _SAYS_NOTHING else None


_SAYS_NOTHING = {"__module__", "__qualname__", "__doc__", "__firstlineno__", "__static_attributes__"}


class Compound(Components, Operators, metaclass=CompoundType):
    """Base of all compound types; `compound_type` makes the concrete classes."""

    kind: ClassVar[str]
    shape: ClassVar[tuple[int, ...]]
    dtype: ClassVar[type]
    memory: ClassVar[np.dtype]
    """How NumPy holds a component."""

    size: ClassVar[int]
    __slots__ = ()

    _data: np.ndarray

    def __new__(cls, *components: object, dtype: object = None, p: object = None, q: object = None) -> Compound:
        if p is not None or q is not None:
            if p is None and len(components) == 1:
                p, components = components[0], ()
            if cls.kind != "transform" or components:
                raise TypeError(f"{cls.__name__} got p= or q=\nexpected: only transforms, without components")
            components = ((0, 0, 0) if p is None else p, (0, 0, 0, 1) if q is None else q)
        return cls._over(cls._build(components))

    def __init__(self, *components: object, dtype: object = None, p: object = None, q: object = None):
        """Nothing more than `__new__`, which finds the memory first."""

    @classmethod
    def _over(cls, data: np.ndarray) -> Compound:
        """A value of this type over `data` itself, whose type and shape fit."""
        value = value_over(cls, data)
        object.__setattr__(value, "_data", data)
        return value

    def _copy(self) -> Compound:
        """The same value in memory of its own."""
        return self._over(self._data.copy())

    @classmethod
    def _build(cls, components: tuple[Any, ...]) -> np.ndarray:
        if not components:
            data = np.zeros(cls.shape, cls.memory)
            if cls.kind == "transform":
                data[6] = 1
            return data
        if cls.kind == "transform" and len(components) == 1 and np.size(components[0]) == 3:
            components = (components[0], (0, 0, 0, 1))
        if cls.kind == "transform" and len(components) == 2:
            components = (*np.ravel(np.asarray(components[0])), *np.ravel(np.asarray(components[1])))
        try:
            parts = [np.asarray(c) for c in components]
        except (TypeError, ValueError):  # of lists of unequal lengths
            what = f"{cls.__name__} got {shown(components)}"
            raise TypeError(f"{what}\nexpected: numbers, or {cls.size} in a row") from None
        for part, value in zip(parts, components, strict=True):
            if not scalars.holds_numbers(part.dtype):
                raise TypeError(f"{cls.__name__} got {value!r}\nexpected: numbers, or a sequence of {cls.size}")
            if not isinstance(value, Compound):
                check_whole(cls, part.dtype, value)
        if len(parts) == 1 and parts[0].ndim == 0:
            return np.full(cls.shape, parts[0], cls.memory)
        flat = np.concatenate([p.ravel() for p in parts], dtype=cls.memory, casting="unsafe")  # each on its own
        if flat.size != cls.size:
            raise ComponentCountError(
                f"{cls.__name__} got {counted(flat.size, 'component')}\nexpected: none, one, or {cls.size}"
                f"\nhelp: {cls.__name__}() is zero; one number fills every component"
            )
        return flat.reshape(cls.shape)

    @classmethod
    def _of_kind(cls, shape: tuple[int, ...], kind: str = "") -> type[Compound]:
        """The class of parts of this one: vectors and matrices by their shape, others by their kind."""
        return compound_type(kind, shape, cls.dtype) if kind else _type_of_shape(shape, cls.dtype)

    @classmethod
    def wrap(cls, data: np.ndarray) -> Compound:
        """A value of this type over a copy of `data`, which must have the right size."""
        return cls._over(np.array(data, cls.memory, order="C").reshape(cls.shape))

    @classmethod
    def from_buffer(cls, source: Any, offset: int = 0) -> Compound:
        """A value over the memory of a writable buffer, from `offset` bytes on: what changes in one changes in both.

        Raises `ValueError` where the buffer has fewer bytes than the value, or is read-only.
        """
        data = np.frombuffer(source, cls.memory, cls.size, offset).reshape(cls.shape)
        if not data.flags.writeable:
            raise ValueError(f"{cls.__name__}.from_buffer got memory that is read-only\nexpected: a writable buffer")
        return cls._over(data)

    @classmethod
    def from_buffer_copy(cls, source: Any, offset: int = 0) -> Compound:
        """A value with the components that a buffer holds, from `offset` bytes on."""
        return cls.wrap(np.frombuffer(source, cls.memory, cls.size, offset))

    @classmethod
    def from_ptr(cls, ptr: int) -> Compound:
        """A value with the components at an address of the host, which nothing checks but that it is not 0.

        Raises `ArrayError` for 0 and None.
        """
        if not ptr:
            raise ArrayError(f"{cls.__name__}.from_ptr got {ptr!r}\nexpected: an address")
        return cls.from_buffer_copy((ctypes.c_byte * (cls.size * cls.memory.itemsize)).from_address(ptr))

    # ----- NumPy --------------------------------------------------------------------------

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """The components, which change with the array; a copy where one is asked for or the type is another."""
        data = self._data if dtype is None else self._data.astype(dtype, copy=False)
        if copy is False and data is not self._data:
            raise ValueError(f"{type(self).__name__} as {dtype} without a copy\nexpected: {self.dtype.__name__}")
        return data.copy() if copy else data

    def numpy(self) -> np.ndarray:
        """A copy of the components as an array of shape `shape`."""
        components: np.ndarray = self._data.copy()
        return components

    # ----- comparison and text ------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list | tuple | np.ndarray):
            return _matches(self._data, other)
        if not isinstance(other, Compound) or (other.kind, other.shape) != (self.kind, self.shape):
            return NotImplemented
        return bool(np.array_equal(self._data, other._data))

    def __hash__(self) -> int:
        return hash((self.kind, *self._data.ravel().tolist()))

    def __bytes__(self) -> bytes:
        """The components as memory holds them."""
        return self._data.tobytes()

    def __str__(self) -> str:
        return str(self._data.tolist()).replace("], [", "],\n [")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data.tolist()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.kind, self.shape, self.memory.name, self._data)


def _matches(data: np.ndarray, other: list[Any] | tuple[Any, ...] | np.ndarray) -> bool:
    """Whether an array, or nested sequences, hold these numbers."""
    if len(other) != len(data):
        return False
    try:
        return bool(np.array_equal(data, np.asarray(other)))
    except ValueError:  # ragged
        return False


# ----- the classes ------------------------------------------------------------------------


@cache
def compound_type(kind: str, shape: tuple[int, ...], dtype: type) -> type[Compound]:
    """The class of a kind and shape over a scalar type. Raises `ValueError` for too many components."""
    size = int(np.prod(shape))
    if size > MAX_SIZE:
        raise ValueError(f"a {kind} of shape {shape} has {counted(size, 'component')}\nexpected: at most {MAX_SIZE}")
    facts = {"kind": kind, "shape": shape, "dtype": dtype, "memory": np.dtype(dtype), "size": size}
    attributes = facts | {"__slots__": ("__dict__", "_data")}
    name = _name(kind, shape, dtype)
    if holds(dtype):
        cls: CompoundType = BufferedType(name, (Compound, Array), attributes | layout(shape, dtype))
    else:
        cls = CompoundType(name, (Compound,), attributes | _for_programs(shape, dtype))
    assert issubclass(cls, Compound)
    return cls


def _type_of_shape(shape: tuple[int, ...], dtype: type) -> type[Compound]:
    """The vector or matrix class of a shape."""
    return compound_type("vector" if len(shape) == 1 else "matrix", shape, dtype)


_FIXED = {
    "quat": ("quaternion", (4,)),
    "transform": ("transform", (7,)),
    "spatial_vector": ("vector", (6,)),
    "spatial_matrix": ("matrix", (6, 6)),
}
_STEMS = {facts: stem for stem, facts in _FIXED.items()}
_NAME = re.compile(
    r"(?:(?P<fixed>quat|transform|spatial_vector|spatial_matrix)|vec(?P<n>\d+)|mat(?P<rows>\d)(?P<columns>\d)|mat(?P<r>\d+)x(?P<c>\d+))(?P<suffix>[a-z]+)"
)


def _name(kind: str, shape: tuple[int, ...], dtype: type) -> str:
    """The public name where there is one: that of spatial vectors and matrices for those of floats."""
    stem = _STEMS.get((kind, shape), "")
    if not stem or (kind in ("vector", "matrix") and dtype not in scalars.FLOATS):
        sizes = shape if kind == "vector" or max(shape) < 10 else (f"{shape[0]}x{shape[1]}",)
        stem = {"vector": "vec", "matrix": "mat"}[kind] + "".join(map(str, sizes))
    return stem + scalars.suffix(dtype)


def __getattr__(name: str) -> type[Compound]:
    """A compound type by its name here, by which `pickle` refers to it. Raises `AttributeError` for other names."""
    parts = _NAME.fullmatch(name)
    dtype = parts and next((t for t, suffix in scalars.SUFFIX.items() if suffix == parts["suffix"]), None)
    if parts and parts["suffix"] == "bf":
        dtype = scalars.bfloat16
    if parts is None or dtype is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if parts["fixed"]:
        return compound_type(*_FIXED[parts["fixed"]], dtype)
    return _type_of_shape(tuple(int(n) for n in parts.group("n", "rows", "columns", "r", "c") if n), dtype)


def _for_programs(shape: tuple[int, ...], dtype: type) -> dict[str, Any]:
    """What programs read of a compound class that tell compounds by their attributes."""
    return {"_wp_scalar_type_": dtype, "_shape_": shape, "_length_": int(np.prod(shape)), "_type_": c_type(dtype)}


def _restore(kind: str, shape: tuple[int, ...], dtype: str, data: np.ndarray) -> Compound:
    return compound_type(kind, shape, scalars.scalar_in(np.dtype(dtype))).wrap(data)
