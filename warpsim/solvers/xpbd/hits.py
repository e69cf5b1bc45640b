"""Impacts of particles with shapes in one substep: the shapes that a particle met, and its velocity after them.

A particle keeps up to three shapes that it met, in the order of the model: enough for the corner of a room. A fourth
takes the place of the third. The velocity update goes through them in this order: each replaces the component along
its normal of the velocity that those before left, takes what friction took at the moment of the impact, and rubs with
the part of this change for which friction has not been counted (`contact`). Along the normal of a forgotten one the
velocity is that between places.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.language import Array, Float, Transform, Vec, array, atomic_add, cross, int32, int64
from ...core.language import dot, func, generic_struct, kernel, max, min, tid
from ...core.lib.sampling import lower_bound
from ...core.lib.spatial import spatial_joined
from ...core.lib.transforms import transform_get_translation
from ..scene.shapes import surface_velocity
from .friction import friction_loss
from .particle import correct_velocity, position

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func

MOST = 3
"""Shapes that a particle remembers."""
_PARTICLE = 2**32
"""What the number of a particle is multiplied by in keys of particles and shapes."""


@generic_struct
class Colliding:
    """Particles against shapes, as `Workspace` and `Model` have them.

    met0, met1, met2: the shapes that a particle met, their numbers + 1; 0 where there are no more. hit0, ...: their
    normals, and the velocities along them afterwards [m/s]. push0, ...: how they moved it to where it may be, and the
    part of that along the normal with which friction has been counted [m]. rub0, ...: what friction took of velocities
    at the moments of impacts [m/s]. (An array for each, so that lanes know elements of their own.) leg, bounced: ways
    after pushes, see `ways.recheck_with`. shove: how far impacts with particles moved them, which is no velocity [m];
    empty where nothing but shapes is met. ridden: see `attachment_keys`.
    """

    radius: Array[Float]
    start: Array[Vec[3, Float]]
    v: Array[Vec[3, Float]]
    x: Array[Vec[4, Float]]
    hit0: Array[Vec[4, Float]]
    hit1: Array[Vec[4, Float]]
    hit2: Array[Vec[4, Float]]
    push0: Array[Vec[4, Float]]
    push1: Array[Vec[4, Float]]
    push2: Array[Vec[4, Float]]
    rub0: Array[Vec[3, Float]]
    rub1: Array[Vec[3, Float]]
    rub2: Array[Vec[3, Float]]
    met0: array(dtype=int32)
    met1: array(dtype=int32)
    met2: array(dtype=int32)
    leg: Array[Vec[4, Float]]
    bounced: array(dtype=int32)
    shove: Array[Vec[3, Float]]
    world: array(dtype=int32)
    ridden: array(dtype=int64)


@generic_struct
class Obstacles:
    """All shapes after a substep. pose, twist: now. mu, mu_static: of friction. force: what they feel, torque about
    their origins and force [N m, N], of which a substep is so large a share: one by the time of the step [1/s]."""

    pose: Array[Transform[Float]]
    twist: Array[Vec[6, Float]]
    mu: Array[Float]
    mu_static: Array[Float]
    force: Array[Vec[6, Float]]
    share: Float


def attachment_keys(particle: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Keys of attachments to shapes, int64, ascending. particle, shape: of all attachments, shape -1 for the world."""
    ridden = shape >= 0
    return np.unique(particle[ridden].astype(np.int64) * _PARTICLE + shape[ridden])


@functools.cache
def pair_in(many: bool, rides: bool) -> Any:
    """Which particle a thread has, and which shape may meet it. many: that of its world, where there are several;
    rides: whether particles are attached to shapes, which then are no obstacles to them."""

    @func
    def pair(shape: Any, moving: Any, k: int32) -> tuple[int32, int32, int32, bool]:
        """The particle, its world, the shape, and whether there is one."""
        i, own, s, there = k, int32(0), shape.s, True
        if many:
            i = shape.first + k
            own = moving.world[i]
            s = shape.numbers[own]
            there = s >= 0
        if rides:
            key = int64(i) * _PARTICLE + int64(s)
            there = there and moving.ridden[lower_bound(moving.ridden, key)] != key
        return i, own, s, there

    return pair


@func
def feel(
    force: Array[Vec[6, Float]], s: int32, pose: Transform[Float], a: Vec[4, Float], change: Vec[3, Float]
) -> None:  # fmt: skip
    """Add to the torque about its origin and the force of a shape what changes the velocity of a particle [m/s^2]."""
    push, arm = -change / a[3], position(a) - transform_get_translation(pose)
    atomic_add(force, s, spatial_joined(cross(arm, push), push))


@func
def turned_by(u: Vec[3, Float], hit: Vec[4, Float], rub: Vec[3, Float]) -> Vec[3, Float]:
    """A velocity after an impact."""
    n = position(hit)
    return u + (hit[3] - dot(u, n)) * n - rub


