"""On which side of a mesh a point is: by a vote of rays, by parity of crossings, by normals at the closest point.

Signs are piecewise constant: their gradients do nothing.
"""

from __future__ import annotations

from ..core.frontend.functions import func
from ..core.frontend.gradients import func_grad, func_replay
from ..core.lib.closest import closest_point_segment, closest_point_triangle
from ..core.lib.intersect import ray_frame, ray_triangle
from ..core.lib.random import rand_init, randf
from ..core.ops import abs, acos, clamp, cross, dot, length, mask_at_most, max, min, normalize, where
from ..core.runtime.array_ops import zeros
from ..core.types.scalars import float32, int32
from .bvh_nodes import STACK_SIZE, leaf_count, leaf_first
from .bvh_walk import LARGEST, box_distances_sq
from .mesh_closest import pack_distances
from .mesh_data import LANES, MeshData, corners_of, face_normal, lowest_bit, vec3
from .mesh_ray import crossings, first_hit

_SEED = 42
_PI = 3.14159265358979
_ROUNDING = 4.0e-7  # of a coordinate of a closest point


# ----- rays -----------------------------------------------------------------------------------


@func
def sees_back(data: MeshData, point: vec3, dir: vec3) -> bool:
    """Whether a ray first hits the back of a face."""
    face = first_hit(data, point, dir, LARGEST, False)
    back = False
    if face >= 0:
        a, b, c = corners_of(data, face)
        _, _, _, _, side = ray_triangle(ray_frame(dir), point, a, b, c)
        back = side < 0.0
    return back


@func
def sign_by_rays(data: MeshData, point: vec3) -> float32:
    """-1 where two of three rays along the axes first hit the back of a face, else 1; the third only if it decides."""
    backs, fronts = int32(0), int32(0)
    while backs < 2 and fronts < 2:
        axis = backs + fronts
        dir = vec3(where(axis == 0, 1.0, 0.0), where(axis == 1, 1.0, 0.0), where(axis == 2, 1.0, 0.0))
        if sees_back(data, point, dir):
            backs += 1
        else:
            fronts += 1
    return where(backs > fronts, -1.0, 1.0)


@func
def sign_by_parity(data: MeshData, point: vec3, n_sample: int32, perturbation_scale: float32) -> float32:
    """-1 where at least half of `n_sample` rays cross an odd number of faces, else 1.

    Rays point along (1, 1, 1), each component changed by up to `perturbation_scale`, the same in every call.
    """
    state = rand_init(_SEED)
    odd = int32(0)
    for _ in range(n_sample):
        x, y, z = randf(state, -1.0, 1.0), randf(state, -1.0, 1.0), randf(state, -1.0, 1.0)
        dir = vec3(1.0, 1.0, 1.0) + perturbation_scale * vec3(x, y, z)
        odd += crossings(data, point, dir) & 1
    return where(2 * odd >= n_sample, -1.0, 1.0)


# ----- normals --------------------------------------------------------------------------------


@func
def to_line(p: vec3, a: vec3, b: vec3) -> float32:
    """Distance of a point and a segment."""
    return length(a + closest_point_segment(p, a, b) * (b - a) - p)


@func
def angle_at(x: vec3, a: vec3, b: vec3, c: vec3, tolerance: float32) -> float32:
    """The angle that a triangle takes up around one of its points: at a corner, on an edge, inside."""
    angle = 2.0 * _PI
    if length(a - x) <= tolerance:
        angle = corner_angle(a, b, c)
    elif length(b - x) <= tolerance:
        angle = corner_angle(b, c, a)
    elif length(c - x) <= tolerance:
        angle = corner_angle(c, a, b)
    elif min(to_line(x, a, b), min(to_line(x, b, c), to_line(x, c, a))) <= tolerance:
        angle = float32(_PI)
    return angle


@func
def corner_angle(a: vec3, b: vec3, c: vec3) -> float32:
    """The angle of a triangle at its corner `a`."""
    return acos(clamp(dot(normalize(b - a), normalize(c - a)), -1.0, 1.0))


@func
def normal_at(data: MeshData, x: vec3, tolerance: float32) -> vec3:
    """The normals of the faces within `tolerance` of a point of the mesh, weighted by their angles there.

    The sign of the distance to a closed surface is that of its product with the way to the point (Baerentzen &
    Aanaes 2005, Signed Distance Computation Using the Angle Weighted Pseudonormal).
    """
    stack = zeros(shape=STACK_SIZE, dtype=int32)
    normal = vec3()
    top = where(data.tree.nodes.shape[0] > 0, 1, 0)
    while top > 0:
        top -= 1
        child = stack[top]
        if child >= 0:
            node = data.tree.nodes[child]
            near = box_distances_sq(node, x)
            for k in range(4):
                if near[k] <= tolerance * tolerance:
                    stack[top] = node.child[k]
                    top += 1
        else:
            first = leaf_first(child)
            lanes = mask_at_most(pack_distances(data.packs[first // LANES], x), tolerance * tolerance)
            lanes = lanes & ((1 << leaf_count(child)) - 1)
            while lanes != 0:
                a, b, c = corners_of(data, data.tree.items[first + lowest_bit(lanes)])
                lanes = lanes & (lanes - 1)
                normal += angle_at(x, a, b, c, tolerance) * face_normal(a, b, c)
    return normal


@func
def sign_by_normal(data: MeshData, point: vec3, face: int32, epsilon: float32) -> float32:
    """-1 behind the normal at the closest point, which is on `face`; else 1.

    Faces count as meeting there, and the point as on an edge or a corner, within `epsilon` of the average edge.
    """
    a, b, c = corners_of(data, face)
    u, v = closest_point_triangle(point, a, b, c)
    x = u * a + v * b + (1.0 - u - v) * c
    tolerance = max(epsilon * data.average_edge[0], _ROUNDING * max(abs(x[0]), max(abs(x[1]), abs(x[2]))))
    normal = cross(b - a, c - a)
    if angle_at(x, a, b, c, tolerance) < 6.0:
        normal = normal_at(data, x, tolerance)
    return where(dot(normal, point - x) < 0.0, -1.0, 1.0)


# ----- no derivatives -------------------------------------------------------------------------


@func_grad(sign_by_rays)
def _adj_sign_by_rays(data: MeshData, point: vec3, adj_sign: float32):
    """Nothing."""


@func_replay(sign_by_rays)
def _replay_sign_by_rays(data: MeshData, point: vec3):
    return sign_by_rays(data, point)


@func_grad(sign_by_parity)
def _adj_sign_by_parity(data: MeshData, point: vec3, n_sample: int32, perturbation_scale: float32, adj_sign: float32):
    """Nothing."""


@func_replay(sign_by_parity)
def _replay_sign_by_parity(data: MeshData, point: vec3, n_sample: int32, perturbation_scale: float32):
    return sign_by_parity(data, point, n_sample, perturbation_scale)


@func_grad(sign_by_normal)
def _adj_sign_by_normal(data: MeshData, point: vec3, face: int32, epsilon: float32, adj_sign: float32):
    """Nothing."""


@func_replay(sign_by_normal)
def _replay_sign_by_normal(data: MeshData, point: vec3, face: int32, epsilon: float32):
    return sign_by_normal(data, point, face, epsilon)
