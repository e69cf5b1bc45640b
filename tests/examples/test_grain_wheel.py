"""The wheel under grains: it turns the right way, and what its check catches."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "grain_wheel"


def test_grains_turn_the_wheel(run, tmp_path, no_picture):
    result = run("--grains", 150, "--seconds", 0.5, "--fps", 20)
    assert result.rows[-1, 1] < -0.5 and result.rows[:, 2].min() < -0.02
    assert result.outside == 0
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    wheel = np.array(UsdGeom.Mesh.Get(stage, "/World/wheel").GetPointsAttr().Get(10))
    np.testing.assert_allclose(wheel.mean(axis=0)[1], 0.24, atol=1e-3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outside": 2}, "2 grains left"),
        ({"rows": np.tile([1.0, -0.1, -0.01, -0.01], (9, 1))}, "turns at -0.10 rad/s"),
        ({"rows": np.tile([1.0, -4.0, -0.1, -0.24], (9, 1))}, "by 0.100 N m, the brake holds 0.240"),
    ],
)
def test_the_check_catches(example, changes, message):
    good = {"rows": np.tile([1.0, -4.0, -0.24, -0.24], (9, 1)), "outside": 0}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **changes}))
