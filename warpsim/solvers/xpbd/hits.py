"""Impacts of particles with shapes in one substep: the shapes that a particle met, and its velocity after them.

A particle keeps up to three shapes that it met, in the order of the model: enough for the corner of a room. A fourth
takes the place of the third. The velocity update goes through them in this order: each replaces the component along its
normal of the velocity that those before left, and rubs with the part of this change that friction at position level
has not had (`contact`).
"""

from __future__ import annotations

from typing import Any

from ...core.language import (
    Array, Float, Vec, array, array2d, dot, func, int32, kernel, length, max, tid, vector,
)  # fmt: skip
from ..scene.shapes import surface_velocity
from .particle import corrected, position

MOST = 3
"""Shapes that a particle remembers."""


@func
def slot_of(met: Array[int32, 2], i: int32, s: int32) -> int32:
    """Where a particle keeps shape s: where it has it already, else the first free place, else the last."""
    last = met.shape[1] - 1
    slot = int32(0)
    while slot < last and met[i, slot] != 0 and met[i, slot] != s + 1:
        slot += 1
    return slot


@func
def met_count(met: Array[int32, 2], i: int32) -> int32:
    """How many shapes a particle has met."""
    count = int32(0)
    for k in range(met.shape[1]):
        if met[i, k] != 0:
            count += 1
    return count


@func
def note_hit(
    moving: Any, i: int32, slot: int32, s: int32, n: Vec[3, Float], leaving: Float, moves: Vec[4, Float]
) -> None:
    """Keep what a particle met: see `bounce`."""
    moving.hit[i, slot] = vector(n[0], n[1], n[2], leaving)
    moving.push[i, slot] = moves
    moving.met[i, slot] = s + 1


@func
def velocity_before(v: Vec[3, Float], hit: Array[Vec[4, Float], 2], i: int32, slot: int32) -> Vec[3, Float]:
    """The velocity with which a particle meets the shape in a slot: those in slots before have turned it."""
    u = v
    for k in range(slot):
        n = position(hit[i, k])
        u = u + (hit[i, k][3] - dot(u, n)) * n
    return u


@kernel
def bounce(
    x: array(dtype=Any), start: array(dtype=Any), hit: array2d(dtype=Any), push: array2d(dtype=Any),
    met: array2d(dtype=int32), shove: array(dtype=Any), pose: array(dtype=Any), twist: array(dtype=Any),
    mu: array(dtype=Any), mu_static: array(dtype=Any), h: Any, v: array(dtype=Any),
):  # fmt: skip
    """Velocities, as `update_velocity` has them; of what met obstacles, components along normals are replaced, and what
    that adds is an impulse with friction.

    met: the shapes that a particle met, their numbers + 1; 0 where there are no more. hit: their normals, and the
    velocities along them afterwards [m/s]. push: how they moved it to where it may be, and the part of that along the
    normal with which friction has been counted [m]. shove: how far impacts with particles did, which is no velocity
    [m]; empty where these do not bounce.
    """
    i = tid()
    u = corrected(v[i], start[i], x[i], h)
    if shove.shape[0] > 0:
        u = u - shove[i] / h
    count = met_count(met, i)
    for k in range(count):
        u = u - position(push[i, k]) / h
    for k in range(count):
        s = met[i, k] - 1
        n = position(hit[i, k])
        gain = hit[i, k][3] - dot(u, n)
        u = u + gain * n
        rest = gain - push[i, k][3] / h
        if rest > 0.0:
            slip = u - surface_velocity(pose[s], twist[s], position(x[i]))
            u = u - rubbed(slip - dot(slip, n) * n, mu[s] * rest, mu_static[s] * rest)
    v[i] = u


@kernel
def carry_on(v: array(dtype=Any), hit: array2d(dtype=Any), met: array2d(dtype=int32), onward: array(dtype=Any)):
    """Velocities of the free motion, as shapes have turned them."""
    i = tid()
    onward[i] = velocity_before(v[i], hit, i, met_count(met, i))


@kernel
def retract(shove: array(dtype=Any), h: Any, v: array(dtype=Any)):
    """Velocities without what impacts with particles moved, where there are no shapes."""
    i = tid()
    v[i] = v[i] - shove[i] / h


@func
def rubbed(slip: Vec[3, Float], sliding: Float, static: Float) -> Vec[3, Float]:
    """What friction takes of a way or a velocity along a surface: all up to `static`, else `sliding` [m] or [m/s]."""
    far = length(slip)
    if far > max(static, sliding):
        return (sliding / far) * slip
    return slip
