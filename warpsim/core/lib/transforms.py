"""Rigid transforms (position, rotation) and 4x4 matrices that act on column vectors.

A transform has seven components: position x, y, z, then the rotation (x, y, z, w), which must have
unit length. It takes a point to `quat_rotate(rotation, point) + position`.
"""

from __future__ import annotations

from typing import Any

from ..language import Float, Mat, Quat, Transform, Vec, cross, dot, float32, func, length, matrix_from_cols
from ..language import matrix_from_rows, normalize, quaternion, transformation, vector, where
from .quaternions import any_perpendicular, quat_from_matrix, quat_inverse, quat_rotate, quat_rotate_inv, quat_to_matrix
from .spatial import spatial_bottom, spatial_joined, spatial_top

# ----- parts --------------------------------------------------------------------------------


@func
def transform_identity(dtype: Any = float32) -> Any:
    """The transform that moves nothing, of a scalar type."""
    zero = dtype(0.0)
    return transformation(vector(zero, zero, zero), quaternion(zero, zero, zero, dtype(1.0)))


@func
def transform_get_translation(xform: Transform[Float]) -> Vec[3, Float]:
    """The position."""
    return vector(xform[0], xform[1], xform[2])


@func
def transform_get_rotation(xform: Transform[Float]) -> Quat[Float]:
    """The rotation."""
    return quaternion(xform[3], xform[4], xform[5], xform[6])


@func(inout=("xform",))
def transform_set_translation(xform: Transform[Float], p: Vec[3, Float]) -> Transform[Float]:
    """Give `xform` the position `p`, in place."""
    xform[0], xform[1], xform[2] = p[0], p[1], p[2]
    return xform


@func(inout=("xform",))
def transform_set_rotation(xform: Transform[Float], q: Quat[Float]) -> Transform[Float]:
    """Give `xform` the rotation `q`, in place."""
    xform[3], xform[4], xform[5], xform[6] = q[0], q[1], q[2], q[3]
    return xform


# ----- algebra ------------------------------------------------------------------------------


@func
def transform_multiply(a: Transform[Float], b: Transform[Float]) -> Transform[Float]:
    """The transform that applies `b`, then `a`."""
    return a * b


@func
def transform_inverse(xform: Transform[Float]) -> Transform[Float]:
    """The transform that undoes `xform`."""
    q = transform_get_rotation(xform)
    return transformation(-quat_rotate_inv(q, transform_get_translation(xform)), quat_inverse(q))


@func
def transform_point(xform: Transform[Float], point: Vec[3, Float]) -> Vec[3, Float]:
    """`point` rotated, then moved."""
    return quat_rotate(transform_get_rotation(xform), point) + transform_get_translation(xform)


@func(overload_of=transform_point)
def _transform_point_by_matrix(mat: Mat[4, 4, Float], point: Vec[3, Float]) -> Vec[3, Float]:
    """The first three components of mat * (point, 1); there is no division by the fourth.

    Matrices made for row vectors, such as USD's, must be transposed first.
    """
    return vector(
        mat[0, 0] * point[0] + mat[0, 1] * point[1] + mat[0, 2] * point[2] + mat[0, 3],
        mat[1, 0] * point[0] + mat[1, 1] * point[1] + mat[1, 2] * point[2] + mat[1, 3],
        mat[2, 0] * point[0] + mat[2, 1] * point[1] + mat[2, 2] * point[2] + mat[2, 3],
    )


@func
def transform_vector(xform: Transform[Float], vec: Vec[3, Float]) -> Vec[3, Float]:
    """`vec` rotated; a direction does not move."""
    return quat_rotate(transform_get_rotation(xform), vec)


@func(overload_of=transform_vector)
def _transform_vector_by_matrix(mat: Mat[4, 4, Float], vec: Vec[3, Float]) -> Vec[3, Float]:
    """The first three components of mat * (vec, 0).

    Normals need the inverse transpose of the upper left block where it scales unevenly.
    """
    return vector(
        mat[0, 0] * vec[0] + mat[0, 1] * vec[1] + mat[0, 2] * vec[2],
        mat[1, 0] * vec[0] + mat[1, 1] * vec[1] + mat[1, 2] * vec[2],
        mat[2, 0] * vec[0] + mat[2, 1] * vec[1] + mat[2, 2] * vec[2],
    )


