"""On which side of a mesh a point is: by a vote of rays, by parity of crossings, by normals at the closest point."""

from __future__ import annotations

from ...core.language import (
    abs, acos, bool_, clamp, dot, float32, float64, func, int32, length, mask_at_most, mat33,
    max, min, normalize, struct, vec3, vec3d, where, zeros,
)  # fmt: skip
from ...core.lib.closest import closest_point_segment, closest_point_triangle
from ...core.lib.intersect import edge_side, ray_crosses, ray_frame
from ...core.lib.random import rand_init, randf
from ..bvh.nodes import STACK_SIZE, leaf_count, leaf_first
from ..bvh.walk import LARGEST, box_distances_sq, box_spans, inverted, is_finite, sorted_down
from .closest import pack_distances
from .data import LANES, MeshData, corners_of, face_normal, lowest_bit, size_of
from .ray import candidates, crossings, entered, pack_misses

_SEED = 42
_PI = 3.14159265358979
_ROUNDING = 4.0e-7  # of a closest point, relative to coordinates
_WEIGHT_ROUNDING = 1.2e-7
_RIM_ROUNDING = 1.0e-12
_AT_ONCE = 1.0e-14  # of the numbers that a time is made of: times closer than that are one
_BEYOND = 1.0 + 2.0**-22  # so that a rounded limit is not below the time
_BEFORE_START = -1.0e-300


# ----- rays -----------------------------------------------------------------------------------


@func
def crossing_of(frame: mat33, start: vec3, a: vec3, b: vec3, c: vec3) -> tuple[bool, float64, float64, int32]:
    """(hit, t, size of the numbers that t is made of, 1 for the front and -1 for the back) of a ray and a triangle.

    As `ray_triangle` and `ray_crosses`, with t in float64, in which faces agree about it on the edges that they share.
    """
    hit, t, reach, side = False, float64(0.0), float64(0.0), int32(0)
    p, q, r = frame * (a - start), frame * (b - start), frame * (c - start)
    u, v, w = edge_side(q[0], q[1], r[0], r[1]), edge_side(r[0], r[1], p[0], p[1]), edge_side(p[0], p[1], q[0], q[1])
    area = u + v + w
    outside = min(u, min(v, w)) < 0.0 and max(u, max(v, w)) > 0.0
    if not outside and abs(area) > 0.0:
        hit = ray_crosses(frame, start, a, b, c)
        t = (u * float64(p[2]) + v * float64(q[2]) + w * float64(r[2])) / area
        reach = float64(max(abs(p[2]), max(abs(q[2]), abs(r[2]))))
        forward = frame[2, 0] + frame[2, 1] + frame[2, 2] > 0.0
        side = where((area > 0.0) == forward, -1, 1)
    return hit, t, reach, side


