"""The example of a block that floats: it falls and is borne, and what its check catches."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "water_float"


def test_a_block_falls_into_coarse_water_and_is_borne(run, tmp_path, no_picture):
    result = run("--spacing", 0.03, "--seconds", 0.3, "--fps", 20)
    height = result.rows[:, 1]
    assert height.min() > result.expected - 0.05 and height[-1] > height[0] - 0.5 * 9.81 * 0.3**2 + 0.2
    assert result.lost == 0
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    corners = np.array(UsdGeom.Mesh.Get(stage, "/World/block").GetPointsAttr().Get(6))
    np.testing.assert_allclose(corners.mean(axis=0)[1], height[-1], atol=1e-5)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"lost": 3}, "3 particles left the tank"),
        ({"expected": 0.2}, "the block floats -50.0 mm above where it should"),
        ({"rows": np.tile([0.0, 0.15, 40.0], (8, 1))}, "tilted by 40 degrees"),
    ],
)
def test_the_check_catches(example, change, text):
    good = {"rows": np.tile([0.0, 0.15, 3.0], (8, 1)), "expected": 0.151, "lost": 0, "spacing": 0.016}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=text):
        example.check(example.Result(**{**good, **change}))
