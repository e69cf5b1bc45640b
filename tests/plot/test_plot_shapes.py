"""Shapes are closed, face outward, and have the size that was asked for."""

import numpy as np
import pytest

from warpsim.plot import PlotError, box, box_edges, coil, height_field, loft, trails, tube, tubes


def volume(surface):
    """Enclosed volume, positive where triangles face outward."""
    a, b, c = (surface.points[surface.triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def is_closed(surface):
    """Whether every edge is met once in each direction, corners at one place being one."""
    _, place = np.unique(surface.points.round(9), axis=0, return_inverse=True)
    t = place.reshape(-1)[surface.triangles]
    edges = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
    return sorted(map(tuple, edges.tolist())) == sorted(map(tuple, edges[:, ::-1].tolist()))


def test_a_box_is_closed_and_has_its_volume():
    made = box((-1.0, 0.0, 2.0), (1.0, 3.0, 2.5))
    assert is_closed(made) and volume(made) == pytest.approx(3.0)
    assert made.points.min(0).tolist() == [-1.0, 0.0, 2.0] and made.points.max(0).tolist() == [1.0, 3.0, 2.5]


def test_a_loft_is_closed_and_has_its_volume():
    square = np.array([[0.0, 1.0, 1.0], [0.0, 1.0, -1.0], [0.0, -1.0, -1.0], [0.0, -1.0, 1.0]])
    frames = [size * square + [x, 0.0, 0.0] for x, size in ((0.0, 1.0), (1.0, 1.0), (3.0, 0.5))]
    made = loft(frames)
    assert is_closed(made) and volume(made) == pytest.approx(4.0 + 2.0 / 3.0 * (4.0 + 2.0 + 1.0))


@pytest.mark.parametrize("end", [(0.0, 0.0, 2.0), (2.0, 0.0, 0.0), (1.0, -1.0, np.sqrt(2.0))])
def test_a_straight_tube_is_a_cylinder(end):
    made = tube(np.linspace((0.0, 0.0, 0.0), end, 5), 0.1, sides=64)
    assert is_closed(made) and volume(made) == pytest.approx(2.0 * np.pi * 0.01, rel=2e-3)


def test_a_bent_tube_keeps_its_radius():
    t = np.linspace(0.0, 4.0, 200)
    curve = np.stack([np.cos(t), np.sin(2.0 * t), 0.3 * t], axis=1)
    made = tube(curve, 0.05, sides=8)
    rings = made.points[: 8 * len(curve)].reshape(len(curve), 8, 3)
    np.testing.assert_allclose(np.linalg.norm(rings - curve[:, None], axis=2), 0.05)
    assert is_closed(made) and volume(made) > 0.0
    assert np.linalg.norm(np.diff(rings, axis=0), axis=2).max() < 0.12, "no ring is twisted against the next"


def test_colors_follow_the_curve():
    made = tube([[0, 0, 0], [0, 1, 0], [0, 2, 0]], 0.1, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], sides=4)
    assert made.color[:4].tolist() == [[1, 0, 0]] * 4 and made.color[8:12].tolist() == [[0, 0, 1]] * 4


def test_a_coil_goes_from_end_to_end():
    made = coil((0.0, 1.0, 0.0), (3.0, 1.0, 0.0), radius=0.2, wire=0.01, turns=5)
    away = np.hypot(made.points[:, 1] - 1.0, made.points[:, 2])
    assert is_closed(made) and away.max() == pytest.approx(0.21, abs=2e-3)
    assert np.abs(made.points[:, 0] - 1.5).max() == pytest.approx(1.5, abs=0.02)
    assert away[made.points[:, 0] < 0.05].max() < 0.1


def test_a_moving_tube_keeps_its_triangles():
    one, two = tube([[0, 0, 0], [0, 1, 0]], 0.1), tube([[5, 0, 0], [5, 0, 0]], 0.1)
    np.testing.assert_array_equal(one.triangles, two.triangles)


@pytest.mark.parametrize("points", [[[0, 0, 0]], [0, 0, 0], [[0, 0], [1, 1]]])
def test_a_tube_needs_two_points(points):
    with pytest.raises(PlotError, match=r"tube points: found shape .*, expected \(n, 3\) with n > 1"):
        tube(points, 0.1)


def test_the_edges_of_a_box_are_twelve_rods():
    edges = box_edges((0.0, 0.0, 0.0), (3.0, 2.0, 1.0), 0.01)
    one = tube([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], 0.01)
    assert len(edges.points) == 12 * len(one.points) and len(edges.triangles) == 12 * len(one.triangles)
    assert edges.triangles.max() == len(edges.points) - 1
    np.testing.assert_allclose(edges.points.min(axis=0), -0.01, atol=1e-3)
    np.testing.assert_allclose(edges.points.max(axis=0), [3.01, 2.01, 1.01], atol=1e-3)


def test_trails_go_from_violet_to_yellow():
    paths = np.random.default_rng(0).normal(size=(3, 5, 3))
    first, _, last = trails(paths, 0.01, 0.05)
    assert (np.abs(first.points - tube(paths[0], 0.01).points) < 1e-12).all()
    assert (np.abs(last.points - tube(paths[2], 0.05).points) < 1e-12).all()
    violet, yellow = first.color[0], last.color[0]
    assert violet[2] > violet[1] and yellow[0] > yellow[2] and yellow[1] > yellow[2]


def test_tubes_are_one_surface():
    lines = np.random.default_rng(0).normal(size=(4, 3, 3))
    whole, parts = tubes(lines, 0.1), [tube(line, 0.1) for line in lines]
    np.testing.assert_array_equal(whole.points, np.concatenate([part.points for part in parts]))
    corners = [part.points[part.triangles] for part in parts]
    np.testing.assert_array_equal(whole.points[whole.triangles], np.concatenate(corners))


def test_a_height_field_looks_up():
    heights = np.random.default_rng(0).normal(size=(4, 4))
    field = height_field(heights, 2.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), 10.0)
    np.testing.assert_allclose(field.points[:, 1], heights.ravel())
    np.testing.assert_allclose(field.points[1] - field.points[0], [0.5, heights[0, 1] - heights[0, 0], 0.0])
    a, b, c = (field.points[field.triangles[:, k]] for k in range(3))
    assert len(field.triangles) == 18 and (np.cross(b - a, c - a)[:, 1] > 0.0).all()
    np.testing.assert_allclose(field.color[:, 0], 0.3 + 0.07 * heights.ravel(), atol=1e-6)
