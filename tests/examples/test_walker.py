"""The walker learns to go further than at first, on the floor, and the files hold its walk."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "walker"


def test_it_learns_to_walk(example, tmp_path):
    files = {"--output": tmp_path / "w.usdc", "--picture": tmp_path / "w.png"}
    options = {"--rounds": 5, "--device": example.wp.get_device()}
    distances, paths = example.main([str(part) for pair in {**files, **options}.items() for part in pair])
    assert distances.max() > 3.0 * example.CELL, "not further than it is long"
    assert distances.max() > 3.0 * abs(distances[0])
    assert np.isclose((paths[-1] - paths[0])[:, 0].mean(), distances.max()), "the walk shown is not the best"
    assert paths[:, :, 1].min() > -1e-9, "a foot is in the floor"
    stage = Usd.Stage.Open(str(files["--output"]))
    assert stage.GetTimeCodesPerSecond() == 50.0
    [masses] = [p for p in stage.Traverse() if p.GetName() == "masses"]
    last = np.array(UsdGeom.Points(masses).GetPointsAttr().Get(stage.GetEndTimeCode()))
    assert np.allclose(last, paths[::5][-1], atol=1e-6)
    assert files["--picture"].stat().st_size > 10_000


def test_wrong_options_are_refused(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--rounds", "0"])
    assert "argument --rounds: 0 is not at least 1" in capsys.readouterr().err
