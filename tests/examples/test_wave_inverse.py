"""The inverse wave example: rollouts and gradients against NumPy, the picture it makes, its files, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "wave_inverse"


def laplacian(u):
    """Differences to the four neighbours; a neighbour beyond a wall is the cell itself."""
    wide = np.pad(u, 1, mode="edge")
    return wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2] - 4.0 * u


def rollout(start, steps, courant):
    before = now = start
    for _ in range(steps):
        before, now = now, 2.0 * now - before + courant * laplacian(now)
    return now


def test_loss_and_gradient_are_those_of_numpy(example, problem_of):
    """The operator of a rollout is symmetric: it is its own transpose."""
    problem, _ = problem_of("--cells", 20, "--steps", 15, "--cfl", 0.6)
    start = np.random.default_rng(0).standard_normal((20, 20)).astype(np.float32)
    loss, gradient = problem.value_and_gradient(start.ravel())
    miss, scale = rollout(start.astype(float), 15, 0.36) - example.target(20), example.HEIGHT**2 * start.size
    expected = 2.0 * rollout(miss, 15, 0.36) / scale
    assert loss == pytest.approx((miss**2).sum() / scale, rel=1e-4)
    np.testing.assert_allclose(gradient.reshape(20, 20), expected, rtol=1e-3, atol=1e-4 * expected.max())


def test_the_picture_is_a_ring_with_a_star(example):
    cells = 256
    picture = example.target(cells) / example.HEIGHT
    at = lambda x, y: picture[round((1.0 - y) * cells / 2), round((x + 1.0) * cells / 2)]  # noqa: E731
    assert at(0.0, 0.0) > 0.99 and at(0.0, 0.42) > 0.6 and at(0.0, 0.6) < 0.2
    assert at(0.0, -0.3) < 0.1, "a star with a tip up has a gap below"
    for angle in np.linspace(0.0, 2.0 * np.pi, 7):
        x, y = np.sin(angle), np.cos(angle)
        assert at(0.72 * x, 0.72 * y) > 0.9 and at(0.9 * x, 0.9 * y) < 0.01
    np.testing.assert_allclose(picture, picture[:, ::-1], atol=1e-6)


def test_water_becomes_the_picture(run, example, tmp_path):
    solution, picture, start, end = run("--cells", 64, "--steps", 60, "--iterations", 60, "--fps", 5)
    size = np.linalg.norm(picture)
    np.testing.assert_allclose(picture, example.target(64), atol=1e-6)
    assert np.linalg.norm(end - picture) < 0.02 * size
    assert np.linalg.norm(rollout(start.astype(float), 60, 0.25) - picture) < 0.02 * size
    assert solution.loss < 0.01 * solution.losses[0]
    assert (np.diff(solution.losses) <= 1e-6 * np.array(solution.losses[:-1])).all()
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    water = UsdGeom.Mesh.Get(stage, "/World/water").GetPointsAttr()
    assert water.GetTimeSamples() == list(range(36))
    np.testing.assert_allclose(np.array(water.Get(30))[:, 1].reshape(64, 64), end, atol=1e-6)
    np.testing.assert_array_equal(np.array(water.Get(35)), np.array(water.Get(30)))
    pixels = imread(tmp_path / "out.png")
    assert pixels.shape[:2] == (1020, 1100)
    assert ((pixels[..., 0] > 0.3) & (pixels[..., 2] < 0.4 * pixels[..., 0])).mean() > 0.05


@pytest.mark.parametrize("options", [("--cells", 0), ("--cfl", 0.8), ("--cfl", 0), ("--steps", 0)])
def test_refusals(run, tmp_path, capsys, options):
    with pytest.raises(SystemExit):
        run(*options)
    assert f"argument {options[0]}: {options[1]} is not above" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
