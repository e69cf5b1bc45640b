"""Impenetrable wall surfaces: a position constraint for particles that the pressure of wall particles does not stop.

Each particle near a shape is looked at in the shape's frame, in which the shape stands still however it moves. The
plane through the closest point of its surface bounds how far the particle goes in a substep, so that it cannot come out
on the other side of a thin wall; where another part of the surface is met then, the particle is put back to that. It
loses the velocity with which it approached, and the shape feels the impulse. What is inside of a wall all the same, as
a wall was put onto it, and what went past the end of an endless wall and behind it, is counted, and a run says so.

Where space repeats, so do shapes: a particle meets the image whose middle is nearest. Shapes as long as the period have
no ends there.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Array, Float, Kernel, Vec, array, atomic_add, atomic_max, cross, cw_mul, dot, func
from ...core.language import generic_struct, int32, kernel, launch, length, min, sqrt, tid, uint64, vector, zeros
from ...core.lib.quaternions import quat_rotate
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ...core.runtime.arrays.fixed import Fixed
from ...geometry.hash_grid.neighbors import nearest_image
from ..neighbours.verlet_list import vector_of
from ..scene.memory import Memory, refill_all
from ..scene.rotations import rotate
from ..scene.shapes import DISTANCE, ShapeType, advance_pose, surface_velocity, to_shape, to_world
from .members import fences_of, image_of, members_of
from .sampling import distances

if TYPE_CHECKING:
    from ..scene.model import Model
    from .particles import Particles

GAP = 0.05  # spacings: how near a particle may come to a surface
DEEP = 0.5  # spacings: particles deeper in a wall are inside of it, and left alone
_OPPOSITE = -0.9  # cosine between normals of the two sides of a thin wall
_EDGE_ON = 0.1  # of a normal's length in the plane of a sheet: with less of it nothing is held
INSIDE, LOST = 0, 1
"""Of a world in `Barriers.counts`."""
_PARTS = 32  # threads that add up what a shape feels
_BITS = 31


@generic_struct
class Barrier:
    """One shape. s: its number, bit: of its group in `Barriers.near`, source: see `shapes`. period, and 0 along axes
    `ends` where it has no ends; middle, in its frame; low, high: corners of where it is a wall. reach: farther than
    particles go in a substep; gap: how near they may come; deep: below which they are left alone. Lengths [m]."""

    s: int32
    bit: int32
    source: uint64
    period: Vec[3, Float]
    middle: Vec[3, Float]
    ends: Vec[3, Float]
    low: Vec[3, Float]
    high: Vec[3, Float]
    reach: Float
    gap: Float
    deep: Float


@generic_struct
class Held:
    """Particles of fluid as `Particles` have them, and what barriers keep of each."""

    number: array(dtype=int32)
    mass: Array[Float]
    begin: Array[Vec[3, Float]]
    x: Array[Vec[3, Float]]
    v: Array[Vec[3, Float]]
    stop: Array[Vec[3, Float]]
    waiting: array(dtype=int32)
    near: array(dtype=int32)


class LeakWarning(UserWarning):
    """Particles of a fluid that are inside of walls, or left past their ends."""


class Barriers(Fixed):
    """Holds particles of fluid before the surfaces of the shapes of their world.

    waiting: by particles of the model, 0 of those that come from no nozzle, 1 of those that wait behind one, 2 of those
    that came, int32 (particles,). counts: for each world how many of the first kind are deeper than `DEEP` in walls,
    and how many that wait no more are behind endless walls and past their ends, then for each shape whether it stopped
    any, int32 (2 worlds + shapes,). near: by which groups of shapes each particle is, or may be before lists of
    neighbours are outdated, as bits, int32 (particles,).

    spacing: of particles [m]; reach: spacings, farther than they go in a substep; margin: how much nearer than when
    watched they may come before that [m]; bounds: corners (worlds, 2, 3) from the solver's origin where endless shapes
    are walls [m].
    """

    def __init__(
        self, model: Model, spacing: float, reach: float, margin: float, dim: int, period: Sequence[float],
        bounds: np.ndarray | None,
    ):  # fmt: skip
        self.model, self.dim, self.period = model, dim, period
        dtype, device, worlds = model.dtype, model.device, model.world_count
        options: dict[str, Any] = {"device": device, "requires_grad": True}
        self._margin = dtype(reach * spacing + margin)
        n, count = model.particle_count, model.shape_count
        self._images = [image_of(model, s, period) for s in range(count)]
        self._fences = [fences_of(model, s, period, bounds, dim) for s in range(count)]
        lengths = [dtype(f * spacing) for f in (reach, GAP, DEEP)]
        self._barriers = [
            Barrier[dtype](
                group.shape, _bit(g), model.shape_source[group.shape], *self._images[group.shape],
                *(vector_of(corner, dtype) for corner in self._fences[group.shape][0]), *lengths,
            ) for g, group in enumerate(model.shape_groups)
        ]  # fmt: skip
        self._members = members_of(model, self._images, self._fences)
        self.waiting, self.counts, self.near = (zeros(k, int32, device) for k in (n, 2 * worlds + count, n))
        self._leaks, self._stopped = self.counts[: 2 * worlds], self.counts[2 * worlds :]
        self._stop = zeros(n, model.vec3, **options)
        self._sums = zeros((count, _PARTS), model.spatial_vector, **options)
        self._told = np.zeros((worlds, 2), dtype=np.int32)

    @property
    def scratch(self) -> list[Any]:
        """What a step fills before it reads it."""
        return [self.counts, self._stop, self._sums]

    def memory(self) -> Memory:
        """What a saved scene keeps of them."""
        arrays = {"waiting": self.waiting, "near": self.near, "counts": self.counts}
        return {**arrays, "told": tuple(self._told.ravel().tolist())}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Take that over."""
        refill_all(memory, {"waiting": self.waiting, "near": self.near, "counts": self.counts})
        self._told[:] = np.reshape(memory["told"], self._told.shape)

    def watch(self, x: array, pose: array) -> None:
        """Note anew which particles are near which shapes."""
        self.near.zero_()
        for g, group in enumerate(self.model.shape_groups):
            find = _near_kernel(self.model.shape_type[group.shape], self._is_imaged(group.shape), self._many)
            args = [self._barriers[g], self._members[g], *self._surface(group.shape), self._margin, pose, x, self.near]
            launch(find, group.count, args, device=self.model.device, record_tape=False)

    def hold(
        self, p: Particles, pose: array, twist: array, dt: float, share: float, watched: bool, reaction: array
    ) -> None:
        """Put particles that moved for `dt` [s] back before the surfaces that they met.

        pose, twist: of shapes at the begin of the substep. watched: whether `near` says which are near; else all are
        looked at. Adds to the torque and force on each, times `share`.
        """
        self.counts.zero_()
        arrays = [p.number, p.mass, p.begin, p.x, p.v, self._stop, self.waiting, self.near]
        held = Held[self.model.dtype](*arrays)
        for g, group in enumerate(self.model.shape_groups):
            s, who = group.shape, [self._barriers[g], self._members[g], held]
            kind, told = (self._is_imaged(s), watched, self._many), [self._leaks, self._stopped]
            hold = _hold_kernel(self.model.shape_type[s], self.dim, *kind)
            self._run(hold, group.count, *who, *self._surface(s), pose, twist, dt, *told)
            lines = (self._members[g].shape.size, _PARTS)
            self._run(_add_kernel(*kind), lines, *who, pose, self._stopped, self._sums)
        self._run(_settle, self.model.shape_count, share, self._sums, reaction)

    def warn(self, step: int) -> None:
        """Warn of particles in walls, or past their ends, if they are more than twice those told of before."""
        counts = self.counts.numpy()[: self._told.size].reshape(self._told.shape)
        more = (counts > 2 * self._told).any(axis=1)
        if more.any():
            inside, lost = counts[more].sum(axis=0)
            where = f" of worlds {', '.join(map(str, np.flatnonzero(more)))}" if self._many else ""
            warnings.warn(
                f"after step {step} {inside} particles{where} are in walls, deeper than half a spacing, and "
                f"{lost} left past the ends of endless walls\n"
                "help: start outside of shapes, give those that are moved their velocity, and let bounds hold all",
                LeakWarning, stacklevel=4,
            )  # fmt: skip
            self._told[:] = np.maximum(counts, self._told)

    def depths(self, points: np.ndarray, world: np.ndarray, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How deep points (n, 3) from the solver's origin, each in a world, are in walls at most (n,) [m], and which
        are past the end of an endless one, and behind it, bool (n,)."""
        deepest, lost = np.full(len(points), -np.inf), np.zeros(len(points), dtype=bool)
        for s, owner in enumerate(self.model.shape_world.numpy()):
            rows = np.flatnonzero((world == owner) | (owner < 0))
            place, fences = points[rows], self._fences[s]
            if self._is_imaged(s):
                centre = pose[s, :3] + rotate(pose[s, 3:], np.array([self._images[s][1]], dtype=np.float64))
                period, ends = (np.array(self._images[s][k], dtype=np.float64) for k in (0, 2))
                d = place - centre
                place = centre + ends * (d - period * np.rint(d / np.where(period > 0.0, period, np.inf)))
            away = distances(self.model, s, pose[s], place, float(self._margin))[0]
            low, high = fences[world[rows] if len(fences) > 1 else np.zeros(len(rows), dtype=int)].swapaxes(0, 1)
            here = ((place >= low) & (place <= high)).all(axis=1)
            deepest[rows] = np.maximum(deepest[rows], np.where(here, -away, -np.inf))
            lost[rows] |= ~here & (away < 0.0)
        return deepest, lost

    @property
    def _many(self) -> bool:
        return self.model.world_count > 1

    def _surface(self, s: int) -> list[Any]:
        """Arrays that the distance of a shape reads."""
        return [self.model.shape_scale, self.model.shape_heights[s]]

    def _is_imaged(self, s: int) -> bool:
        return any(self.period) and self.model.shape_type[s] is not ShapeType.PLANE

    def _run(self, kernel: Kernel, dim: int | tuple[int, int], *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)


def _bit(g: int) -> int:
    """Of a group of shapes in `near`; more groups than bits share them."""
    return 1 << g % _BITS


@func
def shift_of(p: Any, pose: Any, barrier: Any) -> Any:
    """From a point to its image that is nearest to the middle of a shape, and level with it where that has no ends."""
    centre = to_world(pose, barrier.middle)
    return centre + cw_mul(barrier.ends, nearest_image(p - centre, barrier.period)) - p


@func
def within(p: Any, low: Any, high: Any) -> bool:
    """Whether a point is between two corners."""
    above = p[0] >= low[0] and p[1] >= low[1] and p[2] >= low[2]
    return above and p[0] <= high[0] and p[1] <= high[1] and p[2] <= high[2]


@functools.cache
def _met_by(many: bool) -> Any:
    """The kernel function of the barrier that a particle meets, of many worlds that of its own; s is -1 for none."""

    @func
    def met_by(barrier: Any, members: Any, i: int32) -> Any:
        if many:
            w = members.world[i]
            barrier.s = members.numbers[w]
            barrier.ends = members.ends[barrier.s]
            barrier.low = members.low[w]
            barrier.high = members.high[w]
        return barrier

    return met_by


@functools.cache
def _near_kernel(shape_type: int, imaged: bool, many: bool) -> Any:
    """The kernel of which particles are less than `margin` [m] before a shape, or in it."""
    distance, met_by = DISTANCE[ShapeType(shape_type)], _met_by(many)

    @kernel(enable_backward=False)
    def find_near(
        group: Any, members: Any, scale: array(dtype=Any), heights: array(dtype=Any, ndim=2), margin: Any,
        pose: array(dtype=Any), x: array(dtype=Any), near: array(dtype=int32),
    ):  # fmt: skip
        i = tid()
        if many:
            i += members.first
        barrier = met_by(group, members, i)
        s = barrier.s
        if not many or s >= 0:
            p = x[i]
            if imaged:
                p += shift_of(p, pose[s], barrier)
            away, _ = distance(to_shape(pose[s], p), scale[s], barrier.source, heights, margin)
            if away < margin:
                near[i] = near[i] | barrier.bit

    return find_near


@functools.cache
def _in_sheet(dim: int) -> Any:
    """The kernel function of the direction in which a particle is put back, and of how far for a metre of distance."""
    sheet = dim == 2

    @func
    def in_sheet(n: Any) -> Any:
        size = dot(n, n)
        if sheet:
            size = sqrt(n[0] * n[0] + n[1] * n[1])
            none = size * 0.0
            if size < size.dtype(_EDGE_ON):
                return n * none, none
            return vector(n[0] / size, n[1] / size, none), 1.0 / size
        return n, size

    return in_sheet


@functools.cache
def _hold_kernel(shape_type: int, dim: int, imaged: bool, watched: bool, many: bool) -> Any:
    """The kernel that puts particles back before one shape, and of the forces with which it does so [N]."""
    distance, in_sheet, met_by = DISTANCE[ShapeType(shape_type)], _in_sheet(dim), _met_by(many)

    @func
    def stop_approach(v: Any, n: Any, wall: Any) -> Any:
        """A velocity without what approaches a wall of another velocity along its normal."""
        return v - n * min(dot(v - wall, n), v.dtype(0.0))

    @kernel
    def hold(
        group: Any, members: Any, held: Any, scale: array(dtype=Any), heights: array(dtype=Any, ndim=2),
        pose: array(dtype=Any), twist: array(dtype=Any), dt: Any, leaks: array(dtype=int32),
        stopped: array(dtype=int32),
    ):  # fmt: skip
        i, column = tid(), int32(0)
        if many:
            i += members.first
            column = 2 * members.world[i]
        barrier = met_by(group, members, i)
        s = barrier.s
        if (not many or s >= 0) and (not watched or held.near[i] & barrier.bit != 0):
            start, place, velocity = held.begin[i], held.x[i], held.v[i]
            shift, faster = place * 0.0, velocity
            if imaged:
                shift = shift_of(start, pose[s], barrier)
            start, place = start + shift, place + shift
            waits = held.waiting[held.number[i]]
            if waits != 1:
                local = to_shape(pose[s], start)
                away, normal = distance(local, scale[s], barrier.source, heights, barrier.reach)
                reached = length(place - start) + length(surface_velocity(pose[s], twist[s], start)) * dt
                if not within(start, barrier.low, barrier.high):
                    if away < 0.0:
                        atomic_add(leaks, column + LOST, int32(1))
                elif away <= -barrier.deep:
                    if waits == 0:
                        atomic_add(leaks, column + INSIDE, int32(1))
                elif away < barrier.gap + reached:
                    after = advance_pose(pose[s], twist[s], dt)
                    travel = to_shape(after, place) - local
                    n, far = in_sheet(quat_rotate(transform_get_rotation(after), normal))
                    lacking = barrier.gap - away - dot(normal, travel)
                    if lacking > 0.0:
                        place += n * (lacking * far)
                        faster = stop_approach(faster, n, surface_velocity(after, twist[s], place))
                    again, other = distance(to_shape(after, place), scale[s], barrier.source, heights, barrier.reach)
                    if again < barrier.gap and dot(normal, other) > again.dtype(_OPPOSITE):
                        n, far = in_sheet(quat_rotate(transform_get_rotation(after), other))
                        place += n * ((barrier.gap - again) * far)
                        faster = stop_approach(faster, n, surface_velocity(after, twist[s], place))
                    held.x[i] = place - shift
                    held.v[i] = faster
            force = (faster - velocity) * (held.mass[i] / dt)
            held.stop[i] = force
            if dot(force, force) > 0.0:
                atomic_max(stopped, s, int32(1))

    return hold


@functools.cache
def _add_kernel(imaged: bool, watched: bool, many: bool) -> Any:
    """The kernel of what the shapes of a group feel by particles that they stop, in parts and always in the same
    order."""

    @kernel
    def add_stops(
        group: Any, members: Any, held: Any, pose: array(dtype=Any), stopped: array(dtype=int32),
        sums: array(dtype=Any, ndim=2),
    ):  # fmt: skip
        member, part = tid()
        barrier, s = group, members.shape[member]
        if many:
            barrier.ends = members.ends[s]
        total = transform_get_translation(pose[s]) * 0.0
        turns = total
        if stopped[s] > 0:
            for i in range(members.begin[member] + part, members.end[member], _PARTS):
                if not watched or held.near[i] & barrier.bit != 0:
                    place = held.x[i]
                    if imaged:
                        place += shift_of(place, pose[s], barrier)
                    total -= held.stop[i]
                    turns -= cross(place - transform_get_translation(pose[s]), held.stop[i])
        sums[s, part] = vector(turns[0], turns[1], turns[2], total[0], total[1], total[2])

    return add_stops


@kernel
def _settle(share: Any, sums: array(dtype=Any, ndim=2), reaction: array(dtype=Any)):
    s = tid()
    total = reaction[s]
    for part in range(_PARTS):
        total += share * sums[s, part]
    reaction[s] = total
