"""The thrown cloths: Newton's method finds the throw of each wind, and the files hold the last flights."""

from types import SimpleNamespace

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "windy_throws"


def test_all_throws_arrive(example, run, tmp_path):
    result = run("--worlds", 6, "--cells", 3, "--seconds", 0.6, "--fps", 20, "--iterations", 3)
    assert result.distances.shape == (4, 6) and result.throws.shape == (6, 3)
    assert result.distances[-1].max() < 1e-2 * result.distances[0].min()
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    [cloths] = [p for p in stage.Traverse() if p.GetName() == "cloths"]
    points = np.array(UsdGeom.Mesh(cloths).GetPointsAttr().Get(stage.GetEndTimeCode()))
    assert np.abs(points.reshape(6, 16, 3).mean(axis=1) - example.TARGET).max() < 0.02
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_slopes_are_those_of_differences(example):
    """Of each world by its own throw: another world's throw changes nothing."""
    device = str(example.wp.get_device())
    flights = example.Flights(SimpleNamespace(worlds=4, cells=3, seconds=0.4, fps=20, substeps=8, device=device))
    _, slopes = flights.fly(flights.stone)
    for k, axis in enumerate(0.02 * np.eye(3)):
        ahead, behind = flights.stone.copy(), flights.stone.copy()
        ahead[1:] += axis
        behind[1:] -= axis
        change = flights.fly(ahead)[0] - flights.fly(behind)[0]
        np.testing.assert_allclose(change[1:] / 0.04, slopes[1:, :, k], atol=0.02 * np.abs(slopes).max())
        assert (change[0] == 0.0).all()


def test_wrong_options_are_refused(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--worlds", "0"])
    assert "argument --worlds: 0 is not above 0" in capsys.readouterr().err
