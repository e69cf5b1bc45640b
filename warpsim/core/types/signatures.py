"""Patterns over types: `Float`, `Vec[3, Float]`, `Array[Any]`; matching binds their variables.

A signature of an op or a library function is its annotations. Within one signature every use of a
variable stands for one type: `def dot(a: Vec[N, Float], b: Vec[N, Float]) -> Float`. Literals are
weak: they take the type that the typed arguments give a variable, and only decide it when no typed
argument does.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import compounds, scalars, structs
from .arrays import ArrayType, array_type, type_name
from .scalars import bool_, float32, int32

Bindings = dict["TypeVariable", Any]


@dataclass(frozen=True, eq=False)
class TypeVariable:
    """A name for an unknown type (or length) that `accepts` limits."""

    name: str
    accepts: Callable[[Any], bool]

    def __repr__(self) -> str:
        return self.name


class Weak:
    """The type of a literal before the context decides: `WEAK_INT` and `WEAK_FLOAT`."""

    def __init__(self, name: str, default: type):
        self.__name__, self.default = name, default

    def __repr__(self) -> str:
        return self.__name__


WEAK_INT = Weak("int literal", int32)
WEAK_FLOAT = Weak("float literal", float32)


def weak_type(value: object) -> Any:
    """The type of a host constant as an argument: weak for Python's own numbers."""
    kind = type(value)  # exactly: np.float64 is a float to isinstance, and it is typed
    return {bool: bool_, int: WEAK_INT, float: WEAK_FLOAT}.get(kind) or scalars.canonical(kind)


def weak_fits(weak: Weak, t: object) -> bool:
    """An int literal may become any number, a float literal any float."""
    return scalars.is_float(t) or (weak is WEAK_INT and scalars.is_integer(t))


Float = TypeVariable("Float", scalars.is_float)
Int = TypeVariable("Int", scalars.is_integer)
Scalar = TypeVariable("Scalar", scalars.is_number)
AnyScalar = TypeVariable("AnyScalar", scalars.is_scalar)
Element = TypeVariable("Element", lambda t: compounds.kind_of(t) != "" and t is not bool_)
"""A number or any compound: what component-wise rows take."""

N = TypeVariable("N", lambda n: isinstance(n, int))
R = TypeVariable("R", lambda n: isinstance(n, int))
C = TypeVariable("C", lambda n: isinstance(n, int))
K = TypeVariable("K", lambda n: isinstance(n, int))


@dataclass(frozen=True)
class CompoundPattern:
    """A compound kind with extents and scalar type that may be variables."""

    kind: str
    shape: tuple[Any, ...]
    dtype: Any

    def __repr__(self) -> str:
        name = {"vector": "Vec", "matrix": "Mat", "quaternion": "Quat", "transform": "Transform"}[self.kind]
        extents = self.shape if self.kind in ("vector", "matrix") else ()
        return f"{name}[{', '.join(type_name(p) for p in (*extents, self.dtype))}]"


@dataclass(frozen=True)
class ArrayPattern:
    """An array of any rank, or of the given one."""

    dtype: Any
    ndim: int | None = None

    def __repr__(self) -> str:
        return f"array({type_name(self.dtype)})"


@dataclass(frozen=True)
class PiecesPattern:
    """An array in pieces of any element type, or a selection of one, as the base of their types says."""

    dtype: Any
    base: type

    def is_family_of(self, t: object) -> bool:
        """Whether a struct is an array in pieces, or a selection, as this pattern wants it."""
        return structs.is_struct(t) and self.base in t.__bases__

    def __repr__(self) -> str:
        return f"{self.base.__name__}({type_name(self.dtype)})"


class _Family:
    """Makes patterns by subscription: `Vec[3, Float]`."""

    def __init__(self, kind: str, shape: tuple[int, ...] | None = None):
        self.kind, self.fixed = kind, shape

    def __getitem__(self, key: object) -> CompoundPattern:
        parts = key if isinstance(key, tuple) else (key,)
        return CompoundPattern(self.kind, self.fixed or parts[:-1], parts[-1])


class _ArrayFamily:
    def __getitem__(self, key: object) -> ArrayPattern:
        return ArrayPattern(*key) if isinstance(key, tuple) else ArrayPattern(key)


Vec = _Family("vector")
Mat = _Family("matrix")
Quat = _Family("quaternion", (4,))
Transform = _Family("transform", (7,))
Array = _ArrayFamily()


