"""Surface extraction of a fluid as triangles, where the sum of volumes times kernel is one half."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, determinant, empty, float32, kernel, launch, length, mat33, tid, uint64, vec3
from ...core.runtime.arrays.fixed import Fixed
from ...errors import ModelError
from ...geometry.hash_grid.hash_grid import HashGrid
from ...geometry.hash_grid.neighbors import hash_grid_neighbors
from ...geometry.marching_cubes.marching_cubes import MarchingCubes
from .smoothing import smoothing
from .stretch import LONGEST, stretch_kernel

if TYPE_CHECKING:
    from ..scene.state import State
    from .solver import SolverSPH

_LARGEST = 200_000_000


class Surface(Fixed):
    """Makes surfaces of states of a solver in space.

    cell [m]: of the grid on which the surface is found, None: half a spacing. blur: smoothing length in spacings; more
    hides single particles, and rounds edges. anisotropic: ellipsoids that follow how neighbours lie in place of balls
    (J. Yu and G. Turk 2013): level surfaces are smoother, though a fifth of a spacing too deep, and spray is drawn, in
    about three times the time. Raises `ModelError` for fluids that are sheets.
    """

    def __init__(self, solver: SolverSPH, cell: float | None = None, blur: float = 1.6, anisotropic: bool = False):
        if solver.dim != 3:
            raise ModelError("a sheet of fluid has no surface\nexpected: a solver with dim=3")
        self.solver, self.cell = solver, float(cell or 0.5 * solver.spacing)
        if not (math.isfinite(self.cell) and self.cell > 0.0):
            raise ModelError(f"cell is {cell}\nexpected: above 0 [m]")
        if not (math.isfinite(blur) and blur > 0.0):
            raise ModelError(f"blur is {blur} spacings\nexpected: above 0; 1.3 to 2 is usual")
        self.length, self.anisotropic = blur * solver.spacing, anisotropic
        self.grid = HashGrid(1024, 1024, 1024, device=solver.model.device)
        self._balls = empty(0, mat33, solver.model.device)

    def extract(self, state: State, world: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Vertices (n, 3) [m] and triangles (m, 3) that turn counter-clockwise seen from outside; none without fluid.

        world: of that one alone, None: of all, which is one surface where worlds overlap. What waits behind nozzles is
        not drawn.

        Raises `ModelError` for a world that is none, and for particles so far apart that no memory holds the grid.
        """
        model, there = self.solver.model, self.solver.present(state)
        if world is not None:
            there = there & (model.particle_world.numpy() == model.world(world).number)
        origin = np.array(self.solver.origin, dtype=np.float64)
        world, rest = (a.numpy()[there].astype(np.float64) for a in (state.particle_q, state.particle_rest))
        q = (world - origin + rest).astype(np.float32)
        if not len(q):
            return np.empty((0, 3)), np.empty((0, 3), dtype=np.int32)
        support = smoothing("wendland2", 3).support * self.length
        reach = support * (LONGEST if self.anisotropic else 1.0)
        low, high = q.min(axis=0) - reach, q.max(axis=0) + reach
        counts = np.ceil((high - low) / self.cell).astype(int) + 1
        if not np.isfinite(low + high).all() or np.prod(counts.astype(float)) > _LARGEST:
            ends = f"{low + origin} and {high + origin}"
            raise ModelError(f"particles lie between {ends} m, too far apart for cells of {self.cell:g} m")
        points = array(q, dtype=vec3, device=model.device)
        points, shape = self._ellipsoids(points, support) if self.anisotropic else (points, self._balls)
        self.grid.build(points, reach)
        field = empty(tuple(counts), float32, model.device)
        volumes = model.particle_mass.numpy()[there] / self.solver.fluid.density
        volume = array(volumes, dtype=float32, device=model.device)
        sizes = [vec3(*low), float32(self.cell), float32(self.length), float32(reach)]
        fill = _fill_kernel(self.anisotropic)
        launch(fill, tuple(counts), [self.grid.id, *sizes, points, shape, volume, field], device=model.device)
        last = low + self.cell * (counts - 1)
        vertices, indices = MarchingCubes.extract(field, 0.5, lower=low.tolist(), upper=last.tolist())
        triangles = indices.numpy().reshape(-1, 3)[:, ::-1].copy()  # the field is high inside
        return vertices.numpy() + origin.astype(np.float32), triangles

    def _ellipsoids(self, points: array, support: float) -> tuple[Any, Any]:
        """Middles [m] and shapes of particles by those within a distance [m]."""
        device = self.solver.model.device
        middle, shape = empty(points.size, vec3, device), empty(points.size, mat33, device)
        self.grid.build(points, support)
        around = [self.grid.id, float32(support), points]
        launch(stretch_kernel(), points.size, [*around, shape, middle], device=device)
        return middle, shape


@functools.cache
def _fill_kernel(anisotropic: bool) -> Any:
    value = smoothing("wendland2", 3).value

    @kernel(enable_backward=False)
    def fill(
        grid: uint64, low: vec3, cell: float32, h: float32, reach: float32, q: array(dtype=vec3),
        shape: array(dtype=mat33), volume: array(dtype=float32), field: array(dtype=float32, ndim=3),
    ):  # fmt: skip
        i, j, k = tid()
        p = low + cell * vec3(float32(i), float32(j), float32(k))
        total = float32(0.0)
        for n in hash_grid_neighbors(grid, p, reach):
            d = p - q[n]
            if anisotropic:
                total += volume[n] * determinant(shape[n]) * value(length(shape[n] @ d), h)
            else:
                total += volume[n] * value(length(d), h)
        field[i, j, k] = total

    return fill
