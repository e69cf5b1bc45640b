"""The hourglass example: sand runs through its neck and stays in the glass, and its files."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "hourglass"


def test_a_little_sand_runs_through_the_neck(example, run, tmp_path):
    result = run("--grains", 60, "--seconds", 0.2, "--fps", 10)
    assert result.outside == 0 and result.below[0] == 0 and result.below[-1] > 5
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    grains = UsdGeom.PointInstancer.Get(stage, "/World/grains")
    assert grains.GetPositionsAttr().GetTimeSamples() == list(range(3))
    turned = np.array([o.real for o in grains.GetOrientationsAttr().Get(2)], float)
    assert (np.abs(turned) < 0.999).mean() > 0.3, "grains have turned"
    assert (np.ptp(imread(tmp_path / "out.png")[..., :3], axis=-1) > 0.2).mean() > 0.001, "grains have colors"


def test_the_glass_is_closed(example):
    points, faces, back = example.glass(16, 6)
    edges = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    a, b, c = (points[faces[:, k]] for k in range(3))
    assert np.sum(a * np.cross(b, c)) > 0.0, "faces look outwards"
    assert 0.4 < len(back) / len(faces) < 0.6 and (points[back, 2].mean(axis=1) < 0.0).all()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"outside": 1}, "1 grains left the glass"),
        ({"below": np.array([0, 20, 40, 60, 70, 75, 80, 85, 90, 95, 100])}, "the flow changed"),
        ({"expected": 30.0}, "100 grains a second, by the law 30"),
    ],
)
def test_the_check_catches(example, change, text):
    steady = {"times": np.linspace(0.0, 1.0, 11), "below": np.arange(0, 101, 10), "outside": 0, "expected": 80.0}
    example.check(example.Result(**steady))
    with pytest.raises(AssertionError, match=text):
        example.check(example.Result(**{**steady, **change}))
