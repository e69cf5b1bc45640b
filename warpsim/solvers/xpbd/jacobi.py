"""Jacobi: all constraints of a kind at once, each on its own copies of its particles.

A particle with n constraints is split into n parts of a mass n-th as large, one for each of them (mass splitting:
R. Tonge, F. Benevolenski, A. Voroshilov 2012); afterwards it goes where the mean of its parts is. So multipliers stay
those of the forces that acted, momentum is conserved, and iterations converge as those of Gauss-Seidel do, to the same
up to the normals that constraints had on the way. They need more of them: of a correction 1 / n remains. Relaxation
below 1 makes the parts lighter still by that factor, and so every correction smaller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Kernel, array, int32, kernel, launch, tid, vector, zeros
from ...core.runtime.arrays.fixed import Fixed
from .particle import move_to, position

if TYPE_CHECKING:
    from ..scene.model import Model
    from .constraints import Stages


class Copies(Fixed):
    """Parts of particles, one for each constraint (rows, particles a row) that they are in.

    members: indices of parts, as the constraints' kernels take them. factor: how many times lighter a part is.
    """

    constant = ("source", "members", "firsts", "around")

    def __init__(self, model: Model, rows: np.ndarray, index_type: type, relaxation: float):
        flat, device, n = rows.ravel(), model.device, model.particle_count
        uses = np.bincount(flat, minlength=n)
        self.model, self.count = model, len(flat)
        self.source = array(flat.astype(np.int32), dtype=int32, device=device)
        self.members = array(np.arange(len(flat), dtype=np.int32).reshape(rows.shape), dtype=index_type, device=device)
        self.firsts = array(np.concatenate([[0], np.cumsum(uses)]).astype(np.int32), dtype=int32, device=device)
        self.around = array(np.argsort(flat, kind="stable").astype(np.int32), dtype=int32, device=device)
        self.factor = array(np.maximum(uses, 1) / relaxation, dtype=model.dtype, device=device)
        self.x = zeros(len(flat), model.vec4, device, requires_grad=True)
        self.v = zeros(len(flat), model.vec3, device, requires_grad=True)

    @property
    def scratch(self) -> list[Any]:
        """Arrays that every iteration fills before it reads them."""
        return [self.x, self.v]

    def solve(self, stages: Stages, count: int, x: array) -> None:
        """One iteration of `count` constraints; stages: kernels and their materials."""
        self._run(split, self.count, self.source, self.factor, x, self.x)
        for stage, *materials in stages:
            self._run(stage, count, 0, self.members, *materials, self.x)
        self._run(join, self.model.particle_count, self.firsts, self.around, self.factor, self.x, x)

    def damp(self, stages: Stages, count: int, x: array, v: array) -> None:
        """Damping of `count` constraints: velocities change, places do not."""
        self._run(split, self.count, self.source, self.factor, x, self.x)
        self._run(hand_out, self.count, self.source, v, self.v)
        for stage, *materials in stages:
            self._run(stage, count, 0, self.members, *materials, self.x, self.v)
        self._run(join_velocities, self.model.particle_count, self.firsts, self.around, self.factor, self.v, v)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)


@kernel
def split(source: array(dtype=int32), factor: array(dtype=Any), x: array(dtype=Any), parts: array(dtype=Any)):
    n = tid()
    i = source[n]
    a = x[i]
    parts[n] = vector(a[0], a[1], a[2], factor[i] * a[3])


@kernel
def hand_out(source: array(dtype=int32), v: array(dtype=Any), parts: array(dtype=Any)):
    n = tid()
    parts[n] = v[source[n]]


@kernel
def join(
    firsts: array(dtype=int32), around: array(dtype=int32), factor: array(dtype=Any), parts: array(dtype=Any),
    x: array(dtype=Any),
):  # fmt: skip
    i = tid()
    p = position(x[i])
    moved = p * 0.0
    for n in range(firsts[i], firsts[i + 1]):
        moved = moved + (position(parts[around[n]]) - p)
    x[i] = move_to(x[i], p + moved / factor[i])


@kernel
def join_velocities(
    firsts: array(dtype=int32), around: array(dtype=int32), factor: array(dtype=Any), parts: array(dtype=Any),
    v: array(dtype=Any),
):  # fmt: skip
    i = tid()
    u = v[i]
    gained = u * 0.0
    for n in range(firsts[i], firsts[i + 1]):
        gained = gained + (parts[around[n]] - u)
    v[i] = u + gained / factor[i]
