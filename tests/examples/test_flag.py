"""The flag: it flies, keeps its size, and its files hold what was computed."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "flag"


def test_a_small_flag_flies(example, tmp_path):
    files = {"--output": tmp_path / "flag.usdc", "--picture": tmp_path / "flag.png"}
    options = {"--cells": 24, "--seconds": 1.5, "--device": example.wp.get_device()}
    result = example.main([str(part) for pair in {**files, **options}.items() for part in pair])
    example.check(result)
    stage = Usd.Stage.Open(str(files["--output"]))
    [flag] = [p for p in stage.Traverse() if p.GetName() == "flag"]
    points = np.array(UsdGeom.Mesh(flag).GetPointsAttr().Get(stage.GetEndTimeCode()))
    np.testing.assert_allclose(points, result.points, atol=1e-6)
    assert stage.GetEndTimeCode() - stage.GetStartTimeCode() == 90
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert imread(files["--picture"]).std() > 0.05


def test_wrong_options_are_refused(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--cells", "0"])
    assert "is not above 0" in capsys.readouterr().err
