"""Grains sorted by cell, with all that a substep reads and writes."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.language import Array, Float, Quat, Vec, array, int32
from ...core.language import generic_struct, kernel, tid, vector, zeros, zeros_like
from ...core.runtime.arrays.creation import copy
from ...core.types.compounds import quaternion as quaternion_type
from ..neighbours.verlet_list import note_moved, position
from ..scene.inverse_mass import inverse_mass
from ..particles.origin import from_origin, in_world
from ..scene.memory import Memory, refill, refill_all, require_permutation, require_range
from ..scene.shapes import advance_rotation
from .grains import SOLID

if TYPE_CHECKING:
    from ..neighbours.verlet_list import VerletList
    from ..scene.model import Model


@generic_struct
class Grains:
    """Grains in the order of the cells, see `Packed`; outdated and limit [m] as in `VerletList`."""

    number: array(dtype=int32)
    kind: array(dtype=int32)
    world: array(dtype=int32)
    q: Array[Vec[4, Float]]
    v: Array[Vec[3, Float]]
    w: Array[Vec[3, Float]]
    rotation: Array[Quat[Float]]
    inv_mass: Array[Float]
    pull: Array[Vec[3, Float]]
    force: Array[Vec[3, Float]]
    torque: Array[Vec[3, Float]]
    seen: Array[Vec[4, Float]]
    outdated: array(dtype=int32)
    limit: Float


@generic_struct
class Watch:
    """What tells whether lists of neighbours may lack a pair: where they saw grains, see `note_moved`."""

    seen: Array[Vec[4, Float]]
    outdated: array(dtype=int32)
    limit: Float


class Packed:
    """Arrays in the order of the grains, which stay the same arrays when that order changes.

    number: which grain of the model comes k-th. q: centre, from the solver's origin, and radius, vec4 [m]; seen: q when
    lists were built. v [m/s], w: angular velocity [rad/s]. rotation: quaternions. pull: forces from outside [N].
    inv_mass [1/kg], kind: number of the material, world: in which a grain is. force [N], torque [N m]: of all contacts.
    springs [m], wound [rad]: of sliding and rolling, by row of the lists; wall_springs, wall_wound: by group of shapes,
    and by grain. bonds: by row, whether grains that stick hold on to each other.
    """

    def __init__(self, model: Model, rolling: bool, sticky: bool):
        self.model, self.rolling, self.sticky = model, rolling, sticky
        n = model.particle_count
        options: dict[str, Any] = {"device": model.device, "requires_grad": True}
        self.number, self.kind, self.world = (zeros(n, int32, model.device) for _ in range(3))
        self.inv_mass = zeros(n, model.dtype, **options)
        self.q, self.seen = (zeros(n, model.vec4, **options) for _ in range(2))
        self.v, self.w, self.pull, self.force, self.torque = (zeros(n, model.vec3, **options) for _ in range(5))
        self.rotation = zeros(n, quaternion_type(model.dtype), **options)
        shapes = range(len(model.shape_groups))
        self.wall_springs = [zeros(n, model.vec3, **options) for _ in shapes]
        self.wall_wound = [zeros(n if rolling else 0, model.vec3, **options) for _ in shapes]
        self.springs, self.wound, self.bonds = self._rows(0), self._rows(0), self._rows(0, int32)
        self._sorted_rows: dict[Any, Any] = {}
        self._sorted = {a.dtype: zeros_like(a) for a in (self.number, self.inv_mass, self.q, self.v, self.rotation)}

    def grains(self, lists: VerletList) -> Any:
        """What kernels take that look at each grain by itself."""
        own = [self.number, self.kind, self.world, self.q, self.v, self.w, self.rotation, self.inv_mass, self.pull]
        own += [self.force, self.torque, self.seen]
        return Grains[self.model.dtype](*own, lists.outdated, lists.limit)

    def watch(self, lists: VerletList) -> Any:
        """What kernels take that move grains: these are arguments of their own, as recording them costs less."""
        return Watch[self.model.dtype](self.seen, lists.outdated, lists.limit)

    def sort(self, lists: VerletList) -> None:
        """Put the grains into the order of the cells that they lie in now, and list their neighbours anew."""
        sorted_q = self._sorted[self.q.dtype]
        lists.rebuild(self.q, self.world, sorted_q)
        copy(self.q, sorted_q)
        copy(self.seen, sorted_q)
        worlds = [self.world] if lists.grouped else []
        own = (self.number, self.kind, *worlds, self.inv_mass, self.v, self.w, self.pull, self.rotation)
        for a in (*own, *self._by_wall):
            lists.sort.gather(a, self._sorted[a.dtype])
            copy(a, self._sorted[a.dtype])
        self.springs = self._carry_over(lists, self.springs)
        if self.rolling:
            self.wound = self._carry_over(lists, self.wound)
        if self.sticky:
            self.bonds = self._carry_over(lists, self.bonds)

    def _carry_over(self, lists: VerletList, carried: array) -> Any:
        """What is kept per row, by the present lists; another array where these have grown."""
        room = lists.rows.capacity
        target = self._room_to_sort(carried.dtype, room)
        lists.carry(carried, target)
        carried = carried if carried.size == room else self._rows(room, carried.dtype)
        lists.copy_rows(target, carried)
        return carried

    def _room_to_sort(self, dtype: type, room: int) -> Any:
        if dtype not in self._sorted_rows or self._sorted_rows[dtype].size != room:
            self._sorted_rows[dtype] = self._rows(room, dtype)
        return self._sorted_rows[dtype]

    def reserve(self, room: int) -> None:
        """Make room for so many rows; those that there are keep theirs."""
        if room > self.springs.size:
            self.springs = self._grow(self.springs, room)
            self.wound = self._grow(self.wound, room) if self.rolling else self.wound
            self.bonds = self._grow(self.bonds, room) if self.sticky else self.bonds

    def _grow(self, carried: array, room: int) -> Any:
        self._room_to_sort(carried.dtype, room)
        wider = self._rows(room, carried.dtype)
        copy(wider, carried, count=carried.size)
        return wider

    def _rows(self, room: int, dtype: type | None = None) -> Any:
        dtype = dtype or self.model.vec3
        return zeros(room, dtype, device=self.model.device, requires_grad=dtype is not int32)

    @property
    def by_row(self) -> list[Any]:
        """What is kept per row of the lists."""
        bonds = [self.bonds] if self.sticky else []
        return [self.springs, *([self.wound] if self.rolling else ()), *bonds]

    @property
    def _by_wall(self) -> list[Any]:
        return [*self.wall_springs, *(self.wall_wound if self.rolling else ())]

    def memory(self) -> Memory:
        """What a saved scene keeps of the grains."""
        own = {"number": self.number, "kind": self.kind, "seen": self.seen}
        return {**own, "by_row": tuple(self.by_row), "by_wall": tuple(self._by_wall)}

    def recall(self, memory: Mapping[str, Any], lists: VerletList, materials: int) -> None:
        """Take that over, with lists that were taken over before."""
        require_permutation("the order of the grains", memory["number"])
        require_range("a material", memory["kind"].numpy(), materials)
        refill_all(memory, {"number": self.number, "kind": self.kind, "seen": self.seen})
        self.reserve(lists.rows.capacity)
        for target, source in zip(self.by_row, memory["by_row"], strict=True):
            refill("by_row", target[: source.size], source)
        for target, source in zip(self._by_wall, memory["by_wall"], strict=True):
            refill("by_wall", target, source)

    @property
    def history(self) -> list[Any]:
        """What a step hands on to the next."""
        return [self.number, self.kind, self.seen, *self.by_row, *self._by_wall]

    @property
    def scratch(self) -> list[Any]:
        """What a step fills before it reads it."""
        loaded = [self.world, self.inv_mass, self.q, self.v, self.w, self.pull, self.rotation, self.force, self.torque]
        return [*loaded, *self._sorted.values(), *self._sorted_rows.values()]


@kernel
def load(
    origin: Any,
    particle_q: array(dtype=Any),
    particle_rest: array(dtype=Any),
    particle_qd: array(dtype=Any),
    particle_w: array(dtype=Any),
    particle_rotation: array(dtype=Any),
    particle_f: array(dtype=Any),
    radius: array(dtype=Any),
    mass: array(dtype=Any),
    world: array(dtype=int32),
    g: Any,
):
    """Put a state into the order of the cells."""
    k = tid()
    i = g.number[k]
    p = from_origin(origin, particle_q[i], particle_rest[i])
    packed = vector(p[0], p[1], p[2], radius[i])
    g.q[k] = packed
    g.v[k] = particle_qd[i]
    g.w[k] = particle_w[i]
    g.rotation[k] = particle_rotation[i]
    g.pull[k] = particle_f[i]
    g.inv_mass[k] = inverse_mass(mass[i])
    g.world[k] = world[i]
    note_moved(g.outdated, g.limit, packed, g.seen[k])


@kernel
def store(
    origin: Any,
    g: Any,
    particle_q: array(dtype=Any),
    particle_rest: array(dtype=Any),
    particle_qd: array(dtype=Any),
    particle_w: array(dtype=Any),
    particle_rotation: array(dtype=Any),
):
    """Put a state back into the order of the model."""
    k = tid()
    i = g.number[k]
    rounded, rest = in_world(origin, position(g.q[k]))
    particle_q[i] = rounded
    particle_rest[i] = rest
    particle_qd[i] = g.v[k]
    particle_w[i] = g.w[k]
    particle_rotation[i] = g.rotation[k]


@functools.cache
def integrate_in(many: bool) -> Any:
    """The kernel of motion; many: in several worlds, each with a gravity of its own."""

    @kernel
    def integrate(
        watch: Any, gravity: array(dtype=Any), world: array(dtype=int32), dt: Any, inv_mass: array(dtype=Any),
        force: array(dtype=Any), torque: array(dtype=Any), pull: array(dtype=Any), q: array(dtype=Any),
        v: array(dtype=Any), w: array(dtype=Any), rotation: array(dtype=Any),
    ):  # fmt: skip
        """Semi-implicit Euler: velocities by the forces, then positions by the new velocities."""
        i, own = tid(), int32(0)
        if many:
            own = world[i]
        a = q[i]
        u, spin = v[i], w[i]
        inverse = inv_mass[i]
        if inverse > 0.0:
            u = u + ((force[i] + pull[i]) * inverse + gravity[own]) * dt
            spin = spin + torque[i] * (inverse * dt / (inverse.dtype(SOLID) * a[3] * a[3]))
        p = position(a) + u * dt
        packed = vector(p[0], p[1], p[2], a[3])
        q[i] = packed
        v[i] = u
        w[i] = spin
        rotation[i] = advance_rotation(rotation[i], spin, dt)
        note_moved(watch.outdated, watch.limit, packed, watch.seen[i])

    return integrate
