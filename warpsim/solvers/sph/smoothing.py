"""Smoothing kernels: cubic spline, Wendland C2 and C4, quintic spline, in a plane and in space.

J. Monaghan and J. Lattanzio 1985 (cubic), H. Wendland 1995, J. Morris 1996 (quintic). h is the smoothing length; the
support ends at 2 h, that of the quintic spline at 3 h. `slope` is the derivative by the distance r, divided by r: it is
finite at r = 0, and the gradient at an offset d is slope(|d|, h) d.

Sums over neighbours take the bare shapes, of q = r / h and without the factor that all neighbours share. Constants come
first in `max`: it is then one instruction.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

from ...core.language import Float, func, max


@func
def cubic(q: Float) -> Float:
    """Cubic B-spline."""
    outer = max(q.dtype(0.0), 2.0 - q)
    inner = max(q.dtype(0.0), 1.0 - q)
    return 0.25 * outer * outer * outer - inner * inner * inner


@func
def cubic_slope(q: Float) -> Float:
    """Derivative by q, divided by q."""
    if q < 1.0:
        return 2.25 * q - 3.0
    outer = max(q.dtype(0.0), 2.0 - q)
    return -0.75 * outer * outer / q


@func
def wendland2(q: Float) -> Float:
    """Wendland's function of smoothness C2, sixteen times."""
    s = max(q.dtype(0.0), 2.0 - q)
    square = s * s
    return square * square * (2.0 * q + 1.0)


@func
def wendland2_slope(q: Float) -> Float:
    """Derivative of (1 - q / 2)^4 (2 q + 1) by q, divided by q, -8 / 5 times."""
    s = max(q.dtype(0.0), 2.0 - q)
    return s * s * s


@func
def wendland4(q: Float) -> Float:
    """Wendland's function of smoothness C4, 64 times."""
    s = max(q.dtype(0.0), 2.0 - q)
    cube = s * s * s
    return cube * cube * ((q.dtype(35.0 / 12.0) * q + 3.0) * q + 1.0)


@func
def wendland4_slope(q: Float) -> Float:
    """Derivative of (1 - q / 2)^6 (35 / 12 q^2 + 3 q + 1) by q, divided by q, -96 / 7 times."""
    s = max(q.dtype(0.0), 2.0 - q)
    square = s * s
    return square * square * s * (5.0 * q + 2.0)


@func
def fourth(x: Float) -> Float:
    """x^4."""
    return (x * x) * (x * x)


@func
def quintic(q: Float) -> Float:
    """Quintic B-spline."""
    a = max(q.dtype(0.0), 3.0 - q)
    b = max(q.dtype(0.0), 2.0 - q)
    c = max(q.dtype(0.0), 1.0 - q)
    return a * fourth(a) - 6.0 * b * fourth(b) + 15.0 * c * fourth(c)


@func
def quintic_slope(q: Float) -> Float:
    """Derivative by q, divided by q."""
    if q < 1.0:
        return (120.0 - 50.0 * q) * q * q - 120.0
    a = max(q.dtype(0.0), 3.0 - q)
    b = max(q.dtype(0.0), 2.0 - q)
    return (30.0 * fourth(b) - 5.0 * fourth(a)) / q


@dataclass(frozen=True)
class Smoothing:
    """A kernel in 2 or 3 dimensions. value(r, h) [1/m^dim], slope(r, h) [1/m^(dim + 2)]: kernel functions.

    value is value_scale(h) * bare_value(r / h), slope is slope_scale(h) * bare_slope(r / h). support: where it ends, in
    h.
    """

    value: Any
    slope: Any
    bare_value: Any
    bare_slope: Any
    value_scale: Any
    slope_scale: Any
    support: float


@dataclass(frozen=True)
class _Shape:
    """Functions of q, each without a factor of its own; factors: of both, by dimension."""

    value: Any
    slope: Any
    support: float
    factors: dict[int, float]
    value_factor: float = 1.0
    slope_factor: float = 1.0


_SHAPES = {
    "cubic": _Shape(cubic, cubic_slope, 2.0, {2: 10.0 / (7.0 * math.pi), 3: 1.0 / math.pi}),
    "wendland2": _Shape(
        wendland2, wendland2_slope, 2.0, {2: 7.0 / (4.0 * math.pi), 3: 21.0 / (16.0 * math.pi)}, 1.0 / 16.0, -5.0 / 8.0
    ),
    "wendland4": _Shape(
        wendland4, wendland4_slope, 2.0, {2: 9.0 / (4.0 * math.pi), 3: 495.0 / (256.0 * math.pi)}, 1.0 / 64.0,
        -7.0 / 96.0,
    ),
    "quintic": _Shape(quintic, quintic_slope, 3.0, {2: 7.0 / (478.0 * math.pi), 3: 1.0 / (120.0 * math.pi)}),
}  # fmt: skip

KERNELS = tuple(_SHAPES)


@functools.cache
def smoothing(name: str, dim: int) -> Smoothing:
    """The kernel of a name in 2 or 3 dimensions; each is made once."""
    shape, space = _SHAPES[name], dim == 3
    bare_value, bare_slope = shape.value, shape.slope
    value_factor, slope_factor = (shape.factors[dim] * f for f in (shape.value_factor, shape.slope_factor))

    @func
    def value_scale(h: Float) -> Float:
        scale = h.dtype(value_factor) / (h * h)
        if space:
            scale = scale / h
        return scale

    @func
    def slope_scale(h: Float) -> Float:
        square = h * h
        scale = h.dtype(slope_factor) / (square * square)
        if space:
            scale = scale / h
        return scale

    @func
    def value(r: Float, h: Float) -> Float:
        return value_scale(h) * bare_value(r * (1.0 / h))

    @func
    def slope(r: Float, h: Float) -> Float:
        return slope_scale(h) * bare_slope(r * (1.0 / h))

    return Smoothing(value, slope, bare_value, bare_slope, value_scale, slope_scale, shape.support)
