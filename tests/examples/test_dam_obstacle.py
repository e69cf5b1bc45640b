"""The dam with an obstacle: water, box, surface, files, and refusals."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def example():
    """The example as a module, loaded by its file as any user's script is."""
    spec = importlib.util.spec_from_file_location("dam_obstacle", ROOT / "examples" / "dam_obstacle.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["dam_obstacle"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["dam_obstacle"]


def run(example, folder, *options):
    files = ["--output", str(folder / "dam.usdc"), "--picture", str(folder / "dam.png")]
    return example.main([*files, "--device", str(example.wp.get_device()), *map(str, options)])


def test_a_coarse_dam_meets_the_box(example, tmp_path):
    result = run(example, tmp_path, "--spacing", 0.03, "--seconds", 0.36, "--fps", 25)
    example.check(result)
    assert result.rows[-1, 1] > example.BOX[0] + example.HALF[0] and result.rows[:, 2].max() > 1.0
    stage = Usd.Stage.Open(str(tmp_path / "dam.usdc"))
    water = UsdGeom.Points.Get(stage, "/World/water")
    assert len(water.GetPointsAttr().GetTimeSamples()) == len(result.rows)
    assert len(result.vertices) > 200 and np.isfinite(result.vertices).all()
    assert imread(tmp_path / "dam.png")[..., :3].std() > 0.05


def test_refusals(example, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(example, tmp_path, "--spacing", 0.06)
    assert "at most 0.05" in capsys.readouterr().err and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("column", "value", "message"), [(2, 0.1, "the box feels"), (3, 1.1, "energy grew"), (4, 0.1, "density is off")]
)
def test_the_check_catches(example, column, value, message):
    t = np.linspace(0.0, 0.5, 20)
    rows = np.stack([t, 0.42 + t, 2.0 + 0.0 * t, 1.0 - 0.1 * t, 0.0 * t], axis=1)
    example.check(example.Result(rows, 0, np.zeros((1, 3))))
    rows[:, column] = value
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(rows, 0, np.zeros((1, 3))))
    with pytest.raises(AssertionError, match="3 particles left the tank"):
        example.check(example.Result(rows, 3, np.zeros((1, 3))))
