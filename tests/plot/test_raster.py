"""The rasteriser against a loop over pixels and triangles, the cameras against geometry."""

import numpy as np
import pytest

from warpsim.plot import raster
from warpsim.plot.camera import look_at
from warpsim.plot.raster import rasterize

WIDTH, HEIGHT = 40, 30


def brute_force(screen, triangles):
    """Depth and triangle of every pixel, one pixel and one triangle at a time."""
    depth = np.full((HEIGHT, WIDTH), np.inf)
    owner = np.full((HEIGHT, WIDTH), -1)
    for index, triangle in enumerate(triangles):
        a, b, c = screen[triangle]
        edges = np.array([b[:2] - a[:2], c[:2] - a[:2]]).T
        if abs(np.linalg.det(edges)) < 1e-12:
            continue
        for i in range(HEIGHT):
            for j in range(WIDTH):
                s, t = np.linalg.solve(edges, np.array([j + 0.5, i + 0.5]) - a[:2])
                if s >= 0 and t >= 0 and s + t <= 1:
                    z = (1 - s - t) * a[2] + s * b[2] + t * c[2]
                    if z < depth[i, j]:
                        depth[i, j], owner[i, j] = z, index
    return depth, owner


@pytest.mark.parametrize("batch", [1 << 20, 64])
def test_visibility_agrees_with_brute_force(monkeypatch, batch):
    monkeypatch.setattr(raster, "_BATCH", batch)
    rng = np.random.default_rng(3)
    screen = rng.random((24, 3)) * [1.6 * WIDTH, 1.6 * HEIGHT, 1.0] - [0.3 * WIDTH, 0.3 * HEIGHT, 0]
    triangles = rng.integers(0, 24, size=(15, 3))
    pixels = rasterize(screen, triangles, WIDTH, HEIGHT)
    depth, owner = brute_force(screen, triangles)
    assert (owner >= 0).mean() > 0.5
    np.testing.assert_array_equal(pixels.triangle, owner)
    hit = owner >= 0
    np.testing.assert_allclose(pixels.depth[hit], depth[hit], atol=1e-9)
    assert np.isinf(pixels.depth[~hit]).all()
    weights = pixels.weights[hit]
    np.testing.assert_allclose(weights.sum(1), 1.0, atol=1e-12)
    assert weights.min() >= 0.0
    x = np.einsum("ij,ij->i", weights, screen[triangles[owner[hit]]][:, :, 0])
    np.testing.assert_allclose(x, np.nonzero(hit)[1] + 0.5, atol=1e-7)


def test_nothing_to_draw():
    pixels = rasterize(np.zeros((3, 3)), np.array([[0, 1, 2]]), WIDTH, HEIGHT)
    assert (pixels.triangle == -1).all() and np.isinf(pixels.depth).all()


@pytest.mark.parametrize("perspective", [True, False])
def test_a_camera_sees_the_whole_ball(perspective):
    rng = np.random.default_rng(0)
    center, radius = np.array([1.0, 2.0, 3.0]), 0.7
    unit = rng.standard_normal((5000, 3))
    points = center + radius * unit / np.linalg.norm(unit, axis=1, keepdims=True)
    view = look_at(center, radius, (1.0, 1.0, 2.0), (0.0, 1.0, 0.0), (320, 200), perspective)
    x, y, _ = view.screen(points).T
    assert x.min() > 59.9 and x.max() < 260.1 and y.min() > -0.1 and y.max() < 200.1
    assert np.ptp(y) > 190.0
    above = view.screen(center[None] + [[0.0, 0.1, 0.0]])[0]
    np.testing.assert_allclose(view.screen(center[None])[0, :2], [160.0, 100.0], atol=1e-9)
    assert above[1] < 100.0


def test_rays_undo_the_projection():
    view = look_at((0, 1, 0), 1.0, (1, 2, 3), (0, 1, 0), (64, 48), perspective=True)
    view = view.fitted(np.array([[0.5, 1.0, 0.0], [0.0, 1.2, 0.3]]), 0.1)
    where = view.eye + view.rays()[7, 11] * 3.7
    x, y, depth = view.screen(where[None])[0]
    np.testing.assert_allclose([x, y, depth], [11.5, 7.5, -1.0 / 3.7], rtol=1e-9)


def test_fitting_fills_the_picture_up_to_its_margin():
    view = look_at((0, 0, 0), 2.0, (0, 1, 3), (0, 1, 0), (200, 100), perspective=True)
    points = np.random.default_rng(1).random((50, 3)) - 0.5
    x, y, _ = view.fitted(points, 0.1).screen(points).T
    span = np.array([np.ptp(x) / 200, np.ptp(y) / 100])
    np.testing.assert_allclose(span.max(), 0.8)
    np.testing.assert_allclose([(x.min() + x.max()) / 2, (y.min() + y.max()) / 2], [100, 50])
