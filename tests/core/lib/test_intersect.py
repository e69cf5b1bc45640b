"""Rays, triangles and boxes against exact arithmetic on small lattices; rays slip through nothing."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpsim as wp
from warpsim.core.lib.intersect import (
    intersect_tri_aabb,
    intersect_tri_tri,
    ray_crosses,
    ray_frame,
    ray_triangle,
)


@wp.kernel
def triangle_pairs(t: wp.array2d(dtype=wp.vec3), d: wp.array2d(dtype=wp.vec3d), out: wp.array2d(dtype=int)):
    i = wp.tid()
    out[i, 0] = intersect_tri_tri(t[i, 0], t[i, 1], t[i, 2], t[i, 3], t[i, 4], t[i, 5])
    out[i, 1] = intersect_tri_tri(d[i, 0], d[i, 1], d[i, 2], d[i, 3], d[i, 4], d[i, 5])


@wp.kernel
def boxes(t: wp.array2d(dtype=wp.vec3), out: wp.array(dtype=int)):
    i = wp.tid()
    lower, upper = wp.min(t[i, 3], t[i, 4]), wp.max(t[i, 3], t[i, 4])
    out[i] = wp.where(intersect_tri_aabb(t[i, 0], t[i, 1], t[i, 2], lower, upper), 1, 0)


@wp.kernel
def rays(
    o: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), t: wp.array2d(dtype=wp.vec3), out: wp.array2d(dtype=float)
):
    i = wp.tid()
    frame = ray_frame(d[i])
    hit, time, u, v, side = ray_triangle(frame, o[i], t[i, 0], t[i, 1], t[i, 2])
    out[i, 0] = wp.where(hit, 1.0, 0.0)
    out[i, 1] = time
    out[i, 2] = u
    out[i, 3] = v
    out[i, 4] = side
    out[i, 5] = wp.where(ray_crosses(frame, o[i], t[i, 0], t[i, 1], t[i, 2]), 1.0, 0.0)


def as_points(a, device=None):
    return wp.array(np.asarray(a, np.float32), dtype=wp.vec3, device=device)


def cast(o, d, t, device=None):
    out = wp.zeros((len(o), 6), dtype=float, device=device)
    wp.launch(rays, dim=len(o), inputs=[as_points(a, device) for a in (o, d, t)] + [out], device=device)
    return out.numpy()


# ----- exact oracles --------------------------------------------------------------------------


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def sub(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def on_segment(p, a, b):
    along = dot(sub(p, a), sub(b, a))
    return not any(cross(sub(b, a), sub(p, a))) and 0 <= along <= dot(sub(b, a), sub(b, a)) and (a != b or p == a)


def in_triangle(p, t):
    """p is in the plane of t and on the inner side of its edges, or on an edge."""
    if any(on_segment(p, t[i], t[(i + 1) % 3]) for i in range(3)):
        return True
    n = cross(sub(t[1], t[0]), sub(t[2], t[0]))
    sides = [dot(cross(sub(t[(i + 1) % 3], t[i]), sub(p, t[i])), n) for i in range(3)]
    return any(n) and dot(n, sub(p, t[0])) == 0 and all(s >= 0 for s in sides)


def segments_meet(a, b, c, d):
    """In one point inside both; ends on the other segment are looked at elsewhere."""
    e, f, r = sub(b, a), sub(d, c), sub(c, a)
    n = cross(e, f)
    if not any(n) or dot(n, r):
        return False
    s, t = Fraction(dot(cross(r, f), n), dot(n, n)), Fraction(dot(cross(r, e), n), dot(n, n))
    return 0 <= s <= 1 and 0 <= t <= 1


def pierces(a, b, t):
    """The segment from a to b goes through the inside of t, from one side to the other."""
    n = cross(sub(t[1], t[0]), sub(t[2], t[0]))
    before, after = dot(n, sub(a, t[0])), dot(n, sub(b, t[0]))
    if before * after >= 0:
        return False
    share = Fraction(before, before - after)
    return in_triangle([x + share * (y - x) for x, y in zip(a, b, strict=True)], t)


def edges(t):
    return [(t[i], t[(i + 1) % 3]) for i in range(3)]


def triangles_meet(s, t):
    return (
        any(in_triangle(p, t) for p in s)
        or any(in_triangle(p, s) for p in t)
        or any(segments_meet(*e, *f) for e, f in itertools.product(edges(s), edges(t)))
        or any(pierces(*e, t) for e in edges(s))
        or any(pierces(*e, s) for e in edges(t))
    )


def clipped(t, lower, upper):
    """The polygon that a box leaves of a triangle (Sutherland & Hodgman), in fractions."""
    polygon = [[Fraction(x) for x in p] for p in t]
    for axis, (bound, sign) in itertools.product(range(3), ((lower, 1), (upper, -1))):
        kept = []
        for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True):
            a, b = sign * (p[axis] - bound[axis]), sign * (q[axis] - bound[axis])
            if a >= 0:
                kept.append(p)
            if a * b < 0:
                kept.append([x + a / (a - b) * (y - x) for x, y in zip(p, q, strict=True)])
        polygon = kept
    return polygon


lattice = st.tuples(*[st.integers(-2, 2)] * 3).map(list)


@given(st.lists(st.lists(lattice, min_size=6, max_size=6), min_size=1, max_size=25))
def test_triangles(found):
    """All ways to touch, to lie in one plane, and to be a segment or a point."""
    t = np.array(found)
    out = wp.zeros((len(t), 2), dtype=int)
    wp.launch(triangle_pairs, dim=len(t), inputs=[as_points(t), wp.array(t.astype(float), dtype=wp.vec3d), out])
    expected = [triangles_meet(points[:3], points[3:]) for points in found]
    assert out.numpy().tolist() == [[e, e] for e in expected]


@given(st.lists(st.lists(lattice, min_size=5, max_size=5), min_size=1, max_size=25))
def test_boxes(found):
    t = np.array(found)
    out = wp.zeros(len(t), dtype=int)
    wp.launch(boxes, dim=len(t), inputs=[as_points(t), out])
    lower, upper = t[:, 3:].min(axis=1).tolist(), t[:, 3:].max(axis=1).tolist()
    assert out.numpy().tolist() == [bool(clipped(p[:3], lo, hi)) for p, lo, hi in zip(found, lower, upper, strict=True)]


def test_triangles_in_general_position():
    """Random triangles, of which about a quarter meet, against the signs of volumes in float64."""
    t = np.random.default_rng(0).normal(size=(300, 6, 3)).astype(np.float32)
    out = wp.zeros((300, 2), dtype=int)
    wp.launch(triangle_pairs, dim=300, inputs=[as_points(t), wp.array(t.astype(float), dtype=wp.vec3d), out])
    expected = [triangles_meet(*[[list(map(Fraction, p)) for p in s] for s in (x[:3], x[3:])]) for x in t.tolist()]
    assert 50 < sum(expected) < 150
    assert out.numpy().tolist() == [[e, e] for e in expected]


# ----- rays -----------------------------------------------------------------------------------


def test_hits_have_time_weights_and_side():
    """Rays aimed at known points of random triangles."""
    rng = np.random.default_rng(0)
    o, t = rng.normal(size=(500, 3)), rng.normal(size=(500, 3, 3))
    weights, time = rng.dirichlet([2, 2, 2], 500), rng.uniform(0.5, 2.0, 500)
    d = (np.einsum("ij,ijk->ik", weights, t) - o) / time[:, None]
    found = cast(o, d, t)
    np.testing.assert_array_equal(found[:, 0], 1)
    np.testing.assert_array_equal(found[:, 5], 1)
    against = np.einsum("ij,ij->i", np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]), d)
    clear = np.abs(against) > 0.02
    np.testing.assert_allclose(found[clear, 1], time[clear], rtol=1e-4)
    np.testing.assert_allclose(found[clear, 2:4], weights[clear, :2], atol=1e-4)
    np.testing.assert_array_equal(found[clear, 4], -np.sign(against[clear]))


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_axis_aligned_rays(axis, sign):
    t = np.roll([[0, 0, 0], [4, 0, 0], [0, 4, 0]], axis + 1, axis=1)[None]
    o, d = np.zeros(3), np.zeros(3)
    o[axis], d[axis] = -2.0 * sign, 2.0 * sign
    o[(axis + 1) % 3], o[(axis + 2) % 3] = 1.0, 2.0
    normal = np.cross(t[0, 1] - t[0, 0], t[0, 2] - t[0, 0])[axis]
    np.testing.assert_allclose(cast([o], [d], t)[0], [1, 1, 0.25, 0.25, -np.sign(normal * sign), 1])


def fan(center, rim):
    return np.array([[center, rim[i], rim[(i + 1) % len(rim)]] for i in range(len(rim))], np.float32)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(3, 9),
    st.sampled_from([0.0, 1e-7, 1e-6, 1e-3]),
    st.sampled_from([1.0, 1e-3, 100.0]),
)
def test_nothing_slips_between_triangles(seed, count, miss, scale):
    """Rays at the middle of a fan, at its edges, and closer to them than rounding: one at least is hit, and an odd
    number is crossed."""
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, count))
    angles += np.linspace(0, 0.1, count)
    if np.max(np.diff(np.r_[angles, angles[0] + 2 * np.pi])) > 2.8:
        angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rim = np.stack([np.cos(angles), np.sin(angles), rng.uniform(-0.2, 0.2, count)], axis=1) @ rotation
    center = rng.normal(size=3) * scale
    t = fan(center, center + rim)
    o = (center + rotation[2] * 3 + rng.uniform(-0.5, 0.5, 3)).astype(np.float32)
    for k in range(count):
        for target in (t[k, 0], 0.5 * (t[k, 0] + t[k, 1])):
            d = target - o + miss * rng.normal(size=3)
            found = cast([o] * count, [d] * count, t)
            assert found[:, 0].sum() >= 1
            assert found[:, 5].sum() % 2 == 1


def test_a_border_belongs_to_one_of_two_triangles():
    """Through edges and corners of a square grid, which are hit exactly: every ray crosses one triangle."""
    x, y = np.meshgrid(np.arange(4.0), np.arange(4.0), indexing="ij")
    square = np.stack([x, y, 0 * x], axis=-1)
    quads = [
        (square[i, j], square[i + 1, j], square[i + 1, j + 1], square[i, j + 1]) for i in range(3) for j in range(3)
    ]
    t = np.array([tri for a, b, c, d in quads for tri in ((a, b, c), (a, c, d))])
    for at in itertools.product((1.0, 1.25, 1.5, 2.0), repeat=2):
        for d in ((0, 0, 1), (0, 0, -3)):
            found = cast([[*at, -d[2]]] * len(t), [d] * len(t), t)
            assert found[:, 5].sum() == 1
            assert found[:, 0].sum() >= 1


def test_nothing_to_hit():
    """Triangles without area, seen edge-on, and a ray without direction."""
    flat = [[[0, 0, 1], [1, 0, 1], [2, 0, 1]], [[0, 0, 1], [0, 0, 1], [0, 0, 1]], [[0, 0, 1], [0, 0, 2], [0, 1, 1]]]
    plain = [[-1, -1, 1], [3, -1, 1], [-1, 3, 1]]
    d = [[0, 0, 1]] * 3 + [[0, 0, 0]]
    for device in ("interp", None):
        found = cast([[0.0, 0.0, 0.0]] * 4, d, [*flat, plain], device=device)
        assert not found[:, (0, 5)].any()


@wp.kernel
def hit_results(
    o: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), t: wp.array2d(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    _, time, u, v, _ = ray_triangle(ray_frame(d[i]), o[i], t[i, 0], t[i, 1], t[i, 2])
    out[i] = wp.vec3(time, u, v)


def test_gradients():
    """Of time and weights, to origin, direction and corners, for each of the largest axes and both signs."""
    rng = np.random.default_rng(3)
    axes = np.concatenate([np.eye(3), -np.eye(3)] * 2)
    o, d = rng.normal(size=(12, 3)) * 0.2, axes + rng.uniform(-0.3, 0.3, (12, 3))
    around = np.stack([np.roll(axes, k, axis=1) - k * 0.2 for k in (1, 2)], axis=1)
    t = np.concatenate([around, -around.sum(axis=1, keepdims=True)], axis=1) + rng.uniform(-0.2, 0.2, (12, 3, 3))
    t += (o + 2 * d)[:, None] - t.mean(axis=1, keepdims=True)
    inputs = [wp.array(np.float32(a), dtype=wp.vec3, requires_grad=True) for a in (o, d, t)]
    out = wp.zeros(12, dtype=wp.vec3, requires_grad=True)
    assert cast(o, d, t)[:, 0].all()
    wp.autograd.gradcheck(hit_results, dim=12, inputs=inputs, outputs=[out], raise_exception=True)
