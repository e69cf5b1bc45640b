"""Array types as kernels see them, and the layout of an array's descriptor in memory.

A descriptor is what a kernel receives for an array: 64-bit words `data, grad, shape[ndim],
strides[ndim]` (strides in bytes). Every part of the system that packs or reads one uses
`descriptor_words` and the order given here.
"""

from __future__ import annotations

from typing import Any

from . import compounds, scalars
from .answers import per_type
from .scalars import canonical

MAX_NDIM = 4
WORD = 8


class ArrayType:
    """Type of an array parameter: element type and rank. Made through `array_type`, one object per type."""

    __slots__ = ("__known__", "dtype", "indexed", "local_shape", "ndim")
    __known__: dict[Any, Any] | None
    """What is known of the struct that elements are of, see `answers`; None for other elements."""

    def __init__(self, dtype: Any, ndim: int, indexed: bool, local_shape: tuple[int, ...] | None):
        self.dtype, self.ndim, self.indexed, self.local_shape = dtype, ndim, indexed, local_shape
        self.__known__ = getattr(dtype, "__known__", None)

    def __repr__(self) -> str:
        name = "indexedarray" if self.indexed else "array"
        if self.local_shape is not None:
            return f"local_array({type_name(self.dtype)}, shape={self.local_shape})"
        return f"{name}({type_name(self.dtype)}, ndim={self.ndim})"

    def __reduce__(self) -> tuple[Any, ...]:
        return array_type, (self.dtype, self.ndim, self.indexed, self.local_shape)

    def __or__(self, other: object) -> OneOf:
        return OneOf(self, other)

    def __ror__(self, other: object) -> OneOf:
        return OneOf(other, self)


class _ArrayAnnotation:
    """An array type where it is written, an object for each place: programs keep attributes of their own on it.

    Engines tell such objects by the name of this class. `canonical` gives the type.
    """

    def __init__(self, of: ArrayType):
        self.canonical, self.dtype, self.ndim = of, of.dtype, of.ndim

    def __repr__(self) -> str:
        return repr(self.canonical)

    def __eq__(self, other: object) -> bool:
        return canonical(other) is self.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)

    def __or__(self, other: object) -> OneOf:
        return OneOf(self.canonical, other)

    def __ror__(self, other: object) -> OneOf:
        return OneOf(other, self.canonical)


ValueType = type[Any] | ArrayType
"""The type of a value in kernels: the class of a scalar, compound or struct, or the type of an array."""


class OneOf:
    """`array[float] | None`: several types in an annotation, of which arrays may always be None."""

    def __init__(self, *members: object):
        flat = [part for m in members for part in (m.members if isinstance(m, OneOf) else (m,))]
        self.members: tuple[Any, ...] = tuple(dict.fromkeys(flat))

    def __or__(self, other: object) -> OneOf:
        return OneOf(self, other)

    def __ror__(self, other: object) -> OneOf:
        return OneOf(other, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOf) and set(self.members) == set(other.members)

    def __hash__(self) -> int:
        return hash(frozenset(self.members))

    def __repr__(self) -> str:
        return " | ".join("None" if m is None else type_name(m) for m in self.members)


def without_none(annotation: object) -> Any:
    """The array type of `array[float] | None`; anything else as it is."""
    if not isinstance(annotation, OneOf):
        return annotation.canonical if isinstance(annotation, _ArrayAnnotation) else annotation
    rest = [m for m in annotation.members if m is not None and m is not type(None)]
    return rest[0] if len(rest) == 1 else annotation


def array_annotation(dtype: object, ndim: int = 1) -> Any:
    """An annotation of arrays of elements `dtype` and rank `ndim`, as `wp.array(dtype=float)` is. Raises as below."""
    return _ArrayAnnotation(array_type(dtype, ndim))


def array_type(
    dtype: object, ndim: int = 1, indexed: bool = False, local_shape: tuple[int, ...] | None = None
) -> ArrayType:
    """The array type of elements `dtype` and rank `ndim` (1 to 4).

    `indexed` arrays carry one index array per dimension; `local_shape` marks a fixed array on the
    thread's stack. Raises `TypeError` for a bad element type and `ValueError` for a bad rank.
    """
    if not isinstance(ndim, int) or not 1 <= ndim <= MAX_NDIM:
        raise ValueError(f"array rank is {ndim!r}\nexpected: an integer from 1 to {MAX_NDIM}")
    return _intern(canonical(dtype), ndim, indexed, local_shape)


@per_type
def _intern(dtype: object, ndim: int, indexed: bool, local_shape: tuple[int, ...] | None) -> ArrayType:
    return ArrayType(dtype, ndim, indexed, local_shape)


def descriptor_words(t: ArrayType) -> int:
    """Number of 64-bit words in the descriptor of `t`.

    An indexed array adds for each dimension the pointer to its table, and then the extents of the array behind.
    """
    return 2 + 2 * t.ndim + (2 * t.ndim if t.indexed else 0)


def is_array(t: object) -> bool:
    return isinstance(t, ArrayType)


def type_name(t: object) -> str:
    """The name of a type as messages and dumps print it."""
    if isinstance(t, ArrayType):
        return repr(t)
    if scalars.is_scalar(t):
        return "bool" if t is scalars.bool_ else t.__name__
    if compounds.is_compound(t):
        return t.__name__
    name: str = getattr(t, "__name__", repr(t))
    return name
