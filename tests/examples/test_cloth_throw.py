"""The thrown cloth: L-BFGS finds the throw of a stone, and the files hold the last flight."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "cloth_throw"


def test_the_throw_is_that_of_a_stone(example, tmp_path):
    files = {"--output": tmp_path / "t.usdc", "--picture": tmp_path / "t.png"}
    options = {"--cells": 4, "--seconds": 1.0, "--fps": 30, "--substeps": 8, "--device": example.wp.get_device()}
    result = example.main([str(part) for pair in {**files, **options}.items() for part in pair])
    example.check(result)
    assert result.distance[-1] < 1e-3 * result.distance[0]
    stage = Usd.Stage.Open(str(files["--output"]))
    [cloth] = [p for p in stage.Traverse() if p.GetName() == "cloth"]
    points = np.array(UsdGeom.Mesh(cloth).GetPointsAttr().Get(stage.GetEndTimeCode()))
    assert np.linalg.norm(points.mean(axis=0) - example.TARGET) < 1e-2
    assert files["--picture"].stat().st_size > 10_000


def test_wrong_options_are_refused(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--cells", "0"])
    assert "is not above 0" in capsys.readouterr().err
