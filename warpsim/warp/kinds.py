"""Questions about types and values: `type_is_vector(t)`, `is_vector(x)`, sizes, names and equality of types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.types import buffers, compounds, scalars, structs
from ..core.types.arrays import ArrayType, type_name
from ..core.types.compounds import kind_of
from ..core.types.scalars import canonical
from ..core.types.structs import is_struct as type_is_struct


def type_is_vector(t: object) -> bool:
    return kind_of(t) == "vector"


def type_is_matrix(t: object) -> bool:
    return kind_of(t) == "matrix"


def type_is_quaternion(t: object) -> bool:
    return kind_of(t) == "quaternion"


def type_is_transformation(t: object) -> bool:
    return kind_of(t) == "transform"


def type_is_composite(t: object) -> bool:
    """Whether a type is a vector, matrix, quaternion or transform."""
    return compounds.is_compound(t)


def type_is_float(t: object) -> bool:
    return _is(scalars.is_float, t)


def type_is_int(t: object) -> bool:
    return _is(scalars.is_integer, t)


def type_is_scalar(t: object) -> bool:
    """Whether a type is a number; bool is none."""
    return type_is_float(t) or type_is_int(t)


def type_is_value(t: object) -> bool:
    """Whether a type is one of scalars, or of what has components."""
    return scalars.is_scalar(canonical(t)) or compounds.is_compound(t)


def type_is_array(t: object) -> bool:
    """Whether a type is one of arrays; tiles are none."""
    t = canonical(t)
    return isinstance(t, ArrayType) and t.local_shape is None


def type_is_tile(t: object) -> bool:
    """Whether a type is one of tiles: arrays of a fixed shape that a thread holds."""
    t = canonical(t)
    return isinstance(t, ArrayType) and t.local_shape is not None


def type_ctype(dtype: object) -> Any:
    """How `ctypes` passes values of a type: vectors and matrices are `ctypes` arrays already.

    Floats of 16 bits go as their bits. Raises `TypeError` for other types.
    """
    element = canonical(dtype)
    if scalars.is_scalar(element):
        return buffers.c_type(element)
    if not compounds.is_compound(element):
        raise TypeError(f"{dtype!r} has no type of C\nexpected: a scalar, vector, matrix, quaternion or transform type")
    return element


def _of_value(asked: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """The question about types, asked of the type of a value."""

    def answer(x: object) -> bool:
        return asked(type(x))

    answer.__name__ = answer.__qualname__ = asked.__name__.removeprefix("type_")
    answer.__doc__ = (asked.__doc__ or "").replace("a type is", "a value is")
    return answer


is_vector, is_matrix, is_quaternion = map(_of_value, (type_is_vector, type_is_matrix, type_is_quaternion))
is_transformation, is_composite, is_value = map(
    _of_value, (type_is_transformation, type_is_composite, type_is_value)
)
is_float, is_int, is_scalar = map(_of_value, (type_is_float, type_is_int, type_is_scalar))
is_struct = _of_value(type_is_struct)


def is_array(x: object) -> bool:
    """Whether this is an array, or a type of arrays."""
    return type_is_array(x) or type_is_array(getattr(x, "type", None))


def is_tile(x: object) -> bool:
    """Whether this is a type of tiles; their values are in kernels only."""
    return type_is_tile(x)


def type_size(dtype: object) -> int:
    """The number of components; 1 for a scalar. Raises `TypeError` for other types."""
    t = canonical(dtype)
    if not type_is_value(t):
        raise TypeError(f"the size of {type_name(t)}\nexpected: a scalar, vector, matrix, quaternion or transform type")
    return compounds.size_of(t)


def type_size_in_bytes(dtype: object) -> int:
    """The size of an element in memory. Raises `TypeError` for types without values."""
    return structs.numpy_dtype(canonical(dtype)).itemsize


def type_scalar_type(t: object) -> Any:
    """The scalars that a scalar, vector or matrix type is made of."""
    return compounds.scalar_of(canonical(t))


def type_repr(t: object) -> str:
    """The name of a type."""
    return "float" if t is float else "int" if t is int else type_name(canonical(t))


def types_equal(a: object, b: object) -> bool:
    """Whether two types are one: `float` is float32, `vec3` is `vec3f`."""
    return canonical(a) is canonical(b)


def _is(asked: Callable[[Any], bool], t: object) -> bool:
    t = canonical(t)
    return isinstance(t, type) and asked(t)
