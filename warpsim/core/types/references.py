"""References: `ref[float]` annotates a parameter through which a function changes what its caller passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .arrays import type_name
from .scalars import canonical


@dataclass(frozen=True)
class Reference:
    """The annotation of a parameter whose new value goes back to the caller; `dtype` is the type of the value."""

    dtype: Any

    @property
    def value_type(self) -> Any:
        return self.dtype

    def __repr__(self) -> str:
        return f"wp.ref[{type_name(self.dtype)}]"


class ref:
    """`wp.ref[T]`: a parameter of type T that a function changes in its caller.

    The caller passes a local, a field, a component or an element of an array. In kernels this is a value that goes in
    and comes back, so gradients go through it.
    """

    def __class_getitem__(cls, dtype: object) -> Reference:
        return Reference(canonical(dtype))