def match(pattern: object, t: Any, bound: Bindings) -> bool:
    """Whether type `t` fits `pattern`, extending `bound`; weak types are left to `match_weak`."""
    if pattern is Any or pattern is typing.Any:
        return True
    if isinstance(t, tuple):
        return _match_tuple(pattern, t, bound)
    if isinstance(pattern, TypeVariable):
        if pattern in bound:
            return bound[pattern] is t or bound[pattern] == t
        if not pattern.accepts(t):
            return False
        bound[pattern] = t
        return True
    if isinstance(pattern, CompoundPattern):
        if not compounds.is_compound(t) or t.kind != pattern.kind or len(t.shape) != len(pattern.shape):
            return False
        pairs = zip((*pattern.shape, pattern.dtype), (*t.shape, t.dtype), strict=True)
        return all(match(p, part, bound) for p, part in pairs)
    if isinstance(pattern, ArrayPattern):
        if not isinstance(t, ArrayType) or (pattern.ndim is not None and t.ndim != pattern.ndim):
            return False
        return match(pattern.dtype, t.dtype, bound)
    if isinstance(pattern, ArrayType):
        return _match_array(pattern, t, bound)
    if isinstance(pattern, PiecesPattern):
        return pattern.is_family_of(t) and match(pattern.dtype, t.element, bound)
    return bool(scalars.canonical(pattern) == t)


def _match_tuple(pattern: object, types: tuple[Any, ...], bound: Bindings) -> bool:
    """Whether a tuple of types fits `tuple`, `tuple[int, float]` or `tuple[int, ...]`."""
    if typing.get_origin(pattern) is tuple:
        parts = typing.get_args(pattern)
    elif isinstance(pattern, tuple):
        parts = pattern
    else:
        return pattern is tuple
    if len(parts) == 2 and parts[1] is ...:
        parts = parts[:1] * len(types)
    pairs = zip(parts, types, strict=False)
    return len(parts) == len(types) and all(
        match_weak(p, t, bound) is not None if isinstance(t, Weak) else match(p, t, bound) for p, t in pairs
    )


def _match_array(pattern: ArrayType, t: object, bound: Bindings) -> bool:
    if not isinstance(t, ArrayType) or t.ndim != pattern.ndim or (pattern.indexed and not t.indexed):
        return False
    if pattern.local_shape is not None and (t.local_shape is None or pattern.local_shape not in ((), t.local_shape)):
        return False
    return match(pattern.dtype, t.dtype, bound)


def match_weak(pattern: object, weak: Weak, bound: Bindings) -> Any:
    """The type a literal takes under `pattern`, or None when it does not fit."""
    if pattern is Any or pattern is typing.Any:
        return weak.default
    if isinstance(pattern, TypeVariable):
        if pattern in bound:
            t = scalars.canonical(bound[pattern])
            return t if weak_fits(weak, t) else None
        for t in (weak.default, float32):
            if weak_fits(weak, t) and pattern.accepts(t):
                bound[pattern] = t
                return t
        return None
    t = scalars.canonical(pattern)
    return t if scalars.is_scalar(t) and weak_fits(weak, t) else None


def is_generic(pattern: object) -> bool:
    """Whether the pattern leaves anything open."""
    if isinstance(pattern, ArrayType):
        return is_generic(pattern.dtype)
    generic = (TypeVariable, CompoundPattern, ArrayPattern, PiecesPattern)
    return pattern is Any or pattern is typing.Any or isinstance(pattern, generic)


def resolve(pattern: Any, bound: Bindings) -> Any:
    """The concrete type of a pattern whose variables are all bound."""
    if isinstance(pattern, TypeVariable):
        return bound[pattern]
    if isinstance(pattern, CompoundPattern):
        shape = tuple(resolve(p, bound) for p in pattern.shape)
        return compounds.compound_type(pattern.kind, shape, resolve(pattern.dtype, bound))
    if isinstance(pattern, ArrayPattern):
        return array_type(resolve(pattern.dtype, bound), pattern.ndim or 1)
    return scalars.canonical(pattern)


# ----- type constructors, which take what is open too ---------------------------------------------


def vector(length: Any, dtype: Any = float) -> Any:
    """The vector type of `length` components, which may be 0. `Any` or a type variable in it makes a pattern.

    Raises `TypeError` for a dtype that is not a scalar type, `ValueError` for a bad length.
    """
    return Vec[length, dtype] if _is_open(length, dtype) else compounds.vector(length, dtype)


def matrix(shape: Any, dtype: Any = float) -> Any:
    """The matrix type of `shape` = (rows, columns), stored row by row. `Any` or a type variable makes a pattern.

    Raises `TypeError` for a dtype that is not a scalar type, `ValueError` for a bad shape.
    """
    extents: tuple[Any, Any] = (Any, Any) if shape is Any else compounds.rows_and_columns(shape)
    rows, columns = extents
    return Mat[rows, columns, dtype] if _is_open(rows, columns, dtype) else compounds.matrix((rows, columns), dtype)


def quaternion(dtype: Any = float) -> Any:
    """The quaternion type with components (x, y, z, w). `Any` or a type variable makes a pattern."""
    return Quat[dtype] if _is_open(dtype) else compounds.quaternion(dtype)


def transformation(dtype: Any = float) -> Any:
    """The rigid transform type: position, then rotation (x, y, z, w). `Any` or a type variable makes a pattern."""
    return Transform[dtype] if _is_open(dtype) else compounds.transformation(dtype)


def _is_open(*parts: object) -> bool:
    return any(part is Any or isinstance(part, TypeVariable) for part in parts)


for _make in (vector, matrix, quaternion, transformation):
    _make.kernel_form = "type_function"  # type: ignore[union-attr]  # usable inside kernels
