"""The bounce example: flights against a plain reference, the gradient, the hit, its files, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "bounce_to_target"


def reference(example, velocity):
    """Where the ball is in the end, in float64: from impact to impact along each axis."""

    def along(x, v, a, floor):
        left = example.SECONDS
        while True:
            roots = np.roots([0.5 * a, v, x - floor]) if a else np.array([(floor - x) / v])
            after = [t.real for t in roots if abs(t.imag) < 1e-12 and 1e-9 < t.real < left]
            if not after:
                return x + v * left + 0.5 * a * left * left
            hit = min(after)
            x, v, left = floor, -example.RESTITUTION * (v + a * hit), left - hit

    floors = (example.RADIUS, example.RADIUS, -np.inf)
    return np.array([along(*axis) for axis in zip(example.START, velocity, example.GRAVITY, floors, strict=True)])


THROWS = [(-4.0, -3.5, 0.2), (-6.0, -6.0, -1.4), (-1.0, 2.0, 0.5), (-5.0, 0.5, -1.0), (1.0, -5.0, 0.1)]


@pytest.mark.parametrize("velocity", THROWS)
@pytest.mark.parametrize("steps", [11, 110])
def test_flights_are_exact_for_any_step(example, problem_of, velocity, steps):
    throw, path = problem_of("--steps", steps, GUESS=velocity)
    expected = reference(example, velocity)
    assert throw.run() == pytest.approx(((expected - example.TARGET) ** 2).sum(), rel=1e-4)
    np.testing.assert_allclose(path.numpy()[-1], expected, atol=2e-5)


@pytest.mark.parametrize("velocity", THROWS)
def test_the_gradient_is_that_of_the_exact_flight(example, problem_of, velocity):
    def loss(at):
        return ((reference(example, at) - example.TARGET) ** 2).sum()

    throw, _ = problem_of("--steps", 60, GUESS=velocity)
    h = 1e-5 * np.eye(3)
    expected = [(loss(velocity + e) - loss(velocity - e)) / 2e-5 for e in h]
    np.testing.assert_allclose(throw.value_and_gradient(throw.start())[1], expected, rtol=2e-3, atol=1e-3)


def test_the_default_throw_hits(run, example, tmp_path):
    solution = run("--fps", 20)
    assert solution.losses[0] > 1.0 and solution.loss < 1e-6 and solution.converged
    assert len(solution.recorded) == len(solution.losses) > 5
    for path in solution.recorded:
        assert path[:, :2].min() > example.RADIUS - 1e-5, "in the wall or in the ground"
    end = reference(example, solution.values["velocity"])
    assert np.linalg.norm(end - example.TARGET) < 1e-3
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert stage.GetEndTimeCode() == 22.0
    ball = np.array(UsdGeom.Mesh.Get(stage, "/World/ball").GetPointsAttr().Get(0))
    np.testing.assert_allclose(0.5 * (ball.min(axis=0) + ball.max(axis=0)), example.START, atol=1e-6)
    assert all(stage.GetPrimAtPath(f"/World/{name}") for name in ("ground", "wall", "target", "path_0", "path_5"))
    red, green, blue = np.moveaxis(imread(tmp_path / "out.png")[..., :3], -1, 0)
    assert ((blue > 1.5 * green) & (blue > 1.2 * red)).sum() > 500, "the first paths are violet"
    assert ((red > 0.5) & (green > 0.6 * red) & (blue < 0.4 * red)).sum() > 500, "the last is yellow"
    assert (np.maximum(red, blue) < 0.12).sum() > 300, "the target is black"


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("--steps", 0)
    assert "is not above 0" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
