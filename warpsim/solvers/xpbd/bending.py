"""Bending over edges between triangles: by the dihedral angle, or by the isometric (quadratic) energy.

Dihedral: C = theta - theta_0, for any fold; gradient of the angle as in R. Bridson, S. Marino, R. Fedkiw 2003.

Isometric: C = sum_i K_i x_i / |e|, one equation per axis, with the cotangent weights K of the rest shape (M. Bergou,
M. Wardetzky et al. 2006, "A quadratic bending model for inextensible surfaces"). It is linear, so it converges at
once, and equals n theta for small angles; the rest shape is flat, and another one is refused.

The stiffness of an edge is the rigidity of the sheet by the share of the edge in it, so that it is that of the cloth
and not of its mesh: see `cloth.bending_shares`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...core.language import (
    Float, Vec, abs, array, atan2, cross, dot, func, int32, kernel, length, tid, vec4i, vector, where,
)  # fmt: skip
from ...errors import ModelError
from .constraints import Constraints
from .particle import position, pushed

DIHEDRAL, ISOMETRIC = "dihedral", "isometric"
_TAU = 6.283185307179586
_FLAT = 1.0e-3  # [rad]


class Bending(Constraints):
    """Bending constraints of a model."""

    def __init__(self, model: Any, iterated: bool, kind: str):
        if kind == ISOMETRIC:
            _check_flat(model.edge_rest_angle.numpy())
        multiplier = model.dtype if kind == DIHEDRAL else model.vec3
        super().__init__(model, model.edge_indices, vec4i, multiplier, iterated, model.edge_damping)
        self.rest = self.gathered(model.dtype if kind == DIHEDRAL else model.vec4)
        self.soft, self.drag = self.gathered(model.dtype), self.gathered(model.dtype, self.dashpots)
        self.source = model.edge_rest_angle if kind == DIHEDRAL else model.edge_weights
        self.kernel = (project_dihedral if kind == DIHEDRAL else project_isometric)(iterated)
        self.damper = damp_dihedral if kind == DIHEDRAL else damp_isometric

    def prepare(self, control: Any, h: Any) -> None:
        """Rest shapes and compliances in order of color."""
        m = self.model
        arrays = [self.source, m.edge_compliance, m.edge_damping, h, self.rest, self.soft, self.drag]
        self.launch_gather(gather, *arrays)

    def project(self, x: Any) -> None:
        """One Gauss-Seidel iteration."""
        self.launch_projections(self.kernel, self.rest, self.soft, self.multipliers, x)

    def damp(self, x: Any, v: Any) -> None:
        """Slow down what folds."""
        self.launch_dampers(self.damper, self.rest, self.drag, x, v)


def _check_flat(angles: np.ndarray) -> None:
    """Raise `ModelError` for an edge that is folded at rest."""
    edge = int(np.abs(angles).argmax())
    if abs(angles[edge]) > _FLAT:
        raise ModelError(
            f"edge {edge} is folded by {np.degrees(angles[edge]):.3g} degrees at rest, and isometric bending would "
            'unfold it\nexpected: sheets that are flat at rest\nhelp: bending="dihedral"'
        )


@kernel
def gather(
    order: array(dtype=int32), source: array(dtype=Any), compliance: array(dtype=Any), damping: array(dtype=Any),
    h: Any, rest: array(dtype=Any), soft: array(dtype=Any), drag: array(dtype=Any),
):  # fmt: skip
    """Rest shape, alpha / h^2, and damping times h where any edge is damped."""
    c = tid()
    k = order[c]
    rest[c] = source[k]
    soft[c] = compliance[k] / (h * h)
    if drag.shape[0] > 0:
        drag[c] = damping[k] * h


@func
def angle_gradients(
    a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float], d: Vec[3, Float]
) -> tuple[Float, Vec[3, Float], Vec[3, Float], Vec[3, Float], Vec[3, Float]]:
    """The angle [rad] between the triangles (a, c, d) and (b, d, c), and its gradient by each point [rad/m].

    Zero gradients where a triangle has no area.
    """
    edge = d - c
    n1, n2 = cross(c - a, d - a), cross(d - b, c - b)
    size, s1, s2 = length(edge), dot(n1, n1), dot(n2, n2)
    if size == 0.0 or s1 == 0.0 or s2 == 0.0:
        return size * 0.0, type(a)(), type(a)(), type(a)(), type(a)()
    angle = atan2(dot(cross(n1, n2), edge) / size, dot(n1, n2))
    ga, gb = -(size / s1) * n1, -(size / s2) * n2
    u1, u2 = dot(a - c, edge) / (size * size), dot(b - c, edge) / (size * size)
    return angle, ga, gb, -(1.0 - u1) * ga - (1.0 - u2) * gb, -u1 * ga - u2 * gb


@functools.cache
def project_dihedral(iterated: bool) -> Any:
    """The kernel for bending by angles."""

    @kernel
    def project(
        first: int32, quads: array(dtype=vec4i), rest: array(dtype=Any), soft: array(dtype=Any),
        multiplier: array(dtype=Any), x: array(dtype=Any),
    ):  # fmt: skip
        n = first + tid()
        i, j, k, m = quads[n][0], quads[n][1], quads[n][2], quads[n][3]
        a, b, c, d = x[i], x[j], x[k], x[m]
        angle, ga, gb, gc, gd = angle_gradients(position(a), position(b), position(c), position(d))
        w = a[3] * dot(ga, ga) + b[3] * dot(gb, gb) + c[3] * dot(gc, gc) + d[3] * dot(gd, gd)
        if w + soft[n] > 0.0:
            error = angle - rest[n]
            if abs(error) > 0.5 * _TAU:
                error = error - where(error > 0.0, error * 0.0 + _TAU, error * 0.0 - _TAU)
            if iterated:
                error = error + soft[n] * multiplier[n]
            change = -error / (w + soft[n])
            if iterated:
                multiplier[n] = multiplier[n] + change
            x[i] = pushed(a, change * ga)
            x[j] = pushed(b, change * gb)
            x[k] = pushed(c, change * gc)
            x[m] = pushed(d, change * gd)

    return project


@functools.cache
def project_isometric(iterated: bool) -> Any:
    """The kernel for bending by the quadratic energy."""

    @kernel
    def project(
        first: int32, quads: array(dtype=vec4i), weights: array(dtype=Any), soft: array(dtype=Any),
        multiplier: array(dtype=Any), x: array(dtype=Any),
    ):  # fmt: skip
        n = first + tid()
        i, j, k, m = quads[n][0], quads[n][1], quads[n][2], quads[n][3]
        a, b, c, d, g = x[i], x[j], x[k], x[m], weights[n]
        w = a[3] * g[0] * g[0] + b[3] * g[1] * g[1] + c[3] * g[2] * g[2] + d[3] * g[3] * g[3]
        if w + soft[n] > 0.0:
            error = g[0] * position(a) + g[1] * position(b) + g[2] * position(c) + g[3] * position(d)
            if iterated:
                error = error + soft[n] * multiplier[n]
            change = -error / (w + soft[n])
            if iterated:
                multiplier[n] = multiplier[n] + change
            x[i] = pushed(a, g[0] * change)
            x[j] = pushed(b, g[1] * change)
            x[k] = pushed(c, g[2] * change)
            x[m] = pushed(d, g[3] * change)

    return project


@kernel
def damp_dihedral(
    first: int32, quads: array(dtype=vec4i), rest: array(dtype=Any), drag: array(dtype=Any), x: array(dtype=Any),
    v: array(dtype=Any),
):  # fmt: skip
    """Impulses along the gradients of the angle against its rate."""
    n = first + tid()
    i, j, k, m = quads[n][0], quads[n][1], quads[n][2], quads[n][3]
    a, b, c, d = x[i], x[j], x[k], x[m]
    _, ga, gb, gc, gd = angle_gradients(position(a), position(b), position(c), position(d))
    w = a[3] * dot(ga, ga) + b[3] * dot(gb, gb) + c[3] * dot(gc, gc) + d[3] * dot(gd, gd)
    rate = dot(ga, v[i]) + dot(gb, v[j]) + dot(gc, v[k]) + dot(gd, v[m])
    change = -drag[n] * rate / (1.0 + drag[n] * w)
    v[i] = v[i] + (a[3] * change) * ga
    v[j] = v[j] + (b[3] * change) * gb
    v[k] = v[k] + (c[3] * change) * gc
    v[m] = v[m] + (d[3] * change) * gd


@kernel
def damp_isometric(
    first: int32, quads: array(dtype=vec4i), weights: array(dtype=Any), drag: array(dtype=Any), x: array(dtype=Any),
    v: array(dtype=Any),
):  # fmt: skip
    """Impulses along the weights against the rate of each axis."""
    n = first + tid()
    i, j, k, m = quads[n][0], quads[n][1], quads[n][2], quads[n][3]
    g = weights[n]
    w = vector(x[i][3], x[j][3], x[k][3], x[m][3])
    along = w[0] * g[0] * g[0] + w[1] * g[1] * g[1] + w[2] * g[2] * g[2] + w[3] * g[3] * g[3]
    rate = g[0] * v[i] + g[1] * v[j] + g[2] * v[k] + g[3] * v[m]
    change = (-drag[n] / (1.0 + drag[n] * along)) * rate
    v[i] = v[i] + (w[0] * g[0]) * change
    v[j] = v[j] + (w[1] * g[1]) * change
    v[k] = v[k] + (w[2] * g[2]) * change
    v[m] = v[m] + (w[3] * g[3]) * change
