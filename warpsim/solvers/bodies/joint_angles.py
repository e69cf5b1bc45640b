"""Angles of joints, and the axes about which torques change them; see `JointKind`.

A rotation is that of the child's frame, seen from the parent's. For each angle there is an axis a with
d(angle)/dt = a . w, w the angular velocity of the child against the parent, along the parent's frame.
"""

from __future__ import annotations

from ...core.language import Float, Mat, Quat, Vec, abs, atan2, cos, cross, dot, floor, func, int32
from ...core.language import matrix_from_rows, sin, sqrt, vector, where
from ...core.lib.quaternions import quat_rotate, quat_rotate_inv
from ..scene.joint_kind import JointKind

FIXED, DISTANCE = int(JointKind.FIXED), int(JointKind.DISTANCE)
HINGE, UNIVERSAL = int(JointKind.HINGE_X), int(JointKind.UNIVERSAL_X)
_TURN = 6.283185307179586
_SMALL = 1.0e-6
"""Squares of half angles below which sines are series, exact to rounding."""


@func
def unit_axis(like: Vec[3, Float], i: int32) -> Vec[3, Float]:
    """The axis x, y or z."""
    zero = like[0] * 0.0
    one = zero + 1.0
    return vector(where(i == 0, one, zero), where(i == 1, one, zero), where(i == 2, one, zero))


@func
def rotation_vector(q: Quat[Float]) -> Vec[3, Float]:
    """Axis times angle [rad] of a rotation, the shorter way round."""
    v = vector(q[0], q[1], q[2])
    square = dot(v, v)
    scale = 2.0 + square / 3.0 + 0.15 * square * square
    if square > _SMALL:
        s = sqrt(square)
        scale = 2.0 * atan2(s, abs(q[3])) / s
    return where(q[3] < 0.0, -scale, scale) * v


@func
def rotation_vector_axis(angles: Vec[3, Float], i: int32) -> Vec[3, Float]:
    """The axis of component i of a rotation vector: with e_i = `unit_axis`, and the vector t of length a,

    e_i + t x e_i / 2 + (1 - a / 2 cot(a / 2)) / a^2 t x (t x e_i), the transpose of the inverse of the differential of
    the exponential map.
    """
    e = unit_axis(angles, i)
    quarter = 0.25 * dot(angles, angles)
    scale = 1.0 / 12.0 + quarter / 180.0
    if quarter > 1.0e-4:
        half = sqrt(quarter)
        scale = 0.25 * (1.0 - half * cos(half) / sin(half)) / quarter
    across = cross(angles, e)
    return e + 0.5 * across + scale * cross(angles, across)


@func
def angles_of(kind: int32, q: Quat[Float]) -> Vec[3, Float]:
    """Angles [rad] of a rotation; in the place of a locked angle, a number that is zero where it is."""
    result = vector(q[0], q[1], q[2])
    if kind < HINGE:
        result = rotation_vector(q)
    elif kind < UNIVERSAL:
        k = kind - HINGE
        e = unit_axis(result, k)
        turn = 2.0 * atan2(dot(e, result), q[3])
        result = cross(e, quat_rotate(q, e)) + turn * e
    else:
        k = kind - UNIVERSAL
        e, first, second = unit_axis(result, k), unit_axis(result, (k + 1) % 3), unit_axis(result, (k + 2) % 3)
        own = quat_rotate(q, second)
        back = quat_rotate_inv(q, first)
        turn, tilt = atan2(dot(e, own), dot(second, own)), atan2(dot(e, back), dot(first, back))
        result = turn * first + tilt * second - dot(first, own) * e
    return result


@func
def axes_of(kind: int32, q: Quat[Float]) -> Mat[3, 3, Float]:
    """The axes of the three angles, as rows; exact where locked angles are zero."""
    like = vector(q[0], q[1], q[2])
    x, y, z = unit_axis(like, 0), unit_axis(like, 1), unit_axis(like, 2)
    if kind != FIXED:
        if kind < HINGE:
            angles = rotation_vector(q)
            x, y, z = rotation_vector_axis(angles, 0), rotation_vector_axis(angles, 1), rotation_vector_axis(angles, 2)
        elif kind >= UNIVERSAL:
            k = kind - UNIVERSAL
            first = unit_axis(like, (k + 1) % 3)
            own = quat_rotate(q, unit_axis(like, (k + 2) % 3))
            other = cross(first, own)
            x = where(k == 0, other, where(k == 2, first, own))
            y = where(k == 1, other, where(k == 0, first, own))
            z = where(k == 2, other, where(k == 1, first, own))
    return matrix_from_rows(x, y, z)


@func
def wrap_angle(angle: Float, center: Float) -> Float:
    """An angle [rad] plus whole turns, so that it is at most half a turn from `center`."""
    return angle - _TURN * floor((angle - center) / _TURN + 0.5)
