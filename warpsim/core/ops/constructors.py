"""Constructors whose type follows from their arguments: `vector(x, y, z)`, `matrix_from_rows(a, b)`.

On the host they make host values; while an expansion is traced they append a `construct`; in kernels
the front end translates them by their `kernel_form`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ComponentCountError, shown
from ..ir.nodes import Value
from ..types import compounds, scalars
from ..types.compounds import scalar_of
from .construct import construct


def _build(to: Any, parts: tuple[Any, ...]) -> Any:
    return construct(*parts, to=to) if any(isinstance(p, Value) for p in parts) else to(*parts)


def _type_of(part: Any) -> Any:
    return part.type if isinstance(part, Value) else type(part)


def _scalar_of(parts: tuple[Any, ...], dtype: Any) -> Any:
    if dtype is not None:
        return scalars.canonical(dtype)
    typed = [scalar_of(_type_of(p)) for p in parts]
    return next((t for t in typed if scalars.is_scalar(t)), scalars.float32)


def _size(parts: tuple[Any, ...]) -> int:
    return sum(compounds.size_of(_type_of(p)) for p in parts)


def _form(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        function.kernel_form = name
        return function

    return mark


PARTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "quaternion": (("quat",), ("ijk", "real"), ("x", "y", "z", "w")),
    "vec6": (("w", "v"), ("wx", "wy", "wz", "vx", "vy", "vz")),
}
"""Names of what a value is made of, by kind; those of six components are for spatial vectors."""


def parts_by_name(kind: str, parts: Sequence[Any], named: dict[str, Any]) -> list[Any] | None:
    """Parts in their order, of which the last ones are named; None for names that the kind does not have."""
    if not named:
        return list(parts)
    for names in PARTS.get(kind, ()):
        rest = names[len(parts) :]
        if set(rest) == set(named):
            return [*parts, *(named[n] for n in rest)]
    return None


@_form("construct")
def vector(*parts: Any, length: int | None = None, dtype: Any = None) -> Any:
    """A vector of its components; `length` and `dtype` are for one value that fills it."""
    return _build(compounds.vector(length or _size(parts), _scalar_of(parts, dtype)), parts)


@_form("construct")
def matrix(*parts: Any, shape: tuple[int, int] | None = None, dtype: Any = None) -> Any:
    """A matrix of its entries row by row; square unless `shape` says otherwise."""
    side = round(_size(parts) ** 0.5)
    return _build(compounds.matrix(shape or (side, side), _scalar_of(parts, dtype)), parts)


@_form("construct")
def quaternion(*parts: Any, dtype: Any = None, **named: Any) -> Any:
    """A quaternion of x, y, z, w, of a vector (ijk) and a number (real), or of another one (quat)."""
    ordered = parts_by_name("quaternion", parts, named)
    if ordered is None:
        known = ", or ".join(", ".join(names) for names in PARTS["quaternion"])
        raise ComponentCountError(f"quaternion got {', '.join(named)}\nexpected: {known}")
    return _build(compounds.quaternion(_scalar_of(tuple(ordered), dtype)), tuple(ordered))


@_form("construct")
def transformation(*parts: Any, p: Any = None, q: Any = None, dtype: Any = None) -> Any:
    """A rigid transform of a position and a rotation."""
    poses = tuple(part for part in (p, q) if part is not None)
    to = compounds.transformation(_scalar_of(parts or poses, dtype))
    if not parts and len(poses) == 1:
        still = to()
        poses = (still.p if p is None else p, still.q if q is None else q)
    return _build(to, parts or poses)


def _check_vectors(what: str, vectors: tuple[Any, ...]) -> None:
    """Raise `ComponentCountError` for a matrix of none, or of what are no vectors of one length."""
    lengths = {getattr(type(v), "shape", None) for v in vectors}
    if len(lengths) != 1 or not all(compounds.is_compound(type(v)) for v in vectors):
        raise ComponentCountError(f"{what} of a matrix are {shown(vectors)}\nexpected: vectors of one length")


@_form("matrix_from_rows")
def matrix_from_rows(*rows: Any) -> Any:
    """A matrix of its row vectors."""
    _check_vectors("rows", rows)
    shape = (len(rows), compounds.size_of(_type_of(rows[0])))
    return _build(compounds.matrix(shape, _scalar_of(rows, None)), rows)


@_form("matrix_from_cols")
def matrix_from_cols(*columns: Any) -> Any:
    """A matrix of its column vectors."""
    _check_vectors("columns", columns)
    extent = compounds.size_of(_type_of(columns[0]))
    parts = tuple(column[i] for i in range(extent) for column in columns)
    return _build(compounds.matrix((extent, len(columns)), _scalar_of(columns, None)), parts)


@_form("identity")
def identity(n: int, dtype: Any = float) -> Any:
    """The identity matrix of side `n`."""
    t = compounds.matrix((n, n), dtype)
    return t.wrap(np.eye(n, dtype=t.dtype))


def transform_expand(t: Any) -> Any:
    """On the host: the transform in single precision that has the seven components of another one, or of a sequence."""
    return compounds.transformation(scalars.float32)(*np.ravel(np.asarray(t)))
