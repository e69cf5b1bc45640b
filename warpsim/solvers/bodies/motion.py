"""Free motion of rigid bodies, and what an impulse does to one.

Rotation is the implicit midpoint rule on the group of rotations: q' = exp(h w) q with the angular velocity w of the
middle, w = I(q_mid)^-1 L. Without torque the angular momentum L stays as it is to rounding, and energy does not drift
(J. E. Marsden and M. West 2001, discrete mechanics). Forces act as two half kicks around the motion, so that a free
fall is exact (velocity Verlet).

Rows of `Moving` are the model's bodies, then one for the world, which is at rest, then one for each obstacle that a
control moves. Nothing moves rows without inverse mass, and nobody writes to their twists.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Array, Float, Mat, Quat, Transform, Vec, array, cross, dot, func, generic_struct, int32
from ...core.language import inverse, kernel, tid, transformation
from ...core.lib.quaternions import quat_rotate, quat_rotate_inv
from ...core.lib.spatial import spatial_bottom, spatial_joined, spatial_top
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ..scene.inverse_mass import inverse_mass
from ..scene.shapes import advance_pose, advance_rotation, to_world

_ROUNDS = 6
"""Fixed-point rounds of the midpoint rule: each leaves a part of the error like the angle of half a substep."""


@generic_struct
class Moving:
    """Bodies as constraints see them.

    pose: centre of mass [m] and rotation of the frame. twist: angular velocity, then that of the centre [rad/s, m/s].
    inv_mass [1/kg], inv_inertia: in space, at the pose [1/(kg m^2)].
    """

    pose: Array[Transform[Float]]
    twist: Array[Vec[6, Float]]
    inv_mass: Array[Float]
    inv_inertia: Array[Mat[3, 3, Float]]


@generic_struct
class FreeMotion:
    """What the free motion of bodies takes besides, one row for each body of the model.

    inertia, inv_inertia: along the axes of the frame [kg m^2, 1/(kg m^2)]. momentum: angular, of the present substep
    [kg m^2/s]. midpoint: angular velocity of the free motion in the middle of the substep [rad/s]. pull: acceleration
    by gravity and forces [m/s^2]. torque: about the centre of mass [N m].
    """

    inertia: Array[Mat[3, 3, Float]]
    inv_inertia: Array[Mat[3, 3, Float]]
    momentum: Array[Vec[3, Float]]
    midpoint: Array[Vec[3, Float]]
    pull: Array[Vec[3, Float]]
    torque: Array[Vec[3, Float]]


# ----- one body -----------------------------------------------------------------------------------


@func
def apply_tensor(q: Quat[Float], m: Mat[3, 3, Float], x: Vec[3, Float]) -> Vec[3, Float]:
    """R m R^T x: a tensor along the axes of a body, applied to a vector in space."""
    return quat_rotate(q, m * quat_rotate_inv(q, x))


@func
def tensor_in_space(q: Quat[Float], m: Mat[3, 3, Float]) -> Mat[3, 3, Float]:
    """R m R^T: a tensor along the axes of a body, in space."""
    zero = m[0, 0] * 0.0
    one = zero + 1.0
    x, y = apply_tensor(q, m, type(m[0])(one, zero, zero)), apply_tensor(q, m, type(m[0])(zero, one, zero))
    z = apply_tensor(q, m, type(m[0])(zero, zero, one))
    return type(m)(x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@func
def midpoint_velocity(q: Quat[Float], inv: Mat[3, 3, Float], momentum: Vec[3, Float], h: Float) -> Vec[3, Float]:
    """The angular velocity in the middle of `h` [s] without torque. inv: inverse inertia along the body's axes."""
    w = apply_tensor(q, inv, momentum)
    for _ in range(_ROUNDS):
        w = apply_tensor(advance_rotation(q, w, 0.5 * h), inv, momentum)
    return w


@func
def velocity_at(twist: Vec[6, Float], r: Vec[3, Float]) -> Vec[3, Float]:
    """Velocity [m/s] of a point of a body; r: from its centre of mass [m]."""
    return spatial_bottom(twist) + cross(spatial_top(twist), r)


@func
def apply_impulse(
    twist: Vec[6, Float], inv_mass: Float, inv_inertia: Mat[3, 3, Float], r: Vec[3, Float], impulse: Vec[3, Float]
) -> Vec[6, Float]:
    """The twist after an impulse [N s] at r from the centre of mass [m]."""
    return twist + spatial_joined(inv_inertia * cross(r, impulse), inv_mass * impulse)


