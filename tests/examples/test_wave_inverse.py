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


def exact(example, start, picture, steps, courant):
    """Loss and gradient in float64; the operators of a rollout and of the slopes are symmetric."""
    miss = rollout(start, steps, courant) - picture
    smooth = example.SMOOTH * (len(start) / example.SIDE) ** 2
    slopes = sum((np.diff(start, axis=k) ** 2).sum() for k in (0, 1))
    scale = example.HEIGHT**2 * start.size
    gradient = 2.0 * rollout(miss, steps, courant) - 2.0 * smooth * laplacian(start)
    return ((miss**2).sum() + smooth * slopes) / scale, gradient / scale


def test_loss_and_gradient_are_those_of_numpy(example):
    pool = example.Pool(20, 15, 0.6, None)
    start = np.random.default_rng(0).standard_normal((20, 20)).astype(np.float32)
    pool.heights[0].assign(start)
    loss = pool.closure().numpy()[0]
    expected = exact(example, start.astype(float), example.target(20), 15, 0.36)
    assert loss == pytest.approx(expected[0], rel=1e-4)
    np.testing.assert_allclose(pool.heights[0].grad.numpy(), expected[1], rtol=1e-3, atol=1e-4 * expected[1].max())


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
    result = run("--cells", 64, "--steps", 60, "--iterations", 60, "--fps", 5)
    example.check(result)
    again = rollout(result.found.astype(float), 60, 0.25)
    assert np.linalg.norm(again - example.target(64)) < 0.05 * np.linalg.norm(example.target(64))
    assert (np.diff(result.loss) <= 1e-6 * result.loss[:-1]).all()
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    water = UsdGeom.Mesh.Get(stage, "/World/water").GetPointsAttr()
    assert water.GetTimeSamples() == list(range(36))
    np.testing.assert_allclose(np.array(water.Get(30))[:, 1].reshape(64, 64), result.reached, atol=1e-6)
    np.testing.assert_array_equal(np.array(water.Get(35)), np.array(water.Get(30)))
    picture = imread(tmp_path / "out.png")
    assert picture.shape[:2] == (1020, 1100)
    assert ((picture[..., 0] > 0.3) & (picture[..., 2] < 0.4 * picture[..., 0])).mean() > 0.05


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("found", np.full((2, 2), np.nan), "not finite"),
        ("reached", np.full((2, 2), 1.1), "the picture is missed by 10.0%"),
        ("loss", np.array([1.0, 0.5]), "the loss fell only to 0.5"),
    ],
)
def test_the_check_catches(example, field, value, message):
    one = np.ones((2, 2))
    good = {"found": one, "reached": one, "picture": one, "loss": np.array([1.0, 1e-4])}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, field: value}))


@pytest.mark.parametrize("options", [("--cells", 1), ("--cfl", 0.8), ("--cfl", 0), ("--steps", 0)])
def test_refusals(run, tmp_path, capsys, options):
    with pytest.raises(SystemExit):
        run(*options)
    assert f"argument {options[0]}: {options[1]} is not above" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
