"""The dam break example: the experiment it is compared with, its files, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "sph_dam"


def test_a_coarse_dam_runs_as_in_the_experiment(run, example, tmp_path):
    result = run("--cells", 16, "--seconds", 0.8)
    example.check(result)
    time, front, height, _, _ = result.rows.T
    assert front[-1] > 4.3 and (np.diff(front) >= 0.0).all(), "the front reaches the wall"
    # Martin and Moyce 1952, table 6: heights at the wall behind, at t sqrt(g/a) = 1.08 and 2.00.
    found = np.interp(np.sqrt(2.0) * np.array([1.08, 2.00]), time, height)
    np.testing.assert_allclose(found, (0.78, 0.50), atol=0.05)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    water = UsdGeom.Points.Get(stage, "/World/water")
    assert len(water.GetPointsAttr().GetTimeSamples()) == len(result.rows)
    assert imread(tmp_path / "out.png")[..., :3].std() > 0.05


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (1, 9.0, "the front runs at"),
        (3, 1.01, "energy grew"),
        (4, 0.02, "density is off"),
    ],
)
def test_the_check_catches(example, column, value, message):
    time = np.linspace(0.0, 3.5, 40)
    rows = np.stack(
        [time, 1.0 + 1.32 * np.maximum(time - 0.9, 0.0), 1.0 - 0.1 * time, 1.0 - 0.01 * time, 0.0 * time], 1
    )
    points = np.array([[1.0, 1.0, 0.0]])
    example.check(example.Result(rows, points, 0.1))
    with pytest.raises(AssertionError, match="inside a wall"):
        example.check(example.Result(rows, -points, 0.1))
    bad = rows.copy()
    bad[:, column] = 1.0 + 0.5 * rows[:, 0] if column == 1 else bad[:, column]
    bad[-1, column] = value
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(bad, points, 0.1))


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("--cells", 3)
    assert "argument --cells: 3 is not above 3" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
