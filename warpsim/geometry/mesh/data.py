"""Data of a mesh in kernels: its arrays, the tree over its faces, and the corners of faces in the order of queries.

A leaf of the tree holds up to eight triangles, and a `TrianglePack` their corners, component by component, so
that one instruction works on eight triangles. `tree.items` has eight positions for every leaf: position
8 l + k is lane k of pack l. A leaf with fewer faces repeats its first in the lanes that are left, which is harmless
to searches for an extreme; whatever counts or lists faces looks at `leaf_count` lanes only.

Packs have no gradients: they serve searches. What has a derivative is computed from `points`, `velocities` and
`indices`, whose gradients are those of the arrays that the mesh was made of.
"""

from __future__ import annotations

from ...core.language import float32, int32, vec3
from ...core.language import abs, array_type, cross, func, max, normalize, stop_gradient, struct, vector_type, where
from ..bvh.boxes import is_finite
from ..bvh.nodes import BvhTree

vec8 = vector_type(8, float32)

LANES = 8


@struct
class TrianglePack:
    """Corners a, b, c of eight triangles."""

    ax: vec8
    ay: vec8
    az: vec8
    bx: vec8
    by: vec8
    bz: vec8
    cx: vec8
    cy: vec8
    cz: vec8


@struct
class WindingMoments:
    """The field of the oriented area below a child of a node, far away; see `winding`."""

    center: vec3
    reach: float32  # distance from the center that no triangle exceeds
    area: float32
    normal: vec3  # sum of the area vectors
    xx: float32  # sum of (centroid - center) (x) area vector, made symmetric
    yy: float32
    zz: float32
    xy: float32
    yz: float32
    zx: float32


@struct
class MeshData:
    """A triangle mesh as kernels see it; `wp.mesh_get(id)` returns it."""

    points: array_type(vec3, 1)
    velocities: array_type(vec3, 1)  # of points; empty where the mesh has none
    indices: array_type(int32, 1)  # three per face
    tree: BvhTree  # over faces
    packs: array_type(TrianglePack, 1)  # one per leaf
    moments: array_type(WindingMoments, 1)  # four per node; empty unless winding numbers are wanted
    groups: array_type(int32, 1)  # all groups of faces, ascending; empty without groups
    roots: array_type(int32, 1)  # the node of each group
    average_edge: array_type(float32, 1)  # one number: root of the mean squared length of the first edges of faces


@func
def corners_of(data: MeshData, face: int32) -> tuple[vec3, vec3, vec3]:
    """The corners of a face."""
    i, j, k = data.indices[3 * face], data.indices[3 * face + 1], data.indices[3 * face + 2]
    return data.points[i], data.points[j], data.points[k]


@func
def is_finite_triangle(a: vec3, b: vec3, c: vec3) -> bool:
    """Whether a triangle is one that queries can find: all coordinates are finite."""
    return is_finite(a) and is_finite(b) and is_finite(c)


@func
def face_normal(a: vec3, b: vec3, c: vec3) -> vec3:
    """Unit vector towards which a triangle turns counter-clockwise; zero where it has no area.

    Edges are scaled first, so that triangles of all sizes have one; lengths do not matter to it, nor to its derivative.
    """
    first, second = b - a, c - a
    return normalize(cross(first / stop_gradient(size_of(first)), second / stop_gradient(size_of(second))))


@func
def size_of(x: vec3) -> float32:
    """The largest component, without its sign; 1 for zero, so that one can divide by it."""
    size = max(abs(x[0]), max(abs(x[1]), abs(x[2])))
    return where(size > 0.0, size, 1.0)
