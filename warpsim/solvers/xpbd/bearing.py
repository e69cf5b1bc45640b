"""What a held body of tetrahedra bears as a whole, found before its tetrahedra are solved one by one.

A sweep over constraints carries a load on by a few of them. So each body begins a substep with a constraint of its own,

    C = Z : E,  Z = q_x Z_x + q_y Z_y + q_z Z_z

with Green's strains E and its stresses at rest Z under three uniform accelerations (`statics`), and the compliance
Z D^-1 Z / V of Hooke's law D: a coarse grid of one unknown. The direction q is what solves all three in the rest shape,
(M + Z D^-1 Z^T / (V h^2)) q = -Z : E; how far to go along it is found as for all constraints, where the body is. Its
impulses F Z are those of its tetrahedra, which go on from there. Like the sweep, it starts from nothing in every
substep, and corrects no more than is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Float, Kernel, Mat, Vec, array, dot, func, int32, inverse, kernel, launch, matrix_from_cols
from ...core.language import matrix_from_rows, matrix_type, min, outer, tid, transpose, vec4i, vector, zeros
from ...core.runtime.arrays.fixed import Fixed
from ..scene.inverse_mass import inverse_mass
from .particle import apply_impulse, position
from .statics import Patterns

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device
    from ..scene.model import Model

_PART = 64  # rows that one thread adds up


class Parts(Fixed):
    """Rows of bodies, in parts that one thread adds up. rows: in order of body. firsts: where parts begin, and the last
    ends. around: the same for bodies, in parts."""

    constant = ("rows", "firsts", "around")

    def __init__(self, bodies: np.ndarray, count: int, device: Device):
        order = np.argsort(bodies, kind="stable")[np.count_nonzero(bodies < 0) :]
        sizes = np.bincount(bodies[bodies >= 0], minlength=count)
        parts = -(-sizes // _PART)
        starts, around = (np.concatenate([[0], np.cumsum(a)]) for a in (sizes, parts))
        within = np.arange(around[-1]) - np.repeat(around[:-1], parts)
        firsts = np.append(np.repeat(starts[:-1], parts) + _PART * within, starts[-1])
        self.count = int(around[-1])
        self.rows, self.firsts, self.around = (
            array(a.astype(np.int32), dtype=int32, device=device) for a in (order, firsts, around)
        )


class Bearing(Fixed):
    """Held bodies of a model; order: of color, in which tetrahedra are."""

    constant = ("body", "owner", "near", "begins")

    def __init__(self, model: Model, patterns: Patterns, order: np.ndarray):
        device, mat33, n = model.device, matrix_type((3, 3), model.dtype), model.particle_count
        self.model, body, stress = model, patterns.tets[order], patterns.stress[order]
        corners = np.where(body[:, None] >= 0, model.tet_indices.numpy().reshape(-1, 4)[order], n).ravel()
        near = np.argsort(corners, kind="stable")[: np.count_nonzero(corners < n)]
        begins = np.searchsorted(corners[near], np.arange(n + 1))
        self.count = count = int(body.max()) + 1
        self.body, self.owner, self.near, self.begins = (
            array(a.astype(np.int32), dtype=int32, device=device) for a in (body, patterns.particles, near, begins)
        )
        self.normal, self.shear = (
            array(np.ascontiguousarray(part), dtype=mat33, device=device) for part in (stress[..., :3], stress[..., 3:])
        )
        self.tets, self.particles = Parts(body, count, device), Parts(patterns.particles, count, device)
        options: dict[str, Any] = {"device": device, "requires_grad": True}
        self.strains, self.softness = (zeros(self.tets.count, kind, **options) for kind in (model.vec3, mat33))
        self.masses, self.motions = (zeros(self.particles.count, model.dtype, **options) for _ in range(2))
        self.soft, self.answer = (zeros(count, mat33, **options) for _ in range(2))
        self.ways, self.shares = zeros(count, model.vec4, **options), zeros(count, model.dtype, **options)
        self.loads, self.pulls = zeros(len(body), mat33, **options), zeros(4 * len(body), model.vec3, **options)
        self.impulses = zeros(n, model.vec3, **options)

    @property
    def scratch(self) -> list[Any]:
        """Arrays that every step fills before it reads them."""
        sums = [self.strains, self.softness, self.masses, self.motions]
        return [*sums, self.soft, self.answer, self.ways, self.shares, self.loads, self.pulls, self.impulses]

    def prepare(self, material: array) -> None:
        """Once a step: how bodies answer, with the masses and moduli of now."""
        tets, parts, mass = self.tets, self.particles, self.model.particle_mass
        self._run(soften, tets.count, tets.rows, tets.firsts, self.normal, self.shear, material, self.softness)
        self._run(weigh, parts.count, parts.rows, parts.firsts, mass, self.masses)
        sums = [tets.around, self.softness, parts.around, self.masses]
        self._run(invert, self.count, *sums, self.soft, self.answer)

    def begin(self, corners: array, pose: array, x: array, multipliers: array) -> None:
        """What each body bears from where particles are: moves them, and sets the multipliers of tetrahedra."""
        tets, parts, stresses = self.tets, self.particles, [self.normal, self.shear]
        self._run(measure, tets.count, tets.rows, tets.firsts, corners, pose, *stresses, x, self.strains)
        self._run(choose, self.count, tets.around, self.strains, self.answer, self.ways)
        along = [self.body, self.ways, *stresses]
        self._run(load, len(self.body), corners, *along, pose, x, self.loads, self.pulls)
        self._run(add_up, len(self.owner), self.begins, self.near, self.pulls, self.impulses)
        self._run(move, parts.count, parts.rows, parts.firsts, x, self.impulses, self.motions)
        self._run(share, self.count, parts.around, self.motions, self.soft, self.ways, self.shares)
        self._run(push, len(self.owner), self.owner, self.shares, self.impulses, x)
        self._run(shorten, len(self.body), self.body, self.shares, self.loads, multipliers)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)


# ----- once a step --------------------------------------------------------------------------------


@kernel
def soften(
    rows: array(dtype=int32), firsts: array(dtype=int32), normal: array(dtype=Any), shear: array(dtype=Any),
    material: array(dtype=Any), sums: array(dtype=Any),
):  # fmt: skip
    """Z D^-1 Z^T / (V h^2) of a part, by Hooke's law."""
    part = tid()
    total = type(sums[part])()
    for k in range(firsts[part], firsts[part + 1]):
        n = rows[k]
        a, b, m = normal[n], shear[n], material[n]
        lam = m[1] - m[0]
        trace = vector(a[0, 0] + a[0, 1] + a[0, 2], a[1, 0] + a[1, 1] + a[1, 2], a[2, 0] + a[2, 1] + a[2, 2])
        side = (lam / (3.0 * lam + 2.0 * m[0])) * outer(trace, trace)
        total = total + (0.5 * m[2] / m[0]) * (a @ transpose(a) + 2.0 * (b @ transpose(b)) - side)
    sums[part] = total


