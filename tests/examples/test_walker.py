"""The walker learns to go further than at first, on the floor, and the files hold its walk."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "walker"


def test_it_learns_to_walk(example, run, tmp_path):
    solution, path = run("--rounds", 4)
    assert -solution.loss > 3.0 * example.CELL, "not further than it is long"
    assert -solution.loss > 3.0 * abs(solution.losses[0])
    assert np.isclose((path[-1] - path[0])[:, 0].mean(), -solution.loss), "the walk shown is not the best"
    assert path[:, :, 1].min() > -1e-9, "a foot is in the floor"
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert stage.GetTimeCodesPerSecond() == 50.0
    [masses] = [p for p in stage.Traverse() if p.GetName() == "masses"]
    last = np.array(UsdGeom.Points(masses).GetPointsAttr().Get(stage.GetEndTimeCode()))
    assert np.allclose(last, path[-1], atol=1e-6)
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_wrong_options_are_refused(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--rounds", "0"])
    assert "argument --rounds: 0 is not above 0" in capsys.readouterr().err
