"""Where a step of joints begins and ends: what it takes from models, states and controls, and reaction forces."""

from __future__ import annotations

from typing import Any

from ...core.language import Float, Quat, Vec, array, clamp, cw_mul, func, int32, inverse, kernel, length, max, tid
from ...core.language import transpose, vector, where
from ...core.lib.quaternions import quat_rotate, quat_rotate_inv
from ...core.lib.spatial import spatial_bottom, spatial_joined, spatial_top
from .joint_angles import wrap_angle
from .joint_rows import from_center, parent_rotation, wrench_in_space

_FAR = 1.0e8
"""Limits beyond this [rad, m] are none; infinity would make derivatives NaN."""


@func
def finite_limits(x: Vec[6, Float]) -> Vec[6, Float]:
    """Limits without infinities."""
    far = x.dtype(_FAR)
    return vector(
        clamp(x[0], -far, far), clamp(x[1], -far, far), clamp(x[2], -far, far),
        clamp(x[3], -far, far), clamp(x[4], -far, far), clamp(x[5], -far, far),
    )  # fmt: skip


@kernel
def load_frames(
    parent: array(dtype=int32), child: array(dtype=int32), broken: array(dtype=int32), parent_frame: array(dtype=Any),
    child_frame: array(dtype=Any), com: array(dtype=Any), world: int32, joints: Any,
):  # fmt: skip
    """Where joints are. world: the row of the world."""
    j = tid()
    p, c = parent[j], child[j]
    joints.parent[j], joints.child[j] = where(p < 0, world, p), c
    joints.intact[j] = where(broken[j] == 0, 1, 0)
    joints.child_frame[j] = from_center(child_frame[j], com[c])
    if p < 0:
        joints.parent_frame[j] = parent_frame[j]
    else:
        joints.parent_frame[j] = from_center(parent_frame[j], com[p])


@kernel
def load_limits_and_drives(
    lower: array(dtype=Any), upper: array(dtype=Any), ke: array(dtype=Any), kd: array(dtype=Any),
    target: array(dtype=Any), target_velocity: array(dtype=Any), joints: Any, mean_force: array(dtype=Any),
    snapped: array(dtype=int32),
):  # fmt: skip
    """Limits and drives; no force has acted yet."""
    j = tid()
    joints.lower[j], joints.upper[j] = finite_limits(lower[j]), finite_limits(upper[j])
    joints.ke[j], joints.kd[j] = ke[j], kd[j]
    joints.target[j], joints.target_velocity[j] = target[j], target_velocity[j]
    mean_force[j] = 0.0 * ke[j]
    snapped[j] = 0


@kernel
def load_impulses(f: array(dtype=Any), joints: Any, rows: Any, impulses: Any, moving: Any, h: Any):
    """The impulses that a step begins with: what the force of the step before does in half a substep."""
    j = tid()
    turn = parent_rotation(joints, moving, j)
    force = rows.linear[j] * quat_rotate(turn, spatial_bottom(f[j]))
    torque = inverse(transpose(rows.axes[j])) * spatial_top(f[j])
    x = 0.5 * h * cw_mul(joints.used[j], spatial_joined(torque, force))
    driven = 0.0 * x
    for i in range(6):
        if joints.ke[j][i] + joints.kd[j][i] > 0.0:
            driven[i] = x[i]
    if joints.intact[j] == 0:
        x, driven = 0.0 * x, 0.0 * x
    impulses.drive_after[j] = driven
    impulses.lock_after[j] = x - driven


@kernel
def warm_start(
    warm_weight: array(dtype=Any), locks: array(dtype=Any), drives: array(dtype=Any), to_locks: array(dtype=Any),
    to_drives: array(dtype=Any), total: array(dtype=Any),
):  # fmt: skip
    """The impulses that passes begin with: those that the passes before ended with, or none; and their sum.

    warm_weight: 0 in loops, else 1. Loops have directions that bear nothing (`regularized_inverse`): impulses along
    them would be carried to poses where they push, and grow from substep to substep.
    """
    j = tid()
    lock, drive = warm_weight[j] * locks[j], warm_weight[j] * drives[j]
    to_locks[j], to_drives[j] = lock, drive
    total[j] = lock + drive


@func
def along_parent(turn: Quat[Float], both: Vec[6, Float]) -> Vec[6, Float]:
    """A torque and a force in space, along the parent's joint frame."""
    return spatial_joined(quat_rotate_inv(turn, spatial_top(both)), quat_rotate_inv(turn, spatial_bottom(both)))


@kernel
def record_reaction(joints: Any, rows: Any, impulses: Any, moving: Any, reaction: array(dtype=Any)):
    """Note the reaction before the motion, an impulse along the parent's joint frame."""
    j = tid()
    turn = parent_rotation(joints, moving, j)
    x = impulses.lock_before[j] + impulses.drive_before[j]
    reaction[j] = along_parent(turn, wrench_in_space(rows, j, x))


@kernel
def add_reaction(
    joints: Any, rows: Any, impulses: Any, moving: Any, reaction: array(dtype=Any), strength: array(dtype=Any), h: Any,
    share: Any, mean_force: array(dtype=Any), snapped: array(dtype=int32),
):  # fmt: skip
    """Add the force of a substep to the mean of the step, and note what it breaks.

    reaction: before the motion, see `record_reaction`. strength: force and torque [N, N m]. share: 1 / substeps.
    """
    j = tid()
    turn = parent_rotation(joints, moving, j)
    after = along_parent(turn, wrench_in_space(rows, j, impulses.lock_after[j] + impulses.drive_after[j]))
    force = (reaction[j] + after) / h
    if joints.intact[j] == 1:
        mean_force[j] = mean_force[j] + share * force
        limit = strength[j]
        if length(spatial_bottom(force)) > limit[0] or length(spatial_top(force)) > limit[1]:
            snapped[j] = 1


@kernel
def store(
    joints: Any, mean_force: array(dtype=Any), snapped: array(dtype=int32), f: array(dtype=Any),
    broken: array(dtype=int32),
):  # fmt: skip
    """Forces, and what broke."""
    j = tid()
    f[j] = mean_force[j]
    broken[j] = where(joints.intact[j] == 0 or snapped[j] == 1, 1, 0)


@kernel(enable_backward=False)
def measure_openings(joints: Any, coordinate: array(dtype=Any), apart: array(dtype=Any)):
    """How far joints are off their locks and outside of their limits, the most along an axis and about one [m, rad],
    where that is more than there was; those that broke are not."""
    j = tid()
    result = apart[j]
    if joints.intact[j] == 1:
        for i in range(6):
            if joints.used[j][i] > 0.0:
                lower, upper, x = joints.lower[j][i], joints.upper[j][i], coordinate[j][i]
                if i < 3:
                    x = wrap_angle(x, 0.5 * (lower + upper))
                place = 0
                if i < 3:
                    place = 1
                off = max(lower - x, x - upper)
                if not off <= result[place]:  # NaN as well
                    result[place] = off
    apart[j] = result
