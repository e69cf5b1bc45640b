"""The example of a boat: it sails upright, its files, what the check catches, and refusals."""

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

EXAMPLE = "boat"


def run(example, folder, *options):
    files = ["--output", str(folder / "out.usdc"), "--picture", str(folder / "out.png")]
    return example.main([*files, *map(str, options)])


def test_a_boat_sails_before_the_wind(example, tmp_path):
    result = run(example, tmp_path, "--seconds", 4)
    example.check(result)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    hull = UsdGeom.Mesh.Get(stage, "/World/hull").GetPointsAttr()
    assert hull.GetTimeSamples() == list(range(48))
    first, last = np.array(hull.Get(0)), np.array(hull.Get(47))
    sides = [np.linalg.norm(p[:, None] - p[None], axis=-1) for p in (first, last)]
    np.testing.assert_allclose(*sides, atol=1e-4)  # it is rigid
    picture = imread(tmp_path / "out.png")[..., :3]
    red = picture[..., 0] > 2.0 * picture[..., 2]
    assert picture.shape[:2] == (560, 1280) and 0.01 < red.mean() < 0.3


def test_the_check_catches(example):
    way, rest = np.linspace(0.0, 1.5, 30), np.zeros(30)
    example.check(example.Result(way, rest, rest + 1.0))
    for change, message in (
        ((way, rest + 50.0, rest + 1.0), "tilts by 50"),
        ((0.1 * way, rest, rest + 1.0), "has made 0.15 m"),
        ((way, rest, rest), "not full"),
    ):
        with pytest.raises(AssertionError, match=message):
            example.check(example.Result(*change))


def test_refusals(example, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(example, tmp_path, "--wind", 0)
    assert "is not above 0" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
