"""The tower of blocks: it stands, and falls when it is hit; refusals."""

import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "block_tower"


def test_a_low_tower_is_hit(example, run, tmp_path):
    result = run("--layers", 6, "--seconds", 1.0)
    assert result.height[2] < 0.95 * result.height[0] and result.lowest > -0.01
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    planks = UsdGeom.PointInstancer.Get(stage, "/World/tower")
    assert len(planks.GetPositionsAttr().Get(30)) == 18
    assert (tmp_path / "out.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"height": (0.8, 0.7, 0.3)}, "sank by 0.1000 m"),
        ({"height": (0.8, 0.8, 0.8)}, "still stands"),
        ({"lowest": -0.05}, "0.050 m in the floor"),
        ({"speed": 8.0}, "moves at 8.0 m/s"),
    ],
)
def test_the_check_catches(example, changes, message):
    good = {"height": (0.8, 0.8, 0.3), "lowest": -0.001, "speed": 0.1}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **changes}))


def test_wrong_options_are_refused(run, capsys):
    with pytest.raises(SystemExit):
        run("--layers", 0)
    assert "is not above 0" in capsys.readouterr().err
