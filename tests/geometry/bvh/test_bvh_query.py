"""Queries of a hierarchy find what brute force in float64 finds: each box once and no other."""

import math

import numpy as np
import pytest
from bvh_boxes import DEFAULTS, KINDS, SCALES, boxes, finite
from hypothesis import given, settings
from hypothesis import strategies as st

import warpsim as wp
from warpsim.geometry.bvh.bvh import Bvh
from warpsim.geometry.bvh.query import (
    bvh_query_aabb,
    bvh_query_capsule,
    bvh_query_next,
    bvh_query_ray,
    bvh_query_sphere,
)

pytestmark = pytest.mark.usefixtures("every_constructor")

QUERIES = 4
VECTORS = wp.array(dtype=wp.vec3)
NUMBERS = wp.array2d(dtype=int)


@wp.kernel
def find_aabb(bvh: wp.uint64, a: VECTORS, b: VECTORS, size: float, found: NUMBERS):
    q = wp.tid()
    for i in bvh_query_aabb(bvh, a[q], b[q]):
        found[q, i] += 1


@wp.kernel
def find_sphere(bvh: wp.uint64, a: VECTORS, b: VECTORS, size: float, found: NUMBERS):
    q = wp.tid()
    for i in bvh_query_sphere(bvh, a[q], size):
        found[q, i] += 1


@wp.kernel
def find_ray(bvh: wp.uint64, a: VECTORS, b: VECTORS, size: float, found: NUMBERS):
    q = wp.tid()
    query = bvh_query_ray(bvh, a[q], b[q])
    i = int(0)
    while bvh_query_next(query, i, size):
        found[q, i] += 1


@wp.kernel
def find_capsule(bvh: wp.uint64, a: VECTORS, b: VECTORS, size: float, found: NUMBERS):
    q = wp.tid()
    query = bvh_query_capsule(bvh, a[q], b[q], size)
    i = int(0)
    while bvh_query_next(query, i, 1.0):
        found[q, i] += 1


def found(kernel, bvh, count, a, b, size=0.0):
    """How often each query finds each box, (queries, count)."""
    device = bvh.device
    out = wp.zeros((len(a), count), dtype=int, device=device)
    vectors = [wp.array(np.asarray(x, np.float32), dtype=wp.vec3, device=device) for x in (a, b)]
    wp.launch(kernel, len(a), [bvh.id, *vectors, float(size)], [out], device=device)
    return out.numpy()


def bvh_of(lower, upper, device=None):
    return Bvh(*(wp.array(x, dtype=wp.vec3, device=device) for x in (lower, upper)), **DEFAULTS)


def gaps(p, lower, upper):
    """How far points are outside of boxes along each axis, in float64."""
    p, lower, upper = (np.asarray(x, np.float64) for x in (p, lower, upper))
    with np.errstate(invalid="ignore"):
        return np.maximum(np.maximum(lower - p, p - upper), 0)


def between(counts, surely, possibly):
    """What must be found is found once, what may not be found is not."""
    assert ((counts == 0) | (counts == 1)).all()
    assert (counts[surely] == 1).all()
    assert (counts[~possibly] == 0).all()


def places(rng, lower, upper, count):
    """Points in and around the boxes, corners among them."""
    held = np.flatnonzero(finite(lower, upper))
    if held.size == 0:
        return np.zeros((count, 3), np.float32)
    chosen = rng.choice(held, count)
    low, high = lower[chosen].astype(np.float64), upper[chosen].astype(np.float64)
    spread = rng.choice([0.0, 1.0, 2.0, -1.0], (count, 3)) * rng.choice([1.0, 0.3], (count, 3))
    return (low + spread * (high - low)).astype(np.float32)


CASES = st.tuples(
    st.sampled_from(sorted(KINDS)),
    st.integers(0, 120),
    st.integers(0, 2**32 - 1),
    st.sampled_from(SCALES),
    st.sampled_from([0.0, 0.2]),
)


@settings(max_examples=80, deadline=None)
@given(CASES)
def test_boxes_that_meet_a_box(case):
    kind, n, seed, scale, broken = case
    lower, upper = boxes(kind, n, seed, scale, broken)
    rng = np.random.default_rng(seed)
    a, b = places(rng, lower, upper, QUERIES), places(rng, lower, upper, QUERIES)
    low, high = np.minimum(a, b), np.maximum(a, b)
    counts = found(find_aabb, bvh_of(lower, upper), n, low, high)
    expected = finite(lower, upper) & (lower <= high[:, None]).all(2) & (upper >= low[:, None]).all(2)
    assert np.array_equal(counts, expected)


