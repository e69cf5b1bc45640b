"""The spring cage example: swings against plain NumPy, the gradient, the end, its files, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "spring_cage"


def reference(example, anchors, rest, steps):
    """Path (steps + 1, 3) and loss of a swing in float64."""
    h, path = example.SECONDS / steps, [np.array(example.START)]
    v = np.array(example.PUSH)
    for _ in range(steps):
        reach = anchors - path[-1]
        length = np.linalg.norm(reach, axis=1)
        force = (reach * (example.STIFFNESS * (length - rest) / length)[:, None]).sum(0)
        force[1] += example.MASS * example.GRAVITY
        v = (v + force * h / example.MASS) * (1.0 - example.DAMPING * h)
        path.append(path[-1] + h * v)
    return np.array(path), ((path[-1] - example.TARGET) ** 2).sum() + (example.STILL**2) * (v**2).sum()


@pytest.fixture
def cage(example, problem_of):
    """A problem with uneven springs, its path, and its corners and rest lengths in float64."""
    problem, path = problem_of("--steps", 60)
    [unknown] = problem.space.unknowns
    unknown.array.assign(np.linspace(0.9, 1.6, 8))
    problem.space.refresh()
    return problem, path, example.CORNERS, unknown.array.numpy().astype(float)


def test_the_cage_is_a_cube(example):
    assert len(np.unique(example.CORNERS, axis=0)) == 8
    np.testing.assert_allclose(np.abs(example.CORNERS - example.CORNERS.mean(axis=0)), 1.0)


def test_swings_agree_with_plain_numpy(example, cage):
    problem, path, corners, rest = cage
    expected, loss = reference(example, corners, rest, 60)
    assert problem.run() == pytest.approx(loss, rel=1e-4)
    np.testing.assert_allclose(path.numpy(), expected, atol=2e-5)


def test_the_gradient_agrees_with_finite_differences(example, cage):
    problem, _, corners, rest = cage
    losses = [[reference(example, corners, rest + s * d, 60)[1] for s in (1, -1)] for d in 1e-6 * np.eye(8)]
    expected = np.diff(losses, axis=1)[:, 0] / -2e-6
    np.testing.assert_allclose(problem.value_and_gradient(problem.start())[1], expected, rtol=1e-3, atol=1e-5)


def test_the_mass_comes_to_rest_at_the_target(run, example, tmp_path):
    solution = run("--steps", 160, "--fps", 10)
    assert solution.loss < 1e-4 * solution.losses[0] and len(solution.losses) == 201
    assert solution.values["rest"].min() > 0.1, "springs that cannot be built"
    first, best = solution.recorded[0], solution.recorded[np.argmin(solution.losses)]
    assert np.linalg.norm(first[-1] - example.TARGET) > 0.3
    assert np.linalg.norm(best[-1] - example.TARGET) < 5e-3
    assert np.linalg.norm(best[-1] - best[-2]) * 160 / example.SECONDS < 0.05, "it does not stand still"
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert stage.GetEndTimeCode() == 16.0
    spring = UsdGeom.Mesh.Get(stage, "/World/spring_3")
    assert spring.GetPointsAttr().GetTimeSamples() == list(range(17))
    assert not spring.GetFaceVertexIndicesAttr().GetTimeSamples()
    assert all(stage.GetPrimAtPath(f"/World/{name}") for name in ("cage", "target", "first", "best", "mass"))
    left = imread(tmp_path / "out.png")[:, :700, :3]
    assert ((left[..., 0] > 0.4) & (left[..., 1] < 0.6 * left[..., 0])).sum() > 500, "the mass is red"
    assert ((left[..., 1] > 0.5 * left[..., 0]) & (left[..., 2] < 0.4 * left[..., 0])).sum() > 500, "the path is yellow"


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("--rate", -1)
    assert "is not above 0" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