@func
def response(inv_mass: Float, inv_inertia: Mat[3, 3, Float], r: Vec[3, Float], n: Vec[3, Float]) -> Float:
    """Velocity along a unit vector n, at r, that an impulse of 1 N s along n there gives [1/kg]."""
    arm = cross(r, n)
    return inv_mass + dot(arm, inv_inertia * arm)


# ----- all bodies ---------------------------------------------------------------------------------


@kernel
def load(
    q: array(dtype=Any), qd: array(dtype=Any), mass: array(dtype=Any), com: array(dtype=Any), inertia: array(dtype=Any),
    f: array(dtype=Any), added: array(dtype=Any), turning: array(dtype=Any), gravity: array(dtype=Any),
    world: array(dtype=int32), moving: Any, free: Any,
):  # fmt: skip
    """What a step begins with, of bodies. Those without mass have no inverse mass or inertia, nothing pulls them.

    added, turning: mass and inertia of fluid that moves along with others, which gravity does not pull.
    """
    b = tid()
    turn, w = transform_get_rotation(q[b]), inverse_mass(mass[b])
    if w > 0.0:
        w = 1.0 / (mass[b] + added[b])
    moving.pose[b] = transformation(to_world(q[b], com[b]), turn)
    moving.twist[b] = qd[b]
    moving.inv_mass[b] = w
    pull, torque = spatial_bottom(f[b]) * 0.0, spatial_top(f[b]) * 0.0
    inv = inertia[b] * 0.0
    together = inertia[b] + turning[b]
    if w > 0.0:
        inv = inverse(together)
        pull = (1.0 - w * added[b]) * gravity[world[b]] + w * spatial_bottom(f[b])
        torque = spatial_top(f[b])
    free.inertia[b] = together
    free.inv_inertia[b] = inv
    moving.inv_inertia[b] = tensor_in_space(turn, inv)
    free.pull[b] = pull
    free.torque[b] = torque


@kernel
def load_obstacles(
    shape: array(dtype=int32), transform: array(dtype=Any), velocity: array(dtype=Any), first: int32, moving: Any
):
    """Rows of obstacles: poses and twists that a control gives. first: the row of the first."""
    k = tid()
    moving.pose[first + k] = transform[shape[k]]
    moving.twist[first + k] = velocity[shape[k]]


@kernel
def half_kick(free: Any, h: Any, moving: Any):
    """The first half kick, and the angular velocity of the middle of the substep."""
    b = tid()
    if moving.inv_mass[b] > 0.0:
        q, twist = transform_get_rotation(moving.pose[b]), moving.twist[b]
        momentum = apply_tensor(q, free.inertia[b], spatial_top(twist)) + 0.5 * h * free.torque[b]
        w = midpoint_velocity(q, free.inv_inertia[b], momentum, h)
        free.momentum[b] = momentum
        free.midpoint[b] = w
        moving.twist[b] = spatial_joined(w, spatial_bottom(twist) + 0.5 * h * free.pull[b])


@kernel
def drift_and_kick(free: Any, h: Any, moving: Any):
    """Poses of bodies after the substep, with the twists that constraints left, and the second half kick."""
    b = tid()
    pose, twist = moving.pose[b], moving.twist[b]
    then = advance_pose(pose, twist, h)
    moving.pose[b] = then
    if moving.inv_mass[b] > 0.0:
        change = spatial_top(twist) - free.midpoint[b]
        momentum = free.momentum[b] + apply_tensor(transform_get_rotation(pose), free.inertia[b], change)
        inv = tensor_in_space(transform_get_rotation(then), free.inv_inertia[b])
        w = inv * (momentum + 0.5 * h * free.torque[b])
        moving.inv_inertia[b] = inv
        moving.twist[b] = spatial_joined(w, spatial_bottom(twist) + 0.5 * h * free.pull[b])


@kernel
def drift_obstacles(first: int32, h: Any, moving: Any):
    """Poses of obstacles after the substep."""
    row = first + tid()
    moving.pose[row] = advance_pose(moving.pose[row], moving.twist[row], h)


@kernel
def store(moving: Any, com: array(dtype=Any), q: array(dtype=Any), qd: array(dtype=Any)):
    """What a step ends with, of bodies."""
    b = tid()
    turn = transform_get_rotation(moving.pose[b])
    q[b] = transformation(transform_get_translation(moving.pose[b]) - quat_rotate(turn, com[b]), turn)
    qd[b] = moving.twist[b]