# ----- matrices -----------------------------------------------------------------------------


@func
def transform_to_matrix(xform: Transform[Float]) -> Mat[4, 4, Float]:
    """[[R, p], [0, 1]] with the rotation matrix R and the position p."""
    r, zero = quat_to_matrix(transform_get_rotation(xform)), xform.dtype(0.0)
    return matrix_from_rows(
        vector(r[0, 0], r[0, 1], r[0, 2], xform[0]),
        vector(r[1, 0], r[1, 1], r[1, 2], xform[1]),
        vector(r[2, 0], r[2, 1], r[2, 2], xform[2]),
        vector(zero, zero, zero, xform.dtype(1.0)),
    )


@func
def transform_from_matrix(mat: Mat[4, 4, Float]) -> Transform[Float]:
    """The transform of [[R, p], [0, 1]]; the block R must be a rotation."""
    return transformation(vector(mat[0, 3], mat[1, 3], mat[2, 3]), quat_from_matrix(mat))


@func
def transform_compose(position: Vec[3, Float], rotation: Quat[Float], scale: Vec[3, Float]) -> Mat[4, 4, Float]:
    """The matrix that scales, then rotates, then moves: [[R diag(scale), p], [0, 1]]."""
    r, zero = quat_to_matrix(rotation), position.dtype(0.0)
    return matrix_from_rows(
        vector(r[0, 0] * scale[0], r[0, 1] * scale[1], r[0, 2] * scale[2], position[0]),
        vector(r[1, 0] * scale[0], r[1, 1] * scale[1], r[1, 2] * scale[2], position[1]),
        vector(r[2, 0] * scale[0], r[2, 1] * scale[1], r[2, 2] * scale[2], position[2]),
        vector(zero, zero, zero, position.dtype(1.0)),
    )


@func
def _axis(v: Vec[3, Float], product: Vec[3, Float], spare: Vec[3, Float]) -> Vec[3, Float]:
    """The direction of the first of the three that is not zero."""
    second = where(dot(product, product) > 0.0, product, spare)
    return normalize(where(dot(v, v) > 0.0, v, second))


@func
def transform_decompose(m: Mat[4, 4, Float]) -> tuple[Vec[3, Float], Quat[Float], Vec[3, Float]]:
    """(position, rotation, scale) that `transform_compose` takes to `m`, where `m` has no shear.

    A reflection (negative determinant) gives a negative scale along x and nowhere else. Axes scaled
    to zero are filled in to a right-handed frame.
    """
    x, y, z = (
        vector(m[0, 0], m[1, 0], m[2, 0]),
        vector(m[0, 1], m[1, 1], m[2, 1]),
        vector(m[0, 2], m[1, 2], m[2, 2]),
    )
    sx, sy, sz = length(x), length(y), length(z)
    mirrored = dot(cross(x, y), z) < 0.0
    x, sx = where(mirrored, -x, x), where(mirrored, -sx, sx)
    x = _axis(x, cross(y, z), any_perpendicular(y + z))
    x = _axis(x, x, vector(m.dtype(1.0), m.dtype(0.0), m.dtype(0.0)))
    y = _axis(y, cross(z, x), any_perpendicular(x))
    z = _axis(z, cross(x, y), z)
    q = quat_from_matrix(matrix_from_cols(x, y, z))
    return vector(m[0, 3], m[1, 3], m[2, 3]), q, vector(sx, sy, sz)


# ----- twists and wrenches ------------------------------------------------------------------


@func
def transform_twist(t: Transform[Float], x: Vec[6, Float]) -> Vec[6, Float]:
    """The twist (w, v) in the frame that `t` maps to: (R w, R v + p x R w)."""
    q = transform_get_rotation(t)
    w = quat_rotate(q, spatial_top(x))
    return spatial_joined(w, quat_rotate(q, spatial_bottom(x)) + cross(transform_get_translation(t), w))


@func
def transform_wrench(t: Transform[Float], x: Vec[6, Float]) -> Vec[6, Float]:
    """The wrench (n, f) in the frame that `t` maps to: (R n + p x R f, R f)."""
    q = transform_get_rotation(t)
    f = quat_rotate(q, spatial_bottom(x))
    return spatial_joined(quat_rotate(q, spatial_top(x)) + cross(transform_get_translation(t), f), f)
