"""Shapes: kinematic obstacles as signed distances, with the normal and the velocity of their surface at a point.

Every solver asks the same functions. `DISTANCE[type]` is a kernel function of a point in the shape's frame; `surface`
puts it into the world, and `surface_velocity` says how fast the obstacle moves there. Kernels are made per type of
shape (`for_shape`), so a scene of spheres never compiles queries of meshes.

In its frame a plane is z = 0 and free above; capsules, cylinders, cones and heightfields stand along z.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from ...core.language import Array, Float, Quat, Transform, Vec, abs, clamp, cos, cross, dot, float32, floor, func
from ...core.language import int32, length, min, normalize, quaternion, sin, sqrt, transformation, uint64, vec3
from ...core.language import vector, where
from ...core.lib.quaternions import quat_rotate, quat_rotate_inv
from ...core.lib.spatial import spatial_bottom, spatial_top, velocity_at_point
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ...geometry.mesh.eval import mesh_eval_face_normal, mesh_eval_position
from ...geometry.mesh.query import mesh_query_point_sign_normal
from ...geometry.volume.sample import LINEAR, volume_sample_grad_f
from ...geometry.volume.transform import volume_world_to_index


_ROUNDED = 1.0e-5  # of its coordinates: how near to a mesh a point is for whose direction rounding counts


class ShapeType(IntEnum):
    """What kind of obstacle a shape is; Model.shape_scale holds its sizes [m] as given here."""

    PLANE = 0  # none
    SPHERE = 1  # (radius, 0, 0)
    BOX = 2  # half extents along x, y, z
    CAPSULE = 3  # (radius, half of the length of the axis, 0)
    CYLINDER = 4  # (radius, half of the height, 0)
    MESH = 5  # factors along x, y, z: equal ones keep distances exact
    SDF = 6  # none: the volume is in metres
    HEIGHTFIELD = 7  # half extents along x and y, and the factor of heights
    HOLLOW_SPHERE = 8  # vessels: sizes as above, and free inside
    HOLLOW_CYLINDER = 9
    HOLLOW_CAPSULE = 10
    HOLLOW_MESH = 11
    CONE = 12  # (radius of the base, half of the height, 0)


# ----- signed distance in the shape's frame -------------------------------------------------------
#
# Arguments: the point, the row of shape_scale, the id of a mesh or volume, a table of heights, and how far to look [m].
# Results: signed distance [m], negative inside, and the unit normal there. Farther than `reach` any larger distance
# may be returned. Where a volume knows no direction the normal is zero: nothing touches there.


@func
def plane_distance(
    p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
) -> tuple[Float, Vec[3, Float]]:
    """Distance above z = 0."""
    return p[2], type(p)(0.0, 0.0, 1.0)


@func
def away(d: Vec[3, Float]) -> tuple[Float, Vec[3, Float]]:
    """Length and direction of a vector; up for one without length."""
    size = length(d)
    if size > 0.0:
        return size, d / size
    return d.dtype(0.0), type(d)(0.0, 0.0, 1.0)


@func
def sphere_distance(
    p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
) -> tuple[Float, Vec[3, Float]]:
    """Distance from a sphere around the origin."""
    size, normal = away(p)
    return size - scale[0], normal


@func
def box_distance(
    p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
) -> tuple[Float, Vec[3, Float]]:
    """Distance from a box: to the closest point outside, to the nearest face inside."""
    outside = p - type(p)(
        clamp(p[0], -scale[0], scale[0]), clamp(p[1], -scale[1], scale[1]), clamp(p[2], -scale[2], scale[2])
    )
    size = length(outside)
    if size > 0.0:
        return size, outside / size
    gap = type(p)(abs(p[0]) - scale[0], abs(p[1]) - scale[1], abs(p[2]) - scale[2])
    axis = int32(0)
    if gap[1] > gap[0]:
        axis = 1
    if gap[2] > gap[axis]:
        axis = 2
    normal = type(p)()
    normal[axis] = where(p[axis] < 0.0, p.dtype(-1.0), p.dtype(1.0))
    return gap[axis], normal


@func
def capsule_distance(
    p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
) -> tuple[Float, Vec[3, Float]]:
    """Distance from the segment |z| <= scale[1], less the radius scale[0]."""
    size, normal = away(type(p)(p[0], p[1], p[2] - clamp(p[2], -scale[1], scale[1])))
    return size - scale[0], normal


@func
def cylinder_distance(
    p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
) -> tuple[Float, Vec[3, Float]]:
    """Distance from a cylinder with flat ends: side, end, or the rim between them."""
    out, side = away(type(p)(p[0], p[1], 0.0))
    beside = out - scale[0]
    above = abs(p[2]) - scale[1]
    end = type(p)(0.0, 0.0, where(p[2] < 0.0, p.dtype(-1.0), p.dtype(1.0)))
    if beside > 0.0 and above > 0.0:
        size = sqrt(beside * beside + above * above)
        return size, (beside * side + above * end) / size
    if beside > above:
        return beside, side
    return above, end


@func
def cone_distance(
    p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
) -> tuple[Float, Vec[3, Float]]:
    """Distance from a cone with its tip above: side, tip, base, or the rim of that."""
    out, across = away(type(p)(p[0], p[1], 0.0))
    up = type(p)(0.0, 0.0, 1.0)
    slant = sqrt(scale[0] * scale[0] + 4.0 * scale[1] * scale[1])
    s, c = scale[0] / slant, 2.0 * scale[1] / slant  # of half of the angle at the tip
    beside, below = out * c + (p[2] - scale[1]) * s, -scale[1] - p[2]
    along = out * s - (p[2] - scale[1]) * c  # from the tip down the side
    if beside <= 0.0 and below <= 0.0:
        if beside > below:
            return beside, c * across + s * up
        return below, -up
    if along >= 0.0 and along <= slant and beside > 0.0:
        return beside, c * across + s * up
    if out <= scale[0] and below > 0.0:
        return below, -up
    x, z = out, p[2] - scale[1]
    if along > slant or below > 0.0:
        x, z = out - scale[0], p[2] + scale[1]
    size = sqrt(x * x + z * z)
    return size, (x * across + z * up) / size


@func
def mesh_distance(
    p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
) -> tuple[Float, Vec[3, Float]]:
    """Distance from a closed triangle mesh: to its closest point, with the sign of the pseudonormal there.

    Sign: J. A. Baerentzen and H. Aanaes 2005. The search is in single precision, whatever that of the model is: so near
    to the surface that the direction to it is rounding, the distance is that to the plane of the triangle.
    """
    reduced = vec3(float32(p[0] / scale[0]), float32(p[1] / scale[1]), float32(p[2] / scale[2]))
    farthest = float32(reach / min(min(scale[0], scale[1]), scale[2]))
    query = mesh_query_point_sign_normal(source, reduced, farthest)
    if not query.result:
        return 2.0 * reach, type(p)(0.0, 0.0, 1.0)
    q = mesh_eval_position(source, query.face, query.u, query.v)
    near = type(p)(p.dtype(q[0]) * scale[0], p.dtype(q[1]) * scale[1], p.dtype(q[2]) * scale[2])
    offset = p - near
    size, normal = away(offset)
    if size < _ROUNDED * length(near):
        n = mesh_eval_face_normal(source, query.face)
        normal = normalize(type(p)(p.dtype(n[0]) / scale[0], p.dtype(n[1]) / scale[1], p.dtype(n[2]) / scale[2]))
        return dot(offset, normal), normal
    sign = p.dtype(query.sign)
    return sign * size, sign * normal


@func
def mesh_vessel_distance(
    p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
) -> tuple[Float, Vec[3, Float]]:
    """As `mesh_distance`, but deep inside where nothing is near: a vessel is free there."""
    away, normal = mesh_distance(p, scale, source, heights, reach)
    if away >= 2.0 * reach:
        away = -away
    return away, normal


@func
def volume_distance(
    p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
) -> tuple[Float, Vec[3, Float]]:
    """Distance as a volume has it, between voxels by trilinear interpolation; the normal is its gradient.

    Outside of the band in which a volume knows distances all its values are the band's width, with the sign of the
    side. That is a bound and has no direction, and neither has the middle of a wall as thin as two voxels.
    """
    index = volume_world_to_index(source, p)
    slope = vec3()
    distance = p.dtype(volume_sample_grad_f(source, index, LINEAR, slope))
    # the chain rule back to metres: index = A p, so the gradient is A^T slope
    origin = volume_world_to_index(source, type(p)())
    s = type(p)(p.dtype(slope[0]), p.dtype(slope[1]), p.dtype(slope[2]))
    gradient = type(p)(
        dot(volume_world_to_index(source, type(p)(1.0, 0.0, 0.0)) - origin, s),
        dot(volume_world_to_index(source, type(p)(0.0, 1.0, 0.0)) - origin, s),
        dot(volume_world_to_index(source, type(p)(0.0, 0.0, 1.0)) - origin, s),
    )
    size = length(gradient)
    if size > 0.0:
        return distance, gradient / size
    return distance, type(p)()


@func
def heightfield_distance(
    p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
) -> tuple[Float, Vec[3, Float]]:
    """First-order distance from a surface z = h(x, y): (z - h) / sqrt(1 + |grad h|^2).

    h is bilinear in each cell of the table, whose first index goes along x from -scale[0] to scale[0]. Exact over
    slopes without curvature; elsewhere wrong by about half the curvature times the squared distance. Beside the table
    there is nothing.
    """
    zero = p.dtype(0.0)
    columns, rows = heights.shape[0] - 1, heights.shape[1] - 1
    u = (p[0] + scale[0]) / (2.0 * scale[0]) * p.dtype(columns)
    v = (p[1] + scale[1]) / (2.0 * scale[1]) * p.dtype(rows)
    if u < 0.0 or v < 0.0 or u > p.dtype(columns) or v > p.dtype(rows):
        return 2.0 * reach, type(p)(0.0, 0.0, 1.0)
    i = min(int32(floor(u)), columns - 1)
    j = min(int32(floor(v)), rows - 1)
    a, b = u - p.dtype(i), v - p.dtype(j)
    h00, h10, h01, h11 = heights[i, j], heights[i + 1, j], heights[i, j + 1], heights[i + 1, j + 1]
    h = (1.0 - a) * ((1.0 - b) * h00 + b * h01) + a * ((1.0 - b) * h10 + b * h11)
    du = ((1.0 - b) * (h10 - h00) + b * (h11 - h01)) * p.dtype(columns) / (2.0 * scale[0])
    dv = ((1.0 - a) * (h01 - h00) + a * (h11 - h10)) * p.dtype(rows) / (2.0 * scale[1])
    steep = sqrt(1.0 + scale[2] * scale[2] * (du * du + dv * dv)) + zero
    return (p[2] - scale[2] * h) / steep, type(p)(-scale[2] * du, -scale[2] * dv, 1.0) / steep


def hollow(distance: Any) -> Any:
    """The distance function of a vessel with the form of a solid. One wall is found at a time, the nearest."""

    @func
    def hollow_distance(
        p: Vec[3, Float], scale: Vec[3, Float], source: uint64, heights: Array[Float, 2], reach: Float
    ) -> tuple[Float, Vec[3, Float]]:
        away, normal = distance(p, scale, source, heights, reach)
        return -away, -normal

    return hollow_distance


DISTANCE: dict[ShapeType, Any] = {
    ShapeType.PLANE: plane_distance,
    ShapeType.SPHERE: sphere_distance,
    ShapeType.BOX: box_distance,
    ShapeType.CAPSULE: capsule_distance,
    ShapeType.CYLINDER: cylinder_distance,
    ShapeType.CONE: cone_distance,
    ShapeType.MESH: mesh_distance,
    ShapeType.SDF: volume_distance,
    ShapeType.HEIGHTFIELD: heightfield_distance,
    ShapeType.HOLLOW_SPHERE: hollow(sphere_distance),
    ShapeType.HOLLOW_CYLINDER: hollow(cylinder_distance),
    ShapeType.HOLLOW_CAPSULE: hollow(capsule_distance),
    ShapeType.HOLLOW_MESH: hollow(mesh_vessel_distance),
}
"""Signed distance and normal in the shape's frame, by type."""


