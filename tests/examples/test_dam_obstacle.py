"""The dam with an obstacle: water, box, surface, files, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "dam_obstacle"


def test_a_coarse_dam_meets_the_box(run, example, tmp_path):
    result = run("--spacing", 0.03, "--seconds", 0.36, "--fps", 25)
    example.check(result)
    assert result.rows[-1, 1] > example.BOX[0] + example.HALF[0] and result.rows[:, 2].max() > 1.0
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    water = UsdGeom.Mesh(stage.GetPrimAtPath("/World/water"))
    assert water and len(water.GetFaceVertexIndicesAttr().GetTimeSamples()) == len(result.rows)
    counts = {len(water.GetPointsAttr().Get(frame)) for frame in range(len(result.rows))}
    assert len(counts) > 1 and min(counts) > 200
    assert len(result.vertices) > 200 and np.isfinite(result.vertices).all()
    assert imread(tmp_path / "out.png")[..., :3].std() > 0.05


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("--spacing", 0.06)
    assert "at most 0.05" in capsys.readouterr().err and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("column", "value", "message"), [(2, 0.1, "the box feels"), (3, 1.1, "energy grew"), (4, 0.1, "density is off")]
)
def test_the_check_catches(example, column, value, message):
    t = np.linspace(0.0, 0.5, 20)
    rows = np.stack([t, 0.42 + t, 2.0 + 0.0 * t, 1.0 - 0.1 * t, 0.0 * t], axis=1)
    example.check(example.Result(rows, 0, np.zeros((1, 3))))
    rows[:, column] = value
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(rows, 0, np.zeros((1, 3))))
    with pytest.raises(AssertionError, match="3 particles left the tank"):
        example.check(example.Result(rows, 3, np.zeros((1, 3))))
