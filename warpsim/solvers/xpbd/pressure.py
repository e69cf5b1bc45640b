"""Pressure: C = V - V_target of a closed surface, for balloons, cushions and tyres.

V = 1/6 sum of a . (b x c) over the triangles; its gradient by a corner is 1/6 of the sum of b x c over the triangles
around it (M. Mueller et al. 2007, section 4.4). Compliance alpha = V_0 / K [m^3/Pa] makes it a gas or liquid of bulk
modulus K, whose pressure is (V_target - V) / alpha. One equation for all particles of a surface: slopes first, then
one sum for each surface in a fixed order, then all particles move.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Float, Kernel, Vec, array, cross, dot, func, int32, kernel, launch, tid, vec2i, zeros
from ...core.runtime.arrays.fixed import Fixed
from .particle import apply_impulse, position

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model


class Pressures(Fixed):
    """Closed surfaces of a model, no two of which share a particle.

    members: particles, surface by surface, those of surface s from `ranges[s]` on. slope: gradients [m^2].
    """

    constant = ("ranges", "members", "owners", "firsts", "beside")

    def __init__(self, model: Model, iterated: bool):
        self.model, self.iterated, device = model, iterated, model.device
        members, owners, firsts, beside = _incidence(model.pressure_faces)
        self.ranges = array(np.searchsorted(owners, np.arange(model.pressure_count + 1)), dtype=int32, device=device)
        self.members, self.owners, self.firsts = (
            array(a.astype(np.int32), dtype=int32, device=device) for a in (members, owners, firsts)
        )
        self.beside = array(beside.astype(np.int32), dtype=vec2i, device=device)
        self.slope = zeros(len(members), model.vec3, device, requires_grad=True)
        self.change = zeros(model.pressure_count, model.dtype, device, requires_grad=True)
        self.multipliers = zeros(model.pressure_count * iterated, model.dtype, device, requires_grad=True)
        self.scratch = [self.slope, self.change, self.multipliers]

    def solve_at_once(self, relaxation: float) -> None:
        """A surface is one constraint: there is nothing to solve at once."""

    def prepare(self, control: Control, h: float) -> None:
        """Materials are read where they are."""
        self._h = h

    def reset(self, x: array) -> None:
        """Start a substep: no force has acted yet."""
        if self.iterated:
            self.multipliers.zero_()

    def project(self, x: array) -> None:
        """One iteration."""
        m, own = self.model, [self.members, self.ranges]
        self._run(find_slopes, len(self.members), *own, self.owners, self.firsts, self.beside, x, self.slope)
        law = [m.pressure_target, m.pressure_compliance, self._h, self.multipliers]
        self._run(balance(self.iterated), m.pressure_count, *own, *law, self.slope, x, self.change)
        self._run(inflate, len(self.members), self.members, self.owners, self.slope, self.change, x)

    def damps(self, differentiable: bool) -> bool:
        """A filling has no damping."""
        return False

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)


def _incidence(surfaces: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Particles of all surfaces (m,), the surface of each, where in the last table (3 faces, 2) its rows begin: the
    other corners of each triangle around it, in the order in which the triangle turns."""
    members = [np.unique(faces) for faces in surfaces]
    owners = np.repeat(np.arange(len(surfaces)), [len(m) for m in members])
    flat = np.concatenate(members)
    faces = np.concatenate(surfaces)
    corners, others = faces.ravel(), faces[:, [1, 2, 2, 0, 0, 1]].reshape(-1, 2)
    number = np.empty(int(flat.max()) + 1, dtype=np.int64)
    number[flat] = np.arange(len(flat))
    order = np.argsort(number[corners], kind="stable")
    firsts = np.concatenate([[0], np.cumsum(np.bincount(number[corners], minlength=len(flat)))])
    return flat, owners, firsts, others[order]


@func
def from_first(x: Vec[4, Float], first: Vec[4, Float]) -> Vec[3, Float]:
    """Relative to a particle of the surface: a volume far from the origin would be a difference of large numbers."""
    return position(x) - position(first)


@kernel
def find_slopes(
    members: array(dtype=int32), ranges: array(dtype=int32), owners: array(dtype=int32), firsts: array(dtype=int32),
    beside: array(dtype=vec2i), x: array(dtype=Any), slope: array(dtype=Any),
):  # fmt: skip
    n = tid()
    origin = x[members[ranges[owners[n]]]]
    total = position(origin) * 0.0
    for k in range(firsts[n], firsts[n + 1]):
        total = total + cross(from_first(x[beside[k][0]], origin), from_first(x[beside[k][1]], origin))
    slope[n] = total / 6.0


@functools.cache
def balance(iterated: bool) -> Any:
    """The kernel for the change of each surface's multiplier, with multipliers to remember or without."""

    @kernel
    def solve(
        members: array(dtype=int32), ranges: array(dtype=int32), target: array(dtype=Any), compliance: array(dtype=Any),
        h: Any, multiplier: array(dtype=Any), slope: array(dtype=Any), x: array(dtype=Any), change: array(dtype=Any),
    ):  # fmt: skip
        s = tid()
        origin = x[members[ranges[s]]]
        volume, w = origin[0] * 0.0, origin[0] * 0.0
        for n in range(ranges[s], ranges[s + 1]):
            a, g = x[members[n]], slope[n]
            volume = volume + dot(from_first(a, origin), g) / 3.0
            w = w + a[3] * dot(g, g)
        soft = compliance[s] / (h * h)
        error = volume - target[s]
        if iterated:
            error = error + soft * multiplier[s]
        step = w * 0.0
        if w + soft > 0.0:
            step = -error / (w + soft)
        if iterated:
            multiplier[s] = multiplier[s] + step
        change[s] = step

    return solve


@kernel
def inflate(
    members: array(dtype=int32), owners: array(dtype=int32), slope: array(dtype=Any), change: array(dtype=Any),
    x: array(dtype=Any),
):  # fmt: skip
    n = tid()
    i = members[n]
    x[i] = apply_impulse(x[i], change[owners[n]] * slope[n])
