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


@pytest.fixture(scope="module")
def swing(example):
    """A cage with uneven springs after a swing, and its numbers in float64."""
    cage = example.Cage(60, None)
    cage.rest.assign(np.linspace(0.9, 1.6, 8))
    with example.wp.Tape() as tape:
        cage.swing()
    tape.backward(cage.loss)
    return cage, cage.anchors.numpy().astype(float), cage.rest.numpy().astype(float)


def test_the_cage_is_a_cube(example, swing):
    _, anchors, _ = swing
    assert len(np.unique(anchors, axis=0)) == 8
    np.testing.assert_allclose(np.abs(anchors - example.CENTER), example.HALF)
    assert len(example.bars()) == 12


def test_swings_agree_with_plain_numpy(example, swing):
    cage, anchors, rest = swing
    path, loss = reference(example, anchors, rest, 60)
    np.testing.assert_allclose(cage.path(), path, atol=2e-5)
    assert cage.loss.numpy()[0] == pytest.approx(loss, rel=1e-4)


def test_the_gradient_agrees_with_finite_differences(example, swing):
    cage, anchors, rest = swing
    e = 1e-6 * np.eye(8)
    losses = [[reference(example, anchors, rest + s * d, 60)[1] for s in (1, -1)] for d in e]
    expected = np.diff(losses, axis=1)[:, 0] / -2e-6
    np.testing.assert_allclose(cage.rest.grad.numpy(), expected, rtol=1e-3, atol=1e-5)


def test_the_mass_comes_to_rest_at_the_target(run, example, tmp_path):
    result = run("--steps", 160, "--fps", 10)
    example.check(result)
    assert result.loss[-1] < 1e-4 * result.loss[0] and len(result.loss) == 201
    assert np.linalg.norm(result.first[-1] - example.TARGET) > 0.3
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert stage.GetEndTimeCode() == 15.0
    spring = UsdGeom.Mesh.Get(stage, "/World/spring_3")
    assert spring.GetPointsAttr().GetTimeSamples() == list(range(16))
    assert not spring.GetFaceVertexIndicesAttr().GetTimeSamples()
    assert stage.GetPrimAtPath("/World/bar_11") and stage.GetPrimAtPath("/World/target")
    left = imread(tmp_path / "out.png")[:, :700, :3]
    assert ((left[..., 0] > 0.4) & (left[..., 1] < 0.6 * left[..., 0])).sum() > 500, "the mass is red"
    assert ((left[..., 1] > 0.5 * left[..., 0]) & (left[..., 2] < 0.4 * left[..., 0])).sum() > 500, "the path is yellow"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("last", np.zeros((2, 3)), "m from the target"),
        ("speed", 0.2, "passes at 0.2 m/s"),
        ("rest", np.array([1.0, 0.05]), "a rest length of 0.05 m"),
    ],
)
def test_the_check_catches(example, field, value, message):
    there = np.array([example.START, example.TARGET])
    good = {"loss": np.ones(2), "rest": np.ones(8), "first": there, "last": there, "speed": 0.0}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, field: value}))


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("--rate", -1)
    assert "is not above 0" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
