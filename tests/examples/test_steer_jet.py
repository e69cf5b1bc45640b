"""The example of a jet that is steered: the search converges to about the throw of a stone; its files."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "steer_jet"


def test_a_short_throw_comes_near_at_once(run, tmp_path, no_picture):
    solution, misses = run("--seconds", 0.08, "--iterations", 3, "--target", 0.1, 0.08)
    assert misses[1] < 0.2 * misses[0] and misses[2] < 0.2 * misses[1]
    assert solution.values["velocity"][0, 2] == 0.0
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    counts = [len(UsdGeom.Points.Get(stage, "/World/last").GetPointsAttr().Get(frame)) for frame in (1, 4)]
    assert 0 < counts[0] < counts[1]


def stone(example, target, time, wait):
    """The velocity of a stone that flies through the target, after it came `wait` [m] along with the stream."""
    velocity = np.zeros(2)
    for _ in range(50):
        flight = time - wait / max(np.linalg.norm(velocity), 1.0)
        velocity = 0.5 * velocity + 0.5 * (target / flight - [0.0, 0.5 * example.GRAVITY * flight])
    return velocity


@pytest.mark.nightly
def test_the_jet_flies_about_as_a_stone_does(example, run, no_picture):
    solution, misses = run()
    assert misses[-1] < 1e-5 and len(misses) < 8
    layer = example.build((2.0, 2.0))[1].streams[0].layer
    wait = 0.5 * example.SPACING * (example.SLUG // layer + 1)  # of the slug's middle behind the nozzle [m]
    expected = stone(example, np.array([0.8, 0.25]), 0.4, wait)
    assert np.linalg.norm(solution.values["velocity"][0, :2] - expected) < 0.05 * np.linalg.norm(expected)
