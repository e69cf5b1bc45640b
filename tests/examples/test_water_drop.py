"""The example of a water drop: corners go in, its files, and what its check catches."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "water_drop"


def test_corners_of_a_small_cube_go_in(example, run, tmp_path):
    result = run("--cells", 5, "--seconds", 0.01, "--fps", 400)
    example.check(result)
    assert result.rows[-1, 1] < result.rows[0, 1] - 0.008
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    assert len(UsdGeom.Points.Get(stage, "/World/drop").GetPointsAttr().Get(4)) == 125
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_a_ball_is_not_rough(example):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20_000, 3))
    points *= (rng.random(20_000) ** (1.0 / 3.0) / np.linalg.norm(points, axis=1))[:, None]
    assert example.roughness(points) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [(1, 1.2, "corners stand out by 1.20 first"), (2, 0.1, "drifts at 0.1 m/s"), (3, 0.9, "kinetic energy is 0.90")],
)
def test_the_check_catches(example, column, value, text):
    rows = np.stack([np.linspace(0.0, 0.1, 5), np.linspace(1.2, 1.02, 5), np.zeros(5), np.zeros(5)], axis=1)
    example.check(example.Result(rows))
    rows[:, column] = value
    with pytest.raises(AssertionError, match=text):
        example.check(example.Result(rows))
