"""`generic_struct`: structs whose fields leave a scalar type open, as arguments of generic kernels and functions.

    @generic_struct
    class Ball:
        center: Vec[3, Float]
        radius: Float
        hits: Array[int32]

`Ball[float32]` and `Ball[float64]` are then structs, each made once. A kernel takes either where it says `Any`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import compounds
from .arrays import array_type
from .scalars import canonical
from .signatures import ArrayPattern, CompoundPattern, Float
from .structs import Struct, annotations_of, struct

_KINDS: dict[str, Callable[..., type[compounds.Compound]]] = {
    "vector": lambda shape, dtype: compounds.vector(shape[0], dtype),
    "matrix": compounds.matrix,
    "quaternion": lambda _shape, dtype: compounds.quaternion(dtype),
    "transform": lambda _shape, dtype: compounds.transformation(dtype),
}


def generic_struct(cls: type) -> GenericStruct:
    """Make a family of structs of a class whose annotations hold the variable `Float`."""
    return GenericStruct(cls)


class GenericStruct:
    """A struct for every floating-point type: `family[dtype]`."""

    def __init__(self, cls: type):
        self.__doc__, self.__name__, self.__module__ = cls.__doc__, cls.__name__, cls.__module__
        self._qualname, self._annotations = cls.__qualname__, annotations_of(cls)
        self._structs: dict[Any, type[Struct]] = {}

    def __getitem__(self, dtype: object) -> type[Struct]:
        dtype = canonical(dtype)
        if dtype not in self._structs:
            self._structs[dtype] = self._struct_of(dtype)
        return self._structs[dtype]

    def _struct_of(self, dtype: Any) -> type[Struct]:
        suffix = f"[{dtype.__name__}]"
        body = {
            "__module__": self.__module__,
            "__qualname__": self._qualname + suffix,
            "__doc__": self.__doc__,
            "__annotations__": {name: with_float(t, dtype) for name, t in self._annotations.items()},
        }
        family_member: type[Struct] = struct(type(self.__name__ + suffix, (), body))
        return family_member


def with_float(pattern: object, dtype: object) -> Any:
    """The type that a pattern is with a scalar type in the place of `Float`."""
    if pattern is Float:
        return dtype
    if isinstance(pattern, CompoundPattern):
        return _KINDS[pattern.kind](pattern.shape, with_float(pattern.dtype, dtype))
    if isinstance(pattern, ArrayPattern):
        return array_type(with_float(pattern.dtype, dtype), pattern.ndim or 1)
    return pattern
