"""The surface at any point, inside kernels: the choppy map is inverted, then everything is interpolated.

`ocean_surface(surface, x, y)` looks for the water (u, v) at rest with (u, v) + D(u, v) = (x, y) by Newton's method,
with the interpolated gradient of the map. Planes are interpolated by cubic splines through cells (Catmull and Rom
1974), which are smooth enough for velocities and gradients. Where crests fold over there is no such water, or more
than one: a fixed number of steps is taken, and the answer says that it did not get there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked, numbers
from ...core.language import array, array4d, bool_, float32, float64, int32, vec2d, vec2f
from ...core.language import abs, floor, func, kernel, launch, max, struct, tid, vector, zeros
from ...errors import ArrayError, instance, shown
from .field import Field
from .propagate import DISPLACEMENT, HEIGHT, MOVING, STILL
from .tiles import combine_waves, damping_rate, damping_weight, no_waves

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SUPPORT = 4  # points that a cubic takes along an axis
_STEPS = 20  # of Newton's method, at most: four are enough where nothing is about to fold
_CLOSE = 1.0e-3  # cells between the point and where the water found stands
_LEAST = 0.05  # of a Jacobian that is divided by
_FAR = 1.0e30


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
    surface = Surface() if planes.dtype is vec2f else SurfaceD()
    surface.planes, surface.ratios, surface.choppiness = planes, ratios, choppiness
    surface.support = SUPPORT  # as a number at run time it keeps kernels small
    surface.damping, surface.scale, surface.size = damping, scale, size
    return surface


def check_surface(surface: Surface | SurfaceD) -> None:
    """Raise `ArrayError` for what is no surface of a field, or has fields that do not belong together."""
    instance(surface, (Surface, SurfaceD), "surface")
    arrays = surface.planes, surface.ratios, surface.choppiness
    planes, ratios, choppiness = (() if a is None else a.shape for a in arrays)
    moving = len(planes) == 4 and planes[0] in (STILL, MOVING) and planes[2] == planes[3] > 0
    if not moving or ratios != planes[1:2] or choppiness != (1,) or surface.support != SUPPORT:
        raise ArrayError(f"surface is {shown(surface)}\nexpected: `field.surface` as `Ocean.evaluate` made it")


# ----- interpolation --------------------------------------------------------------------------------


@func
def cubic_weights(t: Any) -> Any:
    """The weights of points 0 to 3 at t between points 1 and 2 (Catmull and Rom 1974)."""
    return vector(
        t * (-0.5 + t * (1.0 - 0.5 * t)), 1.0 + t * t * (-2.5 + 1.5 * t), t * (0.5 + t * (2.0 - 1.5 * t)),
        t * t * (-0.5 + 0.5 * t),
    )  # fmt: skip


@func
def cubic_slopes(t: Any) -> Any:
    """The derivatives of `cubic_weights` by t."""
    return vector(
        -0.5 + t * (2.0 - 1.5 * t), t * (-5.0 + 4.5 * t), 0.5 + t * (4.0 - 4.5 * t), t * (-1.0 + 1.5 * t)
    )  # fmt: skip


@func
def inside(i: int32, cells: int32) -> int32:
    """An index of cells that repeat themselves."""
    rest = i % cells
    return rest if rest >= 0 else rest + cells


@func
def weighted_sum(s: Any, plane: int32, c: int32, u: Any, v: Any, across: Any, along: Any) -> Any:
    """The sum of one plane of a tile over 4 x 4 cells around (u, v), with weights in both directions."""
    cells = s.planes.shape[2]
    i, j = int32(floor(u)) - 1, int32(floor(v)) - 1
    total = s.planes.dtype()
    for a in range(s.support):
        for b in range(s.support):
            total = total + across[a] * along[b] * s.planes[plane, c, inside(i + a, cells), inside(j + b, cells)]
    return total


@func
def waves_at(s: Any, c: int32, u: Any, v: Any) -> Any:
    """All planes of one tile at (u, v) [cells of the first tile], as `tiles` counts them."""
    x, y = u * type(u)(s.ratios[c]), v * type(v)(s.ratios[c])
    across, along = cubic_weights(x - floor(x)), cubic_weights(y - floor(y))
    total = no_waves(s.size)
    for plane in range(s.planes.shape[0]):
        value = weighted_sum(s, plane, c, x, y, across, along)
        total[2 * plane], total[2 * plane + 1] = value[0], value[1]
    return total


@func
def all_waves_at(s: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """The twelve numbers of all tiles together, and d D_y / d x."""
    p = waves_at(s, 0, u, v)
    across = p[3]
    if s.planes.shape[1] > 1:
        short = no_waves(s.size)
        for c in range(1, s.planes.shape[1]):
            short = short + waves_at(s, c, u, v)
        p, across = combine_waves(p, short, s.damping, s.scale)
    return p, across


# ----- the inverse of the choppy map ------------------------------------------------------------------


@func
def spline(s: Any, plane: int32, c: int32, u: Any, v: Any) -> tuple[Any, Any, Any]:
    """One plane of one tile at (u, v), and its derivatives by u and by v, exact for the splines."""
    ratio = type(u)(s.ratios[c])
    x, y = u * ratio, v * ratio
    across, along = cubic_weights(x - floor(x)), cubic_weights(y - floor(y))
    by_u = weighted_sum(s, plane, c, x, y, cubic_slopes(x - floor(x)), along)
    by_v = weighted_sum(s, plane, c, x, y, across, cubic_slopes(y - floor(y)))
    return weighted_sum(s, plane, c, x, y, across, along), ratio * by_u, ratio * by_v


@func
def displacement_at(s: Any, u: Any, v: Any) -> tuple[Any, Any, Any]:
    """The displacement of all tiles at (u, v), and its derivatives by u and by v."""
    d, d_u, d_v = spline(s, DISPLACEMENT, 0, u, v)
    if s.planes.shape[1] > 1:
        h, h_u, h_v = spline(s, HEIGHT, 0, u, v)
        w, rate = damping_weight(h[0], s.damping, s.scale), damping_rate(h[0], s.damping, s.scale)
        for c in range(1, s.planes.shape[1]):
            short, short_u, short_v = spline(s, DISPLACEMENT, c, u, v)
            d = d + w * short
            d_u = d_u + w * short_u + rate * h_u[0] * short
            d_v = d_v + w * short_v + rate * h_v[0] * short
    return d, d_u, d_v


@func
def step_back(fu: Any, fv: Any, miss: Any) -> Any:
    """Newton's step for a miss, with the columns of the gradient; near a fold, a full one would leave the crest."""
    det = max(fu[0] * fv[1] - fv[0] * fu[1], type(miss[0])(_LEAST))
    return vector((fv[1] * miss[0] - fv[0] * miss[1]) / det, (fu[0] * miss[1] - fu[1] * miss[0]) / det)


