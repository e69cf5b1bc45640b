"""The example of floats: they stay afloat and follow the water, their files, what the check catches, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "ocean_float"


def run(example, folder, *options):
    files = ["--output", str(folder / "out.usdc"), "--picture", str(folder / "out.png")]
    return example.main([*files, *map(str, options)])


def test_floats_ride_the_waves(example, tmp_path):
    result = run(example, tmp_path, "--seconds", 8, "--cells", 64)
    example.check(result)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    barge = UsdGeom.Mesh.Get(stage, "/World/barge").GetPointsAttr()
    assert barge.GetTimeSamples() == list(range(96))
    first, last = np.array(barge.Get(0)), np.array(barge.Get(95))
    sides = [np.linalg.norm(p[:, None] - p[None], axis=-1) for p in (first, last)]
    np.testing.assert_allclose(*sides, atol=1e-4)  # it is rigid
    picture = imread(tmp_path / "out.png")[..., :3]
    paint = picture[..., 0] > 2.0 * picture[..., 2]  # orange and red, which water is not
    assert picture.shape[:2] == (560, 1280) and 0.003 < paint.mean() < 0.2


def test_the_check_catches(example):
    z = np.sin(np.arange(30.0))[:, None]
    example.check(example.Result(z, 0.9 * z, np.zeros(30)))
    for change, message in (
        ((z, -z, np.zeros(30)), "follow the water by -1"),
        ((z, z, np.full(30, 60.0)), "heels by 60"),
    ):
        with pytest.raises(AssertionError, match=message):
            example.check(example.Result(*change))


def test_refusals(example, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(example, tmp_path, "--period", 0)
    assert "is not above 0" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
