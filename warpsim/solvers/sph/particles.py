"""Particles of fluid and of walls in one set of arrays, with all that a substep reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Array, Float, Vec, array, int32
from ...core.language import atomic_max, dot, empty, generic_struct, kernel, launch, tid, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.creation import copy
from ...geometry.hash_grid.hash_grid import HashGrid
from ..neighbours.cluster_list import SIZE, ClusterList
from ..neighbours.serpentine import Serpentine
from ..particles.origin import from_origin, in_world
from ..scene.memory import Memory, refill_all, require, require_permutation, require_range
from .around import IN_GRID, IN_GRID_BY_WORLD, LISTED, LISTED_BY_SHORT_WORLD, LISTED_BY_WORLD, WALL, WATER
from .around import WATER_IN_GRID, Around, Launched, Near
from .places import Places
from .sampling import Rows

if TYPE_CHECKING:
    from ..scene.model import Model

_KEPT = ("number", "slot", "seen", "outdated", "x", "v", "a", "rho", "p", "mass", "slip", "shape", "local", "toward")
"""Arrays that saved scenes hold: the order, what statistics ask of, and walls."""


@generic_struct
class Moving:
    """Particles in the order of a solver, see `Particles`."""

    number: array(dtype=int32)
    x: Array[Vec[3, Float]]
    v: Array[Vec[3, Float]]
    rho: Array[Float]
    mass: Array[Float]
    pull: Array[Vec[3, Float]]


class Particles(Fixed):
    """Arrays of `water` particles of fluid, then `walls` of walls, each in an order in which neighbours are near.

    number: which particle stands k-th, those of walls counted after those of fluid, and slot, its inverse: (total,).
    x, from the solver's origin [m], v [m/s], rho [kg/m^3], p [Pa], mass [kg]: (total,). What pairs read in their stead:
    push, p / rho^2; spin, the angular velocity of the fluid around it [rad/s]; and of continuity middle, x half a step
    later, level, the density that diffuses, and volume, of fluid alone: (total,).
    pull: forces from outside [N], a: acceleration [m/s^2], mix: change of velocity by XSPH [m/s], drift: velocity of
    shifting [m/s], begin: x before it moved: (water,). slip: velocity with which walls make fluid stick [m/s], force:
    on walls [N]: (walls,). What kernels read of clusters is longer by one, so that the last one is whole.

    In the order of the model: shape, local, the place in its frame, and toward, from there to its surface [m]:
    (walls,); first: where the particles of each shape begin, (shapes + 1,).

    around_water, around_walls: cluster lists with a margin `skin` [m], the second of fluid alone. seen: x when they
    were made; outdated: 1 where something is farther from there than half of it. places: whose is which place in the
    order; world: that of each, (total,), empty where there is one alone.
    """

    constant = ("first",)

    def __init__(self, model: Model, rows: Rows, wall_mass: float, width: float, skin: float, period: Sequence[float]):
        self.model, self.skin, self.places, device = model, skin, Places(model, rows), model.device
        self.water, self.walls = model.particle_count, len(rows.shape)
        n, self.total = self.water, self.water + self.walls
        options: dict[str, Any] = {"device": device, "requires_grad": True}
        whole = self.total + SIZE
        self.x, self.v, self.a, self.middle, self.spin = (zeros(whole, model.vec3, **options) for _ in range(5))
        self.p, self.push, self.level, self.volume = (zeros(whole, model.dtype, **options) for _ in range(4))
        self.rho = array(np.ones(whole), dtype=model.dtype, **options)
        self.mass = array(np.full(whole, wall_mass), dtype=model.dtype, **options)
        self.pull = zeros(n + SIZE, model.vec3, **options)
        self.mix, self.drift, self.begin = (zeros(n, model.vec3, **options) for _ in range(3))
        self.slip = zeros(self.walls + SIZE, model.vec3, **options)
        self.force, self.local, self.toward = (zeros(self.walls, model.vec3, **options) for _ in range(3))
        self.shape = empty(self.walls, int32, device)
        if self.walls:
            self.shape.assign(rows.shape)
            self.local.assign(rows.local)
            self.toward.assign(rows.toward)
        first = np.searchsorted(rows.shape, np.arange(model.shape_count + 1)).astype(np.int32)
        self.first = array(first, dtype=int32, device=device)
        self._make_search(width, period)

    def _make_search(self, width: float, period: Sequence[float]) -> None:
        n, total, model = self.water, self.total, self.model
        device, places, many = model.device, self.places, model.world_count > 1
        kinds = np.where(np.arange(total) < n, WATER, WALL)
        integers = (places.number, np.argsort(places.number), places.world if many else kinds, places.segment)
        self.number, self.slot, self.groups, segment = (
            array(a.astype(np.int32), dtype=int32, device=device) for a in integers
        )
        self.world = self.groups if many else empty(0, int32, device)
        self.grid = self._new_grid(total)
        self.water_grid = self._new_grid(n) if many else self.grid
        self.serpentine = Serpentine(total, width, period, device, segment if many else None)
        worlds = np.arange(model.world_count) if many else None
        self.around_water = ClusterList(self.grid, 0, places.water, period, worlds)
        self.around_walls = ClusterList(self.water_grid, n, places.walls, period, worlds if many else [WATER])
        self._moving = Moving[model.dtype](self.number, self.x, self.v, self.rho, self.mass, self.pull)
        arrays = [getattr(self._moving, name) for name in type(self._moving).fields]
        copies = [empty(a.size, a.dtype, device, requires_grad=a.requires_grad) for a in arrays]
        self._before, self._copies = Moving[model.dtype](*copies), list(zip(copies, arrays, strict=True))
        self.seen = zeros(total, model.vec3, device)
        self.outdated = array([1], dtype=int32, device=device)
        self._near: dict[Any, Near] = {}

    def _new_grid(self, points: int) -> HashGrid:
        grid = HashGrid(1024, 1024, 1024, device=self.model.device, dtype=self.model.dtype)
        grid.reserve(points, with_groups=True)
        return grid

    @property
    def points(self) -> Any:
        """Positions without what fills the last cluster."""
        return self.x[: self.total]

    @property
    def scratch(self) -> list[Any]:
        """What a step fills before it reads it."""
        arrays = [self.x, self.v, self.rho, self.p, self.mass, self.pull, self.a, self.mix, self.drift, self.push]
        arrays += [self.middle, self.level, self.volume, self.spin, self.slip, self.force, self.begin]
        return [*arrays, *{id(grid): grid for grid in (self.grid, self.water_grid)}.values()]

    def memory(self) -> Memory:
        """What a saved scene keeps of them."""
        lists = {"around_water": self.around_water.memory(), "around_walls": self.around_walls.memory()}
        return {**{name: getattr(self, name) for name in _KEPT}, **lists}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Take that over. Raises `StateError` for an order that is none, and for walls of another model."""
        number, slot = memory["number"].numpy(), memory["slot"].numpy()
        require_permutation("the order of the particles", memory["number"])
        apart = bool((number[: self.water] < self.water).all() and (slot[number] == np.arange(self.total)).all())
        require(apart, "the order of the particles", "those of the fluid first, and slots that are its inverse")
        require(self.places.fits(number), "the order of the particles", "each among those of its world")
        require_range("the shape of a wall", memory["shape"].numpy(), self.model.shape_count)
        refill_all(memory, {name: getattr(self, name) for name in _KEPT})
        self.around_water.recall(memory["around_water"], self.total)
        self.around_walls.recall(memory["around_walls"], self.total)

    def weigh_as(self, masses: array) -> None:
        """Give masses a gradient if those of the model have one: what none asks for is not added up."""
        self.mass.requires_grad = self._before.mass.requires_grad = masses.requires_grad

    # ----- neighbours -----------------------------------------------------------------------------

    def build_grid(self, width: float, period: Sequence[float]) -> None:
        """Sort all into a hash grid with cells of a width [m]; the fluid of many worlds into one of its own as well."""
        if self.total:
            self.grid.build(self.points, width, self.groups, period=period)
        if self.water_grid is not self.grid and self.water:
            self.water_grid.build(self.x[: self.water], width, self.world[: self.water], period=period)

    def near(self, listed: bool, reach: float, h: float) -> Near:
        """Neighbours of fluid and of walls for kernels: from lists, or less than `reach` [m] away in the grid."""
        key = (listed, id(self.around_water.ids), id(self.around_walls.ids))
        if key not in self._near:
            self._near.clear()
            self._near[key] = self._find_near(listed, self.model.dtype(reach), self.model.dtype(h))
        return self._near[key]

    def _find_near(self, listed: bool, reach: float, h: float) -> Near:
        lists = (self.around_water, self.around_walls)
        places = (self.world[: self.water], self.world[self.water :])
        rest, none = [reach, self.around_water.period, self.water, self.walls, h], (None, None, None)
        parts = [(row.starts, row.firsts, row.lasts, row.groups) if listed else (*none, world)
                 for row, world in zip(lists, places, strict=True)]  # fmt: skip
        rows = [(row.counts, row.ids) if listed else (None, None) for row in lists]
        water, walls = (
            Around[self.model.dtype](*row, a.grid.id, *rest, *part)
            for row, a, part in zip(rows, lists, parts, strict=True)
        )
        many = self.model.world_count > 1
        if listed:
            both = [(LISTED_BY_SHORT_WORLD if row.has_short else LISTED_BY_WORLD) if many else LISTED for row in lists]
            return Near(True, *map(Launched, both, (water, walls), [row.dim for row in lists]))
        searches = (IN_GRID_BY_WORLD, IN_GRID_BY_WORLD) if many else (IN_GRID, WATER_IN_GRID)
        return Near(False, Launched(searches[0], water, self.water), Launched(searches[1], walls, self.walls))

    def note_moved(self) -> None:
        """Say so where particles are far from where lists saw them."""
        args = [self.x, self.seen, self.model.dtype(0.25 * self.skin * self.skin), self.outdated]
        launch(_note, self.total, args, device=self.model.device, record_tape=False)

    @property
    def is_outdated(self) -> bool:
        """Whether lists may lack a pair; waits for the device."""
        return bool(self.outdated.numpy()[0])

    def rebuild(self, width: float, reach: float, period: Sequence[float]) -> None:
        """Put particles into a new order, and list those less than `reach` apart [m], or will be for a while."""
        self.serpentine.update(self.x, self.water)
        for target, source in self._copies:
            copy(target, source)
        args = [self.serpentine.order, self.water, self._before, self._moving, self.slot, self.seen]
        launch(_reorder, self.total, args, device=self.model.device)
        self.build_grid(width, period)
        self.around_water.rebuild(self.x, reach + self.skin)
        self.around_walls.rebuild(self.x, reach + self.skin)
        self.outdated.zero_()


