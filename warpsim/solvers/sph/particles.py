"""Particles of fluid and of walls in one set of arrays, with all that a substep reads and writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.language import array, empty, int32, kernel, tid, zeros
from ...geometry.hash_grid.hash_grid import HashGrid
from .walls import WALL, WATER


class Particles:
    """Arrays of `water` particles of fluid, then `walls` of walls.

    x [m], v [m/s], rho [kg/m^3], p [Pa], mass [kg]: (water + walls,). pull: forces from outside [N], a: acceleration
    [m/s^2], mix: change of velocity by XSPH [m/s], new: density a step later: (water,). slip: velocity with which walls
    make fluid stick [m/s], force [N], shape and local, the place in its frame [m]: (walls,). first: where the particles
    of each shape begin, (shapes + 1,).
    """

    def __init__(self, model: Any, local: np.ndarray, shape: np.ndarray, wall_mass: float):
        self.water, self.walls, device = model.particle_count, len(shape), model.device
        n, total = self.water, self.water + self.walls
        options: dict[str, Any] = {"device": device, "requires_grad": True}
        self.x, self.v = (zeros(total, model.vec3, **options) for _ in range(2))
        self.rho, self.p = (zeros(total, model.dtype, **options) for _ in range(2))
        self.mass = array(np.full(total, wall_mass), dtype=model.dtype, **options)
        self.pull, self.a, self.mix = (zeros(n, model.vec3, **options) for _ in range(3))
        self.new = zeros(n, model.dtype, **options)
        self.slip, self.force, self.local = (zeros(self.walls, model.vec3, **options) for _ in range(3))
        self.shape = empty(self.walls, int32, device)
        if self.walls:
            self.shape.assign(shape)
            self.local.assign(local)
        first = np.searchsorted(shape, np.arange(model.shape_count + 1)).astype(np.int32)
        self.first = array(first, dtype=int32, device=device)
        groups = np.where(np.arange(total) < n, WATER, WALL).astype(np.int32)
        self.groups = array(groups, dtype=int32, device=device) if total else None
        self.grid = HashGrid(1024, 1024, 1024, device=device, dtype=model.dtype)
        self.grid.reserve(total, with_groups=True)

    @property
    def scratch(self) -> list[Any]:
        """What a step fills before it reads it."""
        arrays = [self.x, self.v, self.rho, self.p, self.mass, self.pull, self.a, self.mix, self.new]
        return [*arrays, self.slip, self.force, self.grid]


@kernel
def load(
    particle_q: array(dtype=Any), particle_qd: array(dtype=Any), particle_rho: array(dtype=Any),
    particle_f: array(dtype=Any), particle_mass: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any),
    rho: array(dtype=Any), pull: array(dtype=Any), mass: array(dtype=Any),
):  # fmt: skip
    """Take over a state."""
    i = tid()
    x[i] = particle_q[i]
    v[i] = particle_qd[i]
    rho[i] = particle_rho[i]
    pull[i] = particle_f[i]
    mass[i] = particle_mass[i]


@kernel
def store(
    x: array(dtype=Any), v: array(dtype=Any), rho: array(dtype=Any), particle_q: array(dtype=Any),
    particle_qd: array(dtype=Any), particle_rho: array(dtype=Any),
):  # fmt: skip
    """Hand over a state."""
    i = tid()
    particle_q[i] = x[i]
    particle_qd[i] = v[i]
    particle_rho[i] = rho[i]


@kernel
def take_density(new: array(dtype=Any), rho: array(dtype=Any)):
    """Densities a step later."""
    i = tid()
    rho[i] = new[i]