@settings(max_examples=80, deadline=None)
@given(CASES, st.sampled_from([0.0, 1e-3, 0.3, 2.0, 1e6]))
def test_boxes_that_meet_a_sphere(case, size):
    kind, n, seed, scale, broken = case
    lower, upper = boxes(kind, n, seed, scale, broken)
    center = places(np.random.default_rng(seed), lower, upper, QUERIES)
    radius = np.float32(size * scale)
    counts = found(find_sphere, bvh_of(lower, upper), n, center, center, radius)
    distance = np.linalg.norm(gaps(center[:, None], lower, upper), axis=2)
    slack = 1e-5 * radius + 1e-6 * np.abs(center).max(1)[:, None] * (distance > 0)
    good = finite(lower, upper)
    between(counts, good & (distance <= radius - slack), good & (distance <= radius + slack))


def crossings(start, direction, lower, upper, limit):
    """The span of each ray in each box, in float64: where it enters, where it leaves."""
    start, direction = start.astype(np.float64)[:, None], direction.astype(np.float64)[:, None]
    lower, upper = lower.astype(np.float64), upper.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.where(direction >= 0, lower - start, upper - start) / direction
        far = np.where(direction >= 0, upper - start, lower - start) / direction
    within = (lower <= start) & (start <= upper)
    still = (direction == 0) & np.ones_like(within)
    near = np.where(still, np.where(within, -np.inf, np.inf), near)
    far = np.where(still, np.where(within, np.inf, -np.inf), far)
    return np.maximum(near.max(2), 0), np.minimum(far.min(2), limit)


@settings(max_examples=120, deadline=None)
@given(CASES, st.sampled_from([math.inf, 3.0, 1.0, 0.25]), st.integers(0, 7))
def test_boxes_that_a_ray_meets(case, limit, zeros):
    kind, n, seed, scale, broken = case
    lower, upper = boxes(kind, n, seed, scale, broken)
    rng = np.random.default_rng(seed)
    start, end = places(rng, lower, upper, QUERIES), places(rng, lower, upper, QUERIES)
    direction = end - start
    direction[:, [bool(zeros >> k & 1) for k in range(3)]] = 0
    direction[np.abs(direction) < 3e-39] = 0
    counts = found(find_ray, bvh_of(lower, upper), n, start, direction, limit)
    enter, leave = crossings(start, direction, lower, upper, limit)
    good = finite(lower, upper)
    # Differences of coordinates have an error of their own where boxes are far from the origin.
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.maximum(np.abs(start)[:, None], np.maximum(np.abs(lower), np.abs(upper)))
        error = np.nan_to_num(1.2e-7 * reach / np.abs(direction)[:, None], nan=0.0, posinf=0.0).max(2)
    slack = 1e-6 * np.minimum(np.maximum(np.abs(enter), np.abs(leave)), 1e300) + error
    with np.errstate(invalid="ignore"):
        between(counts, good & (enter + slack <= leave), good & (enter - slack <= leave))


def nearest(start, direction, lower, upper):
    """Distances of boxes from segments, in float64, by ternary search on a convex function."""
    start, direction = start.astype(np.float64)[:, None], direction.astype(np.float64)[:, None]
    shape = (start.shape[0], len(lower), 1)
    low, high = np.zeros(shape), np.ones(shape)
    for _ in range(120):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        da, db = (np.linalg.norm(gaps(start + t * direction, lower, upper), axis=2, keepdims=True) for t in (a, b))
        low, high = np.where(da <= db, low, a), np.where(da <= db, b, high)
    return np.linalg.norm(gaps(start + low * direction, lower, upper), axis=2)


@settings(max_examples=80, deadline=None)
@given(
    CASES.filter(lambda c: c[3] in (1.0, 1e-18, 1e18) and c[0] != "inverted"),
    st.sampled_from([0.0, 1e-3, 0.3, 2.0]),
    st.integers(0, 7),
)
def test_boxes_that_meet_a_capsule(case, size, zeros):
    kind, n, seed, scale, broken = case
    lower, upper = boxes(kind, n, seed, scale, broken)
    rng = np.random.default_rng(seed)
    start, end = places(rng, lower, upper, QUERIES), places(rng, lower, upper, QUERIES)
    direction = end - start
    direction[:, [bool(zeros >> k & 1) for k in range(3)]] = 0
    radius = np.float32(size * scale)
    counts = found(find_capsule, bvh_of(lower, upper), n, start, direction, radius)
    good = finite(lower, upper)
    distance = np.full(counts.shape, np.inf)
    units = (x / np.float64(scale) for x in (start, direction, lower[good], upper[good]))
    distance[:, good] = nearest(*units)
    reach = np.maximum(np.abs(start), np.abs(end)).max(1, initial=0)[:, None] / scale
    slack = 1e-5 * size + 3e-6 * reach + 1e-7
    between(counts, good & (distance <= size - slack), good & (distance <= size + slack))
