"""Tetrahedra: stable Neo-Hookean elasticity (B. Smith, F. de Goes, T. Kim 2018), deviatoric and hydrostatic together.

Per volume the energy is mu/2 tr(F^T F) + lambda/2 (det F - 1 - mu/lambda)^2, whose lambda is the sum of Lame's two
parameters, so that small strains follow Hooke's law. Its stress is

    P(F) = mu (F - cof F) + lambda (det F - 1) cof F

The constraint is F itself, nine equations that are linear in positions; its multipliers S are impulses, the stress
times -V h^2, instead of the two scalars of M. Macklin and M. Mueller 2021: so iterations converge to implicit Euler
exactly, shear is as implicit as volume, and a body at rest stays at rest. The equations decouple by axis: a 3 x 3
matrix A = G W G^T of the slopes G of shape functions serves all three. In the linear system

    S / (V h^2) + P(F + dS A) = 0

the derivative of P is taken as mu 1 + lambda cof F (x) cof F, which is solved by elimination.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import (
    Float, Mat, Vec, array, cross, ddot, diag, func, int32, inverse, kernel, matrix_from_cols, outer, tid, transpose,
    vec4i, vector,
)  # fmt: skip
from .constraints import Constraints
from .particle import position, pushed


class Tetrahedra(Constraints):
    """Elastic tetrahedra of a model."""

    def __init__(self, model: Any, iterated: bool):
        super().__init__(model, model.tet_indices, vec4i, model.tet_pose.dtype, iterated)
        self.pose, self.material = self.gathered(model.tet_pose.dtype), self.gathered(model.vec4)

    def prepare(self, control: Any, h: Any) -> None:
        """Rest shapes and moduli in order of color."""
        m = self.model
        materials = [m.tet_volume, m.tet_mu, m.tet_lambda, m.tet_damping]
        self.launch_gather(gather, m.tet_pose, *materials, h, self.pose, self.material)

    def project(self, x: Any, start: Any) -> None:
        """One Gauss-Seidel iteration."""
        materials = [self.pose, self.material, self.multipliers]
        self.launch_projections(project_tetrahedron(self.iterated), *materials, start, x)


@kernel
def gather(
    order: array(dtype=int32), pose: array(dtype=Any), volume: array(dtype=Any), mu: array(dtype=Any),
    lam: array(dtype=Any), damping: array(dtype=Any), h: Any, rest: array(dtype=Any), material: array(dtype=Any),
):  # fmt: skip
    """Inverse rest edges; mu and the law's lambda [Pa], 1 / (V h^2) [1/(m^3 s^2)], damping time / h."""
    c = tid()
    k = order[c]
    rest[c] = pose[k]
    material[c] = vector(mu[k], lam[k] + mu[k], 1.0 / (volume[k] * h * h), damping[k] / h)


@func
def cofactor(f: Mat[3, 3, Float]) -> Mat[3, 3, Float]:
    """The gradient of the determinant."""
    a, b, c = column(f, 0), column(f, 1), column(f, 2)
    return matrix_from_cols(cross(b, c), cross(c, a), cross(a, b))


@func
def column(m: Mat[3, 3, Float], k: int32) -> Vec[3, Float]:
    """A column of a matrix."""
    return vector(m[0, k], m[1, k], m[2, k])


@func
def mobility(pose: Mat[3, 3, Float], w: Vec[4, Float]) -> Mat[3, 3, Float]:
    """A: how much F changes along each axis by impulses on it; w: inverse masses [1/kg]."""
    a, b, c = row(pose, 0), row(pose, 1), row(pose, 2)
    s = a + b + c
    return w[0] * outer(s, s) + w[1] * outer(a, a) + w[2] * outer(b, b) + w[3] * outer(c, c)


@func
def row(m: Mat[3, 3, Float], k: int32) -> Vec[3, Float]:
    """A row of a matrix."""
    return vector(m[k, 0], m[k, 1], m[k, 2])


@functools.cache
def project_tetrahedron(iterated: bool) -> Any:
    """The kernel for tetrahedra, with multipliers to remember or without."""

    @kernel
    def project(
        first: int32, corners: array(dtype=vec4i), pose: array(dtype=Any), material: array(dtype=Any),
        multiplier: array(dtype=Any), start: array(dtype=Any), x: array(dtype=Any),
    ):  # fmt: skip
        n = first + tid()
        i, j, k, l = corners[n][0], corners[n][1], corners[n][2], corners[n][3]  # noqa: E741
        a, b, c, d = x[i], x[j], x[k], x[l]
        o, s, inv, m = position(a), start[i], pose[n], material[n]
        mu, lam, soft, g = m[0], m[1], m[2], m[3]
        f = matrix_from_cols(position(b) - o, position(c) - o, position(d) - o) @ inv
        before = matrix_from_cols(start[j] - s, start[k] - s, start[l] - s) @ inv
        if a[3] + b[3] + c[3] + d[3] > 0.0:
            cof = cofactor(f)
            moved = g * (f - before)
            volume = ddot(f, cof) / 3.0 - 1.0 + ddot(cof, moved)
            stress = mu * (f - cof + moved) + (lam * volume) * cof
            if iterated:
                stress = stress + soft * multiplier[n]
            mobile = (1.0 + g) * mobility(inv, vector(a[3], b[3], c[3], d[3]))
            # In units of soft: as they are, the determinants of small tetrahedra overflow float32.
            unit = mu.dtype(1.0)
            solve = inverse((mu / soft) * mobile + diag(vector(unit, unit, unit))) / soft
            held = solve @ mobile
            swell = ddot(cof, stress @ held) / (1.0 + lam * ddot(cof, cof @ held))
            change = ((lam * swell) * cof - stress) @ solve
            if iterated:
                multiplier[n] = multiplier[n] + change
            impulse = change @ transpose(inv)
            p, q, r = column(impulse, 0), column(impulse, 1), column(impulse, 2)
            x[i] = pushed(a, -(p + q + r))
            x[j] = pushed(b, p)
            x[k] = pushed(c, q)
            x[l] = pushed(d, r)

    return project
