"""The thrown cloths: the throw of each wind, slopes against differences, and the files."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from warpsim.optim.problem.jacobian import linearise

EXAMPLE = "windy_throws"


def test_all_throws_arrive(example, run, tmp_path):
    solution, winds, stone, distances = run("--worlds", 6, "--cells", 3, "--seconds", 0.6, "--fps", 20)
    throws = solution.values["throw"]
    assert distances.shape == (4, 6) and throws.shape == winds.shape == (6, 3)
    assert distances[-1].max() < 1e-2 * distances[0].min() and np.median(distances[0]) > 0.5
    assert ((stone - throws) * winds).sum(axis=0)[[0, 2]].min() > 0.0, "not against the wind"
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    [cloths] = [p for p in stage.Traverse() if p.GetName() == "cloths"]
    points = np.array(UsdGeom.Mesh(cloths).GetPointsAttr().Get(stage.GetEndTimeCode()))
    assert np.abs(points.reshape(6, 16, 3).mean(axis=1) - example.TARGET).max() < 0.02
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_slopes_are_those_of_differences(problem_of):
    """Of each world by its own throw: another world's throw changes nothing."""
    problem, _ = problem_of("--worlds", 3, "--cells", 3, "--seconds", 0.4, "--fps", 20)
    z, h = problem.start(), 0.02
    slopes, _ = linearise(problem, z)
    off = np.arange(9)[:, None] // 3 != np.arange(9) // 3
    assert (slopes[off] == 0.0).all() and (slopes[~off] != 0.0).any()
    for k in (3, 4, 5):
        miss = []
        for sign in (1.0, -1.0):
            problem.value(z + sign * h * np.eye(9)[k])
            miss.append(problem.residuals[0].numpy().ravel().copy())
        np.testing.assert_allclose((miss[0] - miss[1]) / (2.0 * h), slopes[:, k], atol=0.02 * np.abs(slopes).max())


def test_wrong_options_are_refused(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--worlds", "0"])
    assert "argument --worlds: 0 is not above 0" in capsys.readouterr().err
