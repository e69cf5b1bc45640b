"""Parts of balls in boxes: closed forms of caps, wedges and octants, and that boxes side by side share a ball."""

import numpy as np
import pytest

from warpsim.solvers.dem.box_shares import box_shares

FAR = 9.0


def share(low, high, radius=1.0):
    return box_shares(np.zeros((1, 3)), np.array([radius]), np.array(low), np.array(high))[0]


@pytest.mark.parametrize("cut", [-0.9, -0.3, 0.0, 0.5, 0.99])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_plane_cuts_a_cap_off(cut, axis):
    low = np.full(3, -FAR)
    low[axis] = cut
    cap = (1.0 - cut) ** 2 * (2.0 + cut) / 4.0  # pi h^2 (3 - h) / 3, of 4 pi / 3
    assert share(low, [FAR] * 3) == pytest.approx(cap, abs=3e-5)


def test_halves_quarters_and_eighths():
    for low, part in (((0, -FAR, -FAR), 2), ((0, 0, -FAR), 4), ((0, 0, 0), 8)):
        assert share(np.array(low, float), [FAR] * 3) == pytest.approx(1.0 / part, abs=1e-12)


def test_a_ball_inside_counts_whole_and_one_outside_not_at_all():
    assert share([-1.0] * 3, [1.0] * 3) == 1.0
    assert share([1.0] * 3, [2.0] * 3) == 0.0
    assert share([0.6] * 3, [2.0] * 3) == pytest.approx(0.0, abs=1e-6)  # the corner is outside: sqrt(3) 0.6 > 1


def test_a_box_inside_of_a_ball_counts_by_its_volume():
    assert share([-0.1, -0.2, -0.3], [0.3, 0.2, 0.1]) == pytest.approx(0.4**3 / (4.0 / 3.0 * np.pi), rel=1e-9)


def test_boxes_that_fill_space_share_each_ball():
    rng = np.random.default_rng(0)
    centers, radii = rng.uniform(-1.0, 1.0, (200, 3)), rng.uniform(0.2, 1.5, 200)
    edges = [np.sort(np.append(rng.uniform(-1.0, 1.0, 3), [-FAR, FAR])) for _ in range(3)]
    cells = [(i, j, k) for i in range(4) for j in range(4) for k in range(4)]
    total = np.zeros(200)
    for cell in cells:
        low, high = (np.array([e[n + side] for e, n in zip(edges, cell, strict=True)]) for side in (0, 1))
        part = box_shares(centers, radii, low, high)
        assert part.min() > -1e-4
        total += part
    np.testing.assert_allclose(total, 1.0, atol=1e-4)


def test_random_points_of_balls_are_as_often_inside():
    rng = np.random.default_rng(1)
    centers, radii = rng.uniform(-1.0, 1.0, (20, 3)), rng.uniform(0.3, 1.5, 20)
    low, high = np.array([-0.6, -0.5, -0.4]), np.array([0.5, 0.6, 0.7])
    points = rng.normal(size=(100_000, 3))
    points *= (rng.random(100_000) ** (1.0 / 3.0) / np.linalg.norm(points, axis=1))[:, None]
    there = centers[:, None] + radii[:, None, None] * points
    counted = ((there > low) & (there < high)).all(axis=2).mean(axis=1)
    np.testing.assert_allclose(box_shares(centers, radii, low, high), counted, atol=6e-3)
