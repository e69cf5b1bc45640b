"""On which side of a mesh a point is, by rays: a vote of first hits, or the parity of crossings."""

from __future__ import annotations

from ...core.language import abs, float32, float64, func, int32, mat33, max, min, struct, vec3, where
from ...core.lib.intersect import edge_side, ray_crosses
from ...core.lib.random import rand_init, randf
from ..bvh.boxes import LARGEST, is_finite
from ..bvh.traverse import nearest_first
from .data import MeshData, corners_of
from .ray import Ray, crossings, entry_times, look_along, ray_of

_SEED = 42
_AT_ONCE = 1.0e-14  # of the numbers that a time is made of: times closer than that are one
_BEYOND = 1.0 + 2.0**-22  # so that a rounded limit is not below the time
_BEFORE_START = -1.0e-300


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


@struct
class FirstCrossings:
    """The crossings of a ray at the first time at which there are any, so far."""

    ray: Ray
    limit: float32  # the time, rounded up
    after: float64  # crossings up to then do not count
    first: float64  # the time
    slack: float64  # its rounding
    end: float64  # when the last crossing of that time is over
    count: int32
    net: int32  # fronts less backs


@func
def meet_at_once(data: MeshData, search: FirstCrossings, face: int32) -> FirstCrossings:
    """Keep a crossing that comes before all others, or at the same time."""
    a, b, c = corners_of(data, face)
    hit, t, reach, side = crossing_of(search.ray.frame, search.ray.start, a, b, c)
    if hit and t > search.after:
        near = _AT_ONCE * reach
        if t < search.first - near - search.slack:
            search.first, search.slack, search.end, search.count, search.net = t, near, t + near, 1, side
            search.limit = min(float32(t * _BEYOND), LARGEST)
        elif t <= search.first + near + search.slack:
            search.end, search.count, search.net = max(search.end, t + near), search.count + 1, search.net + side
    return search


@func
def look_at_once(data: MeshData, search: FirstCrossings, leaf: int32) -> FirstCrossings:
    """Look for earlier crossings in a leaf."""
    return look_along(data, search, leaf, meet_at_once)


@func
def first_crossings(data: MeshData, ray: Ray, after: float64) -> FirstCrossings:
    """The crossings at the first time > `after`."""
    search = FirstCrossings(ray=ray, limit=LARGEST, after=after, first=float64(LARGEST), end=float64(LARGEST))
    return nearest_first(data, search, entry_times, look_at_once)


@func
def sees_back(data: MeshData, point: vec3, dir: vec3) -> bool:
    """Whether a ray first runs into the back of a face.

    A ray that grazes an edge or a corner crosses a front and a back there at the same time: it leaves as it came, on
    the same side of the surface, so they cancel and what comes next decides.
    """
    ray = ray_of(point, dir)
    after, count, net = float64(_BEFORE_START), int32(1), int32(0)
    while count > 0 and net == 0 and is_finite(point):
        crossed = first_crossings(data, ray, after)
        count, net, after = crossed.count, crossed.net, crossed.end + crossed.slack
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