@kernel
def weigh(rows: array(dtype=int32), firsts: array(dtype=int32), mass: array(dtype=Any), sums: array(dtype=Any)):
    """Mass of a part [kg], without what is held."""
    part = tid()
    total = type(sums[part])()
    for k in range(firsts[part], firsts[part + 1]):
        if inverse_mass(mass[rows[k]]) > 0.0:
            total = total + mass[rows[k]]
    sums[part] = total


@kernel
def invert(
    around: array(dtype=int32), softness: array(dtype=Any), places: array(dtype=int32), masses: array(dtype=Any),
    soft: array(dtype=Any), answer: array(dtype=Any),
):  # fmt: skip
    """The compliance of each body, and what its strains are answered by; zero where all is held."""
    n = tid()
    total = type(soft[n])()
    for k in range(around[n], around[n + 1]):
        total = total + softness[k]
    soft[n] = total
    m = 0.0 * total[0, 0]
    for k in range(places[n], places[n + 1]):
        m = m + masses[k]
    if m > 0.0:
        # In units of the mass: as they are, determinants of small bodies overflow float32.
        one, zero = 1.0 + 0.0 * m, 0.0 * m
        unit = matrix_from_rows(vector(one, zero, zero), vector(zero, one, zero), vector(zero, zero, one))
        answer[n] = (1.0 / m) * inverse(unit + (1.0 / m) * total)
    else:
        answer[n] = 0.0 * total


# ----- once a substep -----------------------------------------------------------------------------


@func
def gradient(o: Vec[4, Float], a: Vec[4, Float], b: Vec[4, Float], c: Vec[4, Float], inv: Mat[3, 3, Float]) -> Any:
    """The deformation gradient of four packed particles."""
    p = position(o)
    return matrix_from_cols(position(a) - p, position(b) - p, position(c) - p) @ inv


@func
def axis(m: Mat[3, 3, Float], k: int32) -> Vec[3, Float]:
    """A column of a matrix."""
    return vector(m[0, k], m[1, k], m[2, k])


