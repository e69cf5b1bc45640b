"""The bounce example: flights against a plain reference, the gradient, the hit, its files, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "bounce_to_target"


def reference(example, velocity, seconds):
    """Where the ball is after a time, in float64: from impact to impact along each axis."""

    def along(x, v, a, floor):
        left = seconds
        while True:
            roots = np.roots([0.5 * a, v, x - floor]) if a else np.array([(floor - x) / v])
            after = [t.real for t in roots if abs(t.imag) < 1e-12 and 1e-9 < t.real < left]
            if not after:
                return x + v * left + 0.5 * a * left * left
            hit = min(after)
            x, v, left = floor, -example.RESTITUTION * (v + a * hit), left - hit

    (x, y, z), (u, v, w) = example.START, velocity
    across = -along(-x, -u, 0.0, example.RADIUS - example.WALL)
    return np.array([across, along(y, v, example.GRAVITY, example.RADIUS), z + w * seconds])


THROWS = [(4.0, -3.5, 0.2), (6.0, -6.0, -1.4), (1.0, 2.0, 0.5), (5.0, 0.5, -1.0), (-1.0, -5.0, 0.0)]


@pytest.mark.parametrize("velocity", THROWS)
@pytest.mark.parametrize("steps", [11, 110])
def test_flights_are_exact_for_any_step(example, velocity, steps):
    throw = example.Throw(steps, None)
    throw.v[0].assign([velocity])
    throw.forward()
    expected = reference(example, velocity, example.SECONDS)
    np.testing.assert_allclose(throw.path()[-1], expected, atol=2e-5)
    assert throw.loss.numpy()[0] == pytest.approx(((expected - example.TARGET) ** 2).sum(), rel=1e-4)


@pytest.mark.parametrize("velocity", THROWS)
def test_the_gradient_is_that_of_the_exact_flight(example, velocity):
    def loss(at):
        return ((reference(example, at, example.SECONDS) - example.TARGET) ** 2).sum()

    throw = example.Throw(60, None)
    throw.v[0].assign([velocity])
    throw.closure()
    h = 1e-5 * np.eye(3)
    expected = [(loss(velocity + e) - loss(velocity - e)) / 2e-5 for e in h]
    np.testing.assert_allclose(throw.v[0].grad.numpy()[0], expected, rtol=2e-3, atol=1e-3)


def test_the_default_throw_hits(run, example, tmp_path):
    result = run("--fps", 20)
    example.check(result)
    assert result.distance[0] > 1.0 and len(result.paths) == len(result.distance) > 5
    end = reference(example, result.velocity.astype(float), example.SECONDS)
    assert np.linalg.norm(end - example.TARGET) < 1e-3
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert stage.GetEndTimeCode() == 21.0
    ball = UsdGeom.Xformable.Get(stage, "/World/ball")
    start = ball.GetLocalTransformation(0.0).ExtractTranslation()
    np.testing.assert_allclose(start, example.START, atol=1e-6)
    assert all(stage.GetPrimAtPath(f"/World/{name}") for name in ("ground", "wall", "target", "path"))
    red, green, blue = np.moveaxis(imread(tmp_path / "out.png")[..., :3], -1, 0)
    assert ((blue > 1.5 * green) & (blue > 1.2 * red)).sum() > 500, "the first paths are violet"
    assert ((red > 0.5) & (green > 0.6 * red) & (blue < 0.4 * red)).sum() > 500, "the last is yellow"
    assert (np.maximum(red, blue) < 0.12).sum() > 300, "the target is black"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("distance", np.array([1.0, 0.002]), "missed by 0.002 m"),
        ("paths", [np.array([[0.0, 0.05, 0.0]])], "0.03 m in the ground"),
        ("paths", [np.array([[1.75, 1.0, 0.0]])], "0.03 m in the wall"),
    ],
)
def test_the_check_catches(example, field, value, message):
    good = {"velocity": np.zeros(3), "distance": np.array([1.0, 1e-5]), "paths": [np.array([[0.0, 1.0, 0.0]])]}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, field: value}))


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("--steps", 0)
    assert "is not above 0" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
