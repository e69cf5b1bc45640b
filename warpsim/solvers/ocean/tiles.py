"""Tiles: what the surface is where several lie over each other, with short waves damped in the troughs of long ones.

All that is known of a place are twelve numbers, two for every plane of `propagate`. The tiles after the first add up;
trough damping then weighs them by w = 1 - d s(-height_1 / scale), with a smooth step s of the height of the first, so
that derivatives of w join those of the waves.
"""

from __future__ import annotations

from typing import Any

from ...core.language import array, array4d, clamp, float32, float64, func, int32, vector_type
from .propagate import DISPLACEMENT, HEIGHT, MOVING, ORBIT, RISE, SLOPE, STRAIN

vec12f, vec12d = vector_type(12, float32), vector_type(12, float64)


@func
def no_waves(like: float32) -> vec12f:
    return vec12f()


@func(overload_of=no_waves)
def no_waves(like: float64) -> vec12d:
    return vec12d()


@func
def waves_of_cell(planes: array4d(dtype=Any), c: int32, i: int32, j: int32) -> Any:
    """All planes of one tile at one of its cells; zero for those that were not asked for."""
    d, h = planes[DISPLACEMENT, c, i, j], planes[HEIGHT, c, i, j]
    s, e = planes[SLOPE, c, i, j], planes[STRAIN, c, i, j]
    p = no_waves(d[0])
    p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7] = d[0], d[1], h[0], h[1], s[0], s[1], e[0], e[1]
    if planes.shape[0] == MOVING:
        orbit, rise = planes[ORBIT, c, i, j], planes[RISE, c, i, j]
        p[8], p[9], p[10], p[11] = orbit[0], orbit[1], rise[0], rise[1]
    return p


@func
def short_waves(planes: array4d(dtype=Any), ratios: array(dtype=int32), i: int32, j: int32) -> Any:
    """The sum over the tiles after the first, where cell (i, j) of the first one is."""
    cells = planes.shape[2]
    total = no_waves(planes[0, 0, 0, 0][0])
    for c in range(1, planes.shape[1]):
        total = total + waves_of_cell(planes, c, (i * ratios[c]) % cells, (j * ratios[c]) % cells)
    return total


# ----- damping --------------------------------------------------------------------------------------


@func
def damping_weight(height: Any, damping: Any, scale: Any) -> Any:
    """What the height of the long waves leaves of the short ones."""
    u = clamp(-height / scale, type(height)(0.0), type(height)(1.0))
    return 1.0 - damping * u * u * (3.0 - 2.0 * u)


@func
def damping_rate(height: Any, damping: Any, scale: Any) -> Any:
    """The derivative of `damping_weight` by the height."""
    u = clamp(-height / scale, type(height)(0.0), type(height)(1.0))
    return damping * 6.0 * u * (1.0 - u) / scale


@func
def damping_bend(height: Any, damping: Any, scale: Any) -> Any:
    """The derivative of `damping_rate` by the height."""
    u = clamp(-height / scale, type(height)(0.0), type(height)(1.0))
    within = u > 0.0 and u < 1.0
    return damping * (12.0 * u - 6.0) / (scale * scale) if within else 0.0 * u


@func
def combine_waves(p: Any, q: Any, damping: Any, scale: Any) -> tuple[Any, Any]:
    """Long waves p and short ones q at one place: their sum, and d D_y / d x, which damping parts from d D_x / d y."""
    h, sx, sy, rise = p[2], p[4], p[5], p[10]
    w, rate, bend = damping_weight(h, damping, scale), damping_rate(h, damping, scale), damping_bend(h, damping, scale)
    total = p + w * q
    across = total[3] + rate * q[1] * sx
    total[3] = total[3] + rate * q[0] * sy
    total[4], total[5] = total[4] + rate * q[2] * sx, total[5] + rate * q[2] * sy
    total[6], total[7] = total[6] + rate * q[0] * sx, total[7] + rate * q[1] * sy
    total[8], total[9] = total[8] + rate * rise * q[0], total[9] + rate * rise * q[1]
    total[10] = total[10] + rate * rise * q[2]
    total[11] = total[11] + 2.0 * rate * rise * q[10] + (rate * p[11] + bend * rise * rise) * q[2]
    return total, across
