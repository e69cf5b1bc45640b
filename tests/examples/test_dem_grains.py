"""The grains example: a collapse, its files, and refusals; tests of its solver stand with the solver."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "dem_grains"


def test_a_small_column_collapses(run, example, tmp_path):
    result = run("--grains", 1000, "--seconds", 0.5)
    example.check(result)
    assert result.rows[-1, 1] < 0.5 * result.rows[0, 1], "it came down"
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    grains = UsdGeom.PointInstancer.Get(stage, "/World/grains")
    assert grains.GetPositionsAttr().GetTimeSamples() == list(range(13))
    np.testing.assert_allclose(np.array(grains.GetPositionsAttr().Get(12)), result.points)
    np.testing.assert_allclose(np.array(grains.GetScalesAttr().Get(12))[:, 0], result.radii, rtol=1e-6)
    turned = np.array([o.real for o in grains.GetOrientationsAttr().Get(12)], float)
    assert (np.abs(turned) < 0.99).mean() > 0.3, "grains have turned"
    picture = imread(tmp_path / "out.png")[..., :3]
    assert (np.ptp(picture, axis=-1) > 0.2).mean() > 0.05, "grains have colors"


def test_the_pipe_holds_the_grains_until_it_is_gone(example):
    grains = example.Grains(example.column(500, 1.0), None)
    grains.run(0.2)
    before = np.hypot(*grains.state.particle_q.numpy()[:, [0, 2]].T).max()
    grains.widen_pipe()
    grains.run(0.2)
    assert np.hypot(*grains.state.particle_q.numpy()[:, [0, 2]].T).max() > 1.2 * before
    assert before < np.hypot(*example.column(500, 1.0)[:, [0, 2]].T).max() + 1.2 * example.LARGEST


def test_the_column_has_as_many_grains_as_asked_and_none_that_touch(example):
    for count, aspect in ((1000, 0.5), (5000, 3.0)):
        points = example.column(count, aspect)
        assert abs(len(points) / count - 1.0) < 0.15
        near = np.linalg.norm(points[:, None] - points[None, :400], axis=-1)
        near[near == 0.0] = 1.0
        assert near.min() > 2.0 * example.RADIUS * (1.0 + example.SPREAD)
        wide, tall = np.ptp(points[:, 0]), np.ptp(points[:, 1])
        assert abs(tall / (0.5 * wide) / aspect - 1.0) < 0.35


def rows(energy=(1.0, 0.9, 0.3), reach=0.2):
    """Three frames of a column as tall as wide that falls to half its height."""
    return np.column_stack([(0.0, 0.5, 1.0), (0.1, 0.08, 0.05), (0.1, 0.15, reach), energy])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": np.full((1, 3), np.nan)}, "not finite"),
        ({"points": np.full((1, 3), -0.01)}, "sank into the floor"),
        ({"rows": rows(energy=(1.0, 1.1, 0.3))}, "let go 10.0% of its energy"),
        ({"rows": rows(energy=(1.0, 0.9, 1.0))}, "energy grew"),
        ({"rows": rows(reach=0.11)}, "spread by 0.10 radii"),
    ],
)
def test_the_check_catches(example, change, message):
    good = {"points": np.full((1, 3), 0.1), "radii": np.array([0.005]), "rows": rows()}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **change}))


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("--grains", 0)
    assert "is not above 0" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
