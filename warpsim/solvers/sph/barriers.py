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

from ...core.language import (
    Array, Float, Kernel, Vec, array, atomic_add, atomic_max, cross, cw_mul, dot, func, generic_struct, int32, kernel,
    launch, length, min, sqrt, tid, uint64, vector, zeros,
)  # fmt: skip
from ...core.lib.quaternions import quat_rotate
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ...core.runtime.arrays.fixed import Fixed
from ...geometry.hash_grid.neighbors import nearest_image
from ..neighbours.verlet_list import vector_of
from ..scene.memory import Memory, refill_all
from ..scene.rotations import rotate
from ..scene.shapes import DISTANCE, ShapeType, advance_pose, surface_velocity, to_shape, to_world
from .extents import ENDLESS, extent
from .sampling import distances

if TYPE_CHECKING:
    from ..scene.model import Model
    from .particles import Particles

GAP = 0.05  # spacings: how near a particle may come to a surface
DEEP = 0.5  # spacings: particles deeper in a wall are inside of it, and left alone
_OPPOSITE = -0.9  # cosine between normals of the two sides of a thin wall
_EDGE_ON = 0.1  # of a normal's length in the plane of a sheet: with less of it nothing is held
_FAR = 1.0e30  # [m]
INSIDE, LOST, STOPPED = 0, 1, 2
"""Columns of `Barriers.counts`."""
_PARTS = 32  # threads that add up what a shape feels
_BITS = 31


@generic_struct
class Barrier:
    """One shape. s: its number, bit: in `Barriers.near`, source: see `shapes`. period, and 0 along axes `ends` where it
    has no ends; middle, in its frame; low, high: corners of where it is a wall. reach: farther than particles go in a
    substep; gap: how near they may come; deep: below which they are left alone. Lengths [m]."""

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
    """Holds particles of fluid before the surfaces of a model's shapes.

    waiting: by particles of the model, 0 of those that come from no nozzle, 1 of those that wait behind one, 2 of those
    that came, int32 (particles,). counts: how many of the first kind are deeper than `DEEP` in walls, how many that
    wait no more are behind endless walls and past their ends, and for each shape whether it stopped any, int32
    (2 + shapes,). near: by which shapes each particle is, or may be before lists of neighbours are outdated, as bits,
    int32 (particles,).

    spacing: of particles [m]; reach: spacings, farther than they go in a substep; margin: how much nearer than when
    watched they may come before that [m]; bounds: corners (2, 3) from the solver's origin where endless shapes are
    walls [m].
    """

    def __init__(
        self, model: Model, spacing: float, reach: float, margin: float, dim: int, period: Sequence[float],
        bounds: np.ndarray | None,
    ):  # fmt: skip
        self.model, self.dim, self.period = model, dim, period
        dtype, device = model.dtype, model.device
        options: dict[str, Any] = {"device": device, "requires_grad": True}
        self._margin = dtype(reach * spacing + margin)
        n, count = model.particle_count, model.shape_count
        self._images = [_image(model, s, period) for s in range(count)]
        self._fences = [_fence(model, s, period, bounds, dim) for s in range(count)]
        lengths = [dtype(f * spacing) for f in (reach, GAP, DEEP)]
        places = [[*image, *fence, *lengths] for image, fence in zip(self._images, self._fences, strict=True)]
        self._barriers = [Barrier[dtype](s, _bit(s), model.shape_source[s], *places[s]) for s in range(count)]
        self.waiting, self.counts, self.near = (zeros(k, int32, device) for k in (n, 2 + count, n))
        self._stop = zeros(n, model.vec3, **options)
        self._sums = zeros((count, _PARTS), model.spatial_vector, **options)
        self._told = zeros(2, int32).numpy()

    @property
    def scratch(self) -> list[Any]:
        """What a step fills before it reads it."""
        return [self.counts, self._stop, self._sums]

    def memory(self) -> Memory:
        """What a saved scene keeps of them."""
        arrays = {"waiting": self.waiting, "near": self.near, "counts": self.counts}
        return {**arrays, "told": tuple(self._told.tolist())}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Take that over."""
        refill_all(memory, {"waiting": self.waiting, "near": self.near, "counts": self.counts})
        self._told[:] = memory["told"]

    def watch(self, x: array, pose: array) -> None:
        """Note anew which particles are near which shapes."""
        for s in range(self.model.shape_count):
            find = _near_kernel(self.model.shape_type[s], self._is_imaged(s))
            args = [self._barriers[s], *self._surface(s), self._margin, pose, x, self.near]
            launch(find, len(self.near), args, device=self.model.device, record_tape=False)

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
        for s, barrier in enumerate(self._barriers):
            imaged = self._is_imaged(s)
            hold = _hold_kernel(self.model.shape_type[s], imaged, self.dim, watched)
            self._run(hold, p.water, barrier, held, *self._surface(s), pose, twist, dt, self.counts)
            self._run(_add_kernel(imaged, watched), _PARTS, barrier, held, pose, self.counts, self._sums)
        self._run(_settle, self.model.shape_count, share, self._sums, reaction)

    def warn(self, step: int) -> None:
        """Warn of particles in walls, or past their ends, if they are more than twice those told of before."""
        counts = self.counts.numpy()[:STOPPED]
        if (counts > 2 * self._told).any():
            warnings.warn(
                f"after step {step} {counts[INSIDE]} particles are in walls, deeper than half a spacing, and "
                f"{counts[LOST]} left past the ends of endless walls\n"
                "help: start outside of shapes, give those that are moved their velocity, and let bounds hold all",
                LeakWarning, stacklevel=4,
            )  # fmt: skip
            self._told[:] = np.maximum(counts, self._told)

    def depths(self, points: np.ndarray, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How deep points (n, 3) from the solver's origin are in walls at most (n,) [m], and which are past the end of
        an endless one, and behind it, bool (n,)."""
        deepest, lost = np.full(len(points), -np.inf), np.zeros(len(points), dtype=bool)
        for s in range(self.model.shape_count):
            centre = pose[s, :3] + rotate(pose[s, 3:], np.array([self._images[s][1]], dtype=np.float64))
            place = points.copy()
            if self._is_imaged(s):
                period, ends = (np.array(self._images[s][k], dtype=np.float64) for k in (0, 2))
                d = points - centre
                place = centre + ends * (d - period * np.rint(d / np.where(period > 0.0, period, np.inf)))
            away = distances(self.model, s, pose[s], place, float(self._margin))[0]
            low, high = (np.array(corner, dtype=np.float64) for corner in self._fences[s])
            here = ((place >= low) & (place <= high)).all(axis=1)
            deepest = np.maximum(deepest, np.where(here, -away, -np.inf))
            lost |= ~here & (away < 0.0)
        return deepest, lost

    def _surface(self, s: int) -> list[Any]:
        """Arrays that the distance of a shape reads."""
        return [self.model.shape_scale, self.model.shape_heights[s]]

    def _is_imaged(self, s: int) -> bool:
        return any(self.period) and self.model.shape_type[s] is not ShapeType.PLANE

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)


