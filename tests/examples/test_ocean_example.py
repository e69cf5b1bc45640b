"""The ocean example: its loop, its files, what the check catches, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "ocean"


def test_a_loop_with_foam(run, example, tmp_path):
    result = run("--cells", 64, "--seconds", 6, "--fps", 4, "--maps", tmp_path / "sea.npy")
    example.check(result)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    sea = UsdGeom.Mesh.Get(stage, "/World/sea")
    assert sea.GetPointsAttr().GetTimeSamples() == list(range(24)) and UsdGeom.GetStageUpAxis(stage) == "Z"
    assert np.array(sea.GetNormalsAttr().Get(5))[:, 2].min() > 0.0
    foam = UsdGeom.PrimvarsAPI(sea).GetPrimvar("foam")
    assert foam.GetInterpolation() == "vertex" and len(foam.Get(23)) == 64 * 64
    points, velocities = (np.array(a.Get(7)) for a in (sea.GetPointsAttr(), sea.GetVelocitiesAttr()))
    step = np.array(sea.GetPointsAttr().Get(8)) - points
    assert np.corrcoef(step.ravel(), velocities.ravel())[0, 1] > 0.95
    assert np.load(tmp_path / "sea.npy").shape == (64, 64, 4)
    picture = imread(tmp_path / "out.png")
    sky, water = picture[:120, :, :3], picture[250:, :, :3]
    assert sky.mean() > water.mean() and water.std() > 0.05 and (water[..., 2] > water[..., 0]).mean() > 0.6


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("height", 4.0, "waves of 4.00 m"), ("seam", 9.0, "the loop jumps"), ("foam", 0.5, "foam covers 50.0%")],
)
def test_the_check_catches(example, field, value, message):
    good = {"height": 3.0, "expected": 3.0, "seam": 1.0, "step": 1.0, "foam": 0.01}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, field: value}))


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("--wind", 0)
    assert "is not above 0" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
