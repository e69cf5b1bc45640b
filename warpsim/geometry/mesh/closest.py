"""Search for the face of a mesh closest to a point, or furthest from it.

Of faces at the same computed distance the smallest number wins, whatever the shape of the tree. Squares of areas
must be numbers of float32: distances may be up to 1e9, and triangles smaller than about 1e-8 count as their edges.

Faces are numbers, so nothing here has a derivative; `nondiff` keeps a search in reverse as fast as it is forwards.
"""

from __future__ import annotations

import math

from ...core.language import float32, int32, vec3, vec4
from ...core.language import abs, cw_div, cw_mul, func, greater, lesser, mask_at_most, min, struct
from ...core.lib.closest import FLAT, SMALL
from ..bvh.boxes import LARGEST, box_distances_sq, is_finite
from ..bvh.nodes import EMPTY, BvhNode, leaf_first
from ..bvh.traverse import nearest_first
from .data import LANES, MeshData, TrianglePack, vec8

ROUNDING = 1.0 - 2.0**-20
"""Makes bounds of boxes smaller than computed distances of what is in them, so that no tie is missed."""

_OUTSIDE = 1.0e30
_BORDER = 1.0e-12
_TINY = 1.0e-37  # divides in the place of 0
_FLAT, _SMALL = FLAT[float32], SMALL[float32]


@func
def dot8(ax: vec8, ay: vec8, az: vec8, bx: vec8, by: vec8, bz: vec8) -> vec8:
    """Eight dot products."""
    return cw_mul(ax, bx) + cw_mul(ay, by) + cw_mul(az, bz)


@func
def edge_distances(x: vec8, y: vec8, z: vec8, ex: vec8, ey: vec8, ez: vec8, squared: vec8) -> vec8:
    """Squared distances of the origin and segments from (x, y, z) along (ex, ey, ez), whose lengths are `squared`."""
    t = cw_div(dot8(x, y, z, -ex, -ey, -ez), greater(vec8(_TINY), squared))
    t = lesser(vec8(1.0), greater(vec8(0.0), t))
    x, y, z = x + cw_mul(t, ex), y + cw_mul(t, ey), z + cw_mul(t, ez)
    return dot8(x, y, z, x, y, z)


@func
def pack_distances(pack: TrianglePack, p: vec3) -> vec8:
    """Squared distances from a point to the triangles of a pack.

    As `closest_point_triangle`, without branches: the plane counts where all three weights of the foot are positive
    and the triangle has a plane; elsewhere its distance is made larger than that of any edge.
    """
    px, py, pz = vec8(p[0]), vec8(p[1]), vec8(p[2])
    ax, ay, az = pack.ax - px, pack.ay - py, pack.az - pz
    bx, by, bz = pack.bx - px, pack.by - py, pack.bz - pz
    cx, cy, cz = pack.cx - px, pack.cy - py, pack.cz - pz
    ex, ey, ez = pack.bx - pack.ax, pack.by - pack.ay, pack.bz - pack.az  # rounded less than bx - ax far away
    fx, fy, fz = pack.cx - pack.ax, pack.cy - pack.ay, pack.cz - pack.az
    gx, gy, gz = pack.cx - pack.bx, pack.cy - pack.by, pack.cz - pack.bz
    ab, bc, ca = dot8(ex, ey, ez, ex, ey, ez), dot8(gx, gy, gz, gx, gy, gz), dot8(fx, fy, fz, fx, fy, fz)
    nx, ny, nz = cw_mul(ey, fz) - cw_mul(ez, fy), cw_mul(ez, fx) - cw_mul(ex, fz), cw_mul(ex, fy) - cw_mul(ey, fx)
    vx, vy, vz = cw_mul(az, fy) - cw_mul(ay, fz), cw_mul(ax, fz) - cw_mul(az, fx), cw_mul(ay, fx) - cw_mul(ax, fy)
    wx, wy, wz = cw_mul(ez, ay) - cw_mul(ey, az), cw_mul(ex, az) - cw_mul(ez, ax), cw_mul(ey, ax) - cw_mul(ex, ay)
    area = dot8(nx, ny, nz, nx, ny, nz)
    inverse = cw_div(vec8(1.0), greater(vec8(_TINY), area))
    v, w = cw_mul(dot8(vx, vy, vz, nx, ny, nz), inverse), cw_mul(dot8(wx, wy, wz, nx, ny, nz), inverse)
    outside = vec8(_BORDER) - lesser(lesser(v, w), vec8(1.0) - v - w)
    flat = cw_mul(greater(vec8(_SMALL), cw_mul(ab, ca) * _FLAT) - area, inverse)
    height = dot8(ax, ay, az, nx, ny, nz)
    plane = cw_mul(cw_mul(height, inverse), height) + greater(vec8(0.0), greater(outside, flat) * _OUTSIDE)
    on_ab = edge_distances(ax, ay, az, ex, ey, ez, ab)
    on_bc = edge_distances(bx, by, bz, gx, gy, gz, bc)
    on_ca = edge_distances(cx, cy, cz, -fx, -fy, -fz, ca)
    return lesser(plane, lesser(on_ab, lesser(on_bc, on_ca)))


