"""The surface at one time on the cells of the largest tile: what tiles add up to, and what follows from it.

A cell (i, j) is the water that rests at (x, y) = (i, j) L / cells; the surface there is (x + D_x, y + D_y, height).
With the gradient F of (x, y) -> (x + D_x, y + D_y) and the slopes s, tangents are (F_xx, F_yx, s_x) and (F_xy, F_yy,
s_y); their cross product is the normal, det F the Jacobian, and the smaller eigenvalue of F's symmetric part, the
stretch, says how far crests are from folding over.

Trough damping takes short waves out of the troughs of long ones: tiles after the first weigh 1 - d s(-height_1 /
scale), with a smooth step s. All derivatives are those of the damped surface.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.language import (
    array, array2d, array4d, clamp, cross, float32, float64, func, int32, kernel, launch, normalize, sqrt,
    standard_names, tid, vector, zeros,
)  # fmt: skip
from .propagate import DISPLACEMENT, HEIGHT, ORBIT, RISE, SLOPE, STRAIN

_OF = standard_names()
COMPLEX = {float32: _OF["vec2f"], float64: _OF["vec2d"]}
TRIPLE = {float32: _OF["vec3f"], float64: _OF["vec3d"]}
QUADRUPLE = {float32: _OF["vec4f"], float64: _OF["vec4d"]}


# ----- what tiles add up to -------------------------------------------------------------------------


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
def short_waves(planes: array4d(dtype=Any), plane: int32, ratios: array(dtype=int32), i: int32, j: int32) -> Any:
    """The sum of one plane over the tiles after the first, where cell (i, j) of the first one is."""
    cells = planes.shape[2]
    total = planes.dtype()
    for c in range(1, planes.shape[1]):
        total = total + planes[plane, c, (i * ratios[c]) % cells, (j * ratios[c]) % cells]
    return total


@kernel
def compose(
    planes: array4d(dtype=Any), ratios: array(dtype=int32), choppiness: array(dtype=float64), damping: Any, scale: Any,
    height: array2d(dtype=Any), displacement: array2d(dtype=Any), normals: array2d(dtype=Any),
    jacobian: array2d(dtype=Any), stretch: array2d(dtype=Any),
):  # fmt: skip
    i, j = tid()
    d, h = planes[DISPLACEMENT, 0, i, j], planes[HEIGHT, 0, i, j]
    s, e = planes[SLOPE, 0, i, j], planes[STRAIN, 0, i, j]
    across = vector(h[1], h[1])
    if planes.shape[1] > 1:
        w, rate = damping_weight(h[0], damping, scale), damping_rate(h[0], damping, scale)
        short = short_waves(planes, DISPLACEMENT, ratios, i, j)
        above = short_waves(planes, HEIGHT, ratios, i, j)
        e = e + w * short_waves(planes, STRAIN, ratios, i, j) + rate * vector(short[0] * s[0], short[1] * s[1])
        across = across + vector(w * above[1], w * above[1]) + rate * vector(short[0] * s[1], short[1] * s[0])
        s = s + w * short_waves(planes, SLOPE, ratios, i, j) + rate * above[0] * s
        d, h = d + w * short, h + w * above
    chop = d.dtype(choppiness[0])
    height[i, j] = h[0]
    displacement[i, j] = chop * d
    fxx, fyy, fxy, fyx = 1.0 + chop * e[0], 1.0 + chop * e[1], chop * across[0], chop * across[1]
    normals[i, j] = normalize(cross(normals.dtype(fxx, fyx, s[0]), normals.dtype(fxy, fyy, s[1])))
    jacobian[i, j] = fxx * fyy - fxy * fyx
    stretch[i, j] = smaller_eigenvalue(fxx, fyy, 0.5 * (fxy + fyx))


@kernel
def compose_velocity(
    planes: array4d(dtype=Any), ratios: array(dtype=int32), choppiness: array(dtype=float64), damping: Any, scale: Any,
    velocity: array2d(dtype=Any),
):  # fmt: skip
    i, j = tid()
    orbit, rise = planes[ORBIT, 0, i, j], planes[RISE, 0, i, j]
    up = rise[0]
    if planes.shape[1] > 1:
        h = planes[HEIGHT, 0, i, j][0]
        w, rate = damping_weight(h, damping, scale), damping_rate(h, damping, scale) * rise[0]
        orbit = orbit + w * short_waves(planes, ORBIT, ratios, i, j)
        orbit = orbit + rate * short_waves(planes, DISPLACEMENT, ratios, i, j)
        up = up + w * short_waves(planes, RISE, ratios, i, j)[0]
        up = up + rate * short_waves(planes, HEIGHT, ratios, i, j)[0]
    chop = orbit.dtype(choppiness[0])
    velocity[i, j] = velocity.dtype(chop * orbit[0], chop * orbit[1], up)


@func
def smaller_eigenvalue(a: Any, b: Any, c: Any) -> Any:
    """Of the symmetric matrix ((a, c), (c, b))."""
    half = 0.5 * (a - b)
    square = half * half + c * c
    return 0.5 * (a + b) - (sqrt(square) if square > 0.0 else square)


# ----- the field ------------------------------------------------------------------------------------


@kernel
def _lift(height: array2d(dtype=Any), displacement: array2d(dtype=Any), step: Any, points: array2d(dtype=Any)):
    i, j = tid()
    d = displacement[i, j]
    points[i, j] = points.dtype(d.dtype(i) * step + d[0], d.dtype(j) * step + d[1], height[i, j])


@dataclass
class Field:
    """The surface at a time [s] on (cells, cells) points, as arrays.

    height [m], displacement (x, y) [m], unit normals, jacobian and stretch of the horizontal displacement, velocity of
    the water [m/s] (None where it was not asked for); planes: what tiles have of each; surface: the argument of kernels
    that ask for points between cells, see `query`.
    """

    time: float
    size: float
    height: array
    displacement: array
    normals: array
    jacobian: array
    stretch: array
    velocity: array | None
    planes: array
    surface: Any = None

    def points(self) -> array:
        """The surface (cells, cells) in space [m], z up."""
        cells = self.height.shape[0]
        made = zeros(self.height.shape, self.normals.dtype, self.height.device, self.height.requires_grad)
        step = self.height.dtype(self.size / cells)
        launch(_lift, self.height.shape, [self.height, self.displacement, step], [made], device=self.height.device)
        return made

    def folded(self) -> float:
        """The part of the surface that is folded over."""
        return float(np.mean(self.jacobian.numpy() < 0.0))
