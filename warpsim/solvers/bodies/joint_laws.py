"""Equations of locks, limits and drives: for predicted poses before the motion, for velocities after it.

Each pass solves (A + g) x = b for changes x of impulses, A = J W J^T of all joints, g and b of each row from its law.

A lock asks for its coordinate at the end of the substep, then for no velocity: g = 0.

A drive is a spring to a target and a damper to a velocity, F = -k (x - target) - c (v - rate). Half of its impulse acts
before the motion, half after it (h: the substep, a: the response of the row alone, v' and v1 velocities):

    first = h/2 F(x0 + (1 + s)/2 (x1 - x0), v')          v' leads from x0 to x1
    then  = (1 - s) first + s h/2 F(x1 + h v1, v1)       v1 is left at the end

with s = n / (1 + n), n = a (h^2 k + h c) / 4. Soft drives, s to 0, follow the implicit midpoint rule, which is of
second order and loses no energy; hard ones end at the target, at its velocity. Both are implicit, and any stiffness is
stable.

What is off its lock or limit as the substep begins returns with at most `FASTEST`, as overlaps of contact do: a joint
that starts far outside does not jump, and one that opened where a step was too long does not throw its bodies.

A limit only pushes away from it: its row is active, like a lock, where its impulse and its gap are of one sign, else it
takes its impulse back (primal-dual active sets, M. Hintermueller, K. Ito, K. Kunisch 2002). After the motion it
stops the coordinate, as long as both impulses together push.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Array, Float, Vec, array, func, generic_struct, int32, kernel, max, min, tid, where
from ..scene.shapes import advance_pose
from .contact_solve import FASTEST
from .joint_angles import wrap_angle
from .joint_rows import joint_coordinates, joint_velocities

_SOFTEST = 1.0e6
"""Of the response of a row: softer drives take their force as it is, as 1 / slope has no bound for them."""


@generic_struct
class Equations:
    """Rows of a pass.

    rhs: b. softness: g. active: 1 where the lock or limit is solved for, 0 where the drive is. fixed_change: by how
    much the impulse of the other of both changes, whatever x is [N m s, N s].
    """

    rhs: Array[Vec[6, Float]]
    softness: Array[Vec[6, Float]]
    active: Array[Vec[6, Float]]
    fixed_change: Array[Vec[6, Float]]


@func
def end_weight(ke: Float, kd: Float, a: Float, h: Float) -> Float:
    """The part s of a drive that belongs to the end of the substep."""
    n = 0.25 * a * h * (h * ke + kd)
    return n / (1.0 + n)


@func
def off_target(x: Float, target: Float, i: int32) -> Float:
    """How far a coordinate is from a target, angles the shorter way round."""
    result = x - target
    if i < 3:
        result = wrap_angle(result, 0.0 * x)
    return result


@func
def soft_row(a: Float, slope: Float, residual: Float) -> tuple[Float, Float]:
    """Softness and right side of a row with x + slope A x = -residual."""
    g = _SOFTEST * a
    if slope * g > 1.0:
        g = 1.0 / slope
    return g, -residual * g


@func
def velocities_to_limits(
    x0: Float, change: Float, lower: Float, upper: Float, h: Float, i: int32
) -> tuple[Float, Float]:  # fmt: skip
    """By how much velocity a coordinate misses its lower and its upper limit at x0 + change, after `h` [s].

    What is outside of a limit at x0 misses where it is with `FASTEST`.
    """
    x = x0
    if i < 3:
        x = wrap_angle(x0, 0.5 * (lower + upper))
    least, most = min(lower, x + FASTEST * h), max(upper, x - FASTEST * h)
    return (least - x - change) / h, (most - x - change) / h


@func
def velocity_to_lock(x0: Float, x1: Float, locked_at: Float, h: Float) -> Float:
    """By how much velocity a coordinate misses its lock at x1, after `h` [s] from x0, with `FASTEST` at most."""
    goal = min(max(locked_at, x0 - FASTEST * h), x0 + FASTEST * h)
    return (goal - x1) / h


@kernel
def set_position_equations(joints: Any, rows: Any, impulses: Any, moving: Any, h: Any, equations: Any):
    """For poses at the end of the substep, before the motion."""
    j = tid()
    p, c = joints.parent[j], joints.child[j]
    parent = advance_pose(moving.pose[p], moving.twist[p], h)
    child = advance_pose(moving.pose[c], moving.twist[c], h)
    value = joint_coordinates(joints.kind[j], parent, child, joints.parent_frame[j], joints.child_frame[j])
    speed = joint_velocities(joints, rows, moving, j)
    lock, push, used, locked = impulses.lock_before[j], impulses.drive_before[j], joints.used[j], joints.locked[j]
    rhs, softness, active, fixed_change = 0.0 * lock, 0.0 * lock, locked, 0.0 * lock
    for i in range(6):
        a, lower, upper = rows.response[j][i], joints.lower[j][i], joints.upper[j][i]
        if locked[i] > 0.0:
            rhs[i] = velocity_to_lock(rows.coordinate[j][i], value[i], 0.5 * (lower + upper), h)
        elif used[i] > 0.0 and a > 0.0:
            x0, ke, kd = rows.coordinate[j][i], joints.ke[j][i], joints.kd[j][i]
            change = off_target(value[i], x0, i)
            offset, rate = off_target(x0, joints.target[j][i], i), joints.target_velocity[j][i]
            weight = 0.5 + 0.5 * end_weight(ke, kd, a, h)
            below, above = velocities_to_limits(x0, change, lower, upper, h, i)
            if lock[i] + below / a > 0.0 or lock[i] + above / a < 0.0:
                active[i] = 1.0
                rhs[i] = where(lock[i] + above / a < 0.0, above, below)
                change = change + h * rhs[i]
                fixed_change[i] = -push[i] - 0.5 * h * (ke * (offset + weight * change) + kd * (change / h - rate))
            else:
                fixed_change[i] = -lock[i]
                force = 0.5 * h * (ke * (offset + weight * change) + kd * (speed[i] - rate))
                softness[i], rhs[i] = soft_row(a, 0.5 * h * (weight * h * ke + kd), push[i] + force + lock[i])
    equations.rhs[j], equations.softness[j] = rhs, softness
    equations.active[j], equations.fixed_change[j] = active, fixed_change


@kernel
def set_velocity_equations(joints: Any, rows: Any, impulses: Any, moving: Any, h: Any, equations: Any):
    """For velocities, after the motion."""
    j = tid()
    speed = joint_velocities(joints, rows, moving, j)
    first, push = impulses.lock_before[j], impulses.drive_before[j]
    lock, pull = impulses.lock_after[j], impulses.drive_after[j]
    used, locked, value = joints.used[j], joints.locked[j], rows.coordinate[j]
    rhs, softness, active, fixed_change = 0.0 * lock, 0.0 * lock, locked, 0.0 * lock
    for i in range(6):
        a, v = rows.response[j][i], speed[i]
        if locked[i] > 0.0:
            rhs[i] = -v
        elif used[i] > 0.0 and a > 0.0:
            ke, kd, rate = joints.ke[j][i], joints.kd[j][i], joints.target_velocity[j][i]
            weight, offset = end_weight(ke, kd, a, h), off_target(value[i], joints.target[j][i], i)
            total = first[i] + lock[i] - v / a
            if first[i] * total > 0.0 or joints.lower[j][i] >= joints.upper[j][i]:
                active[i] = 1.0
                rhs[i] = -v
                force = 0.5 * weight * h * (ke * offset - kd * rate)
                fixed_change[i] = (1.0 - weight) * push[i] - force - pull[i]
            else:
                fixed_change[i] = -first[i] - lock[i]
                force = 0.5 * weight * h * (ke * (offset + h * v) + kd * (v - rate))
                residual = pull[i] - (1.0 - weight) * push[i] + force - fixed_change[i]
                softness[i], rhs[i] = soft_row(a, 0.5 * weight * h * (h * ke + kd), residual)
    equations.rhs[j], equations.softness[j] = rhs, softness
    equations.active[j], equations.fixed_change[j] = active, fixed_change


@kernel
def accumulate_impulses(x: array(dtype=Any), equations: Any, locks: array(dtype=Any), drives: array(dtype=Any)):
    """Add the changes x of a pass to the impulses of locks and limits, and to those of drives."""
    j = tid()
    change, lock, drive = x[j], locks[j], drives[j]
    active, fixed_change = equations.active[j], equations.fixed_change[j]
    for i in range(6):
        if active[i] > 0.0:
            lock[i] = lock[i] + change[i] - fixed_change[i]
            drive[i] = drive[i] + fixed_change[i]
        else:
            lock[i] = lock[i] + fixed_change[i]
            drive[i] = drive[i] + change[i] - fixed_change[i]
    locks[j], drives[j] = lock, drive
