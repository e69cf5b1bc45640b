"""Membrane: Green strain of triangles, St. Venant-Kirchhoff, with stiffness along warp and weft.

C = (E_uu, E_vv, 2 E_uv) with E = (F^T F - 1) / 2, solved together: the compliance is a 3 x 3 block, the inverse of the
orthotropic stiffness times the rest area (J. Bender et al. 2014, "Position-based simulation of continuous materials",
in compliant form).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...core.language import Float, Vec, array, int32, vec3i
from ...core.language import dot, func, inverse, kernel, matrix_from_rows, matrix_type, sqrt, tid, transpose, vector
from .constraints import Constraints
from .particle import apply_impulse, position

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model


class Membranes(Constraints):
    """Triangles of a model; those without stiffness are passed over."""

    def __init__(self, model: Model, iterated: bool):
        super().__init__(model, model.tri_indices, vec3i, model.vec3, iterated, model.tri_damping)
        self.pose, self.soft = self.make_rows(model.vec4), self.make_rows(matrix_type((3, 3), model.dtype))
        self.damping = self.make_rows(model.dtype, self.dashpots)

    def prepare(self, control: Control, h: float) -> None:
        """Rest shapes and compliances in order of color."""
        m = self.model
        self.launch_gather(
            gather, m.tri_pose, m.tri_stiffness, m.tri_area, m.tri_damping, h, self.pose, self.soft, self.damping
        )

    def project(self, x: array) -> None:
        """One Gauss-Seidel iteration."""
        self.launch_projections(project_membrane(self.iterated), self.pose, self.soft, self.multipliers, x)

    def damp(self, x: array, v: array) -> None:
        """Slow down what is strained."""
        self.launch_dampers(damp, self.pose, self.soft, self.damping, x, v)


def has_membranes(model: Model) -> bool:
    """Whether any triangle of a model is a membrane."""
    return model.tri_count > 0 and bool((model.tri_stiffness.numpy()[:, :3] > 0.0).all(axis=1).any())


@kernel
def gather(
    order: array(dtype=int32), pose: array(dtype=Any), stiffness: array(dtype=Any), area: array(dtype=Any),
    damping: array(dtype=Any), h: Any, rest: array(dtype=Any), soft: array(dtype=Any), relative: array(dtype=Any),
):  # fmt: skip
    """Inverse rest edges; compliance / (area h^2), zero for no membrane; damping time / h where any is damped.

    Poisson's ratio couples warp and weft by nu / sqrt(E_warp E_weft), which keeps the block symmetric.
    """
    c = tid()
    k = order[c]
    p, e = pose[k], stiffness[k]
    rest[c] = vector(p[0, 0], p[0, 1], p[1, 0], p[1, 1])
    if relative.shape[0] > 0:
        relative[c] = damping[k] / h
    if e[0] > 0.0 and e[1] > 0.0 and e[2] > 0.0:
        scale = 1.0 / (area[k] * h * h)
        zero = 0.0 * scale
        side = -scale * e[3] / sqrt(e[0] * e[1])
        soft[c] = matrix_from_rows(
            vector(scale / e[0], side, zero), vector(side, scale / e[1], zero), vector(zero, zero, scale / e[2])
        )
    else:
        soft[c] = type(soft[c])()


@func
def strain(u: Vec[3, Float], v: Vec[3, Float]) -> Vec[3, Float]:
    """(E_uu, E_vv, 2 E_uv) of the columns of the deformation gradient."""
    return vector(0.5 * (dot(u, u) - 1.0), 0.5 * (dot(v, v) - 1.0), dot(u, v))


@func
def strain_gradient(u: Vec[3, Float], v: Vec[3, Float], pu: Float, pv: Float) -> Any:
    """Rows: the gradients of the three strains by a corner whose shape function has the slopes pu, pv along u, v."""
    return matrix_from_rows(pu * u, pv * v, pv * u + pu * v)


@functools.cache
def project_membrane(iterated: bool) -> Any:
    """The kernel for membranes, with multipliers to remember or without."""

    @kernel
    def project(
        first: int32, corners: array(dtype=vec3i), pose: array(dtype=Any), soft: array(dtype=Any),
        multiplier: array(dtype=Any), x: array(dtype=Any),
    ):  # fmt: skip
        n = first + tid()
        i, j, k = corners[n][0], corners[n][1], corners[n][2]
        a, b, c, p = x[i], x[j], x[k], pose[n]
        d1, d2 = position(b) - position(a), position(c) - position(a)
        u, v = d1 * p[0] + d2 * p[2], d1 * p[1] + d2 * p[3]
        gb, gc = strain_gradient(u, v, p[0], p[1]), strain_gradient(u, v, p[2], p[3])
        ga = -(gb + gc)
        if soft[n][0, 0] > 0.0:
            error = strain(u, v)
            if iterated:
                error = error + soft[n] @ multiplier[n]
            w = a[3] * (ga @ transpose(ga)) + b[3] * (gb @ transpose(gb)) + c[3] * (gc @ transpose(gc))
            change = -(inverse(w + soft[n]) @ error)
            if iterated:
                multiplier[n] = multiplier[n] + change
            x[i] = apply_impulse(a, transpose(ga) @ change)
            x[j] = apply_impulse(b, transpose(gb) @ change)
            x[k] = apply_impulse(c, transpose(gc) @ change)

    return project


@kernel
def damp(
    first: int32, corners: array(dtype=vec3i), pose: array(dtype=Any), soft: array(dtype=Any),
    relative: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any),
):  # fmt: skip
    """Impulses along the gradients of the strains against their rates, as a block."""
    n = first + tid()
    i, j, k = corners[n][0], corners[n][1], corners[n][2]
    a, b, c, p, g = x[i], x[j], x[k], pose[n], relative[n]
    d1, d2 = position(b) - position(a), position(c) - position(a)
    along, across = d1 * p[0] + d2 * p[2], d1 * p[1] + d2 * p[3]
    gb, gc = strain_gradient(along, across, p[0], p[1]), strain_gradient(along, across, p[2], p[3])
    ga = -(gb + gc)
    if soft[n][0, 0] > 0.0 and a[3] + b[3] + c[3] > 0.0:
        w = a[3] * (ga @ transpose(ga)) + b[3] * (gb @ transpose(gb)) + c[3] * (gc @ transpose(gc))
        change = (-g) * (inverse(g * w + soft[n]) @ (ga @ v[i] + gb @ v[j] + gc @ v[k]))
        v[i] = v[i] + a[3] * (transpose(ga) @ change)
        v[j] = v[j] + b[3] * (transpose(gb) @ change)
        v[k] = v[k] + c[3] * (transpose(gc) @ change)