@kernel(enable_backward=False)
def _note(x: array(dtype=Any), seen: array(dtype=Any), limit: Any, outdated: array(dtype=int32)):
    i = tid()
    d = x[i] - seen[i]
    if dot(d, d) > limit:
        atomic_max(outdated, 0, int32(1))


@kernel
def _reorder(
    order: array(dtype=int32), water: int32, before: Any, after: Any, slot: array(dtype=int32), seen: array(dtype=Any)
):
    k = tid()
    i = order[k]
    after.number[k] = before.number[i]
    after.x[k] = before.x[i]
    after.v[k] = before.v[i]
    after.rho[k] = before.rho[i]
    after.mass[k] = before.mass[i]
    if k < water:
        after.pull[k] = before.pull[i]
    slot[before.number[i]] = k
    seen[k] = before.x[i]


@kernel
def load(
    origin: Any, particle_q: array(dtype=Any), particle_rest: array(dtype=Any), particle_qd: array(dtype=Any),
    particle_rho: array(dtype=Any), particle_f: array(dtype=Any), particle_mass: array(dtype=Any), p: Any,
):  # fmt: skip
    """Take over a state."""
    k = tid()
    i = p.number[k]
    p.x[k] = from_origin(origin, particle_q[i], particle_rest[i])
    p.v[k] = particle_qd[i]
    p.rho[k] = particle_rho[i]
    p.pull[k] = particle_f[i]
    p.mass[k] = particle_mass[i]


@kernel
def store(
    origin: Any, p: Any, particle_q: array(dtype=Any), particle_rest: array(dtype=Any), particle_qd: array(dtype=Any),
    particle_rho: array(dtype=Any),
):  # fmt: skip
    """Hand over a state."""
    k = tid()
    i = p.number[k]
    rounded, rest = in_world(origin, p.x[k])
    particle_q[i] = rounded
    particle_rest[i] = rest
    particle_qd[i] = p.v[k]
    particle_rho[i] = p.rho[k]
