"""The example of cloth on the sea: it lies on the water, its files, what the check catches, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "ocean_cloth"


def run(example, folder, *options):
    files = ["--output", str(folder / "out.usdc"), "--picture", str(folder / "out.png")]
    return example.main([*files, *map(str, options)])


def test_a_mat_lies_on_the_waves(example, tmp_path):
    result = run(example, tmp_path, "--seconds", 3, "--cells", 12, "--waves", 48)
    example.check(result)
    assert result.miss[-12:].max() < 0.05
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    mat = UsdGeom.Mesh.Get(stage, "/World/mat").GetPointsAttr()
    assert mat.GetTimeSamples() == list(range(36)) and len(mat.Get(35)) == 13 * 13
    picture = imread(tmp_path / "out.png")[..., :3]
    orange = picture[..., 0] > 2.0 * picture[..., 2]
    assert picture.shape[:2] == (560, 1280) and 0.01 < orange.mean() < 0.3


def test_the_check_catches(example):
    heights = np.sin(np.arange(30.0))[:, None]
    good = {"miss": np.full(30, 0.01), "heights": heights, "strain": np.zeros(5)}
    example.check(example.Result(**good))
    for change, message in (
        ({"miss": np.full(30, 0.4)}, "0.40 m off the water"),
        ({"heights": 0.0 * heights}, "does not move"),
        ({"strain": np.full(5, 0.2)}, "mean strain 20.0%"),
    ):
        with pytest.raises(AssertionError, match=message):
            example.check(example.Result(**(good | change)))


def test_refusals(example, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(example, tmp_path, "--height", 0)
    assert "is not above 0" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