class HitFunctions(NamedTuple):
    """Functions of `Colliding`, for particles that remember a fixed number of shapes."""

    slot_of: Any
    count_of: Any
    turned_before: Any
    met_in: Any
    pushed_by: Any
    rubbed_by: Any
    unpushed: Any
    note: Any
    rub: Any


@functools.cache
def hit_functions(slots: int) -> HitFunctions:
    """For particles that remember so many shapes: 1 to `MOST`."""
    met_in, turned_before, unpushed = met_in_with(slots), turned_with(slots), unpushed_with(slots)
    pushed_by, rubbed_by = pushed_with(slots, met_in), rubbed_with(slots, met_in)
    rub = rub_with(turned_before, pushed_by, rubbed_by, unpushed)
    moves = (pushed_by, rubbed_by, unpushed)
    return HitFunctions(*slots_with(slots), turned_before, met_in, *moves, note_with(slots), rub)


def slots_with(slots: int) -> tuple[Any, Any]:
    """Which slot a shape has, and how many have one."""

    @func
    def slot_of(moving: Any, i: int32, s: int32) -> int32:
        """Where a particle keeps shape s: where it has it already, else the first free place, else the last."""
        slot = int32(0)
        if slots > 1:
            if moving.met0[i] != 0 and moving.met0[i] != s + 1:
                slot = 1
        if slots > 2:
            if slot == 1 and moving.met1[i] != 0 and moving.met1[i] != s + 1:
                slot = 2
        return slot

    @func
    def count_of(moving: Any, i: int32) -> int32:
        """How many shapes a particle has met."""
        count = min(moving.met0[i], 1)
        if slots > 1:
            count += min(moving.met1[i], 1)
        if slots > 2:
            count += min(moving.met2[i], 1)
        return count

    return slot_of, count_of


def turned_with(slots: int) -> Any:
    """Velocities between impacts."""

    @func
    def turned_before(moving: Any, i: int32, slot: int32, free: Vec[3, Float]) -> Vec[3, Float]:
        """The velocity with which a particle meets the shape in a slot: those in slots before have turned it."""
        u = free
        if slot > 0:
            u = turned_by(u, moving.hit0[i], moving.rub0[i])
        if slots > 1:
            if slot > 1:
                u = turned_by(u, moving.hit1[i], moving.rub1[i])
        if slots > 2:
            if slot > 2:
                u = turned_by(u, moving.hit2[i], moving.rub2[i])
        return u

    return turned_before


def met_in_with(slots: int) -> Any:
    """The shapes in slots."""

    @func
    def met_in(moving: Any, i: int32, slot: int32) -> int32:
        """The shape in a slot; -1 for none."""
        met = moving.met0[i]
        if slots > 1:
            if slot == 1:
                met = moving.met1[i]
        if slots > 2:
            if slot == 2:
                met = moving.met2[i]
        return met - 1

    return met_in


def pushed_with(slots: int, met_in: Func) -> Any:
    """What shapes in slots did to a particle's place."""

    @func
    def pushed_by(moving: Any, i: int32, slot: int32, s: int32) -> Any:
        """How the shape in a slot has pushed a particle; nothing where another one is there."""
        moves = 0.0 * moving.x[i]
        if met_in(moving, i, slot) == s:
            if slot == 0:
                moves = moving.push0[i]
            if slots > 1:
                if slot == 1:
                    moves = moving.push1[i]
            if slots > 2:
                if slot == 2:
                    moves = moving.push2[i]
        return moves

    return pushed_by


def rubbed_with(slots: int, met_in: Func) -> Any:
    """What friction of impacts with shapes in slots took."""

    @func
    def rubbed_by(moving: Any, i: int32, slot: int32, s: int32) -> Any:
        """What friction on the shape in a slot has taken of the velocity; nothing where another one is there."""
        lost = 0.0 * moving.v[i]
        if met_in(moving, i, slot) == s:
            if slot == 0:
                lost = moving.rub0[i]
            if slots > 1:
                if slot == 1:
                    lost = moving.rub1[i]
            if slots > 2:
                if slot == 2:
                    lost = moving.rub2[i]
        return lost

    return rubbed_by


def unpushed_with(slots: int) -> Any:
    """Velocities without what only moved places."""

    @func
    def unpushed(moving: Any, i: int32, between: Vec[3, Float], h: Float) -> Vec[3, Float]:
        """The velocity between places, without what shapes and impacts with particles moved."""
        u = between
        if moving.shove.shape[0] > 0:
            u = u - moving.shove[i] / h
        if moving.met0[i] != 0:
            u = u - position(moving.push0[i]) / h
        if slots > 1:
            if moving.met1[i] != 0:
                u = u - position(moving.push1[i]) / h
        if slots > 2:
            if moving.met2[i] != 0:
                u = u - position(moving.push2[i]) / h
        return u

    return unpushed


