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
    vector, zeros,
)  # fmt: skip
from .field import Field, damping_rate, damping_weight
from .propagate import DISPLACEMENT, HEIGHT, MOVING, ORBIT, RISE, SLOPE, STRAIN

_STEPS = 20  # of Newton's method: four are enough where nothing is about to fold
_CLOSE = 1.0e-3  # cells between the point and where the water found stands


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
def sample_plane(s: Any, plane: int32, c: int32, u: Any, v: Any) -> Any:
    """A plane of one tile at (u, v) [cells], which repeats itself."""
    cells = s.planes.shape[2]
    low_u, low_v = floor(u), floor(v)
    i, j = int32(low_u) - 1, int32(low_v) - 1
    total = s.planes.dtype()
    for a in range(s.support):
        row = (i + a) % cells
        wa = cubic_weight(u - low_u, a)
        for b in range(s.support):
            column = (j + b) % cells
            w = wa * cubic_weight(v - low_v, b)
            total = (
                total
                + w * s.planes[plane, c, row if row >= 0 else row + cells, column if column >= 0 else column + cells]
            )
    return total


@func
def long_part(s: Any, plane: int32, u: Any, v: Any) -> Any:
    return sample_plane(s, plane, 0, u, v)


@func
def short_part(s: Any, plane: int32, u: Any, v: Any) -> Any:
    """The sum over the tiles after the first."""
    total = s.planes.dtype()
    for c in range(1, s.planes.shape[1]):
        ratio = type(u)(s.ratios[c])
        total = total + sample_plane(s, plane, c, u * ratio, v * ratio)
    return total


@func
def blended(s: Any, plane: int32, u: Any, v: Any, weight: Any) -> Any:
    """A plane of all tiles; those after the first have a weight."""
    total = long_part(s, plane, u, v)
    if s.planes.shape[1] > 1:
        total = total + weight * short_part(s, plane, u, v)
    return total


# ----- the inverse of the choppy map ------------------------------------------------------------------


@func
def resting_point(s: Any, x: Any, y: Any) -> Any:
    """(u, v) [cells] of the water that stands over (x, y), and how far [cells] it misses the point."""
    cells = s.planes.shape[2]
    per_meter = type(s.size)(cells) / s.size
    tx, ty = wrapped_cells(x, s.size) * per_meter, wrapped_cells(y, s.size) * per_meter
    chop = type(s.size)(s.choppiness[0]) * per_meter
    u, v = tx, ty
    for _ in range(_STEPS):
        w = weight_at(s, u, v)
        d, h = blended(s, DISPLACEMENT, u, v, w), blended(s, HEIGHT, u, v, w)
        e = blended(s, STRAIN, u, v, w)
        miss_u, miss_v = u + chop * d[0] - tx, v + chop * d[1] - ty
        stretch = chop / per_meter
        fxx, fyy, fxy = 1.0 + stretch * e[0], 1.0 + stretch * e[1], stretch * h[1]
        det = fxx * fyy - fxy * fxy
        det = max(det, type(det)(0.1))  # near a fold, a step that is too long would leave the crest
        u = u - (fyy * miss_u - fxy * miss_v) / det
        v = v - (fxx * miss_v - fxy * miss_u) / det
    w = weight_at(s, u, v)
    d = blended(s, DISPLACEMENT, u, v, w)
    return vector(u, v, max(abs(u + chop * d[0] - tx), abs(v + chop * d[1] - ty)))


@func
def wrapped_cells(x: Any, size: Any) -> Any:
    """A coordinate in the first tile."""
    return x - size * floor(x / size)


@func
def weight_at(s: Any, u: Any, v: Any) -> Any:
    """What trough damping leaves of short waves."""
    if s.planes.shape[1] > 1:
        return damping_weight(long_part(s, HEIGHT, u, v)[0], s.damping, s.scale)
    return type(s.size)(1.0)


# ----- what users ask for -----------------------------------------------------------------------------


@func
def ocean_surface(s: Any, x: Any, y: Any) -> tuple[Any, Any, Any, bool_]:
    """The surface over (x, y) [m]: height [m], slopes d z / d x and d z / d y, velocity of water [m/s], whether found.

    s: `field.surface`, of a precision that x and y have too. The velocity is zero where the field was evaluated without
    it. Not found: where crests fold over; the numbers are then those of water nearby.
    """
    p = resting_point(s, x, y)
    u, v = p[0], p[1]
    w = weight_at(s, u, v)
    h, slope, e = blended(s, HEIGHT, u, v, w), blended(s, SLOPE, u, v, w), blended(s, STRAIN, u, v, w)
    if s.planes.shape[1] > 1:
        rate = damping_rate(long_part(s, HEIGHT, u, v)[0], s.damping, s.scale)
        slope = slope + rate * short_part(s, HEIGHT, u, v)[0] * long_part(s, SLOPE, u, v)
    chop = type(s.size)(s.choppiness[0])
    fxx, fyy, fxy = 1.0 + chop * e[0], 1.0 + chop * e[1], chop * h[1]
    det = fxx * fyy - fxy * fxy
    safe = max(det, type(det)(0.05))
    gradient = vector((fyy * slope[0] - fxy * slope[1]) / safe, (fxx * slope[1] - fxy * slope[0]) / safe)
    velocity = vector(type(x)(0.0), type(x)(0.0), type(x)(0.0))
    if s.planes.shape[0] == MOVING:
        orbit, rise = blended(s, ORBIT, u, v, w), blended(s, RISE, u, v, w)
        velocity = vector(chop * orbit[0], chop * orbit[1], rise[0])
    return h[0], gradient, velocity, p[2] < _CLOSE and det > 0.0


@func
def ocean_acceleration(s: Any, x: Any, y: Any) -> Any:
    """The vertical acceleration [m/s^2] of the surface over (x, y) [m]; zero without velocities."""
    result = type(x)(0.0)
    if s.planes.shape[0] == MOVING:
        p = resting_point(s, x, y)
        result = blended(s, RISE, p[0], p[1], weight_at(s, p[0], p[1]))[1]
    return result


# ----- from Python ------------------------------------------------------------------------------------


@kernel
def _heights(s: Any, x: array(dtype=Any), y: array(dtype=Any), heights: array(dtype=Any)):
    i = tid()
    z, _slope, _velocity, found = ocean_surface(s, x[i], y[i])
    heights[i] = z if found else type(z)(math.nan)


def query_heights(field: Field, x: Any, y: Any) -> np.ndarray:
    """Heights [m] of a field over points x, y (n,) [m]; NaN where crests fold over."""
    dtype, device = field.height.dtype, field.height.device
    places = [array(np.asarray(a), dtype=dtype, device=device) for a in (x, y)]
    heights = zeros(len(x), dtype, device)
    launch(_heights, len(x), [field.surface, *places], [heights], device=device)
    return heights.numpy()
