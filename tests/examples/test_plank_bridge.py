"""The bridge: its hinges bear the weight, the ball stays on the planks, and what the check catches."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "plank_bridge"


def test_a_bridge_bears_a_ball(run, tmp_path, no_picture):
    result = run("--seconds", 0.6, "--fps", 25)
    assert result.gap > -0.005
    assert result.x[-1] > result.x[0] + 0.8
    assert result.pulls[5:].mean(axis=0)[0] > 0.3 * result.weight
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert len(UsdGeom.PointInstancer.Get(stage, "/World/planks").GetPositionsAttr().Get(10)) == 12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": np.array([0.0, 0.2])}, "the ball ends at 0.20 m"),
        ({"gap": -0.03}, "0.030 m in a plank"),
        ({"pulls": np.full((2, 13), 20.0)}, "pull with 20 N at most"),
    ],
)
def test_the_check_catches(example, changes, message):
    good = {"pulls": np.full((2, 13), 500.0), "weight": 280.0, "x": np.array([-1.5, 1.6]), "gap": 0.0}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **changes}))
