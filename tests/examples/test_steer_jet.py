"""The example of a jet that is steered: Newton's method converges, its files, and what its check catches."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "steer_jet"


def test_a_short_throw_comes_near_at_once(run, tmp_path, no_picture):
    options = ["--seconds", 0.08, "--iterations", 3, "--target", 0.1, 0.08]
    result = run(*options)
    assert result.misses[1] < 0.2 * result.misses[0] and result.misses[2] < 0.2 * result.misses[1]
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    counts = [len(UsdGeom.Points.Get(stage, "/World/last").GetPointsAttr().Get(frame)) for frame in (1, 4)]
    assert 0 < counts[0] < counts[1]


def test_a_stone_flies_through_the_target(example):
    target, time, wait = np.array([0.8, 0.25]), 0.4, 0.1
    velocity = example.stone(target, time, wait)
    flight = time - wait / np.linalg.norm(velocity)
    np.testing.assert_allclose(velocity * flight + [0.0, 0.5 * example.GRAVITY * flight**2], target, atol=1e-9)


def test_the_check_catches(example):
    tries = np.array([[2.0, 2.0, 0.0], [2.5, 2.6, 0.0]])
    example.check(example.Result(tries, np.array([0.1, 1e-6]), np.array([2.5, 2.6])))
    with pytest.raises(AssertionError, match="the jet misses by 10 mm"):
        example.check(example.Result(tries, np.array([0.1, 1e-2]), np.array([2.5, 2.6])))
    with pytest.raises(AssertionError, match="off that of a stone"):
        example.check(example.Result(tries, np.array([0.1, 1e-6]), np.array([3.5, 2.6])))
