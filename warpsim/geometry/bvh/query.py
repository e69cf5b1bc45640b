"""Queries of a hierarchy: boxes that a box, a ray, a sphere or a capsule meets, one after the other.

A query yields every primitive whose box meets it exactly once and no other, in an order fixed by the tree:

    query = wp.bvh_query_aabb(bvh, low, high)
    for i in query:                              # or: while wp.bvh_query_next(query, i)

- Boxes are closed: touching is meeting. What is compared are the numbers of a box as they stand. So a box with a lower
  corner above the upper one is met by boxes that reach from below the one to above the other; how far a point is
  outside of it is the larger of both differences; whether a capsule meets it is not defined.
- `bvh_query_aabb`: lower <= high and upper >= low, along each axis.
- `bvh_query_sphere`: the distance from the center to the box is at most the radius; a negative radius counts as 0.
- `bvh_query_ray`: points start + t dir of the box with 0 <= t <= max_dist. `dir` may have zeros: the ray is then inside
  of both planes that it is parallel to where it lies in one of them. Components below 3e-39 count as 0.
- `bvh_query_capsule`: the distance from the box to points start + t dir, 0 <= t <= max_dist, is at most the radius.

Rays, spheres and capsules are tested in float32; a box that is missed, or met, by a few units of rounding may count
as met. Nothing is met by a query with a NaN, or by a ray or capsule with an infinity.

Queries are integers: they have no derivative. In a hierarchy that was refit, boxes are those of the refit.

A query carries its state by value. Four boxes are tested at once; those met and not yet visited are four bits. The
bits of nodes above wait in two words, and the way back is by the numbers of parents, so there is no stack.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.language import abs, cw_mul, dot, float32, func, greater, int32, isfinite, lesser, mask_at_most, max, min
from ...core.language import resolve, stop_gradient, struct, TypeVariable, uint64, vec3, vec3i, vec4, where
from ...core.lib.bits import lowest_bit, unit_for
from ...core.lib.sampling import lower_bound
from .boxes import LARGEST, box_spans, clamped_reciprocal, gaps, is_finite
from .nodes import EMPTY, BvhData, BvhNode, BvhTree, leaf_first

_INFINITE = math.inf


@struct
class BvhWalk:
    """The state of a query: a node, and the slots above that are still to be visited."""

    at: int32  # a node
    bits: int32  # its slots that are still to be visited
    near: uint64  # four bits for each of the 16 nodes above it, the nearest in the lowest bits
    far: uint64  # and for those above them


@struct
class BvhQueryAabb:
    """Boxes that meet a box."""

    tree: BvhTree
    walk: BvhWalk
    low: vec3
    high: vec3


@struct
class BvhQuerySphere:
    """Boxes that meet a sphere."""

    tree: BvhTree
    walk: BvhWalk
    center: vec3
    unit: float32  # lengths are multiplied by this power of two before they are squared
    limit: float32  # the squared radius, so multiplied


@struct
class BvhQueryRay:
    """Boxes that a ray meets."""

    tree: BvhTree
    walk: BvhWalk
    start: vec3
    inverse: vec3  # 1 / direction, by `clamped_reciprocal`
    still: vec3i  # 1 for components of the direction that count as 0


@struct
class BvhQueryCapsule:
    """Boxes that a sphere meets on its way."""

    tree: BvhTree
    walk: BvhWalk
    start: vec3
    direction: vec3
    inverse: vec3
    radius: float32


# ----- which boxes of a node are met --------------------------------------------------------------


@func
def hit_mask(query: BvhQueryAabb, node: BvhNode, limit: float32) -> int32:
    """A bit for each slot of the node whose box the query may meet; slots that are empty may be among them."""
    x = greater(node.lower_x - vec4(query.high[0]), vec4(query.low[0]) - node.upper_x)
    y = greater(node.lower_y - vec4(query.high[1]), vec4(query.low[1]) - node.upper_y)
    z = greater(node.lower_z - vec4(query.high[2]), vec4(query.low[2]) - node.upper_z)
    return mask_at_most(greater(greater(x, y), z), 0.0)


@func(overload_of=hit_mask)
def hit_mask(query: BvhQuerySphere, node: BvhNode, limit: float32) -> int32:
    x = gaps(node.lower_x, query.center[0], node.upper_x) * query.unit
    y = gaps(node.lower_y, query.center[1], node.upper_y) * query.unit
    z = gaps(node.lower_z, query.center[2], node.upper_z) * query.unit
    return mask_at_most(cw_mul(x, x) + cw_mul(y, y) + cw_mul(z, z), query.limit)


@func(overload_of=hit_mask)
def hit_mask(query: BvhQueryRay, node: BvhNode, limit: float32) -> int32:
    enter, leave = box_spans(node, query.start, query.inverse, limit)
    return mask_at_most(enter - leave, 0.0)


@func(overload_of=hit_mask)
def hit_mask(query: BvhQueryCapsule, node: BvhNode, limit: float32) -> int32:
    radius = vec4(query.radius)
    wide = BvhNode()
    wide.lower_x, wide.upper_x = node.lower_x - radius, node.upper_x + radius
    wide.lower_y, wide.upper_y = node.lower_y - radius, node.upper_y + radius
    wide.lower_z, wide.upper_z = node.lower_z - radius, node.upper_z + radius
    enter, leave = box_spans(wide, query.start, query.inverse, limit)
    return mask_at_most(enter - leave, 0.0)


# ----- whether what was met counts ----------------------------------------------------------------


@func
def counts(query: BvhQueryAabb, slot: int32, limit: float32) -> bool:
    """Whether a box that `hit_mask` has let pass, in a slot of the present node, is one that the query looks for."""
    return True


@func(overload_of=counts)
def counts(query: BvhQuerySphere, slot: int32, limit: float32) -> bool:
    return True


@func(overload_of=counts)
def counts(query: BvhQueryRay, slot: int32, limit: float32) -> bool:
    node = query.tree.nodes[query.walk.at]
    lower = vec3(node.lower_x[slot], node.lower_y[slot], node.lower_z[slot])
    upper = vec3(node.upper_x[slot], node.upper_y[slot], node.upper_z[slot])
    for k in range(3):
        if query.still[k] != 0 and (query.start[k] < lower[k] or query.start[k] > upper[k]):
            return False
    # The limit may have come down since the node was tested.
    return limit == _INFINITE or (hit_mask(query, node, limit) >> slot) & 1 == 1


@func(overload_of=counts)
def counts(query: BvhQueryCapsule, slot: int32, limit: float32) -> bool:
    if limit < 0.0:  # the first node was tested before the limit was known
        return False
    node = query.tree.nodes[query.walk.at]
    lower = vec3(node.lower_x[slot], node.lower_y[slot], node.lower_z[slot])
    upper = vec3(node.upper_x[slot], node.upper_y[slot], node.upper_z[slot])
    t = nearest_moment(query.start, query.direction, query.inverse, lower, upper, limit)
    unit = unit_for(query.radius)
    gap = outside(query.start + t * query.direction, lower, upper) * unit
    radius = query.radius * unit
    return gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2] <= radius * radius * (1.0 + 2.0**-20)


@func
def clamp_to_finite(x: vec3) -> vec3:
    """Infinities as the largest numbers."""
    return max(vec3(-LARGEST), min(x, vec3(LARGEST)))


@func
def outside(p: vec3, lower: vec3, upper: vec3) -> vec3:
    """From the nearest point of a box to a point."""
    return greater(p - upper, vec3(0.0)) + lesser(p - lower, vec3(0.0))


@func
def nearest_moment(start: vec3, direction: vec3, inverse: vec3, lower: vec3, upper: vec3, limit: float32) -> float32:
    """The t from 0 to `limit` at which start + t direction is nearest to a box.

    Half the derivative of the squared distance, outside(t) . direction, grows with t, along a straight line between
    the moments at which planes of the box are passed. So it is enough to know it there.
    """
    largest = max(abs(direction[0]), max(abs(direction[1]), abs(direction[2])))
    along = direction / max(largest, 1.0 / LARGEST)  # its length plays no part, and products stay in range
    before, after = float32(0.0), float32(0.0)
    rate_before = dot(outside(start, lower, upper), along)
    if rate_before >= 0.0:
        return 0.0
    rate_after = float32(0.0)
    has_after = False
    k = int32(0)
    while k < 7:
        t = min(limit, LARGEST)
        if k < 6:
            plane = where(k < 3, lower[k % 3], upper[k % 3])
            t = (plane - start[k % 3]) * inverse[k % 3]
        if t > 0.0 and t <= min(limit, LARGEST):
            rate = dot(outside(start + t * direction, lower, upper), along)
            if rate < 0.0 and t > before:
                before, rate_before = t, rate
            if rate >= 0.0 and (not has_after or t < after):
                after, rate_after, has_after = t, rate, True
        k += 1
    if not has_after:
        return before
    return before + (after - before) * (rate_before / (rate_before - rate_after))


# ----- the walk -----------------------------------------------------------------------------------


@func
def start_query(query: Any, id: uint64, root: int32, is_valid: bool) -> Any:
    """Set a query to its start: in the whole tree, or below its node `root`."""
    data = resolve(id, BvhData)
    at = where(root < 0, 0, root)
    if is_valid and at < len(data.tree.nodes):
        query.tree = data.tree
        query.walk.at = at
        query.walk.bits = hit_mask(query, data.tree.nodes[at], _INFINITE)
    return query


@func
def next_primitive(query: Any, index: int32, limit: float32) -> tuple[Any, int32, bool]:
    """Advance a query: it, the next primitive that it meets (else `index`), and whether there was one."""
    walk = query.walk
    has_next = False
    while not has_next and (walk.bits != 0 or walk.near != uint64(0) or walk.far != uint64(0)):
        if walk.bits == 0:
            walk.at = query.tree.nodes[walk.at].parent >> 2
            walk.bits = int32(walk.near & uint64(15))
            walk.near = walk.near >> uint64(4) | walk.far << uint64(60)
            walk.far = walk.far >> uint64(4)
        else:
            slot = lowest_bit(walk.bits)
            walk.bits = walk.bits & (walk.bits - 1)
            child = query.tree.nodes[walk.at].child[slot]
            if child >= 0:
                walk.far = walk.far << uint64(4) | walk.near >> uint64(60)
                walk.near = walk.near << uint64(4) | uint64(walk.bits)
                walk.at = child
                walk.bits = hit_mask(query, query.tree.nodes[child], limit)
            elif child != EMPTY:
                query.walk = walk
                if counts(query, slot, limit):
                    has_next = True
                    index = query.tree.items[leaf_first(child)]
    query.walk = walk
    return query, index, has_next


# ----- public -------------------------------------------------------------------------------------


@func
def bvh_query_aabb(id: uint64, low: vec3, high: vec3, root: int32 = -1) -> BvhQueryAabb:
    """A query of all boxes that meet the box from `low` to `high`. root: see `bvh_get_group_root`."""
    query = BvhQueryAabb()
    # Boxes are finite: so far is far enough, and differences are numbers.
    query.low, query.high = clamp_to_finite(stop_gradient(low)), clamp_to_finite(stop_gradient(high))
    return start_query(query, id, root, low == low and high == high)


@func
def bvh_query_sphere(id: uint64, center: vec3, radius: float32, root: int32 = -1) -> BvhQuerySphere:
    """A query of all boxes that meet a sphere."""
    query = BvhQuerySphere()
    query.center = stop_gradient(center)
    r = max(stop_gradient(radius), 0.0)
    query.unit = unit_for(r)
    query.limit = (r * query.unit) * (r * query.unit)
    return start_query(query, id, root, is_finite(center) and radius == radius)


@func
def bvh_query_ray(id: uint64, start: vec3, dir: vec3, root: int32 = -1) -> BvhQueryRay:
    """A query of all boxes that a ray meets, as far as `bvh_query_next` allows; `dir` need not be a unit vector."""
    query = BvhQueryRay()
    query.start = stop_gradient(start)
    d = stop_gradient(dir)
    query.inverse = vec3(clamped_reciprocal(d[0]), clamped_reciprocal(d[1]), clamped_reciprocal(d[2]))
    for k in range(3):
        query.still[k] = where(abs(query.inverse[k]) == LARGEST, 1, 0)
    return start_query(query, id, root, is_finite(start) and is_finite(dir))


@func
def bvh_query_capsule(id: uint64, start: vec3, dir: vec3, radius: float32, root: int32 = -1) -> BvhQueryCapsule:
    """A query of all boxes that meet a sphere on its way from `start` along `dir`, as far as `bvh_query_next` allows.

    From one point to another, the way is their difference and max_dist is 1.
    """
    query = BvhQueryCapsule()
    query.start, query.direction = stop_gradient(start), stop_gradient(dir)
    d = query.direction
    query.inverse = vec3(clamped_reciprocal(d[0]), clamped_reciprocal(d[1]), clamped_reciprocal(d[2]))
    query.radius = max(stop_gradient(radius), 0.0)
    return start_query(query, id, root, is_finite(start) and is_finite(dir) and isfinite(radius))


@func
def bvh_get_group_root(id: uint64, group: int32) -> int32:
    """The `root` with which a query finds boxes of one group only; -1, the root of all, if there is no such group."""
    data = resolve(id, BvhData)
    place = lower_bound(data.groups, 0, len(data.groups) + 1, group)
    root = int32(-1)
    if place < len(data.groups):
        if data.groups[place] == group:
            root = data.roots[place]
    return root


@func(inout=("query", "index"))
def bvh_query_next(
    query: BvhQueryAabb, index: int32, max_dist: float32 = _INFINITE
) -> tuple[BvhQueryAabb, int32, bool]:
    """Whether there is another primitive; its number in the arrays of the hierarchy goes to `index`.

    max_dist: how far to follow a ray or capsule, in lengths of its direction; without meaning for boxes and spheres.
    It may come down from call to call; where it goes up, primitives may be missed. At the end `index` keeps its value.
    """
    return next_primitive(query, index, max_dist)


@func(inout=("query", "index"), overload_of=bvh_query_next)
def bvh_query_next(
    query: BvhQuerySphere, index: int32, max_dist: float32 = _INFINITE
) -> tuple[BvhQuerySphere, int32, bool]:
    return next_primitive(query, index, max_dist)


@func(inout=("query", "index"), overload_of=bvh_query_next)
def bvh_query_next(query: BvhQueryRay, index: int32, max_dist: float32 = _INFINITE) -> tuple[BvhQueryRay, int32, bool]:
    return next_primitive(query, index, max_dist)


@func(inout=("query", "index"), overload_of=bvh_query_next)
def bvh_query_next(
    query: BvhQueryCapsule, index: int32, max_dist: float32 = _INFINITE
) -> tuple[BvhQueryCapsule, int32, bool]:
    return next_primitive(query, index, max_dist)


BvhQueryAabb.next_in_kernel = bvh_query_next
BvhQuerySphere.next_in_kernel = bvh_query_next
BvhQueryRay.next_in_kernel = bvh_query_next
BvhQueryCapsule.next_in_kernel = bvh_query_next

BvhQuery = TypeVariable("BvhQuery", lambda t: t in (BvhQueryAabb, BvhQuerySphere, BvhQueryRay, BvhQueryCapsule))
"""Any query of boxes, as an annotation of functions that take one."""
