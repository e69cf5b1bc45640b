"""Closest points of segments and triangles against enumeration of features in float64, and their gradients."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpsim as wp
from warpsim.core.lib.closest import closest_point_edge_edge, closest_point_triangle

ROUNDING = 4e-6  # of a distance, relative to the largest coordinate


@wp.kernel
def on_triangles(p: wp.array(dtype=wp.vec3), t: wp.array2d(dtype=wp.vec3), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    u, v = closest_point_triangle(p[i], t[i, 0], t[i, 1], t[i, 2])
    out[i] = wp.vec2(u, v)


@wp.kernel
def between_edges(t: wp.array2d(dtype=wp.vec3), epsilon: float, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = closest_point_edge_edge(t[i, 0], t[i, 1], t[i, 2], t[i, 3], epsilon)


def to_segment(p, a, b):
    """Squared distance of a point and a segment in float64."""
    ab = b - a
    s = np.clip(np.dot(p - a, ab) / max(np.dot(ab, ab), 1e-300), 0.0, 1.0)
    return np.sum((a + s * ab - p) ** 2)


def to_triangle(p, t):
    """Distance of a point and a triangle: the border, or the plane where the foot is inside."""
    best = min(to_segment(p, t[i], t[(i + 1) % 3]) for i in range(3))
    n = np.cross(t[1] - t[0], t[2] - t[0])
    if np.dot(n, n) > 0 and all(np.dot(np.cross(t[(i + 1) % 3] - t[i], p - t[i]), n) >= 0 for i in range(3)):
        best = min(best, np.dot(p - t[0], n) ** 2 / np.dot(n, n))
    return best**0.5


def between(a, b, c, d):
    """Distance of two segments: the common perpendicular where it meets both, or an end."""
    best = min(to_segment(a, c, d), to_segment(b, c, d), to_segment(c, a, b), to_segment(d, a, b))
    e, f, r = b - a, d - c, c - a
    n = np.cross(e, f)
    if np.dot(n, n) > 0:
        s, t = np.dot(np.cross(r, f), n) / np.dot(n, n), np.dot(np.cross(r, e), n) / np.dot(n, n)
        if 0 <= s <= 1 and 0 <= t <= 1:
            best = min(best, np.sum((r + t * f - s * e) ** 2))
    return best**0.5


def shapes(corners):
    """Points of a small lattice, bent by some noise and scaled: corners coincide, lie in lines and in planes."""
    lattice = st.tuples(*[st.integers(-3, 3)] * 3)
    return st.tuples(
        st.lists(lattice, min_size=corners, max_size=corners),
        st.sampled_from([0.0, 1e-6, 1e-3, 0.3]),
        st.sampled_from([1e-6, 1.0, 1e6]),
        st.integers(0, 2**32 - 1),
    ).map(placed)


def placed(drawn):
    points, noise, scale, seed = drawn
    bent = np.array(points) + noise * np.random.default_rng(seed).normal(size=(len(points), 3))
    return (bent * scale).astype(np.float32)


def run(kernel, *args, dtype, device=None):
    n = len(args[0])
    out = wp.zeros(n, dtype=dtype, device=device)
    inputs = [wp.array(a, dtype=wp.vec3, device=device) if isinstance(a, np.ndarray) else a for a in args]
    wp.launch(kernel, dim=n, inputs=[*inputs, out], device=device)
    return out.numpy()


@given(st.lists(shapes(4), min_size=1, max_size=20))
def test_triangle(found):
    """The point is in the triangle, and no further from p than the closest one."""
    all_points = np.stack(found)
    weights = run(on_triangles, all_points[:, 0], all_points[:, 1:], dtype=wp.vec2).astype(float)
    for points, (u, v) in zip(all_points.astype(float), weights, strict=True):
        p, t = points[0], points[1:]
        w = 1.0 - u - v
        assert min(u, v) >= 0.0 and w >= -3e-7
        distance = np.linalg.norm(u * t[0] + v * t[1] + w * t[2] - p)
        assert abs(distance - to_triangle(p, t)) <= ROUNDING * np.abs(points).max()


@given(st.lists(shapes(4), min_size=1, max_size=20))
def test_edge_edge(found):
    """Both points are on their segments, and no further apart than the closest ones."""
    all_points = np.stack(found)
    results = run(between_edges, all_points, 0.0, dtype=wp.vec3).astype(float)
    for points, (s, t, distance) in zip(all_points.astype(float), results, strict=True):
        a, b, c, d = points
        assert 0.0 <= min(s, t) and max(s, t) <= 1.0
        assert abs(np.linalg.norm(a + s * (b - a) - c - t * (d - c)) - distance) <= ROUNDING * np.abs(points).max()
        assert abs(distance - between(a, b, c, d)) <= ROUNDING * np.abs(points).max()


@pytest.mark.parametrize("angle", [1.0, 1e-2, 1e-3])
def test_gaps_are_perpendicular_to_edges_that_they_meet_inside(angle):
    """The condition of an optimum, on random pairs and on nearly parallel ones."""
    rng = np.random.default_rng(4)
    points = rng.uniform(-1, 1, (20_000, 4, 3))
    if angle < 1:
        along = points[:, 1] - points[:, 0]
        points[:, 3] = points[:, 2] + along * rng.uniform(0.5, 1.5, (20_000, 1)) + angle * rng.normal(size=along.shape)
    a, b, c, d = np.moveaxis(points.astype(np.float32).astype(float), 1, 0)
    s, t, _ = run(between_edges, points.astype(np.float32), 1e-6, dtype=wp.vec3).astype(float).T
    gap = a + s[:, None] * (b - a) - c - t[:, None] * (d - c)
    for weight, slope in ((s, np.sum(gap * (b - a), 1)), (t, -np.sum(gap * (d - c), 1))):
        assert slope[weight == 0].min() > -1e-5 and slope[weight == 1].max() < 1e-5
        assert np.abs(slope[(weight > 0) & (weight < 1)]).max() < 1e-5


def test_of_equally_near_points_of_parallel_edges_those_of_the_first_end_win():
    starts_and_ends = [(-1.0, 1.0), (1.0, -1.0), (0.5, -0.5), (0.5, 1.0), (-0.5, 0.25), (2.0, 0.5)]
    points = np.array([[[0, 0, 0], [1, 0, 0], [x, 1, 0], [y, 1, 0]] for x, y in starts_and_ends], np.float32)
    expected = [(0.0, 0.5), (0.0, 0.5), (0.0, 0.5), (0.5, 0.0), (0.0, 2 / 3), (0.5, 1.0)]
    results = run(between_edges, points, 1e-5, dtype=wp.vec3)
    assert results == pytest.approx(np.array([(s, t, 1.0) for s, t in expected]), abs=1e-6)


def test_edges_below_epsilon_are_points():
    points = np.array([[[0, 0, 0], [0.01, 0, 0], [1, 1, 0], [1, -1, 0]]], np.float32)
    s, t, distance = run(between_edges, points, 1e-3, dtype=wp.vec3)[0]
    assert (s, t, distance) == (0.0, 0.5, 1.0)
    s, t, distance = run(between_edges, points, 1e-5, dtype=wp.vec3)[0]
    assert s == 1.0 and abs(distance - 0.99) < 1e-6


def test_interp_equals_cpu():
    points = np.random.default_rng(0).normal(size=(50, 4, 3)).astype(np.float32)
    points[::5, 3] = points[::5, 2]
    for kernel, args, dtype in (
        (on_triangles, (points[:, 0], points[:, 1:]), wp.vec2),
        (between_edges, (points, 1e-6), wp.vec3),
    ):
        results = [run(kernel, *args, dtype=dtype, device=device) for device in ("interp", None)]
        np.testing.assert_array_equal(*results)


# ----- gradients ------------------------------------------------------------------------------


@wp.kernel
def triangle_point(t: wp.array2d(dtype=wp.vec3d), out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    u, v = closest_point_triangle(t[i, 0], t[i, 1], t[i, 2], t[i, 3])
    out[i] = u * t[i, 1] + v * t[i, 2] + (wp.float64(1.0) - u - v) * t[i, 3]


@wp.kernel
def edge_result(t: wp.array2d(dtype=wp.vec3d), out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    out[i] = closest_point_edge_edge(t[i, 0], t[i, 1], t[i, 2], t[i, 3], wp.float64(1e-12))


@pytest.mark.parametrize("kernel", [triangle_point, edge_result], ids=lambda k: k.key)
def test_gradients(kernel):
    """In the middle of every kind of feature: random points meet faces, edges and corners alike."""
    points = np.random.default_rng(1).normal(size=(24, 4, 3))
    t = wp.array(points, dtype=wp.vec3d, requires_grad=True)
    out = wp.zeros(24, dtype=wp.vec3d, requires_grad=True)
    wp.autograd.gradcheck(kernel, dim=24, inputs=[t], outputs=[out], raise_exception=True)


@pytest.mark.parametrize("p, expected", [((0.5, -1.0, 0.0), "ab"), ((0.0, 0.0, 1.0), "face")])
def test_gradient_at_a_change_of_features(p, expected):
    """On the border between features, the derivative is that of the feature which the weights are made of: a foot
    on an edge counts as inside the face, beyond it as on the edge."""
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    points = np.array([[p, *corners]], float)
    t = wp.array(points, dtype=wp.vec3d, requires_grad=True)
    columns = []
    for k in range(3):
        out = wp.zeros(1, dtype=wp.vec3d, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(triangle_point, dim=1, inputs=[t], outputs=[out])
        tape.backward(grads={out: wp.array(np.eye(3)[k : k + 1], dtype=wp.vec3d)})
        columns.append(t.grad.numpy()[0, 0].copy())
        tape.zero()
    moves = {"ab": np.diag([1.0, 0, 0]), "face": np.diag([1.0, 1, 0])}[expected]
    np.testing.assert_allclose(np.array(columns), moves, atol=1e-12)


def test_every_corner_order_finds_the_same_distance():
    points = np.random.default_rng(2).normal(size=(30, 4, 3)).astype(np.float32)
    for order in itertools.permutations((1, 2, 3)):
        t = points[:, list(order)]
        u, v = run(on_triangles, points[:, 0], t, dtype=wp.vec2).astype(float).T
        found = u[:, None] * t[:, 0] + v[:, None] * t[:, 1] + (1 - u - v)[:, None] * t[:, 2]
        expected = [to_triangle(x[0], x[1:]) for x in points.astype(float)]
        np.testing.assert_allclose(np.linalg.norm(found - points[:, 0], axis=1), expected, atol=1e-5)
