"""Balls that are pushed apart: the same places on any number of threads, at random, and progress."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from warpsim import progress
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.errors import ModelError
from warpsim.solvers.dem import apart
from warpsim.solvers.dem.apart import pushed_apart

LOW, HIGH, RADIUS = np.zeros(3), np.full(3, 0.16), 0.005


def crowd(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    return LOW + RADIUS + rng.random((count, 3)) * (HIGH - LOW - 2.0 * RADIUS), np.full(count, RADIUS)


def test_places_do_not_depend_on_threads():
    pool = get_pool()
    places = []
    for threads in (1, 2, 4):
        pool.set_num_threads(threads)
        places.append(pushed_apart(*crowd(), LOW, HIGH))
    assert (places[0] == places[1]).all() and (places[0] == places[2]).all()


def test_balls_lie_at_random_and_near_where_they_started():
    """Pairs by distance, half full: those of the packing by single pairs that this one replaced, and no lattice."""
    start, radii = crowd()
    points = pushed_apart(start, radii, LOW, HIGH)
    inner = np.flatnonzero(((points > 4.0 * RADIUS) & (points < HIGH - 4.0 * RADIUS)).all(axis=1))
    near = cKDTree(points).query_ball_point(points[inner], 4.0 * RADIUS)
    pairs = zip(inner, near, strict=True)
    distances = np.concatenate([np.linalg.norm(points[j] - points[i], axis=1) for i, j in pairs])
    edges = np.array([0.999, 1.05, 1.3, 1.5, 1.8, 2.0])
    count, _ = np.histogram(distances / (2.0 * RADIUS), edges)
    share = count / np.diff(edges**3)
    np.testing.assert_allclose(share / share[-1] * 1.29, [8.6, 0.8, 0.65, 0.9, 1.29], rtol=0.1)
    assert np.linalg.norm(points - start, axis=1).mean() < 1.3 * RADIUS


def test_balls_in_one_place_are_refused():
    """Nothing says where to."""
    points = np.full((2, 3), 0.08)
    with pytest.raises(ModelError, match=r"2 grains still overlap by up to 200\.0% of the"):
        pushed_apart(points, np.full(2, RADIUS), LOW, HIGH)


def test_one_ball_stays_where_it_is():
    assert (pushed_apart(np.full((1, 3), 0.08), np.array([RADIUS]), LOW, HIGH) == 0.08).all()


def test_long_packing_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    pushed_apart(*crowd(500), LOW, HIGH)
    lines = capsys.readouterr().err.splitlines()
    assert any("500 grains overlap by up to" in line and "of the smallest radius" in line for line in lines)


def test_sweeps_come_to_an_end(monkeypatch):
    monkeypatch.setattr(apart, "_SWEEPS", 2)
    with pytest.raises(ModelError, match="4000 grains still overlap"):
        pushed_apart(*crowd(), LOW, HIGH)
