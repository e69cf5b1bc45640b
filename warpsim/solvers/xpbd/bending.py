"""Bending over edges between triangles: by the dihedral angle, or by the isometric (quadratic) energy.

Dihedral: C = theta - theta_0, for any fold; gradient of the angle as in R. Bridson, S. Marino, R. Fedkiw 2003.

Isometric: C = sum_i K_i x_i / |e|, one equation per axis, with the cotangent weights K of the rest shape (M. Bergou,
M. Wardetzky et al. 2006, "A quadratic bending model for inextensible surfaces"). It is linear, so it converges at
once, and equals n theta for small angles; the rest shape is flat.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...core.language import (
    Float, Vec, abs, array, atan2, cross, dot, func, int32, kernel, length, tid, vec4i, where,
)  # fmt: skip
from .constraints import Constraints
from .particle import position, pushed

DIHEDRAL, ISOMETRIC = "dihedral", "isometric"
_TAU = 6.283185307179586


class Bending(Constraints):
    """Bending constraints of a model."""

    def __init__(self, model: Any, iterated: bool, kind: str):
        multiplier = model.dtype if kind == DIHEDRAL else model.vec3
        super().__init__(model, model.edge_indices, vec4i, multiplier, iterated)
        self.damped = bool(np.any(model.edge_damping.numpy() > 0.0))
        self.rest = self.gathered(model.dtype if kind == DIHEDRAL else model.vec4)
        self.soft, self.gamma = self.gathered(model.dtype), self.gathered(model.dtype, self.count * self.damped)
        self.source = model.edge_rest_angle if kind == DIHEDRAL else model.edge_weights
        make = project_dihedral if kind == DIHEDRAL else project_isometric
        self.kernel = make(self.damped, iterated)

    def prepare(self, control: Any, h: Any) -> None:
        """Rest shapes and compliances in order of color."""
        m = self.model
        arrays = [self.source, m.edge_compliance, m.edge_damping, h, self.rest, self.soft, self.gamma]
        self.launch_gather(gather, *arrays)

    def project(self, x: Any, start: Any) -> None:
        """One Gauss-Seidel iteration."""
        self.launch_projections(self.kernel, self.rest, self.soft, self.gamma, self.multipliers, start, x)


@kernel
def gather(
    order: array(dtype=int32), source: array(dtype=Any), compliance: array(dtype=Any), damping: array(dtype=Any),
    h: Any, rest: array(dtype=Any), soft: array(dtype=Any), gamma: array(dtype=Any),
):  # fmt: skip
    """Rest shape, alpha / h^2, and alpha beta / h where any edge is damped."""
    c = tid()
    k = order[c]
    rest[c] = source[k]
    soft[c] = compliance[k] / (h * h)
    if gamma.shape[0] > 0:
        gamma[c] = compliance[k] * damping[k] / h


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
def project_dihedral(damped: bool, iterated: bool) -> Any:
    """The kernel for bending by angles."""

    @kernel
    def project(
        first: int32, quads: array(dtype=vec4i), rest: array(dtype=Any), soft: array(dtype=Any),
        gamma: array(dtype=Any), multiplier: array(dtype=Any), start: array(dtype=Any), x: array(dtype=Any),
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
            if damped:
                moved = dot(ga, position(a) - start[i]) + dot(gb, position(b) - start[j])
                moved = moved + dot(gc, position(c) - start[k]) + dot(gd, position(d) - start[m])
                error = error + gamma[n] * moved
                w = w * (1.0 + gamma[n])
            change = -error / (w + soft[n])
            if iterated:
                multiplier[n] = multiplier[n] + change
            x[i] = pushed(a, change * ga)
            x[j] = pushed(b, change * gb)
            x[k] = pushed(c, change * gc)
            x[m] = pushed(d, change * gd)

    return project


@functools.cache
def project_isometric(damped: bool, iterated: bool) -> Any:
    """The kernel for bending by the quadratic energy."""

    @kernel
    def project(
        first: int32, quads: array(dtype=vec4i), weights: array(dtype=Any), soft: array(dtype=Any),
        gamma: array(dtype=Any), multiplier: array(dtype=Any), start: array(dtype=Any), x: array(dtype=Any),
    ):  # fmt: skip
        n = first + tid()
        i, j, k, m = quads[n][0], quads[n][1], quads[n][2], quads[n][3]
        a, b, c, d, g = x[i], x[j], x[k], x[m], weights[n]
        w = a[3] * g[0] * g[0] + b[3] * g[1] * g[1] + c[3] * g[2] * g[2] + d[3] * g[3] * g[3]
        if w + soft[n] > 0.0:
            error = g[0] * position(a) + g[1] * position(b) + g[2] * position(c) + g[3] * position(d)
            if damped:
                before = g[0] * start[i] + g[1] * start[j] + g[2] * start[k] + g[3] * start[m]
                error = error + gamma[n] * (error - before)
                w = w * (1.0 + gamma[n])
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