def for_shape(make: Callable[[Any], Any]) -> Callable[[int], Any]:
    """Turn a factory of kernels, which takes a distance function, into a lookup by type of shape; each is made once."""

    @functools.cache
    def kernel_of(shape_type: int) -> Any:
        return make(DISTANCE[ShapeType(shape_type)])

    return kernel_of


# ----- in the world -------------------------------------------------------------------------------


@func
def to_shape(pose: Transform[Float], p: Vec[3, Float]) -> Vec[3, Float]:
    """A point of the world in the frame of a shape."""
    return quat_rotate_inv(transform_get_rotation(pose), p - transform_get_translation(pose))


@func
def to_world(pose: Transform[Float], p: Vec[3, Float]) -> Vec[3, Float]:
    """A point of a shape's frame in the world."""
    return quat_rotate(transform_get_rotation(pose), p) + transform_get_translation(pose)


@func
def advance_rotation(rotation: Quat[Float], angular: Vec[3, Float], t: Float) -> Quat[Float]:
    """A rotation after turning for `t` [s] with a constant angular velocity [rad/s] of the world: exp(t w / 2) q."""
    half = 0.5 * t * angular
    square = dot(half, half)
    c, s = 1.0 - 0.5 * square, 1.0 - square / 6.0
    if square > 1.0e-6:
        angle = sqrt(square)
        c, s = cos(angle), sin(angle) / angle
    return normalize(quaternion(s * half[0], s * half[1], s * half[2], c) * rotation)


