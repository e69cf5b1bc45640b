"""Edges flipped until a triangulation is Delaunay (C. L. Lawson, "Software for C1 surface interpolation", 1977).

An edge is flipped where a corner opposite lies inside the circle through the other triangle. In each pass edges that
want to be flipped claim their two triangles, the lowest of scattered numbers wins, and winners flip at once: no two of
them share a triangle. The circle is tested in double precision, and only what rounding cannot explain is flipped, so
that corners on one circle, as those of squares, flip nothing forth and back.
"""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import Any

from ...core.language import array, array2d, float64, int32, uint32
from ...core.language import abs, atomic_add, atomic_min, dot, empty, empty_like, func, kernel, launch, tid, zeros
from ...core.runtime.arrays import saved_contents
from ...core.runtime.arrays.array import array as Array
from ...core.runtime.steps.host_call import call_or_record
from ...core.types.arrays import type_name
from ...core.types.compounds import standard_names
from ...errors import ArgumentTypeError, ArrayError, instance
from .adjacency import check_indices, find_neighbors

vec2d, vec2f = (standard_names()[name] for name in ("vec2d", "vec2f"))
NO_CLAIM = 0xFFFFFFFF
SCATTER = 2654435761
"""Odd, so that its multiples by the numbers of edges, which are below 2**31, differ; none of them is `NO_CLAIM`."""
ROUNDING = 2.0**-48
"""How much of the sum of sizes of its terms a determinant must exceed to count."""

EXACT = kernel(fast_math=False)


@func
def _at(positions: array[Any], k: int32) -> vec2d:
    p = positions[k]
    return vec2d(float64(p[0]), float64(p[1]))


@func
def _area(a: vec2d, b: vec2d, c: vec2d) -> float64:
    """Positive for corners in counterclockwise order."""
    u, v = b - a, c - a
    return 0.5 * (u[0] * v[1] - u[1] * v[0])


@func
def _is_inside_circle(a: vec2d, b: vec2d, c: vec2d, p: vec2d) -> bool:
    """Whether p is, beyond doubt, inside the circle through three points in counterclockwise order."""
    a, b, c = a - p, b - p, c - p
    inside, size = float64(0.0), float64(0.0)
    for _ in range(3):
        first, second = b[0] * c[1], b[1] * c[0]
        inside += dot(a, a) * (first - second)
        size += dot(a, a) * (abs(first) + abs(second))
        a, b, c = b, c, a
    return inside > ROUNDING * size


@func
def _wants_flip(
    positions: array[Any],
    reference: array[Any],
    indices: array2d[int32],
    t: int32,
    j: int32,
    u: int32,
    k: int32,
    least: float64,
    least_reference: float64,
) -> bool:
    """Whether edge j of triangle t, which is edge k of triangle u, is to be flipped."""
    p, q, r, s = indices[t, j], indices[t, (j + 1) % 3], indices[t, (j + 2) % 3], indices[u, k]
    at_p, at_q, at_r, at_s = _at(positions, p), _at(positions, q), _at(positions, r), _at(positions, s)
    if not _is_inside_circle(at_p, at_q, at_r, at_s):
        return False
    if _area(at_p, at_q, at_s) <= least or _area(at_p, at_s, at_r) <= least:
        return False
    if reference.shape[0] > 0:
        at_p, at_q, at_r, at_s = _at(reference, p), _at(reference, q), _at(reference, r), _at(reference, s)
        if abs(_area(at_p, at_q, at_s)) <= least_reference or abs(_area(at_p, at_s, at_r)) <= least_reference:
            return False
    return True


@func
def _number(t: int32, j: int32) -> uint32:
    return uint32(3 * t + j) * uint32(SCATTER)


@EXACT
def _claim(
    positions: array[Any],
    reference: array[Any],
    indices: array2d[int32],
    neighbors: array2d[int32],
    edges: array2d[int32],
    least: float64,
    least_reference: float64,
    claims: array[uint32],
):
    t, j = tid()
    u = neighbors[t, j]
    if u > t and _wants_flip(positions, reference, indices, t, j, u, edges[t, j], least, least_reference):
        atomic_min(claims, t, _number(t, j))
        atomic_min(claims, u, _number(t, j))


