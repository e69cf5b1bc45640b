"""The fountain example: jets come and rise, its files, and what its check catches."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "fountain"


def test_coarse_jets_come_out_of_their_pipes(run, tmp_path):
    result = run("--spacing", 0.02, "--seconds", 0.2, "--fps", 10, "--jets", 2)
    assert result.outside == 0 and result.released[0] == 0
    assert result.released[-1] in (2 * 4 * 16, 2 * 4 * 17)  # the seventeenth layer is due in the very end
    assert 0.2 < result.top < 1.2 * result.expected  # the front of a jet splashes ahead
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    water = UsdGeom.Points.Get(stage, "/World/water")
    counts = [len(water.GetPointsAttr().Get(frame)) for frame in range(3)]
    assert np.diff(counts).tolist() == np.diff(result.released).tolist()
    assert len(water.GetIdsAttr().Get(2)) == counts[2]
    assert imread(tmp_path / "out.png")[..., :3].std() > 0.05


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"outside": 2}, "2 particles left the basin"),
        ({"compression": 0.1}, "density is off by 10.0%"),
        ({"top": 0.2}, "jets rise to 0.200 m, not 0.300"),
        ({"released": np.array([0, 50, 60, 200])}, "10 to 140 particles came in a frame"),
    ],
)
def test_the_check_catches(example, change, text):
    good = {"released": np.arange(5) * 50, "top": 0.31, "expected": 0.3, "outside": 0, "compression": 0.001}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=text):
        example.check(example.Result(**{**good, **change}))


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run("--spacing", 0.05)
    assert "at most 0.02" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
