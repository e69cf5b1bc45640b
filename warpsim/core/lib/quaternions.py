"""Rotations as quaternions: axis and angle, matrices, Euler angles, interpolation, swing and twist.

A quaternion is (x, y, z, w) with w the real part. Rotations are active and right-handed: a positive
quarter turn about z takes x to y, and `quat_rotate(a * b, v)` applies `b` first. Angles are in
radians. Functions that take a rotation expect unit length and do not normalize it unless they say
so.
"""

from __future__ import annotations

from typing import Any

from ..language import Float, Mat, Quat, Vec, abs, atan2, cos, cross, dot, float16, float32, float64, func, length
from ..language import matrix_from_cols, max, normalize, quaternion, sin, sqrt, vector, where

HALF_PI = 1.5707963267948966
PI = 3.141592653589793
TWO_PI = 6.283185307179586


# ----- axis and angle -----------------------------------------------------------------------


@func
def quat_identity(dtype: Any = float32) -> Any:
    """The rotation that turns nothing, (0, 0, 0, 1), of a scalar type."""
    return quaternion(dtype(0.0), dtype(0.0), dtype(0.0), dtype(1.0))


@func
def quat_from_axis_angle(axis: Vec[3, Float], angle: Float) -> Quat[Float]:
    """The rotation by `angle` [rad] about the unit vector `axis`."""
    half = 0.5 * angle
    s = sin(half)
    return quaternion(s * axis[0], s * axis[1], s * axis[2], cos(half))


@func
def quat_to_axis_angle(quat: Quat[Float]) -> tuple[Vec[3, Float], Float]:
    """(unit axis, angle [rad] in [0, pi]) of the rotation `quat`, of any length.

    The identity has axis zero. The axis and its derivative are discontinuous there.
    """
    v = vector(quat[0], quat[1], quat[2])
    axis = normalize(v)
    return where(quat[3] < 0.0, -axis, axis), 2.0 * atan2(length(v), abs(quat[3]))


@func
def quat_inverse(quat: Quat[Float]) -> Quat[Float]:
    """The conjugate: the inverse rotation of a unit quaternion."""
    return quaternion(-quat[0], -quat[1], -quat[2], quat[3])


@func
def quat_rotate(quat: Quat[Float], vec: Vec[3, Float]) -> Vec[3, Float]:
    """`vec` rotated by the unit quaternion `quat`."""
    u, w = vector(quat[0], quat[1], quat[2]), quat[3]
    return (2.0 * w * w - 1.0) * vec + (2.0 * w) * cross(u, vec) + (2.0 * dot(u, vec)) * u


@func
def quat_rotate_inv(quat: Quat[Float], vec: Vec[3, Float]) -> Vec[3, Float]:
    """`vec` rotated by the inverse of the unit quaternion `quat`."""
    u, w = vector(quat[0], quat[1], quat[2]), quat[3]
    return (2.0 * w * w - 1.0) * vec - (2.0 * w) * cross(u, vec) + (2.0 * dot(u, vec)) * u


# ----- matrices -----------------------------------------------------------------------------


