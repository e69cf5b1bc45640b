"""The surface at one time on the cells of the largest tile: heights, normals, and how far crests are from folding.

A cell (i, j) is the water that rests at (x, y) = (i, j) L / cells; the surface there is (x + D_x, y + D_y, height).
With the gradient F of (x, y) -> (x + D_x, y + D_y) and the slopes s, tangents are (F_xx, F_yx, s_x) and (F_xy, F_yy,
s_y); their cross product is the normal, det F the Jacobian, and the smaller eigenvalue of F's symmetric part, the
stretch, says how far crests are from folding over.
All derivatives are those of the surface that `tiles` adds up to, damping included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.language import array, array2d, array4d, float32, float64, int32
from ...core.language import cross, func, kernel, launch, normalize, sqrt, standard_names, tid, zeros
from ...core.runtime.arrays.fixed import Fixed
from .tiles import combine_waves, short_waves, waves_of_cell

_OF = standard_names()
COMPLEX = {float32: _OF["vec2f"], float64: _OF["vec2d"]}
TRIPLE = {float32: _OF["vec3f"], float64: _OF["vec3d"]}
QUADRUPLE = {float32: _OF["vec4f"], float64: _OF["vec4d"]}


# ----- what follows from the waves ------------------------------------------------------------------


@kernel
def compose(
    planes: array4d(dtype=Any), ratios: array(dtype=int32), choppiness: array(dtype=float64), damping: Any, scale: Any,
    height: array2d(dtype=Any), displacement: array2d(dtype=Any), normals: array2d(dtype=Any),
    jacobian: array2d(dtype=Any), stretch: array2d(dtype=Any),
):  # fmt: skip
    i, j = tid()
    p = waves_of_cell(planes, 0, i, j)
    across = p[3]
    if planes.shape[1] > 1:
        p, across = combine_waves(p, short_waves(planes, ratios, i, j), damping, scale)
    chop = type(across)(choppiness[0])
    height[i, j] = p[2]
    displacement[i, j] = displacement.dtype(chop * p[0], chop * p[1])
    fxx, fyy, fxy, fyx = 1.0 + chop * p[6], 1.0 + chop * p[7], chop * p[3], chop * across
    normals[i, j] = normalize(cross(normals.dtype(fxx, fyx, p[4]), normals.dtype(fxy, fyy, p[5])))
    jacobian[i, j] = fxx * fyy - fxy * fyx
    stretch[i, j] = smaller_eigenvalue(fxx, fyy, 0.5 * (fxy + fyx))


@kernel
def compose_velocity(
    planes: array4d(dtype=Any), ratios: array(dtype=int32), choppiness: array(dtype=float64), damping: Any, scale: Any,
    velocity: array2d(dtype=Any),
):  # fmt: skip
    i, j = tid()
    p = waves_of_cell(planes, 0, i, j)
    if planes.shape[1] > 1:
        p, _across = combine_waves(p, short_waves(planes, ratios, i, j), damping, scale)
    chop = type(p[0])(choppiness[0])
    velocity[i, j] = velocity.dtype(chop * p[8], chop * p[9], p[10])


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
class Field(Fixed):
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
        points = zeros(self.height.shape, self.normals.dtype, self.height.device, self.height.requires_grad)
        step = self.height.dtype(self.size / cells)
        launch(_lift, self.height.shape, [self.height, self.displacement, step], [points], device=self.height.device)
        return points

    def quads(self) -> np.ndarray:
        """Quadrilaterals of `points`, row by row, that face up: integers ((cells - 1)^2, 4)."""
        cells = self.height.shape[0]
        corner = (np.arange(cells - 1)[:, None] * cells + np.arange(cells - 1)).ravel()
        return np.stack([corner, corner + cells, corner + cells + 1, corner + 1], axis=1)

    def folded(self) -> float:
        """The part of the surface that is folded over."""
        return float(np.mean(self.jacobian.numpy() < 0.0))
