"""Polygons of any shape become triangles that cover them exactly once."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsim.usd.ears import cut_ears
from warpsim.usd.topology import fan, triangulate

COMB = [(0, 0), (7, 0), (7, 4), (6, 1), (5, 4), (4, 1), (3, 4), (2, 1), (1, 4), (0, 1)]
KEYHOLE = [(0, 0), (6, 0), (6, 6), (0, 6), (0, 0), (2, 2), (2, 4), (4, 4), (4, 2), (2, 2)]  # a square with a hole
STAIRS = [(0, 0), (4, 0), (4, 1), (3, 1), (3, 2), (2, 2), (2, 3), (1, 3), (1, 4), (0, 4)]
STRAIGHT = [(0, 0), (1, 0), (2, 0), (2, 2), (1, 1), (0, 2), (0, 1)]
SPIRAL = [
    (0, 0),
    (9, 0),
    (9, 9),
    (2, 9),
    (2, 4),
    (5, 4),
    (5, 6),
    (4, 6),
    (4, 5),
    (3, 5),
    (3, 8),
    (8, 8),
    (8, 1),
    (0, 1),
]


def turns(corners):
    """Twice the signed areas (..., m) of triangles (..., m, 3, 2)."""
    u, v = corners[..., 1, :] - corners[..., 0, :], corners[..., 2, :] - corners[..., 0, :]
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]


def assert_covers_once(outline, triangles):
    """No triangle is turned over, and their sides cancel but for the outline: they cover what it goes around once."""
    assert triangles.shape == (len(outline) - 2, 3)
    assert turns(outline[triangles]).min() >= 0.0
    sides = Counter((t[k], t[k - 2]) for t in triangles.tolist() for k in range(3))
    for (p, q), count in list(sides.items()):
        back = min(count, sides[q, p])
        sides[p, q] -= back
        sides[q, p] -= back
    assert +sides == Counter((k, (k + 1) % len(outline)) for k in range(len(outline)))


@pytest.mark.parametrize(
    "shape", [COMB, KEYHOLE, STAIRS, STRAIGHT, SPIRAL], ids=["comb", "keyhole", "stairs", "line", "spiral"]
)
def test_shapes_with_notches(shape):
    for turned in range(len(shape)):
        outline = np.roll(np.array(shape, dtype=float), turned, axis=0)
        (triangles,) = cut_ears(outline[None])
        assert_covers_once(outline, triangles)


@given(st.integers(4, 12), st.integers(0, 2**32 - 1))
def test_stars_of_random_rays(k, seed):
    """Corners around a centre in order: simple polygons, most of them concave; several at once."""
    rng = np.random.default_rng(seed)
    angle = 2.0 * math.pi * (np.arange(k) + 0.9 * rng.random((5, k))) / k
    outlines = rng.uniform(0.1, 1.0, (5, k, 1)) * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    for outline, triangles in zip(outlines, cut_ears(outlines), strict=True):
        assert_covers_once(outline, triangles)


def test_many_polygons_are_cut_in_blocks_alike(monkeypatch):
    outlines = np.tile(np.array(COMB, dtype=float), (7, 1, 1))
    monkeypatch.setattr("warpsim.usd.ears._TESTS_AT_ONCE", 250)
    assert len(np.unique(cut_ears(outlines), axis=0)) == 1


def test_polygons_that_cross_themselves_or_have_no_area_end():
    bow = np.array([[0, 0], [1, 1], [1, 0], [0, 1]], dtype=float)
    for outline in (bow, 0.0 * bow, bow[:, :1] * [1.0, 2.0]):
        (triangles,) = cut_ears(outline[None])
        assert triangles.shape == (2, 3) and all(len(set(t)) == 3 for t in triangles.tolist())


@pytest.mark.parametrize("seed", range(4))
def test_faces_in_space_of_mixed_size_keep_their_order_and_side(seed):
    """Concave and convex faces between each other, in planes turned at random, some far from the origin."""
    rng = np.random.default_rng(seed)
    shapes = [
        COMB,
        [(0, 0), (1, 0), (0, 1)],
        [(0, 0), (2, 0), (2, 1), (0, 1)],
        SPIRAL,
        [(0, 0), (2, 0), (0.5, 0.5), (0, 2)],
    ]
    points, counts, normals = [], [], []
    for shape in shapes:
        frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        points.append(np.array(shape) @ frame[:2] + rng.choice([0.0, 300.0]))
        counts.append(len(shape))
        normals.append(np.cross(frame[0], frame[1]))
    points = np.concatenate(points)
    indices = rng.permutation(len(points))
    shuffled = np.empty_like(points)
    shuffled[indices] = points
    triangles = triangulate(shuffled, counts, indices)
    at = 0
    for shape, normal in zip(shapes, normals, strict=True):
        a, b, c = (shuffled[triangles[at : at + len(shape) - 2, k]] for k in range(3))
        area = 0.5 * np.cross(b - a, c - a) @ normal
        x, y = np.array(shape, dtype=float).T
        assert area.min() > -1e-9
        assert area.sum() == pytest.approx(0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum())
        at += len(shape) - 2
    assert at == len(triangles) and triangles.dtype == np.int32


def test_convex_faces_are_fanned():
    angle = 2.0 * math.pi * np.arange(9) / 9
    points = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    for counts in ([9], [4, 5], [3, 3, 3]):
        np.testing.assert_array_equal(triangulate(points, counts, np.arange(9)), fan(counts, np.arange(9)))
