"""The surface at any point, inside kernels: the choppy map is inverted, then everything is interpolated.

`ocean_surface(surface, x, y)` looks for the water (u, v) at rest with (u, v) + D(u, v) = (x, y) by Newton's method,
with the interpolated gradient of the map. Planes are interpolated by cubic splines through cells (Catmull and Rom
1974), which are smooth enough for velocities and gradients. Where crests fold over there is no such water, or more
than one: a fixed number of steps is taken, and the answer says that it did not get there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.language import (
    abs, array, array4d, bool_, float32, float64, floor, func, int32, kernel, launch, max, struct, tid, vec2d, vec2f,
    vector, vector_type, zeros,
)  # fmt: skip
from .field import Field, damping_rate, damping_weight
from .propagate import DISPLACEMENT, HEIGHT

_STEPS = 20  # of Newton's method: four are enough where nothing is about to fold
_CLOSE = 1.0e-3  # cells between the point and where the water found stands
_LEAST = 0.05  # of a Jacobian that is divided by

vec12f, vec12d = vector_type(12, float32), vector_type(12, float64)


@struct
class Surface:
    """What kernels take: planes of all tiles, and what a point needs to find its place in them."""

    planes: array4d(dtype=vec2f)
    ratios: array(dtype=int32)
    choppiness: array(dtype=float64)
    support: int32
    damping: float32
    scale: float32
    size: float32


@struct
class SurfaceD:
    """The same in float64."""

    planes: array4d(dtype=vec2d)
    ratios: array(dtype=int32)
    choppiness: array(dtype=float64)
    support: int32
    damping: float64
    scale: float64
    size: float64


def surface_of(planes: array, ratios: array, choppiness: array, damping: float, scale: float, size: float) -> Any:
    """The struct for the planes of a field."""
    made = Surface() if planes.dtype is vec2f else SurfaceD()
    made.planes, made.ratios, made.choppiness = planes, ratios, choppiness
    made.support = 4  # points that a cubic takes along an axis; as a number at run time it keeps kernels small
    made.damping, made.scale, made.size = damping, scale, size
    return made


# ----- interpolation --------------------------------------------------------------------------------


@func
def no_planes(like: float32) -> vec12f:
    return vec12f()


@func(overload_of=no_planes)
def no_planes(like: float64) -> vec12d:
    return vec12d()


@func
def cubic_weight(t: Any, n: int32) -> Any:
    """The weight of point n = 0 ... 3 at t between points 1 and 2 (Catmull and Rom 1974)."""
    if n == 0:
        return t * (-0.5 + t * (1.0 - 0.5 * t))
    if n == 1:
        return 1.0 + t * t * (-2.5 + 1.5 * t)
    if n == 2:
        return t * (0.5 + t * (2.0 - 1.5 * t))
    return t * t * (-0.5 + 0.5 * t)


@func
def cubic_slope(t: Any, n: int32) -> Any:
    """The derivative of `cubic_weight` by t."""
    if n == 0:
        return -0.5 + t * (2.0 - 1.5 * t)
    if n == 1:
        return t * (-5.0 + 4.5 * t)
    if n == 2:
        return 0.5 + t * (4.0 - 4.5 * t)
    return t * (-1.0 + 1.5 * t)


@func
def inside(i: int32, cells: int32) -> int32:
    """An index of cells that repeat themselves."""
    rest = i % cells
    return rest if rest >= 0 else rest + cells


@func
def sample_tile(s: Any, c: int32, u: Any, v: Any) -> Any:
    """All planes of one tile at (u, v) [cells]: plane p has the numbers 2 p and 2 p + 1."""
    cells = s.planes.shape[2]
    i, j = int32(floor(u)) - 1, int32(floor(v)) - 1
    total = no_planes(s.size)
    for a in range(s.support):
        for b in range(s.support):
            w = cubic_weight(u - floor(u), a) * cubic_weight(v - floor(v), b)
            for plane in range(s.planes.shape[0]):
                value = s.planes[plane, c, inside(i + a, cells), inside(j + b, cells)]
                total[2 * plane] = total[2 * plane] + w * value[0]
                total[2 * plane + 1] = total[2 * plane + 1] + w * value[1]
    return total


@func
def short_tiles(s: Any, u: Any, v: Any) -> Any:
    """The sum over the tiles after the first."""
    total = no_planes(s.size)
    for c in range(1, s.planes.shape[1]):
        total = total + sample_tile(s, c, u * type(u)(s.ratios[c]), v * type(u)(s.ratios[c]))
    return total


# ----- the inverse of the choppy map ------------------------------------------------------------------


@func
def position_and_gradient(s: Any, c: int32, u: Any, v: Any) -> Any:
    """Of one tile: D_x, D_y, their derivatives by u and by v, the height and its derivatives, exact for the splines."""
    cells = s.planes.shape[2]
    i, j = int32(floor(u)) - 1, int32(floor(v)) - 1
    total = no_planes(s.size)
    for a in range(s.support):
        for b in range(s.support):
            wu, wv = cubic_weight(u - floor(u), a), cubic_weight(v - floor(v), b)
            du, dv = cubic_slope(u - floor(u), a) * wv, wu * cubic_slope(v - floor(v), b)
            d = s.planes[DISPLACEMENT, c, inside(i + a, cells), inside(j + b, cells)]
            h = s.planes[HEIGHT, c, inside(i + a, cells), inside(j + b, cells)][0]
            for k in range(2):
                total[k] = total[k] + wu * wv * d[k]
                total[2 + k] = total[2 + k] + du * d[k]
                total[4 + k] = total[4 + k] + dv * d[k]
            total[6] = total[6] + wu * wv * h
            total[7] = total[7] + du * h
            total[8] = total[8] + dv * h
    return total


@func
def damped(s: Any, u: Any, v: Any) -> Any:
    """`position_and_gradient` of all tiles: the sum of the long one and of what damping leaves of the short ones."""
    total = position_and_gradient(s, 0, u, v)
    w, rate = damping_weight(total[6], s.damping, s.scale), damping_rate(total[6], s.damping, s.scale)
    hu, hv = total[7], total[8]
    for c in range(1, s.planes.shape[1]):
        ratio = type(u)(s.ratios[c])
        part = position_and_gradient(s, c, u * ratio, v * ratio)
        for k in range(2):
            total[k] = total[k] + w * part[k]
            total[2 + k] = total[2 + k] + w * ratio * part[2 + k] + rate * hu * part[k]
            total[4 + k] = total[4 + k] + w * ratio * part[4 + k] + rate * hv * part[k]
    return total


@func(nondiff="the point that Newton's method found has the derivative of the step that `settled` takes from it")
def resting_point(s: Any, tx: Any, ty: Any) -> Any:
    """(u, v) [cells] of the water that stands at (tx, ty) [cells], the gradient of the map, and the miss [cells]."""
    chop = type(s.size)(s.choppiness[0]) * type(s.size)(s.planes.shape[2]) / s.size
    u, v = tx, ty
    fuu, fuv, fvu, fvv = type(u)(1.0), type(u)(0.0), type(u)(0.0), type(u)(1.0)
    miss = type(u)(0.0)
    for _ in range(_STEPS):
        d = damped(s, u, v)
        fuu, fuv, fvu, fvv = 1.0 + chop * d[2], chop * d[4], chop * d[3], 1.0 + chop * d[5]
        mu, mv = u + chop * d[0] - tx, v + chop * d[1] - ty
        miss = max(abs(mu), abs(mv))
        det = max(fuu * fvv - fuv * fvu, type(u)(_LEAST))  # near a fold, a longer step would leave the crest
        u = u - (fvv * mu - fuv * mv) / det
        v = v - (fuu * mv - fvu * mu) / det
    found = no_planes(s.size)
    found[0], found[1], found[2], found[3], found[4], found[5], found[6] = u, v, fuu, fuv, fvu, fvv, miss
    return found


@func
def settled(s: Any, x: Any, y: Any) -> Any:
    """(u, v) [cells] of the water over (x, y) [m], 1 if found: one more step of Newton's method, by implicit
    differentiation with all derivatives of the point to where it stands and to the planes."""
    cells = type(s.size)(s.planes.shape[2])
    tx, ty = (x / s.size - floor(x / s.size)) * cells, (y / s.size - floor(y / s.size)) * cells
    p = resting_point(s, tx, ty)
    u, v = p[0], p[1]
    d = sample_tile(s, 0, u, v)
    if s.planes.shape[1] > 1:
        d = d + damping_weight(d[2 * HEIGHT], s.damping, s.scale) * short_tiles(s, u, v)
    chop = type(s.size)(s.choppiness[0]) * cells / s.size
    mu, mv = u + chop * d[0] - tx, v + chop * d[1] - ty
    det = p[2] * p[5] - p[3] * p[4]
    safe = max(det, type(det)(_LEAST))
    found = type(det)(1.0) if p[6] < _CLOSE and det > 0.0 else type(det)(0.0)
    return vector(u - (p[5] * mu - p[3] * mv) / safe, v - (p[2] * mv - p[4] * mu) / safe, found)


# ----- what users ask for -----------------------------------------------------------------------------


@func
def ocean_surface(s: Any, x: Any, y: Any) -> tuple[Any, Any, Any, Any, bool_]:
    """The surface over (x, y) [m]: height [m], slopes (d z / d x, d z / d y), velocity of the water [m/s], vertical
    acceleration [m/s^2] of the surface, and whether it was found.

    s: `field.surface`, of a precision that x and y have too. Velocity and acceleration are zero where the field was
    evaluated without velocity. Not found: where crests fold over; the numbers are then those of water nearby.
    """
    q = settled(s, x, y)
    p = sample_tile(s, 0, q[0], q[1])
    if s.planes.shape[1] > 1:
        short = short_tiles(s, q[0], q[1])
        w = damping_weight(p[2], s.damping, s.scale)
        rate = damping_rate(p[2], s.damping, s.scale)
        slope_x, slope_y, rise = p[4], p[5], p[10]
        p = p + w * short
        p[4], p[5] = p[4] + rate * short[2] * slope_x, p[5] + rate * short[2] * slope_y
        for k in range(2):
            p[8 + k] = p[8 + k] + rate * rise * short[k]
        p[10] = p[10] + rate * rise * short[2]
    chop = type(s.size)(s.choppiness[0])
    fxx, fyy, fxy = 1.0 + chop * p[6], 1.0 + chop * p[7], chop * p[3]
    det = max(fxx * fyy - fxy * fxy, type(chop)(_LEAST))
    slope = vector((fyy * p[4] - fxy * p[5]) / det, (fxx * p[5] - fxy * p[4]) / det)
    return p[2], slope, vector(chop * p[8], chop * p[9], p[10]), p[11], q[2] > 0.0


# ----- from Python ------------------------------------------------------------------------------------


@kernel
def _heights(s: Any, x: array(dtype=Any), y: array(dtype=Any), heights: array(dtype=Any)):
    i = tid()
    z, _slope, _velocity, _acceleration, found = ocean_surface(s, x[i], y[i])
    heights[i] = z if found else type(z)(math.nan)


def query_heights(field: Field, x: Any, y: Any) -> np.ndarray:
    """Heights [m] of a field over points x, y (n,) [m]; NaN where crests fold over."""
    dtype, device = field.height.dtype, field.height.device
    places = [array(np.asarray(a), dtype=dtype, device=device) for a in (x, y)]
    heights = zeros(len(x), dtype, device)
    launch(_heights, len(x), [field.surface, *places], [heights], device=device)
    return heights.numpy()
