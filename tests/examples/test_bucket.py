"""The bucket in grains: it follows its path and takes grains up, and what its check catches."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

EXAMPLE = "bucket"


def test_the_bucket_follows_its_path_and_lifts_grains(run, example, tmp_path, no_picture, monkeypatch):
    quick = example.PATH * [0.4, 1.0, 1.0, 1.0]
    monkeypatch.setattr(example, "PATH", quick)
    result = run("--depth", 0.06, "--seconds", 1.1, "--fps", 20)
    assert result.outside == 0 and result.carried > 20
    assert abs(result.rows[-1, 2] / result.weight - 1.0) < 0.3  # it has just come to a stop
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    bucket = np.array(UsdGeom.Mesh.Get(stage, "/World/bucket").GetPointsAttr().Get(22))
    hinge = bucket[np.abs(bucket - bucket.mean(axis=0)).sum(axis=1).argmin()]
    assert np.abs(hinge[:2] - quick[-1, 1:3]).max() < 0.1
    assert len(UsdGeom.PointInstancer.Get(stage, "/World/grains").GetPositionsAttr().Get(22)) > 300


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outside": 2}, "2 grains left the box"),
        ({"carried": 7}, "7 grains are in the bucket"),
        ({"weight": 20.0}, "the drive bears 16.0 N of 20.0"),
    ],
)
def test_the_check_catches(example, changes, message):
    good = {"rows": np.tile([1.0, 0.0, 16.0, -1.0], (9, 1)), "weight": 16.1, "carried": 367, "outside": 0}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **changes}))