@kernel
def measure(
    rows: array(dtype=int32), firsts: array(dtype=int32), corners: array(dtype=vec4i), pose: array(dtype=Any),
    normal: array(dtype=Any), shear: array(dtype=Any), x: array(dtype=Any), sums: array(dtype=Any),
):  # fmt: skip
    """Z : E of a part, along each axis."""
    part = tid()
    total = type(sums[part])()
    for k in range(firsts[part], firsts[part + 1]):
        n = rows[k]
        c = corners[n]
        f = gradient(x[c[0]], x[c[1]], x[c[2]], x[c[3]], pose[n])
        u, v, w = axis(f, 0), axis(f, 1), axis(f, 2)
        stretch = 0.5 * vector(dot(u, u) - 1.0, dot(v, v) - 1.0, dot(w, w) - 1.0)
        total = total + normal[n] @ stretch + shear[n] @ vector(dot(v, w), dot(u, w), dot(u, v))
    sums[part] = total


@kernel
def choose(around: array(dtype=int32), strains: array(dtype=Any), answer: array(dtype=Any), ways: array(dtype=Any)):
    """The direction q, and -C along it."""
    n = tid()
    total = type(strains[0])()
    for k in range(around[n], around[n + 1]):
        total = total + strains[k]
    q = -(answer[n] @ total)
    ways[n] = vector(q[0], q[1], q[2], -dot(q, total))


@kernel
def load(
    corners: array(dtype=vec4i), body: array(dtype=int32), ways: array(dtype=Any), normal: array(dtype=Any),
    shear: array(dtype=Any), pose: array(dtype=Any), x: array(dtype=Any), loads: array(dtype=Any),
    pulls: array(dtype=Any),
):  # fmt: skip
    """The stresses F Z of a tetrahedron of a held body, and their impulses on its corners."""
    n = tid()
    if body[n] >= 0:
        c, q, inv = corners[n], position(ways[body[n]]), pose[n]
        s, t = transpose(normal[n]) @ q, transpose(shear[n]) @ q
        stress = matrix_from_rows(vector(s[0], t[2], t[1]), vector(t[2], s[1], t[0]), vector(t[1], t[0], s[2]))
        borne = gradient(x[c[0]], x[c[1]], x[c[2]], x[c[3]], inv) @ stress
        loads[n] = borne
        impulse = borne @ transpose(inv)
        u, v, w = axis(impulse, 0), axis(impulse, 1), axis(impulse, 2)
        pulls[4 * n] = -(u + v + w)
        pulls[4 * n + 1] = u
        pulls[4 * n + 2] = v
        pulls[4 * n + 3] = w


@kernel
def add_up(begins: array(dtype=int32), near: array(dtype=int32), pulls: array(dtype=Any), impulses: array(dtype=Any)):
    """The impulse on a particle, of the tetrahedra around it in order."""
    i = tid()
    total = type(impulses[i])()
    for k in range(begins[i], begins[i + 1]):
        total = total + pulls[near[k]]
    impulses[i] = total


@kernel
def move(
    rows: array(dtype=int32), firsts: array(dtype=int32), x: array(dtype=Any), impulses: array(dtype=Any),
    sums: array(dtype=Any),
):  # fmt: skip
    """grad C . W grad C of a part."""
    part = tid()
    total = type(sums[part])()
    for k in range(firsts[part], firsts[part + 1]):
        i = rows[k]
        total = total + x[i][3] * dot(impulses[i], impulses[i])
    sums[part] = total


@kernel
def share(
    around: array(dtype=int32), motions: array(dtype=Any), soft: array(dtype=Any), ways: array(dtype=Any),
    shares: array(dtype=Any),
):  # fmt: skip
    """The multiplier of each body's constraint."""
    n = tid()
    q = position(ways[n])
    total = dot(q, soft[n] @ q)
    for k in range(around[n], around[n + 1]):
        total = total + motions[k]
    shares[n] = 0.0 * total
    if total > 0.0:
        shares[n] = min(ways[n][3] / total, 1.0 + 0.0 * total)


@kernel
def push(owner: array(dtype=int32), shares: array(dtype=Any), impulses: array(dtype=Any), x: array(dtype=Any)):
    """Move the particles of a body."""
    i = tid()
    if owner[i] >= 0:
        x[i] = apply_impulse(x[i], shares[owner[i]] * impulses[i])


@kernel
def shorten(body: array(dtype=int32), shares: array(dtype=Any), loads: array(dtype=Any), multiplier: array(dtype=Any)):
    """What tetrahedra go on from; nothing outside of held bodies."""
    n = tid()
    if body[n] >= 0:
        multiplier[n] = shares[body[n]] * loads[n]
    else:
        multiplier[n] = type(multiplier[n])()
