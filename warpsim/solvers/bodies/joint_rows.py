"""Joints as rows of the constraint Jacobian: three angles, then three translations, in the parent's joint frame.

An impulse of a joint acts on its child at the child's anchor, and with the opposite sign on its parent at the same
point of space: both together change neither momentum nor angular momentum. A positive impulse along row i makes
coordinate i of the joint grow.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Array, Float, Mat, Quat, Transform, Vec, abs, array, cross, dot, func, generic_struct
from ...core.language import int32, kernel, length, matrix_from_rows, max, sign, tid, transformation, transpose, vector
from ...core.lib.quaternions import quat_inverse, quat_rotate, quat_rotate_inv
from ...core.lib.spatial import spatial_bottom, spatial_joined, spatial_top
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ..scene.shapes import advance_pose, to_world
from .joint_angles import DISTANCE, angles_of, axes_of

_OPEN = 3.0e-3
"""Of its longer arm: joints that a pass leaves open by more are linearized anew."""


@generic_struct
class Joints:
    """What joints are in a step: which bodies, where, and how they limit and drive their coordinates.

    parent, child: rows of `Moving`. intact: 0 of those that broke. frames: in those of the bodies, from their centres
    of mass. used: 1 for rows that are locked, or have a limit or a drive; locked: 1 for the first.
    lower, upper, ke, kd, target, target_velocity: as in `Model` and `Control`.
    """

    parent: Array[int32]
    child: Array[int32]
    kind: Array[int32]
    intact: Array[int32]
    parent_frame: Array[Transform[Float]]
    child_frame: Array[Transform[Float]]
    used: Array[Vec[6, Float]]
    locked: Array[Vec[6, Float]]
    lower: Array[Vec[6, Float]]
    upper: Array[Vec[6, Float]]
    ke: Array[Vec[6, Float]]
    kd: Array[Vec[6, Float]]
    target: Array[Vec[6, Float]]
    target_velocity: Array[Vec[6, Float]]


@generic_struct
class Rows:
    """Coordinates and Jacobian of joints at the poses that bodies have.

    coordinate: [rad, m]. arms: from centres of mass to the child's anchor [m]. axes: of angles, in the parent's
    joint frame. angular, linear: of angles and of translations in space, as rows. response: velocity along a row that
    an impulse of 1 along it gives, the diagonal of J W J^T [1/(kg m^2), 1/kg].
    """

    coordinate: Array[Vec[6, Float]]
    parent_arm: Array[Vec[3, Float]]
    child_arm: Array[Vec[3, Float]]
    axes: Array[Mat[3, 3, Float]]
    angular: Array[Mat[3, 3, Float]]
    linear: Array[Mat[3, 3, Float]]
    response: Array[Vec[6, Float]]


@generic_struct
class JointImpulses:
    """Impulses of a substep along rows [N m s, N s], of locks and limits and of drives, before and after the motion."""

    lock_before: Array[Vec[6, Float]]
    lock_after: Array[Vec[6, Float]]
    drive_before: Array[Vec[6, Float]]
    drive_after: Array[Vec[6, Float]]


# ----- coordinates --------------------------------------------------------------------------------


@func
def from_center(frame: Transform[Float], com: Vec[3, Float]) -> Transform[Float]:
    """A frame of a body, seen from the centre of mass."""
    return transformation(transform_get_translation(frame) - com, transform_get_rotation(frame))


@func
def frame_rotation(pose: Transform[Float], frame: Transform[Float]) -> Quat[Float]:
    """Rotation in space of a joint's frame on a body."""
    return transform_get_rotation(pose) * transform_get_rotation(frame)


@func
def parent_rotation(joints: Any, moving: Any, j: int32) -> Any:
    """Rotation in space of joint j's frame on its parent, along which its rows and reactions are."""
    return frame_rotation(moving.pose[joints.parent[j]], joints.parent_frame[j])


@func
def joint_coordinates(
    kind: int32, parent: Transform[Float], child: Transform[Float], parent_frame: Transform[Float],
    child_frame: Transform[Float],
) -> Vec[6, Float]:  # fmt: skip
    """Angles [rad] and translations [m] of a joint. parent, child: poses of centres of mass."""
    turn = frame_rotation(parent, parent_frame)
    anchor = to_world(child, transform_get_translation(child_frame))
    apart = anchor - to_world(parent, transform_get_translation(parent_frame))
    linear = quat_rotate_inv(turn, apart)
    if kind == DISTANCE:
        linear = vector(length(apart), 0.0 * turn[0], 0.0 * turn[0])
    return spatial_joined(angles_of(kind, quat_inverse(turn) * frame_rotation(child, child_frame)), linear)


@func
def responses(
    angular: Mat[3, 3, Float], linear: Mat[3, 3, Float], arm: Vec[3, Float], inv_mass: Float, inv: Mat[3, 3, Float]
) -> Vec[6, Float]:
    """What one of the bodies adds to `Rows.response`. inv: inverse inertia in space [1/(kg m^2)]."""
    x, y, z = cross(arm, linear[0]), cross(arm, linear[1]), cross(arm, linear[2])
    return vector(
        dot(angular[0], inv * angular[0]), dot(angular[1], inv * angular[1]), dot(angular[2], inv * angular[2]),
        inv_mass + dot(x, inv * x), inv_mass + dot(y, inv * y), inv_mass + dot(z, inv * z),
    )  # fmt: skip


