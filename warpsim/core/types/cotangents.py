"""Differentiable types: those whose values have a derivative, and so a cotangent."""

from __future__ import annotations

from . import scalars, structs
from .arrays import ArrayType
from .compounds import scalar_of


def has_cotangent(t: object) -> bool:
    """Whether values of the type have a derivative: floats, compounds of them, structs with such fields."""
    if structs.is_struct(t):
        return any(has_cotangent(f) for f in t.fields.values())
    return not isinstance(t, (ArrayType, tuple)) and scalars.is_float(scalar_of(t))