def _bit(s: int) -> int:
    """Of a shape in `near`; more shapes than bits share them."""
    return 1 << s % _BITS


def _image(model: Model, s: int, period: Sequence[float]) -> list[Any]:
    """The period, the middle of a shape in its frame [m], and 0 for axes along which it is as long as the period."""
    middle, half = extent(model, s)
    length = np.asarray(period, dtype=np.float64)
    ends = (length == 0.0) | (2.0 * half < 0.999 * length)
    return [vector_of(v, model.dtype) for v in (period, middle, ends)]


def _fence(model: Model, s: int, period: Sequence[float], bounds: np.ndarray | None, dim: int) -> list[Any]:
    """Corners of where a shape is a wall [m]: endless ones within bounds, along axes that do not repeat."""
    low, high = np.full(3, -_FAR), np.full(3, _FAR)
    if model.shape_type[s] in ENDLESS and bounds is not None:
        axes = np.asarray(period) == 0.0
        axes[dim:] = False
        low[axes], high[axes] = bounds[0][axes], bounds[1][axes]
    return [vector_of(v, model.dtype) for v in (low, high)]


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
def _near_kernel(shape_type: int, imaged: bool) -> Any:
    """The kernel of which particles are less than `margin` [m] before a shape, or in it."""
    distance = DISTANCE[ShapeType(shape_type)]

    @kernel(enable_backward=False)
    def find_near(
        barrier: Any, scale: array(dtype=Any), heights: array(dtype=Any, ndim=2), margin: Any, pose: array(dtype=Any),
        x: array(dtype=Any), near: array(dtype=int32),
    ):  # fmt: skip
        i, s = tid(), barrier.s
        p = x[i]
        if imaged:
            p += shift_of(p, pose[s], barrier)
        away, _ = distance(to_shape(pose[s], p), scale[s], barrier.source, heights, margin)
        bits = near[i]
        if s == 0:
            bits = int32(0)
        if away < margin:
            bits = bits | barrier.bit
        near[i] = bits

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
def _hold_kernel(shape_type: int, imaged: bool, dim: int, watched: bool) -> Any:
    """The kernel that puts particles back before one shape, and of the forces with which it does so [N]."""
    distance, in_sheet = DISTANCE[ShapeType(shape_type)], _in_sheet(dim)

    @func
    def stop_approach(v: Any, n: Any, wall: Any) -> Any:
        """A velocity without what approaches a wall of another velocity along its normal."""
        return v - n * min(dot(v - wall, n), v.dtype(0.0))

    @kernel
    def hold(
        barrier: Any, held: Any, scale: array(dtype=Any), heights: array(dtype=Any, ndim=2), pose: array(dtype=Any),
        twist: array(dtype=Any), dt: Any, counts: array(dtype=int32),
    ):  # fmt: skip
        i, s = tid(), barrier.s
        if not watched or held.near[i] & barrier.bit != 0:
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
                        atomic_add(counts, LOST, int32(1))
                elif away <= -barrier.deep:
                    if waits == 0:
                        atomic_add(counts, INSIDE, int32(1))
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
                atomic_max(counts, STOPPED + s, int32(1))

    return hold


@functools.cache
def _add_kernel(imaged: bool, watched: bool) -> Any:
    """The kernel of what one shape feels by particles that it stops, in parts and always in the same order."""

    @kernel
    def add_stops(
        barrier: Any, held: Any, pose: array(dtype=Any), counts: array(dtype=int32), sums: array(dtype=Any, ndim=2)
    ):
        part, s = tid(), barrier.s
        total, turns = held.stop[0] * 0.0, held.stop[0] * 0.0
        if counts[STOPPED + s] > 0:
            for i in range(part, held.stop.shape[0], _PARTS):
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
