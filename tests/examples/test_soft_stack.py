"""The stack of soft blocks: it stands, of blocks that keep their volume; refusals."""

import numpy as np
import pytest
from pxr import Usd

EXAMPLE = "soft_stack"


def test_a_small_stack_stands(example, run, tmp_path):
    result = run("--cells", 2, "--seconds", 1.5)
    example.check(result)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert all(stage.GetPrimAtPath(f"/World/block_{k}") for k in range(len(example.YOUNG)))
    assert stage.GetEndTimeCode() == 90
    assert (tmp_path / "out.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"height": np.array([0.1, 0.15])}, "only 0.050 m above"),
        ({"height": np.array([0.1, 0.6])}, "floats"),
        ({"offset": np.array([0.0, 0.3])}, "slid by 0.300 m"),
        ({"speed": 0.5}, "still moves at 0.50 m/s"),
        ({"worst": -0.1}, "-0.10 of its volume"),
        ({"volume": np.array([1.0, 0.8])}, "volume off by 20.0%"),
    ],
)
def test_the_check_catches(example, changes, message):
    good = {"height": np.array([0.12, 0.34]), "offset": np.zeros(2), "speed": 0.0, "worst": 0.9, "volume": np.ones(3)}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **changes}))


def test_wrong_options_are_refused(run, capsys):
    with pytest.raises(SystemExit):
        run("--cells", 0)
    assert "is not above 0" in capsys.readouterr().err
