"""Vector, matrix, quaternion and transform classes, made on demand and made once.

`vector(3, float32)` returns the class `vec3f`; asking again returns the same class, so types
compare by identity. Host behaviour comes from `values.Compound`.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from . import scalars
from .scalars import SUFFIX, canonical
from .values import Compound

MAX_SIZE = 1024

C_TYPES: dict[type, Any] = {
    scalars.bool_: ctypes.c_bool, scalars.float32: ctypes.c_float, scalars.float64: ctypes.c_double,
    **{t: getattr(ctypes, f"c_{t.__name__}") for t in scalars.INTEGERS},
}  # fmt: skip
"""How C passes scalars; floats of 16 bits as their bits."""


def vector(length: int, dtype: Any = float) -> type[Compound]:
    """The vector type of `length` components, which may be 0.

    Raises `TypeError` for a dtype that is not a scalar type, `ValueError` for a bad length.
    """
    return _make("vector", (_extent(length, 0),), _scalar(dtype))


def matrix(shape: tuple[int, int], dtype: Any = float) -> type[Compound]:
    """The matrix type of `shape` = (rows, columns), stored row by row.

    Raises `TypeError` for a dtype that is not a scalar type, `ValueError` for a bad shape.
    """
    rows, columns = shape
    return _make("matrix", (_extent(rows), _extent(columns)), _scalar(dtype))


def quaternion(dtype: Any = float) -> type[Compound]:
    """The quaternion type with components (x, y, z, w)."""
    return _make("quaternion", (4,), _scalar(dtype))


def transformation(dtype: Any = float) -> type[Compound]:
    """The rigid transform type: position (3 components), then rotation (x, y, z, w)."""
    return _make("transform", (7,), _scalar(dtype))


def is_compound(t: Any) -> bool:
    return isinstance(t, type) and issubclass(t, Compound)


def kind_of(t: Any) -> str:
    """`scalar`, `vector`, `matrix`, `quaternion`, `transform`, or empty for anything else."""
    if is_compound(t):
        return t.kind
    return "scalar" if scalars.is_scalar(t) else ""


def scalar_of(t: Any) -> Any:
    """The scalar type that a scalar or compound type is made of."""
    return t.dtype if is_compound(t) else t


def size_of(t: Any) -> int:
    """The number of scalar components."""
    return t.size if is_compound(t) else 1


def with_scalar(t: Any, dtype: type) -> Any:
    """The same kind and shape over another scalar type."""
    return _make(t.kind, t.shape, dtype) if is_compound(t) else dtype


def _extent(value: Any, least: int = 1) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= MAX_SIZE:
        limits = f"from {least} to {MAX_SIZE}"
        raise ValueError(f"length of a vector or matrix side is {value!r}\nexpected: an integer {limits}")
    return int(value)


def _scalar(dtype: Any) -> type:
    scalar = canonical(dtype)
    if not scalars.is_scalar(scalar):
        raise TypeError(f"component type is {dtype!r}\nexpected: a scalar type such as float, int, wp.float64")
    return scalar


@cache
def _make(kind: str, shape: tuple[int, ...], dtype: type) -> type[Compound]:
    size = int(np.prod(shape))
    if size > MAX_SIZE:
        raise ValueError(f"a {kind} of shape {shape} has {size} components\nexpected: at most {MAX_SIZE}")
    attributes = {"kind": kind, "shape": shape, "dtype": dtype, "size": size, "__slots__": (), **_as_warp(shape, dtype)}
    return type(_name(kind, shape, dtype), (Compound,), attributes)


def _as_warp(shape: tuple[int, ...], dtype: type) -> dict[str, Any]:
    """What scripts for Warp read of a compound class."""
    element = C_TYPES.get(dtype, ctypes.c_uint16)
    return {"_wp_scalar_type_": dtype, "_shape_": shape, "_length_": int(np.prod(shape)), "_type_": element}


Compound.make = staticmethod(_make)  # host values make related types: a row, a slice, a product


def _name(kind: str, shape: tuple[int, ...], dtype: type) -> str:
    if kind == "vector":
        stem = f"vec{shape[0]}"
    elif kind == "matrix":
        stem = f"mat{shape[0]}{shape[1]}" if max(shape) < 10 else f"mat{shape[0]}x{shape[1]}"
    else:
        stem = {"quaternion": "quat", "transform": "transform"}[kind]
    return stem + scalars.suffix(dtype)


def standard_names() -> dict[str, type[Compound]]:
    """The predefined names: `vec3` means `vec3f`, `mat44d` the float64 matrix, and so on."""
    names: dict[str, type[Compound]] = {}
    for dtype, suffix in SUFFIX.items():
        if dtype is scalars.bool_:
            continue
        made = [vector(n, dtype) for n in (2, 3, 4)]
        made += [matrix((n, n), dtype) for n in (2, 3, 4)]
        names.update({t.__name__: t for t in made})
        if dtype in scalars.FLOATS:
            made = [quaternion(dtype), transformation(dtype)]
            names.update({t.__name__: t for t in made})
            names[f"spatial_vector{suffix}"] = vector(6, dtype)
            names[f"spatial_matrix{suffix}"] = matrix((6, 6), dtype)
    short = ("vec2", "vec3", "vec4", "mat22", "mat33", "mat44", "quat", "transform", "spatial_vector", "spatial_matrix")
    names.update({name: names[f"{name}f"] for name in short})
    return names
