"""The net: what an iteration gains, the net that hangs, and a ball that is on its cords and not in them."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "net_catch"


def gap(ball, net, radius):
    """Between the ball and the nearest knot [m]."""
    return np.linalg.norm(net.reshape(-1, 3) - ball, axis=1).min() - radius


def test_a_throw_is_bettered(example, run, tmp_path, no_picture):
    solution, ball, net = run("--iterations", 1, "--seconds", 0.2, "--fps", 30)
    assert solution.losses[1] < 0.64 * solution.losses[0]
    assert solution.losses[0] > (0.5 * example.SIDE) ** 2, "the first throw hits"
    assert gap(ball, net, example.BALL) > 0.0
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    cords = np.array(UsdGeom.Mesh.Get(stage, "/World/net").GetPointsAttr().Get(6))
    assert cords[:, 1].min() < example.MIDDLE[1] - 0.3, "the net does not hang"


@pytest.mark.slow
def test_the_ball_is_caught(example, run, no_picture):
    solution, ball, net = run("--seconds", 2.0)
    assert solution.loss < example.NEAR**2
    assert np.linalg.norm((ball - example.MIDDLE)[[0, 2]]) < 0.4 * example.SIDE
    assert gap(ball, net, example.BALL) > 0.0
