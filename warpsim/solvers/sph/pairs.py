"""Offsets and distances of particle pairs, defined for a particle and itself as well."""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, Vec, dot, func, sqrt
from ...geometry.hash_grid.neighbors import nearest_image

_TINY = 1.0e-12


@func
def squared_distance(d: Vec[3, Float], h: Float) -> Float:
    """The square of the length of an offset [m^2]; of no offset a little, so that its root has a derivative, 0."""
    return dot(d, d) + h.dtype(_TINY) * h * h


@func
def distance(d: Vec[3, Float], h: Float) -> Float:
    """The length of an offset [m], a millionth of h at least."""
    return sqrt(squared_distance(d, h))


@functools.cache
def offset_of(periodic: bool) -> Any:
    """The kernel function of the offset from b to a [m], the shortest one in a periodic box."""

    @func
    def offset(a: Any, b: Any, period: Any) -> Any:
        if periodic:
            return nearest_image(a - b, period)
        return a - b

    return offset
