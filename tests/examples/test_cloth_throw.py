"""The thrown cloth: L-BFGS finds the throw of a stone, and the files hold the best flight."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "cloth_throw"


def exact(example, seconds, fps, substeps):
    """The throw of a stone: (x* - x - g T (T + h) / 2) / T for semi-implicit Euler with substeps h, (3,) [m/s]."""
    fall = 0.5 * seconds * (seconds + 1.0 / (fps * substeps)) * np.array([0.0, example.GRAVITY, 0.0])
    return (np.array(example.TARGET) - example.START - fall) / seconds


def test_the_throw_is_that_of_a_stone(example, run, tmp_path):
    solution = run("--cells", 4, "--seconds", 1.0, "--fps", 30, "--substeps", 8)
    assert solution.loss < 1e-4 and solution.loss < 1e-6 * solution.losses[0]
    np.testing.assert_allclose(solution.values["throw"][0], exact(example, 1.0, 30, 8), atol=5e-3)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    [cloth] = [p for p in stage.Traverse() if p.GetName() == "cloth"]
    points = np.array(UsdGeom.Mesh(cloth).GetPointsAttr().Get(stage.GetEndTimeCode()))
    assert np.linalg.norm(points.mean(axis=0) - example.TARGET) < 1e-2
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_wrong_options_are_refused(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--cells", "0"])
    assert "is not above 0" in capsys.readouterr().err
