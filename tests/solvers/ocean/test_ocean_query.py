"""The surface between cells: inversion, folding, and gradients."""


import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArrayError
from warpsim.solvers.ocean import JONSWAP, Ocean, ocean_surface, query_heights


def make(cells=64, **options):
    options = {"shortest": 25.0, "dtype": wp.float64, **options}
    return Ocean(JONSWAP(wind_speed=10.0, fetch=1e5), 300.0, cells, **options)


@wp.kernel
def ask(s: wp.solvers.ocean.query.SurfaceD, at: wp.array(dtype=wp.vec2d), answers: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    z, slope, velocity, up, found = ocean_surface(s, at[i][0], at[i][1])
    answers[i, 0] = z
    answers[i, 1] = slope[0]
    answers[i, 2] = slope[1]
    for k in range(3):
        answers[i, 3 + k] = velocity[k]
    answers[i, 6] = wp.float64(1.0) if found else wp.float64(0.0)
    answers[i, 7] = up


def asked(field, points):
    answers = wp.zeros((len(points), 8), dtype=wp.float64)
    wp.launch(ask, len(points), [field.surface, wp.array(points, dtype=wp.vec2d), answers])
    return answers.numpy()


@pytest.mark.parametrize("options", [{}, {"size": 1}, {"choppiness": 0.0}])
def test_water_is_found_where_it_stands(options):
    """Over every displaced cell stands the water of this cell, tiles further too."""
    ocean = make() if "size" in options else make(**options)
    field = ocean.evaluate(1.5, velocity=True)
    points = field.points().numpy().reshape(-1, 3)[::7]
    away = 300.0 * np.array([2.0, -3.0])
    answers = asked(field, points[:, :2] + away)
    assert answers[:, 6].all()
    np.testing.assert_allclose(answers[:, 0], points[:, 2], atol=1e-6)
    np.testing.assert_allclose(answers[:, 3:6], field.velocity.numpy().reshape(-1, 3)[::7], atol=1e-6)
    normals = field.normals.numpy().reshape(-1, 3)[::7]
    np.testing.assert_allclose(answers[:, 1:3], -normals[:, :2] / normals[:, 2:], atol=1e-6)


def test_heights_between_cells_are_those_of_a_finer_grid():
    coarse, fine = make(64).evaluate(0.0), make(256).evaluate(0.0)
    points = fine.points().numpy().reshape(-1, 3)[::37]
    heights = query_heights(coarse, points[:, 0], points[:, 1])
    assert np.abs(heights - points[:, 2]).max() < 3e-2 * points[:, 2].std()


def test_tiles_are_summed_at_a_point():
    ocean = Ocean(JONSWAP(10.0, 1e5), (400.0, 100.0), 64, dtype=wp.float64, trough_damping=0.8, choppiness=0.6)
    field = ocean.evaluate(0.0, velocity=True)
    points = field.points().numpy().reshape(-1, 3)[::11]
    answers = asked(field, points[:, :2])
    assert answers[:, 6].all()
    np.testing.assert_allclose(answers[:, 0], points[:, 2], atol=1e-5)
    normals = field.normals.numpy().reshape(-1, 3)[::11]
    np.testing.assert_allclose(answers[:, 1:3], -normals[:, :2] / normals[:, 2:], atol=1e-5)
    ends = [ocean.evaluate(h, velocity=True).velocity.numpy().reshape(-1, 3)[::11, 2] for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(answers[:, 7], (ends[0] - ends[1]) / 2e-5, atol=1e-4)


def test_folds_are_told_apart():
    """Much too choppy: some points have no water of their own, and the answer says so instead of looking for ever."""
    field = make(choppiness=25.0, shortest=10.0).evaluate(0.0)
    assert field.folded() > 0.01
    x, y = np.random.default_rng(0).uniform(0.0, 300.0, (2, 2000))
    heights = query_heights(field, x, y)
    assert 0.0 < np.isnan(heights).mean() < 0.9 and np.nanmax(np.abs(heights)) < 3.0


def test_gradients_of_a_height_to_the_noise():
    ocean = make(16)
    ocean.noise.requires_grad = True
    point = wp.array([[31.0, 77.0]], dtype=wp.vec2d, requires_grad=True)

    def height(grads=False):
        answers = wp.zeros((1, 8), dtype=wp.float64, requires_grad=True)
        with wp.Tape() as tape:
            ocean.update()
            wp.launch(ask, 1, [ocean.evaluate(1.0, velocity=True).surface, point, answers])
        if grads:
            seed = np.zeros((1, 8))
            seed[0, 0] = 1.0
            tape.backward(grads={answers: wp.array(seed)})
        return answers.numpy()[0]

    height(True)
    along, noise = ocean.noise.grad.numpy(), ocean.noise.numpy().copy()
    of_point = point.grad.numpy()[0].copy()
    for axis in (0, 1):
        ends = []
        for sign in (1e-5, -1e-5):
            point.assign(np.array([[31.0, 77.0]]) + sign * np.eye(2)[axis])
            ends.append(height()[0])
        assert of_point[axis] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    point.assign([[31.0, 77.0]])
    direction = np.random.default_rng(1).standard_normal(noise.shape)
    ends = []
    for sign in (1e-6, -1e-6):
        ocean.noise.assign(noise + sign * direction)
        ends.append(height()[0])
    assert (along * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)


def test_points_that_do_not_pair_up_are_refused():
    field = make(16).evaluate(0.0)
    with pytest.raises(ArrayError, match=r"x has shape \(2,\), y \(1,\)\nexpected: one shape"):
        query_heights(field, [1.0, 2.0], [1.0])
    assert query_heights(field, [], []).shape == (0,) and query_heights(field, 1.0, 2.0).shape == ()
    assert np.isnan(query_heights(field, [np.nan], [0.0])[0])