@func
def first_crossings(data: MeshData, start: vec3, dir: vec3, after: float64) -> tuple[int32, int32, float64]:
    """Of the crossings at the first time > `after`: how many, fronts less backs, and the time after them."""
    stack, bounds = zeros(shape=STACK_SIZE, dtype=int32), zeros(shape=STACK_SIZE, dtype=float32)
    frame = ray_frame(dir)
    inverse = vec3(inverted(dir[0]), inverted(dir[1]), inverted(dir[2]))
    best, slack, end, limit = float64(LARGEST), float64(0.0), float64(LARGEST), float32(LARGEST)
    count, net = int32(0), int32(0)
    top = where(data.tree.nodes.shape[0] > 0 and is_finite(start), 1, 0)
    while top > 0:
        top -= 1
        child = stack[top]
        if bounds[top] <= limit:
            if child >= 0:
                node = data.tree.nodes[child]
                enter, leave = box_spans(node, start, inverse, limit)
                keys, children = sorted_down(entered(enter, leave), node.child)
                for k in range(4):
                    if keys[k] <= limit:
                        stack[top] = children[k]
                        bounds[top] = keys[k]
                        top += 1
            else:
                first = leaf_first(child)
                lanes = candidates(pack_misses(data.packs[first // LANES], frame, start), leaf_count(child))
                while lanes != 0:
                    a, b, c = corners_of(data, data.tree.items[first + lowest_bit(lanes)])
                    lanes = lanes & (lanes - 1)
                    hit, t, reach, side = crossing_of(frame, start, a, b, c)
                    if hit and t > after:
                        near = _AT_ONCE * reach
                        if t < best - near - slack:
                            best, slack, end, count, net = t, near, t + near, 1, side
                            limit = min(float32(best * _BEYOND), LARGEST)
                        elif t <= best + near + slack:
                            end, count, net = max(end, t + near), count + 1, net + side
    return count, net, end + slack


@func
def sees_back(data: MeshData, point: vec3, dir: vec3) -> bool:
    """Whether a ray first runs into the back of a face.

    A ray that grazes an edge or a corner crosses a front and a back there at the same time: it leaves as it came, on
    the same side of the surface, so they cancel and what comes next decides.
    """
    after, count, net = float64(_BEFORE_START), int32(1), int32(0)
    while count > 0 and net == 0:
        count, net, after = first_crossings(data, point, dir, after)
    return net < 0


@func(nondiff="a sign is piecewise constant")
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


@func(nondiff="a sign is piecewise constant")
def sign_by_parity(data: MeshData, point: vec3, n_sample: int32, perturbation_scale: float32) -> float32:
    """-1 where at least half of `n_sample` rays, or of one, cross an odd number of faces, else 1.

    Rays point along (1, 1, 1), each component changed by up to `perturbation_scale`, the same in every call.
    """
    state = rand_init(_SEED)
    odd, count = int32(0), max(n_sample, 1)
    for _ in range(count):
        x, y, z = randf(state, -1.0, 1.0), randf(state, -1.0, 1.0), randf(state, -1.0, 1.0)
        dir = vec3(1.0, 1.0, 1.0) + perturbation_scale * vec3(x, y, z)
        odd += crossings(data, point, dir) & 1
    return where(2 * odd >= count, -1.0, 1.0)


# ----- normals --------------------------------------------------------------------------------


@struct
class Fan:
    """The faces that share an edge or a corner."""

    normal: vec3  # sum of unit normals, for a corner weighted by angles
    rim: vec3d  # sum of the vectors across from a corner, or of the directions of the edge: 0 if the faces close up
    size: float64  # what is added up there, without signs
    flat: bool_  # whether a face has no area, so that what lies across it matters


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
def same(a: vec3, b: vec3) -> bool:
    """Whether two points have the same coordinates."""
    return a[0] == b[0] and a[1] == b[1] and a[2] == b[2]


@func
def closest_feature(u: float32, v: float32) -> tuple[int32, int32]:
    """The ends of the edge, or twice the corner, that weights from `closest_point_triangle` lie on; (-1, -1) inside."""
    i, j = int32(-1), int32(-1)
    if u == 0.0:
        i, j = where(v == 0.0, 2, 1), where(v == 1.0, 1, 2)
    elif v == 0.0:
        i, j = int32(0), where(u == 1.0, 0, 2)
    elif abs(1.0 - u - v) <= _WEIGHT_ROUNDING:
        i, j = int32(0), int32(1)
    return i, j


@func
def add_face(fan: Fan, p: vec3, q: vec3, a: vec3, b: vec3, c: vec3) -> Fan:
    """A fan with a face, if that has the corner p = q, or the edge from p to q, in any direction."""
    i = where(same(a, p), 0, where(same(b, p), 1, where(same(c, p), 2, -1)))
    j = where(same(a, q), 0, where(same(b, q), 1, where(same(c, q), 2, -1)))
    if i >= 0 and j >= 0 and not (same(a, b) or same(b, c) or same(c, a)):  # a face that is a segment closes nothing
        normal = face_normal(a, b, c)
        after, before = where(i == 0, b, where(i == 1, c, a)), where(i == 0, c, where(i == 1, a, b))
        if i == j:
            fan.normal += corner_angle(p, after, before) * normal
            fan.rim += vec3d(after) - vec3d(before)
            fan.size += float64(length(after - p) + length(before - p))
        else:
            fan.normal += normal
            fan.rim[0] += where(same(after, q), float64(1.0), float64(-1.0))
            fan.size += float64(1.0)
        fan.flat = fan.flat or same(normal, vec3())
    return fan


@func
def fan_around(data: MeshData, p: vec3, q: vec3) -> Fan:
    """The faces around the edge from p to q, or around the corner p = q."""
    stack = zeros(shape=STACK_SIZE, dtype=int32)
    fan = Fan()
    top = where(data.tree.nodes.shape[0] > 0, 1, 0)
    while top > 0:
        top -= 1
        child = stack[top]
        if child >= 0:
            node = data.tree.nodes[child]
            gap = box_distances_sq(node, p) + box_distances_sq(node, q)
            for k in range(4):
                if gap[k] <= 0.0:
                    stack[top] = node.child[k]
                    top += 1
        else:
            for k in range(leaf_count(child)):
                a, b, c = corners_of(data, data.tree.items[leaf_first(child) + k])
                fan = add_face(fan, p, q, a, b, c)
    return fan


@func
def is_closed(fan: Fan) -> bool:
    """Whether each face has a neighbour on both sides, so that no other face can meet there."""
    rim = abs(fan.rim[0]) + abs(fan.rim[1]) + abs(fan.rim[2])
    return rim <= _RIM_ROUNDING * fan.size and not fan.flat


@func(nondiff="a sign is piecewise constant")
def sign_by_normal(data: MeshData, point: vec3, face: int32, epsilon: float32) -> float32:
    """-1 behind the normal at the closest point, which is on `face`; else 1.

    Where the faces that share an edge or a corner do not close up around it, those within `epsilon` of the average
    edge count as meeting there.
    """
    a, b, c = corners_of(data, face)
    u, v = closest_point_triangle(point, a, b, c)
    x = u * a + v * b + (1.0 - u - v) * c
    normal = face_normal(a, b, c)
    i, j = closest_feature(u, v)
    if i >= 0:
        p = where(i == 0, a, where(i == 1, b, c))
        q = where(j == 0, a, where(j == 1, b, c))
        if i == j:
            x = p
        fan = fan_around(data, p, q)
        normal = fan.normal
        if not is_closed(fan):
            rounding = _ROUNDING * max(size_of(a), max(size_of(b), size_of(c)))
            normal = normal_at(data, x, max(epsilon * data.average_edge[0], rounding))
    else:
        x = a
    return where(dot(normal, point - x) < 0.0, -1.0, 1.0)


# ----- no derivatives -------------------------------------------------------------------------
