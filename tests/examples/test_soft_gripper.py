"""The gripper: its jaws close on the block and feel it, and what its check catches."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "soft_gripper"


def test_a_coarse_block_is_lifted(example, run, tmp_path, no_picture):
    result = run("--cells", 3, "--seconds", 1.6, "--fps", 50)
    example.check(result)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    middles = np.array(UsdGeom.PointInstancer.Get(stage, "/World/gripper").GetPositionsAttr().Get(80))
    assert middles[2, 0] - middles[1, 0] < 2.0 * example.OPEN - 0.03
    block = np.array(UsdGeom.Mesh.Get(stage, "/World/block").GetPointsAttr().Get(80))
    np.testing.assert_allclose(block[:, 1].min(), result.height[-1], atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"height": np.array([0.0, 0.05])}, "lifted by 0.050 m"),
        ({"inside": 0.01}, "0.0100 m in a jaw"),
        ({"borne": 40.0}, "40.0 N borne, 48.0 N hang"),
    ],
)
def test_the_check_catches(example, changes, message):
    good = {"height": np.array([0.0, 0.19]), "borne": 48.0, "weight": 48.0, "inside": 0.001}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **changes}))