@func
def put_rows(joints: Any, moving: Any, j: int32, parent: Any, child: Any, value: Any, rows: Any):
    """The Jacobian of joint j at poses of its bodies, where its coordinates are `value`."""
    p, c, kind = joints.parent[j], joints.child[j], joints.kind[j]
    parent_frame, child_frame = joints.parent_frame[j], joints.child_frame[j]
    turn = frame_rotation(parent, parent_frame)
    axes = axes_of(kind, quat_inverse(turn) * frame_rotation(child, child_frame))
    anchor = to_world(child, transform_get_translation(child_frame))
    zero = value[0] * 0.0
    one = zero + 1.0
    x = quat_rotate(turn, vector(one, zero, zero))
    y = quat_rotate(turn, vector(zero, one, zero))
    z = quat_rotate(turn, vector(zero, zero, one))
    if kind == DISTANCE and value[3] > 0.0:
        x = (anchor - to_world(parent, transform_get_translation(parent_frame))) / value[3]
    linear = matrix_from_rows(x, y, z)
    angular = matrix_from_rows(quat_rotate(turn, axes[0]), quat_rotate(turn, axes[1]), quat_rotate(turn, axes[2]))
    parent_arm = anchor - transform_get_translation(parent)
    child_arm = anchor - transform_get_translation(child)
    rows.axes[j], rows.angular[j], rows.linear[j] = axes, angular, linear
    rows.parent_arm[j], rows.child_arm[j] = parent_arm, child_arm
    own = responses(angular, linear, child_arm, moving.inv_mass[c], moving.inv_inertia[c])
    rows.response[j] = own + responses(angular, linear, parent_arm, moving.inv_mass[p], moving.inv_inertia[p])


@func
def coordinates_at(joints: Any, j: int32, parent: Any, child: Any) -> Any:
    """Coordinates of joint j at poses of its bodies."""
    return joint_coordinates(joints.kind[j], parent, child, joints.parent_frame[j], joints.child_frame[j])


@kernel
def update_rows(joints: Any, moving: Any, rows: Any):
    """All of `Rows`, at the poses that bodies have."""
    j = tid()
    parent, child = moving.pose[joints.parent[j]], moving.pose[joints.child[j]]
    value = coordinates_at(joints, j, parent, child)
    rows.coordinate[j] = value
    put_rows(joints, moving, j, parent, child, value, rows)


@kernel
def follow_motion(joints: Any, moving: Any, h: Any, rows: Any, followed: array(dtype=int32)):
    """Where a pass has left joints open: their Jacobian at the poses that bodies would have at the end of the substep.

    followed: 1 for these joints, else 0; the last one is 1 where there are any, and has been 0.
    """
    j = tid()
    p, c = joints.parent[j], joints.child[j]
    parent, child = advance_pose(moving.pose[p], moving.twist[p], h), advance_pose(moving.pose[c], moving.twist[c], h)
    value = coordinates_at(joints, j, parent, child)
    off, arm = h * 0.0, max(length(rows.parent_arm[j]) * sign(moving.inv_mass[p]), length(rows.child_arm[j]))
    for i in range(3, 6):
        if joints.locked[j][i] > 0.0:
            off = max(off, abs(value[i] - 0.5 * (joints.lower[j][i] + joints.upper[j][i])))
    followed[j] = 0
    if joints.intact[j] == 1 and off > _OPEN * arm:
        followed[j] = 1
        followed[joints.parent.shape[0]] = 1
        put_rows(joints, moving, j, parent, child, value, rows)


# ----- impulses -----------------------------------------------------------------------------------


@func
def wrench_in_space(rows: Any, j: int32, x: Vec[6, Float]) -> Vec[6, Float]:
    """J^T x: the wrench, torque then force in space, of impulses x along the rows of joint j."""
    return spatial_joined(transpose(rows.angular[j]) * spatial_top(x), transpose(rows.linear[j]) * spatial_bottom(x))


@func
def apply_wrench(
    twist: Vec[6, Float], inv_mass: Float, inv_inertia: Mat[3, 3, Float], arm: Vec[3, Float], wrench: Vec[6, Float]
) -> Vec[6, Float]:
    """The twist after an impulse, torque then force in space [N m s, N s], at `arm` from the centre of mass [m]."""
    force = spatial_bottom(wrench)
    return twist + spatial_joined(inv_inertia * (spatial_top(wrench) + cross(arm, force)), inv_mass * force)


@func
def joint_velocities(joints: Any, rows: Any, moving: Any, j: int32) -> Any:
    """J v: how fast the coordinates of joint j grow with the twists of its bodies [rad/s, m/s]."""
    parent, child = moving.twist[joints.parent[j]], moving.twist[joints.child[j]]
    w = spatial_top(child) - spatial_top(parent)
    v = spatial_bottom(child) - spatial_bottom(parent)
    v = v + cross(spatial_top(child), rows.child_arm[j]) - cross(spatial_top(parent), rows.parent_arm[j])
    return spatial_joined(rows.angular[j] * w, rows.linear[j] * v)