@func
def quat_to_matrix(quat: Quat[Float]) -> Mat[3, 3, Float]:
    """The 3x3 matrix M of the unit quaternion `quat`: M v = quat_rotate(quat, v)."""
    x, y, z, w = quat[0], quat[1], quat[2], quat[3]
    diagonal = 2.0 * w * w - 1.0
    return matrix_from_cols(
        vector(diagonal + 2.0 * x * x, 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        vector(2.0 * (x * y - w * z), diagonal + 2.0 * y * y, 2.0 * (y * z + w * x)),
        vector(2.0 * (x * z + w * y), 2.0 * (y * z - w * x), diagonal + 2.0 * z * z),
    )


@func
def _quat_from_rows(r0: Vec[3, Float], r1: Vec[3, Float], r2: Vec[3, Float]) -> Quat[Float]:
    """The largest component from the diagonal, the others from off-diagonal sums and differences.

    Shepperd 1978, Quaternion from Rotation Matrix.
    """
    x, y, z, w = r2[1] - r1[2], r0[2] - r2[0], r1[0] - r0[1], 1.0 + r0[0] + r1[1] + r2[2]
    xy, xz, yz = r0[1] + r1[0], r0[2] + r2[0], r1[2] + r2[1]
    by_x = quaternion(1.0 + r0[0] - r1[1] - r2[2], xy, xz, x)
    by_y = quaternion(xy, 1.0 - r0[0] + r1[1] - r2[2], yz, y)
    by_z = quaternion(xz, yz, 1.0 - r0[0] - r1[1] + r2[2], z)
    by_w = quaternion(x, y, z, w)
    x_leads = r0[0] >= max(r1[1], r2[2])
    by_vector = where(x_leads, by_x, where(r1[1] >= r2[2], by_y, by_z))
    return normalize(where(w >= 1.0, by_w, by_vector))


@func
def quat_from_matrix(mat: Mat[3, 3, Float]) -> Quat[Float]:
    """The unit quaternion of a rotation matrix; w >= 0 where the trace is not negative."""
    return _quat_from_rows(mat[0], mat[1], mat[2])


@func(overload_of=quat_from_matrix)
def _quat_from_matrix44(mat: Mat[4, 4, Float]) -> Quat[Float]:
    """The unit quaternion of the rotation in the upper left 3x3 block."""
    return _quat_from_rows(
        vector(mat[0, 0], mat[0, 1], mat[0, 2]),
        vector(mat[1, 0], mat[1, 1], mat[1, 2]),
        vector(mat[2, 0], mat[2, 1], mat[2, 2]),
    )


# ----- Euler angles -------------------------------------------------------------------------


@func
def quat_rpy(roll: Float, pitch: Float, yaw: Float) -> Quat[Float]:
    """Roll about x, then pitch about y, then yaw about z, all about fixed axes [rad]."""
    cr, sr = cos(0.5 * roll), sin(0.5 * roll)
    cp, sp = cos(0.5 * pitch), sin(0.5 * pitch)
    cy, sy = cos(0.5 * yaw), sin(0.5 * yaw)
    return quaternion(
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


@func
def _pick(i: int, x: Float, y: Float, z: Float) -> Float:
    return where(i == 0, x, where(i == 1, y, z))


@func
def _about(i: int, angle: Float) -> Quat[Float]:
    """The rotation about coordinate axis `i`."""
    s = sin(0.5 * angle)
    return quaternion(where(i == 0, s, 0.0), where(i == 1, s, 0.0), where(i == 2, s, 0.0), cos(0.5 * angle))


@func
def quat_from_euler(e: Vec[3, Float], i: int, j: int, k: int) -> Quat[Float]:
    """Rotation about the fixed axes `i`, then `j`, then `k` (0, 1, 2 are x, y, z; i != j != k).

    Angles stand by axis, not by place in the sequence: `e[0]` is the angle about x [rad]. A
    sequence with i == k reads its first and its last angle from the same component.
    """
    first = _about(i, _pick(i, e[0], e[1], e[2]))
    second = _about(j, _pick(j, e[0], e[1], e[2]))
    third = _about(k, _pick(k, e[0], e[1], e[2]))
    return third * second * first


@func
def _gimbal_tolerance(x: float32) -> float32:
    """How near to gimbal lock the split into first and last angle is noise: about two roundings."""
    return float32(2.5e-7)


@func(overload_of=_gimbal_tolerance)
def _gimbal_tolerance_double(x: float64) -> float64:
    return float64(5e-16)


@func(overload_of=_gimbal_tolerance)
def _gimbal_tolerance_half(x: float16) -> float16:
    return float16(2e-3)


@func
def _wrap_angle(angle: Float) -> Float:
    """The same angle in [-pi, pi], given one in [-2 pi, 2 pi]."""
    return where(angle > PI, angle - TWO_PI, where(angle < -PI, angle + TWO_PI, angle))


@func
def quat_to_euler(q: Quat[Float], i: int, j: int, k: int) -> Vec[3, Float]:
    """The angles [rad] of the rotation `q` (any length) about fixed axes `i`, then `j`, then `k`.

    Angles stand by axis as in `quat_from_euler`, which inverts this for i != k. For i == k the last
    angle stands in component 3 - i - j. The middle angle is in [-pi/2, pi/2], or [0, pi] for
    i == k; the others are in [-pi, pi]. At gimbal lock the first is zero, and no angle has a
    derivative.

    Bernardes & Viollet 2022, Quaternion to Euler angles conversion: a direct, general and
    computationally efficient method.
    """
    proper = i == k
    last = where(proper, 3 - i - j, k)
    odd = (i - j) * (j - last) * (last - i) < 0
    x, y = _pick(i, q[0], q[1], q[2]), _pick(j, q[0], q[1], q[2])
    z = _pick(last, q[0], q[1], q[2])
    z = where(odd, -z, z)
    a, b = where(proper, q[3], q[3] - y), where(proper, x, x + z)
    c, d = where(proper, y, q[3] + y), where(proper, z, z - x)

    near, far = sqrt(a * a + b * b), sqrt(c * c + d * d)
    tilt = 2.0 * (q[3] * y - x * z)  # half of far^2 - near^2 where i != k, without what cancels
    middle = where(proper, 2.0 * atan2(far, near), atan2(tilt, far * near))
    half_sum, half_difference = atan2(b, a), atan2(d, c)
    tolerance = _gimbal_tolerance(a) * (near + far)
    locked_low, locked_high = far < tolerance, near < tolerance
    first = where(locked_low, 0.0, where(locked_high, 0.0, half_sum - half_difference))
    third = where(
        locked_low,
        2.0 * half_sum,
        where(locked_high, 2.0 * half_difference, half_sum + half_difference),
    )
    third = where(proper, third, where(odd, -third, third))
    first, third = _wrap_angle(first), _wrap_angle(third)
    return vector(
        where(i == 0, first, where(j == 0, middle, third)),
        where(i == 1, first, where(j == 1, middle, third)),
        where(i == 2, first, where(j == 2, middle, third)),
    )


@func
def quat_to_rpy(q: Quat[Float]) -> Vec[3, Float]:
    """(roll, pitch, yaw) [rad] that `quat_rpy` takes to `q`; roll is 0 at gimbal lock."""
    return quat_to_euler(q, 0, 1, 2)


# ----- interpolation and parts --------------------------------------------------------------


@func
def _slerp_series(t: Float, s: Float) -> Float:
    """sin(t x) / sin(x) for small s = sin(x)."""
    return t * (1.0 + (1.0 - t * t) * s * s / 6.0)


@func
def quat_slerp(a: Quat[Float], b: Quat[Float], t: Float) -> Quat[Float]:
    """From the rotation `a` (t = 0) to `b` (t = 1) on the shorter arc, at constant speed.

    `a` must have unit length, `b` any but zero; other `t` extrapolate. Where the two are half a
    turn apart (dot(a, b) = 0), both ways are equally short and the result jumps.

    Shoemake 1985, Animating Rotation with Quaternion Curves.
    """
    target = normalize(b)
    overlap = dot(a, target)
    target = where(overlap < 0.0, -target, target)
    between = quat_inverse(a) * target
    angle = atan2(length(vector(between[0], between[1], between[2])), abs(overlap))
    s = sin(angle)
    close = s < 3e-4  # the quotient of sines becomes 0 / 0; its series is exact to rounding
    safe = where(close, 1.0, s)
    near_a, near_b = _slerp_series(1.0 - t, s), _slerp_series(t, s)
    weight_a = where(close, near_a, sin((1.0 - t) * angle) / safe)
    weight_b = where(close, near_b, sin(t * angle) / safe)
    return weight_a * a + weight_b * target


@func
def quat_twist(axis: Vec[3, Float], q: Quat[Float]) -> Quat[Float]:
    """The part of the rotation `q` that turns about the unit vector `axis`, of unit length.

    q = swing * twist, the swing turning about an axis perpendicular to `axis`. The identity where
    `q` is a half turn about such an axis (any twist would do).
    """
    along = dot(axis, vector(q[0], q[1], q[2]))
    n = sqrt(along * along * dot(axis, axis) + q[3] * q[3])
    some = n > 0.0
    scale = 1.0 / where(some, n, 1.0)
    p = along * scale * axis
    return quaternion(p[0], p[1], p[2], where(some, q[3] * scale, 1.0))


@func
def quat_twist_angle(axis: Vec[3, Float], q: Quat[Float]) -> Float:
    """Size of the twist of `q` about `axis` [rad]: to pi for q[3] >= 0, else from pi to 2 pi."""
    twist = quat_twist(axis, q)
    return 2.0 * atan2(length(vector(twist[0], twist[1], twist[2])), twist[3])


@func
def quat_twist_angle_signed(axis: Vec[3, Float], q: Quat[Float]) -> Float:
    """Angle of the twist of `q` about `axis` [rad], positive where it turns with the axis, from -2 pi to 2 pi."""
    twist = quat_twist(axis, q)
    return 2.0 * atan2(dot(normalize(axis), vector(twist[0], twist[1], twist[2])), twist[3])


@func(overload_of=quat_to_axis_angle, inout=("axis", "angle"))
def _quat_to_axis_angle_into(quat: Quat[Float], axis: Vec[3, Float], angle: Float) -> tuple[Vec[3, Float], Float]:
    """Write the axis and the angle of the rotation `quat` to variables."""
    return quat_to_axis_angle(quat)


@func
def any_perpendicular(v: Vec[3, Float]) -> Vec[3, Float]:
    """A vector at right angles to `v`, no shorter than 0.7 of it."""
    return where(abs(v[0]) > abs(v[2]), vector(-v[1], v[0], v.dtype(0.0)), vector(v.dtype(0.0), -v[2], v[1]))


@func
def quat_between_vectors(a: Vec[3, Float], b: Vec[3, Float]) -> Quat[Float]:
    """The smallest rotation that takes the direction of `a` to that of `b`; lengths do not matter.

    Opposite directions give a half turn about some perpendicular axis; a zero vector the identity.
    """
    u, v = normalize(a), normalize(b)
    c, n = dot(u, v), cross(u, v)
    direct = quaternion(n[0], n[1], n[2], 1.0 + c)
    # Beyond a quarter turn 1 + c cancels, and near a half turn so does the cross product.
    axis = n - dot(u, n) * u
    axis = normalize(where(dot(axis, axis) > 0.0, axis, any_perpendicular(u)))
    axis = axis - dot(u, axis) * u  # again, for an axis that was mostly rounding
    s = length(u - v)
    around = quaternion(s * axis[0], s * axis[1], s * axis[2], length(u + v))
    return normalize(where(c >= 0.0, direct, around))
