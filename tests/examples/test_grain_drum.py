"""The drum example: grains turn in it and stay in it, and its files."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "grain_drum"


def test_a_few_grains_turn_with_the_drum(example, tmp_path):
    files = ["--output", str(tmp_path / "drum.usdc"), "--picture", str(tmp_path / "drum.png")]
    device = ["--device", str(example.wp.get_device())]
    result = example.main([*files, *device, "--grains", "100", "--seconds", "0.3", "--fps", "10"])
    assert result.outside == 0
    assert 0.2 < np.abs(result.torque[-1, 0] / result.torque[-1, 1]) < 5.0, "the wall feels the weight"
    stage = Usd.Stage.Open(str(tmp_path / "drum.usdc"))
    grains = UsdGeom.PointInstancer.Get(stage, "/World/grains")
    assert grains.GetPositionsAttr().GetTimeSamples() == list(range(4))
    first, last = (np.array([o.real for o in grains.GetOrientationsAttr().Get(k)], float) for k in (0, 3))
    assert (first == 1.0).all() and (last < 0.99).mean() > 0.3, "grains have turned"
    assert (np.ptp(imread(tmp_path / "drum.png")[..., :3], axis=-1) > 0.2).mean() > 0.002, "grains have colors"


def test_the_wall_is_closed_and_its_lifters_stand_inwards(example):
    points, faces, _ = example.drum(48)
    edges = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    a, b, c = (points[faces[:, k]] for k in range(3))
    assert np.sum(a * np.cross(b, c)) > 0.0, "faces look outwards"
    assert np.hypot(*points[:96, :2].T).min() == pytest.approx(example.DRUM - example.LIFT)


def test_mixing_is_none_apart_and_one_at_random(example):
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(600, 3))
    assert example.mixing(points, (points[:, 0] > 0.5).astype(int)) < 0.3
    assert example.mixing(points, rng.integers(0, 2, 600)) == pytest.approx(1.0, abs=0.1)