@kernel
def _flip(
    neighbors: array2d[int32],
    edges: array2d[int32],
    claims: array[uint32],
    indices: array2d[int32],
    flips: array[int32],
):
    t, j = tid()
    u = neighbors[t, j]
    if u > t and claims[t] == _number(t, j) and claims[u] == _number(t, j):
        p, q, r, s = indices[t, j], indices[t, (j + 1) % 3], indices[t, (j + 2) % 3], indices[u, edges[t, j]]
        indices[t, 0], indices[t, 1], indices[t, 2] = p, q, s
        indices[u, 0], indices[u, 1], indices[u, 2] = p, s, r
        atomic_add(flips, 0, 1)


def delaunay_edge_flip(
    positions: Array,
    indices: Array,
    ref_positions: Array | None = None,
    max_passes: int = 1000,
    area_epsilon: float = 0.0,
    ref_area_epsilon: float = 1e-10,
) -> Array:
    """Flip edges of a triangulation until all are Delaunay, and give the number of flips, (1,) int32.

    positions: (vertices,) vec2, or vec2d [length]. indices: (triangles, 3) int32, counterclockwise, an edge belongs to
    at most two; they change in place. ref_positions: other positions of the same vertices, in which no flip may make a
    triangle without area. max_passes: of flips at once. area_epsilon, ref_area_epsilon: areas that new triangles must
    exceed [length^2]; the second without sign.

    In a graph that is captured, all happens when it runs.
    Raises `ArgumentTypeError` for arrays of other types, `ArrayError` for other shapes and arrays elsewhere,
    `ValueError` for passes below one and for areas that are negative or no numbers.
    """
    check_indices(indices)
    for name, points in (("positions", positions), ("ref_positions", ref_positions)):
        if points is not None:
            _check_points(name, points, indices)
    if ref_positions is not None and ref_positions.shape != positions.shape:
        shown = f"ref_positions has shape {ref_positions.shape}"
        raise ArrayError(f"{shown}\nexpected: that of positions, {positions.shape}")
    for name, area in (("area_epsilon", area_epsilon), ("ref_area_epsilon", ref_area_epsilon)):
        if not (math.isfinite(area) and area >= 0.0):
            raise ValueError(f"{name} is {area}\nexpected: a finite number of at least 0")
    passes = operator.index(max_passes)
    if passes < 1:
        raise ValueError(f"max_passes is {max_passes}\nexpected: at least 1")
    reference = empty(0, dtype=positions.dtype, device=indices.device) if ref_positions is None else ref_positions
    flips = zeros(1, dtype=int32, device=indices.device)
    call_or_record(
        partial(_run, positions, reference, indices, passes, float(area_epsilon), float(ref_area_epsilon), flips)
    )
    return flips


def _check_points(name: str, points: Array, indices: Array) -> None:
    instance(points, array, name)
    if points.dtype not in (vec2f, vec2d) or points.ndim != 1:
        shown = f"{type_name(points.dtype)} of shape {points.shape}"
        raise ArgumentTypeError(f"{name} is an array of {shown}\nexpected: vec2 or vec2d of shape (vertices,)")
    if points.device.memory_space != indices.device.memory_space:
        raise ArrayError(f"{name} is on {points.device}\nexpected: {indices.device}, where the indices are")


def _run(
    positions: Array, reference: Array, indices: Array, passes: int, least: float, least_reference: float, flips: Array
) -> None:
    """Passes of flips, until one of them finds nothing to do."""
    with saved_contents.Paused():
        flips.zero_()
    if not len(indices):
        return
    device, before = indices.device, 0
    neighbors, edges = empty_like(indices), empty_like(indices)
    claims = empty(len(indices), dtype=uint32, device=device)
    options = {"device": device, "record_tape": False}
    for _ in range(passes):
        with saved_contents.Paused():  # no tape needs to know of what is the algorithm's own
            for own, value in ((neighbors, -1), (edges, -1), (claims, NO_CLAIM)):
                own.fill_(value)
            find_neighbors(indices, neighbors, edges)
            wishes = [positions, reference, indices, neighbors, edges, least, least_reference]
            launch(_claim, indices.shape, wishes, [claims], **options)
        launch(_flip, indices.shape, [neighbors, edges, claims], [indices, flips], **options)
        now = int(flips.numpy()[0])
        if now == before:
            return
        before = now