@func
def direction_in_space(rotation: Quat[Float], n: Vec[3, Float]) -> Vec[3, Float]:
    """A unit vector of a frame, in space, exact along the axes of space that quarter turns lead to.

    Quaternions are of length 1 but for rounding, and (w^2 - u^2) n + 2 w u x n + 2 (u n) u turns n wherever they are
    not; `quat_rotate` takes them for exact, and leans what was a level plane by one rounding, where balls roll off.
    """
    u, w = vector(rotation[0], rotation[1], rotation[2]), rotation[3]
    return normalize((w * w - dot(u, u)) * n + (2.0 * w) * cross(u, n) + (2.0 * dot(u, n)) * u)


@func
def advance_pose(pose: Transform[Float], twist: Vec[6, Float], t: Float) -> Transform[Float]:
    """A pose after `t` [s] of a constant twist: angular velocity, then velocity of the origin."""
    position = transform_get_translation(pose) + t * spatial_bottom(twist)
    return transformation(position, advance_rotation(transform_get_rotation(pose), spatial_top(twist), t))


@func
def surface_velocity(pose: Transform[Float], twist: Vec[6, Float], p: Vec[3, Float]) -> Vec[3, Float]:
    """Velocity [m/s] of the obstacle at a point of the world."""
    return velocity_at_point(twist, p - transform_get_translation(pose))