@func(nondiff="the point that Newton's method found has the derivative of the step that `water_point` takes from it")
def resting_point(s: Any, target: Any, chop: Any) -> tuple[Any, Any, Any, Any]:
    """(u, v) [cells] of the water that stands at a target [cells], the columns of the map's gradient there, and the
    miss [cells]."""
    place, miss = target, type(chop)(_FAR)
    fu, fv = vector(type(chop)(1.0), type(chop)(0.0)), vector(type(chop)(0.0), type(chop)(1.0))
    for _ in range(_STEPS):
        d, d_u, d_v = displacement_at(s, place[0], place[1])
        fu, fv = vector(1.0 + chop * d_u[0], chop * d_u[1]), vector(chop * d_v[0], 1.0 + chop * d_v[1])
        away = place + chop * d - target
        before = miss
        miss = max(abs(away[0]), abs(away[1]))
        if miss < _CLOSE and miss >= 0.25 * before:
            break  # rounding lets it come no closer
        place = place - step_back(fu, fv, away)
    return place, fu, fv, miss


@func
def water_point(s: Any, x: Any, y: Any) -> tuple[Any, bool_]:
    """(u, v) [cells] of the water over (x, y) [m], and whether it was found: one more step of Newton's method, by
    implicit differentiation with all derivatives of the point to where it stands and to the planes."""
    cells = type(s.size)(s.planes.shape[2])
    target = vector((x / s.size - floor(x / s.size)) * cells, (y / s.size - floor(y / s.size)) * cells)
    chop = type(s.size)(s.choppiness[0]) * cells / s.size
    place, fu, fv, miss = resting_point(s, target, chop)
    p, _across = all_waves_at(s, place[0], place[1])
    left = place + chop * vector(p[0], p[1]) - target
    return place - step_back(fu, fv, left), miss < _CLOSE and fu[0] * fv[1] > fv[0] * fu[1]


# ----- what users ask for -----------------------------------------------------------------------------


@func
def ocean_surface(s: Any, x: Any, y: Any) -> tuple[Any, Any, Any, Any, bool_]:
    """The surface over (x, y) [m]: height [m], slopes (d z / d x, d z / d y), velocity of the water [m/s], vertical
    acceleration [m/s^2] of the surface, and whether it was found.

    s: `field.surface`, of a precision that x and y have too. Velocity and acceleration are zero where the field was
    evaluated without velocity. Not found: where crests fold over; the numbers are then those of water nearby.
    """
    place, converged = water_point(s, x, y)
    p, across = all_waves_at(s, place[0], place[1])
    chop = type(s.size)(s.choppiness[0])
    fxx, fyy, fxy, fyx = 1.0 + chop * p[6], 1.0 + chop * p[7], chop * p[3], chop * across
    det = max(fxx * fyy - fxy * fyx, type(chop)(_LEAST))
    slope = vector((fyy * p[4] - fyx * p[5]) / det, (fxx * p[5] - fxy * p[4]) / det)
    return p[2], slope, vector(chop * p[8], chop * p[9], p[10]), p[11], converged


# ----- from Python ------------------------------------------------------------------------------------


@kernel
def _heights(s: Any, x: array(dtype=Any), y: array(dtype=Any), heights: array(dtype=Any)):
    i = tid()
    z, _slope, _velocity, _acceleration, converged = ocean_surface(s, x[i], y[i])
    heights[i] = z if converged else type(z)(math.nan)


@checked
def query_heights(field: Field, x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Heights [m] of a field over points x, y, of one shape [m]; NaN where crests fold over.

    Raises `ArrayError` where x and y have different shapes.
    """
    dtype, device = field.height.dtype, field.height.device
    x, y = numbers(x, "x"), numbers(y, "y")
    if x.shape != y.shape:
        raise ArrayError(f"x has shape {x.shape}, y {y.shape}\nexpected: one shape, a pair for every point")
    places = [array(a.ravel(), dtype=dtype, device=device) for a in (x, y)]
    heights = zeros(x.size, dtype, device)
    launch(_heights, x.size, [field.surface, *places], [heights], device=device)
    return heights.numpy().reshape(x.shape)
