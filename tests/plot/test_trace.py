"""Rays against a loop over triangles, light against solid angles, cameras against geometry."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.plot.camera import look_at
from warpsim.plot.smooth import smooth_light
from warpsim.plot.trace import BOUNCED, Scene, first_hits, light_from, spread, visibility

UP = np.array([0.0, 1.0, 0.0])
SQUARE = np.array([[0, 1, 2], [0, 2, 3]])
LEVEL = np.array([[-1, 0, 1], [1, 0, 1], [1, 0, -1], [-1, 0, -1]], float)
NONE = np.zeros((0, 3))


def traced(points, triangles):
    return Scene(points, triangles, NONE, NONE[:, 0])


def nearest(points, triangles, eye, ray):
    """Distance and triangle along one ray, one triangle at a time."""
    distance, owner = np.inf, -1
    for index, (a, b, c) in enumerate(points[triangles]):
        matrix = np.stack([b - a, c - a, -ray], axis=1)
        if abs(np.linalg.det(matrix)) < 1e-12:
            continue
        s, t, along = np.linalg.solve(matrix, eye - a)
        if s >= 0 and t >= 0 and s + t <= 1 and 0 < along < distance:
            distance, owner = along, index
    return distance, owner


def test_first_hits_agree_with_brute_force():
    rng = np.random.default_rng(3)
    points, triangles = rng.uniform(-1.0, 1.0, (30, 3)), rng.integers(0, 30, (20, 3))
    eye, rays = np.array([0.0, 0.0, 5.0]), np.append(rng.uniform(-0.2, 0.2, (300, 2)), np.full((300, 1), -1.0), axis=1)
    hits = first_hits(traced(points, triangles), eye, rays)
    expected = [nearest(points, triangles, eye, ray) for ray in rays]
    np.testing.assert_array_equal(hits.triangle, [owner for _, owner in expected])
    np.testing.assert_allclose(hits.distance, [distance for distance, _ in expected], rtol=1e-5)
    hit = hits.triangle >= 0
    assert 0.5 < hit.mean() < 1.0
    there = (hits.weights[hit][:, :, None] * points[triangles[hits.triangle[hit]]]).sum(1)
    np.testing.assert_allclose(there, eye + rays[hit] * hits.distance[hit][:, None], atol=1e-5)


def test_balls_are_met_where_they_are_round():
    rng = np.random.default_rng(5)
    centers, radii = rng.uniform(-1.0, 1.0, (40, 3)), rng.uniform(0.05, 0.4, 40)
    scene = Scene(LEVEL - 0.3 * UP, SQUARE, centers, radii)
    eye = np.array([0.0, 0.5, 4.0])
    rays = np.append(rng.uniform(-0.25, 0.25, (400, 2)), np.full((400, 1), -1.0), axis=1)
    hits = first_hits(scene, eye, rays)
    square, middle = (rays**2).sum(1)[:, None], (rays[:, None] * (centers - eye)).sum(2)
    room = middle**2 - square * (((centers - eye) ** 2).sum(1) - radii**2)
    entered = np.where(room > 0.0, (middle - np.sqrt(np.maximum(room, 0.0))) / square, np.inf)
    floor = first_hits(traced(LEVEL - 0.3 * UP, SQUARE), eye, rays).distance
    expected = np.minimum(entered.min(1), floor)
    grazed = np.abs(room).min(1) < 1e-4
    np.testing.assert_allclose(hits.distance[~grazed], expected[~grazed], rtol=1e-5)
    own = np.where(entered.min(1) < floor, entered.argmin(1), -1)
    np.testing.assert_array_equal(hits.ball[~grazed], own[~grazed])
    assert grazed.mean() < 0.02 and (own >= 0).mean() > 0.3 and ((hits.triangle >= 0) & (hits.ball >= 0)).sum() == 0


def test_a_ball_takes_light_of_sky_and_sun():
    """A ball at height h straight above takes the share (r / h)^2 of a cosine-weighted sky (Lambert 1760)."""
    ball = Scene(NONE, np.zeros((0, 3), int), 2.0 * UP[None], np.ones(1))
    options = {"up": UP, "sun": UP, "disc": 0.01, "reach": 9.0, "samples": 4096}
    at = np.array([[0.0, 0.0, 0.0], [50.0, 0.0, 0.0]])
    sky, sun = visibility(ball, at, np.tile(UP, (2, 1)), np.zeros((2, 2)), light_from(**options))
    seen = np.linspace(0.0, np.pi / 6.0, 2000)  # half the angle under which the ball is seen: asin(1 / 2)
    taken = np.trapezoid((0.65 + 0.35 * np.cos(seen) - BOUNCED) * np.sin(2.0 * seen), seen)
    assert sky[1] - sky[0] == pytest.approx(taken, rel=0.02)
    assert sun.tolist() == [0.0, 1.0]


def test_nothing_to_see():
    hits = first_hits(traced(np.zeros((3, 3)), np.zeros((0, 3), int)), np.zeros(3), np.eye(3))
    assert (hits.triangle == -1).all() and np.isinf(hits.distance).all()


def light(points, triangles, at, samples=4096, **options):
    options = {"up": UP, "sun": UP, "disc": 0.05, "reach": 100.0, "samples": samples} | options
    normals, shifts = np.tile(UP, (len(at), 1)), np.zeros((len(at), 2))
    sky, sun = visibility(traced(points, triangles), at, normals, shifts, light_from(**options))
    return sky, sun


@pytest.mark.parametrize("height", [0.5, 1.0, 3.0])
def test_a_lid_takes_the_light_of_its_solid_angle(height):
    """A square of side 2 straight above: cos(angle)^2 / (pi r^2) a square metre of it, summed up over its area."""
    x, z = np.meshgrid(*2 * [(np.arange(400) + 0.5) / 200 - 1.0])
    square = x * x + z * z + height**2
    cosine = height / np.sqrt(square)
    taken = ((0.65 + 0.35 * cosine - BOUNCED) * cosine**2 / (np.pi * square)).sum() / 200**2
    black, white = (light(LEVEL + height * UP, SQUARE, np.zeros((1, 3)), reach=r)[0][0] for r in (100.0, 0.1))
    assert white == pytest.approx(0.65 + 0.35 * 2.0 / 3.0, rel=1e-3)
    assert white - black == pytest.approx(taken, rel=0.02)


def test_shadows_have_a_penumbra():
    """Under the edge of a lid half of the sun is seen; further away than the disc is wide, all or nothing."""
    height, disc = 2.0, 0.1
    at = np.array([[0.7, 0, 0], [1.0, 0, 0], [1.3, 0, 0]])
    shares = []
    for begin in spread(np.arange(256)):
        mesh, up = traced(LEVEL + height * UP, SQUARE), np.tile(UP, (3, 1))
        options = {"up": UP, "sun": UP, "disc": disc, "reach": 1.0, "samples": 1}
        shares.append(visibility(mesh, at, up, np.tile(begin, (3, 1)), light_from(**options))[1])
    np.testing.assert_allclose(np.mean(shares, axis=0), [0.0, 0.5, 1.0], atol=0.03)


def test_pictures_are_no_part_of_a_tape():
    with wp.Tape() as tape:
        light(LEVEL + UP, SQUARE, np.zeros((1, 3)))
    assert len(tape.launches) == 0


def test_smoothing_keeps_edges():
    points = np.stack([*np.meshgrid(np.linspace(0, 1, 16), np.linspace(0, 1, 16)), np.zeros((16, 16))], axis=-1)
    normals = np.tile([0.0, 0.0, 1.0], (16, 16, 1))
    normals[:, 8:] = [1.0, 0.0, 0.0]
    noise = np.random.default_rng(1).random((16, 16, 2))
    means = smooth_light(noise, points, normals, 4, 0.01)
    assert means[4:12, 4:8].std() < 0.4 * noise.std()
    changed = noise.copy()
    changed[:, 8:] = 9.0
    np.testing.assert_array_equal(smooth_light(changed, points, normals, 4, 0.01)[:, :8], means[:, :8])
    np.testing.assert_array_equal(smooth_light(noise, points, 0.0 * normals, 4, 0.01), 0.0)


def test_a_camera_sees_the_whole_ball():
    unit = np.random.default_rng(0).standard_normal((5000, 3))
    points = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    view = look_at((1.0, 1.0, 2.0), UP, (320, 200))
    x, y = view.screen(points).T
    assert x.min() > 59.9 and x.max() < 260.1 and y.min() > -0.1 and y.max() < 200.1
    assert np.ptp(y) > 190.0
    np.testing.assert_allclose(view.screen(np.zeros((1, 3)))[0], [160.0, 100.0], atol=1e-9)
    assert view.screen(0.1 * UP[None])[0, 1] < 100.0


def test_rays_undo_the_projection():
    view = look_at((1, 2, 3), UP, (64, 48)).fit(np.array([[0.5, 0.2, 0.0], [0.0, 0.3, 0.3]]), 0.1)
    where = view.eye + view.rays()[7, 11] * 3.7
    np.testing.assert_allclose(view.screen(where[None])[0], [11.5, 7.5], rtol=1e-9)


def test_fitting_fills_the_picture_up_to_its_margin():
    points = np.random.default_rng(1).random((50, 3)) - 0.5
    x, y = look_at((0, 1, 3), UP, (200, 100)).fit(points, 0.1).screen(points).T
    span = np.array([np.ptp(x) / 200, np.ptp(y) / 100])
    np.testing.assert_allclose(span.max(), 0.8)
    np.testing.assert_allclose([(x.min() + x.max()) / 2, (y.min() + y.max()) / 2], [100, 50])
