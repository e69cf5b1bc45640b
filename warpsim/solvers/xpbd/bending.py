"""Bending of triangles by the angles over their three edges, solved together: see `scene.bends` for their stiffness.

Dihedral: C = theta - theta_0, for any fold, see `folds`.

Isometric: C = sum_i K_i x_i / |e|, one equation per axis, with the cotangent weights K of the rest shape (M. Bergou,
M. Wardetzky et al. 2006, "A quadratic bending model for inextensible surfaces"). It is linear, so it converges at
once, and equals n theta for small angles; the rest shape is flat, and another one is refused.

The compliance is a 3 x 3 block, the flexibility of the triangle by the rigidity of the sheet.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Float, Vec, array, int32, vec3i
from ...core.language import abs, func, kernel, matrix_from_rows, matrix_type, max, tid, vector, where
from ...errors import ModelError
from ..scene.fields import vec6i
from .constraints import Constraints
from .folds import damp_dihedral, project_dihedral, row, solve_cholesky
from .particle import apply_impulse, position

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model

DIHEDRAL, ISOMETRIC = "dihedral", "isometric"
_FLAT = 1.0e-3  # [rad]


class Bending(Constraints):
    """Triangles of a model that bend.

    Kernels find impulses, from what they only read, and others push particles by them: so CPUs run many triangles of a
    color as lanes of a vector, which they could not know to be apart if each moved its particles at once.
    """

    def __init__(self, model: Model, iterated: bool, kind: str):
        if kind == ISOMETRIC:
            _check_flat(model.edge_rest_angle.numpy())
        by_angle = kind == DIHEDRAL
        axes = model.vec3 if by_angle else matrix_type((3, 3), model.dtype)
        super().__init__(model, model.bend_indices, vec6i, axes, iterated, model.edge_damping)
        self.rest = self.make_rows(model.vec3 if by_angle else matrix_type((3, 4), model.dtype))
        self.soft, self.drag = self.make_rows(model.spatial_vector), self.make_rows(model.dtype, self.dashpots)
        self.shape = self.make_rows(model.spatial_vector, self.dashpots)
        self.impulses = self.make_rows(model.vec3, 6 * self.count)
        self.first_impulses = {count: self.impulses[: 6 * count] for _, count in self.coloring.ranges}
        self.source = model.edge_rest_angle if by_angle else model.edge_weights
        self.gather = gather_angles if by_angle else gather_weights
        self.kernel = (project_dihedral if by_angle else project_isometric)(iterated)
        self.damper = damp_dihedral if by_angle else damp_isometric

    def prepare(self, control: Control, h: float) -> None:
        """Rest shapes and compliances in order of color."""
        m = self.model
        self.launch_gather(self.gather, m.bend_edges, m.bend_turns, self.source, self.rest)
        arrays = [m.bend_flexibility, m.edge_compliance, m.edge_damping, h, self.soft, self.shape, self.drag]
        self.launch_gather(gather_materials, m.bend_edges, *arrays)

    def project(self, x: array) -> None:
        """One Gauss-Seidel iteration."""
        materials = [self.rest, self.soft, self.multipliers, self.impulses]
        self.launch_projections(self.kernel, *materials, x, then=((push, self.impulses),))

    def of_color(self, material: Any, count: int) -> Any:
        """Of the impulses those of a color alone, as a tape keeps all that the next color may overwrite."""
        return self.first_impulses[count] if material is self.impulses else material

    def damp(self, x: array, v: array) -> None:
        """Slow down what folds."""
        materials = [self.rest, self.shape, self.drag, self.impulses]
        self.launch_dampers(self.damper, *materials, x, v, then=((push_velocities, self.impulses),))


def _check_flat(angles: np.ndarray) -> None:
    """Raise `ModelError` for an edge that is folded at rest."""
    edge = int(np.abs(angles).argmax())
    if abs(angles[edge]) > _FLAT:
        raise ModelError(
            f"edge {edge} is folded by {np.degrees(angles[edge]):.3g} degrees at rest, and isometric bending would "
            'unfold it\nexpected: sheets that are flat at rest\nhelp: bending="dihedral"'
        )


# ----- materials ----------------------------------------------------------------------------------


@func
def both(a: Float, b: Float) -> Float:
    """The compliance between two edges of compliances a and b: that of their mean rigidity.

    With it the block stays positive definite, and an edge that is rigid among others stays so.
    """
    if a == b:
        return 0.5 * (a + b)
    return 2.0 * a * b / (a + b)


@kernel
def gather_materials(
    order: array(dtype=int32), edges: array(dtype=vec3i), flexibility: array(dtype=Any), compliance: array(dtype=Any),
    damping: array(dtype=Any), h: Any, soft: array(dtype=Any), shape: array(dtype=Any), drag: array(dtype=Any),
):  # fmt: skip
    """Alpha / h^2 as a block; its shape, and the mean damping times h, where any edge is damped."""
    n = tid()
    k = order[n]
    e, f = edges[k], flexibility[k]
    any_edge = max(e[0], max(e[1], e[2]))
    a = compliance[where(e[0] >= 0, e[0], any_edge)]
    b = compliance[where(e[1] >= 0, e[1], any_edge)]
    c = compliance[where(e[2] >= 0, e[2], any_edge)]
    s = 1.0 / (h * h)
    soft[n] = vector(
        s * a * f[0], s * b * f[1], s * c * f[2], s * both(a, b) * f[3], s * both(a, c) * f[4], s * both(b, c) * f[5]
    )
    if drag.shape[0] > 0:
        total, count = h * 0.0, h * 0.0
        for m in range(3):
            if e[m] >= 0:
                total = total + damping[e[m]]
                count = count + 1.0
        shape[n] = f
        drag[n] = h * total / count


@kernel
def gather_angles(
    order: array(dtype=int32), edges: array(dtype=vec3i), turns: array(dtype=vec3i), angle: array(dtype=Any),
    rest: array(dtype=Any),
):  # fmt: skip
    """Angles at rest, as the triangle turns; none of what is no edge."""
    n = tid()
    k = order[n]
    e, t = edges[k], turns[k]
    a = type(rest[n])()
    for m in range(3):
        if e[m] >= 0:
            a[m] = where(t[m] < 2, angle[e[m]], -angle[e[m]])
    rest[n] = a


@kernel
def gather_weights(
    order: array(dtype=int32), edges: array(dtype=vec3i), turns: array(dtype=vec3i), weights: array(dtype=Any),
    rest: array(dtype=Any),
):  # fmt: skip
    """Of each edge: weights of the triangle's corner, of the edge's ends, and of the corner beyond."""
    n = tid()
    k = order[n]
    e, t = edges[k], turns[k]
    a = type(rest[n])()
    for m in range(3):
        if e[m] >= 0:
            g = weights[e[m]]
            second, swapped = t[m] == 1 or t[m] == 3, t[m] == 1 or t[m] == 2
            a[m, 0] = where(second, g[1], g[0])
            a[m, 1] = where(swapped, g[3], g[2])
            a[m, 2] = where(swapped, g[2], g[3])
            a[m, 3] = where(second, g[0], g[1])
    rest[n] = a


# ----- impulses -----------------------------------------------------------------------------------


@kernel
def push(first: int32, rows: array(dtype=vec6i), impulses: array(dtype=Any), x: array(dtype=Any)):
    """Move the corners of triangles by their impulses; those beyond edges first, as they may stand for none."""
    n, o = tid(), 6 * tid()
    i = rows[first + n]
    a, b, c, p, q, r = x[i[0]], x[i[1]], x[i[2]], x[i[3]], x[i[4]], x[i[5]]
    x[i[3]] = apply_impulse(p, impulses[o + 3])
    x[i[4]] = apply_impulse(q, impulses[o + 4])
    x[i[5]] = apply_impulse(r, impulses[o + 5])
    x[i[0]] = apply_impulse(a, impulses[o])
    x[i[1]] = apply_impulse(b, impulses[o + 1])
    x[i[2]] = apply_impulse(c, impulses[o + 2])


@kernel
def push_velocities(
    first: int32, rows: array(dtype=vec6i), impulses: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any)
):
    """Change velocities of the corners of triangles by their impulses, in the same order."""
    n, o = tid(), 6 * tid()
    i = rows[first + n]
    a, b, c, p, q, r = v[i[0]], v[i[1]], v[i[2]], v[i[3]], v[i[4]], v[i[5]]
    v[i[3]] = p + x[i[3]][3] * impulses[o + 3]
    v[i[4]] = q + x[i[4]][3] * impulses[o + 4]
    v[i[5]] = r + x[i[5]][3] * impulses[o + 5]
    v[i[0]] = a + x[i[0]][3] * impulses[o]
    v[i[1]] = b + x[i[1]][3] * impulses[o + 1]
    v[i[2]] = c + x[i[2]][3] * impulses[o + 2]


# ----- isometric bending --------------------------------------------------------------------------


@func
def isometric_block(w: Vec[6, Float], g: Any) -> Vec[6, Float]:
    """grad C . W grad C of one axis; w: inverse masses, g: weights of each edge."""
    u, v = w[0], w[1]
    return vector(
        u * g[0, 0] * g[0, 0] + v * g[0, 1] * g[0, 1] + w[2] * g[0, 2] * g[0, 2] + w[3] * g[0, 3] * g[0, 3],
        v * g[1, 0] * g[1, 0] + w[2] * g[1, 1] * g[1, 1] + u * g[1, 2] * g[1, 2] + w[4] * g[1, 3] * g[1, 3],
        w[2] * g[2, 0] * g[2, 0] + u * g[2, 1] * g[2, 1] + v * g[2, 2] * g[2, 2] + w[5] * g[2, 3] * g[2, 3],
        u * g[0, 0] * g[1, 2] + v * g[0, 1] * g[1, 0] + w[2] * g[0, 2] * g[1, 1],
        u * g[0, 0] * g[2, 1] + v * g[0, 1] * g[2, 2] + w[2] * g[0, 2] * g[2, 0],
        u * g[1, 2] * g[2, 1] + v * g[1, 0] * g[2, 2] + w[2] * g[1, 1] * g[2, 0],
    )


@func
def isometric_sums(
    g: Any, a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float], p: Vec[3, Float], q: Vec[3, Float], r: Vec[3, Float]
) -> Any:
    """Rows: what the weights of each edge make of its corners."""
    return matrix_from_rows(
        g[0, 0] * a + g[0, 1] * b + g[0, 2] * c + g[0, 3] * p,
        g[1, 0] * b + g[1, 1] * c + g[1, 2] * a + g[1, 3] * q,
        g[2, 0] * c + g[2, 1] * a + g[2, 2] * b + g[2, 3] * r,
    )


@func
def solved_rows(k: Vec[6, Float], s: Any) -> Any:
    """The rows m of a matrix with k m = s, for each axis."""
    x = solve_cholesky(k, vector(s[0, 0], s[1, 0], s[2, 0]))
    y = solve_cholesky(k, vector(s[0, 1], s[1, 1], s[2, 1]))
    z = solve_cholesky(k, vector(s[0, 2], s[1, 2], s[2, 2]))
    return matrix_from_rows(vector(x[0], y[0], z[0]), vector(x[1], y[1], z[1]), vector(x[2], y[2], z[2]))


@func
def flexible(k: Vec[6, Float], m: Any) -> Any:
    """The symmetric block k times a matrix."""
    x, y, z = row(m, 0), row(m, 1), row(m, 2)
    return matrix_from_rows(
        k[0] * x + k[3] * y + k[4] * z, k[3] * x + k[1] * y + k[5] * z, k[4] * x + k[5] * y + k[2] * z
    )


@func
def spread(change: Any, g: Any, o: int32, impulses: array(dtype=Any)):
    """Impulses on six corners, from the changes of multipliers of three edges."""
    d, e, f = row(change, 0), row(change, 1), row(change, 2)
    impulses[o] = g[0, 0] * d + g[1, 2] * e + g[2, 1] * f
    impulses[o + 1] = g[0, 1] * d + g[1, 0] * e + g[2, 2] * f
    impulses[o + 2] = g[0, 2] * d + g[1, 1] * e + g[2, 0] * f
    impulses[o + 3] = g[0, 3] * d
    impulses[o + 4] = g[1, 3] * e
    impulses[o + 5] = g[2, 3] * f


@functools.cache
def project_isometric(iterated: bool) -> Any:
    """The kernel for bending by the quadratic energy."""

    @kernel
    def project(
        first: int32, rows: array(dtype=vec6i), weights: array(dtype=Any), soft: array(dtype=Any),
        multiplier: array(dtype=Any), impulses: array(dtype=Any), x: array(dtype=Any),
    ):  # fmt: skip
        n, o = first + tid(), 6 * tid()
        i, g = rows[n], weights[n]
        a, b, c, p, q, r = x[i[0]], x[i[1]], x[i[2]], x[i[3]], x[i[4]], x[i[5]]
        error = isometric_sums(g, position(a), position(b), position(c), position(p), position(q), position(r))
        if iterated:
            error = error + flexible(soft[n], multiplier[n])
        block = isometric_block(vector(a[3], b[3], c[3], p[3], q[3], r[3]), g)
        change = -solved_rows(block + soft[n], error)
        if iterated:
            multiplier[n] = multiplier[n] + change
        spread(change, g, o, impulses)

    return project


@kernel
def damp_isometric(
    first: int32, rows: array(dtype=vec6i), weights: array(dtype=Any), shape: array(dtype=Any),
    drag: array(dtype=Any), impulses: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any),
):  # fmt: skip
    """Impulses along the weights against the rate of each axis."""
    n, o = first + tid(), 6 * tid()
    i, g = rows[n], weights[n]
    w = vector(x[i[0]][3], x[i[1]][3], x[i[2]][3], x[i[3]][3], x[i[4]][3], x[i[5]][3])
    a, b, c, p, q, r = v[i[0]], v[i[1]], v[i[2]], v[i[3]], v[i[4]], v[i[5]]
    change = -drag[n] * solved_rows(drag[n] * isometric_block(w, g) + shape[n], isometric_sums(g, a, b, c, p, q, r))
    spread(change, g, o, impulses)