# ----- searches ---------------------------------------------------------------------------------


@struct
class FaceSearch:
    """The best face so far; the furthest face is the nearest by distances with their signs changed."""

    point: vec3
    limit: float32  # the squared distance of the face
    face: int32


@func
def nearer_face(data: MeshData, search: FaceSearch, leaf: int32, distances: vec8) -> FaceSearch:
    """The search after it has seen a leaf whose faces have these squared distances."""
    if mask_at_most(distances, search.limit) != 0:
        for k in range(LANES):
            if distances[k] <= search.limit:
                other = data.tree.items[leaf_first(leaf) + k]
                if distances[k] < search.limit or other < search.face:
                    search.limit, search.face = distances[k], other
    return search


@func
def near_boxes(search: FaceSearch, node: BvhNode) -> vec4:
    """Lower bounds of squared distances from the point."""
    return box_distances_sq(node, search.point) * ROUNDING


@func
def look_near(data: MeshData, search: FaceSearch, leaf: int32) -> FaceSearch:
    """Look for the closest face in a leaf."""
    return nearer_face(data, search, leaf, pack_distances(data.packs[leaf_first(leaf) // LANES], search.point))


@func(nondiff="a face is a number")
def closest_face(data: MeshData, p: vec3, max_dist: float32) -> int32:
    """The face closest to `p` among those strictly closer than `max_dist`, or -1."""
    search = FaceSearch(point=p, limit=min(max_dist * max_dist, LARGEST), face=-1)
    if max_dist > 0.0 and is_finite(p):
        search = nearest_first(data, search, near_boxes, look_near)
    return search.face


@func
def _reaches(lower: vec4, x: float32, upper: vec4) -> vec4:
    at = vec4(x)
    return greater(at - lower, upper - at)


@func
def far_boxes(search: FaceSearch, node: BvhNode) -> vec4:
    """Lower bounds of squared distances with their signs changed: by the furthest points of boxes."""
    x = _reaches(node.lower_x, search.point[0], node.upper_x)
    y = _reaches(node.lower_y, search.point[1], node.upper_y)
    z = _reaches(node.lower_z, search.point[2], node.upper_z)
    bounds = (cw_mul(x, x) + cw_mul(y, y) + cw_mul(z, z)) * (-1.0 / ROUNDING)
    for k in range(4):
        if node.child[k] == EMPTY:
            bounds[k] = math.inf
    return bounds


@func
def corner_distances(x: vec8, y: vec8, z: vec8, p: vec3) -> vec8:
    """Squared distances of eight points from a point."""
    dx, dy, dz = x - vec8(p[0]), y - vec8(p[1]), z - vec8(p[2])
    return dot8(dx, dy, dz, dx, dy, dz)


@func
def look_far(data: MeshData, search: FaceSearch, leaf: int32) -> FaceSearch:
    """Look for the face with the furthest corner in a leaf."""
    pack = data.packs[leaf_first(leaf) // LANES]
    distances = corner_distances(pack.ax, pack.ay, pack.az, search.point)
    distances = greater(distances, corner_distances(pack.bx, pack.by, pack.bz, search.point))
    distances = greater(distances, corner_distances(pack.cx, pack.cy, pack.cz, search.point))
    return nearer_face(data, search, leaf, -distances)


@func(nondiff="a face is a number")
def furthest_face(data: MeshData, p: vec3, min_dist: float32) -> int32:
    """The face with the point furthest from `p` among those strictly further than `min_dist`, or -1."""
    search = FaceSearch(point=p, limit=-min_dist * abs(min_dist), face=-1)
    if is_finite(p):
        search = nearest_first(data, search, far_boxes, look_far)
    return search.face