def rub_with(turned_before: Func, pushed_by: Func, rubbed_by: Func, unpushed: Func) -> Any:
    """Friction of impacts."""

    @func
    def rub(
        moving: Any, i: int32, slot: int32, s: int32, hit: Vec[4, Float], u: Vec[3, Float], mu: Float,
        mu_static: Float, h: Float,
    ) -> tuple[Vec[3, Float], Float]:  # fmt: skip
        """What friction takes of the velocity in an impact on a surface that moves with u, and the change along the
        normal with which it is counted [m/s]."""
        between = correct_velocity(moving.v[i], moving.start[i], moving.x[i], h)
        came, n = turned_before(moving, i, slot, unpushed(moving, i, between, h)), position(hit)
        came = came - rubbed_by(moving, i, slot, s)
        gain = max(hit[3] - dot(came, n) - pushed_by(moving, i, slot, s)[3] / h, 0.0 * h)
        slip = came - u
        return friction_loss(slip - dot(slip, n) * n, mu * gain, mu_static * gain), gain

    return rub


def note_with(slots: int) -> Any:
    """How slots are written."""

    @func
    def note(
        moving: Any, i: int32, slot: int32, s: int32, hit: Vec[4, Float], moves: Vec[4, Float], lost: Vec[3, Float]
    ) -> None:
        """Keep what a particle met."""
        if slot == 0:
            moving.hit0[i], moving.push0[i], moving.rub0[i], moving.met0[i] = hit, moves, lost, s + 1
        if slots > 1:
            if slot == 1:
                moving.hit1[i], moving.push1[i], moving.rub1[i], moving.met1[i] = hit, moves, lost, s + 1
        if slots > 2:
            if slot == 2:
                moving.hit2[i], moving.push2[i], moving.rub2[i], moving.met2[i] = hit, moves, lost, s + 1

    return note


@functools.cache
def bounce_with(slots: int, feels: bool) -> Any:
    """The kernel of velocities, for particles that remember so many shapes; feels: whether shapes note their forces."""
    hits = hit_functions(slots)

    @func
    def leave(
        u: Vec[3, Float], p: Vec[3, Float], hit: Vec[4, Float], push: Float, lost: Vec[3, Float], pose: Any, twist: Any,
        mu: Float, mu_static: Float,
    ) -> Vec[3, Float]:  # fmt: skip
        """The velocity after an impact, and friction; push: of which friction has been counted, per time [m/s]; lost:
        what friction took at the moment [m/s]."""
        n = position(hit)
        gain = hit[3] - dot(u, n)
        after = u + gain * n - lost
        rest = gain - push
        if rest > 0.0:
            slip = after - surface_velocity(pose, twist, p)
            after = after - friction_loss(slip - dot(slip, n) * n, mu * rest, mu_static * rest)
        return after

    @func
    def turn(obstacles: Any, a: Vec[4, Float], u: Vec[3, Float], met: int32, hit: Vec[4, Float], push: Float,
             lost: Vec[3, Float]) -> Vec[3, Float]:  # fmt: skip
        """The velocity after the impact with the shape in a slot, which may be empty."""
        after = u
        if met != 0:
            s = met - 1
            mu, mu_static = obstacles.mu[s], obstacles.mu_static[s]
            after = leave(u, position(a), hit, push, lost, obstacles.pose[s], obstacles.twist[s], mu, mu_static)
            if feels:
                feel(obstacles.force, s, obstacles.pose[s], a, obstacles.share * (after - u))
        return after

    @kernel
    def bounce(moving: Any, obstacles: Any, h: Any, v: array(dtype=Any)):
        """Velocities, as `update_velocity` has them; of what met obstacles, components along normals are replaced, and
        what that adds is an impulse with friction."""
        i = tid()
        a = moving.x[i]
        u = hits.unpushed(moving, i, correct_velocity(v[i], moving.start[i], a, h), h)
        u = turn(obstacles, a, u, moving.met0[i], moving.hit0[i], moving.push0[i][3] / h, moving.rub0[i])
        if slots > 1:
            u = turn(obstacles, a, u, moving.met1[i], moving.hit1[i], moving.push1[i][3] / h, moving.rub1[i])
        if slots > 2:
            u = turn(obstacles, a, u, moving.met2[i], moving.hit2[i], moving.push2[i][3] / h, moving.rub2[i])
        v[i] = u

    return bounce


@functools.cache
def carry_on_with(slots: int) -> Any:
    """The kernel of free motion among shapes, for particles that remember so many."""
    hits = hit_functions(slots)

    @kernel
    def carry_on(moving: Any, onward: array(dtype=Any)):
        """Velocities of the free motion, as shapes have turned them."""
        i = tid()
        onward[i] = hits.turned_before(moving, i, hits.count_of(moving, i), moving.v[i])

    return carry_on


@kernel
def retract(shove: array(dtype=Any), h: Any, v: array(dtype=Any)):
    """Velocities without what impacts with particles moved, where there are no shapes."""
    i = tid()
    v[i] = v[i] - shove[i] / h
