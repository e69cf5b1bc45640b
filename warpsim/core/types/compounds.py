"""Vector, matrix, quaternion and transform classes by their parameters and by their names, and questions about them.

`vector(3, float32)` returns the class `vec3f`; asking again returns the same class, so types compare by identity.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from ...errors import ArrayTypeError, shown
from . import scalars
from .scalars import SUFFIX, canonical
from .values import MAX_SIZE, Compound, compound_type


def vector(length: int, dtype: object = float) -> type[Compound]:
    """The vector type of `length` components, which may be 0.

    Raises `TypeError` for a dtype that is not a scalar type, `ValueError` for a bad length.
    """
    return compound_type("vector", (_extent(length, 0),), _scalar(dtype))


def matrix(shape: tuple[int, int], dtype: object = float) -> type[Compound]:
    """The matrix type of `shape` = (rows, columns), stored row by row.

    Raises `TypeError` for a dtype that is not a scalar type, `ValueError` for a bad shape.
    """
    rows, columns = rows_and_columns(shape)
    return compound_type("matrix", (_extent(rows), _extent(columns)), _scalar(dtype))


def rows_and_columns(shape: object) -> tuple[Any, Any]:
    """The extents of a matrix. Raises `ArrayTypeError` for what is no pair."""
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise ArrayTypeError(f"the shape of a matrix is {shown(shape)}\nexpected: (rows, columns)")
    return shape[0], shape[1]


def quaternion(dtype: object = float) -> type[Compound]:
    """The quaternion type with components (x, y, z, w)."""
    return compound_type("quaternion", (4,), _scalar(dtype))


def transformation(dtype: object = float) -> type[Compound]:
    """The rigid transform type: position (3 components), then rotation (x, y, z, w)."""
    return compound_type("transform", (7,), _scalar(dtype))


def is_compound(t: object) -> TypeGuard[type[Compound]]:
    return isinstance(t, type) and issubclass(t, Compound)


def kind_of(t: object) -> str:
    """`scalar`, `vector`, `matrix`, `quaternion`, `transform`, or empty for anything else."""
    if is_compound(t):
        return t.kind
    return "scalar" if scalars.is_scalar(t) else ""


def scalar_of(t: object) -> Any:
    """The scalar type that a scalar or compound type is made of."""
    return t.dtype if is_compound(t) else t


def size_of(t: object) -> int:
    """The number of scalar components."""
    return t.size if is_compound(t) else 1


def with_scalar(t: object, dtype: type) -> Any:
    """The same kind and shape over another scalar type."""
    return compound_type(t.kind, t.shape, dtype) if is_compound(t) else dtype


def _extent(value: object, least: int = 1) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= MAX_SIZE:
        limits = f"from {least} to {MAX_SIZE}"
        raise ValueError(f"length of a vector or matrix side is {value!r}\nexpected: an integer {limits}")
    return int(value)


def _scalar(dtype: object) -> type:
    scalar = canonical(dtype)
    if scalars.is_scalar(scalar):
        return scalar
    raise TypeError(f"component type is {dtype!r}\nexpected: a scalar type such as float, int, wp.float64")


def standard_names() -> dict[str, type[Compound]]:
    """The predefined names: `vec3` means `vec3f`, `mat44d` the float64 matrix, and so on."""
    names: dict[str, type[Compound]] = {}
    for dtype, suffix in SUFFIX.items():
        if dtype is scalars.bool_:
            continue
        types = [vector(n, dtype) for n in (2, 3, 4)]
        types += [matrix((n, n), dtype) for n in (2, 3, 4)]
        names.update({t.__name__: t for t in types})
        if dtype in scalars.FLOATS:
            types = [quaternion(dtype), transformation(dtype)]
            names.update({t.__name__: t for t in types})
            names[f"spatial_vector{suffix}"] = vector(6, dtype)
            names[f"spatial_matrix{suffix}"] = matrix((6, 6), dtype)
    short = ("vec2", "vec3", "vec4", "mat22", "mat33", "mat44", "quat", "transform", "spatial_vector", "spatial_matrix")
    names.update({name: names[f"{name}f"] for name in short})
    return names
