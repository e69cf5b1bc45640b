"""The dam break example: the experiment it is compared with, its files, and refusals."""

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
    spec = importlib.util.spec_from_file_location("sph_dam", ROOT / "examples" / "sph_dam.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["sph_dam"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["sph_dam"]


def run(example, folder, *options):
    files = ["--output", str(folder / "dam.usdc"), "--picture", str(folder / "dam.png")]
    return example.main([*files, "--device", str(example.wp.get_device()), *map(str, options)])


def test_a_coarse_dam_runs_as_in_the_experiment(example, tmp_path):
    result = run(example, tmp_path, "--cells", 16, "--seconds", 0.8)
    example.check(result)
    time, front, height, _, _ = result.rows.T
    assert front[-1] > 4.3 and (np.diff(front) >= 0.0).all(), "the front reaches the wall"
    # Martin and Moyce 1952, table 6: heights at the wall behind, at t sqrt(g/a) = 1.08 and 2.00.
    found = np.interp(np.sqrt(2.0) * np.array([1.08, 2.00]), time, height)
    np.testing.assert_allclose(found, (0.78, 0.50), atol=0.05)
    stage = Usd.Stage.Open(str(tmp_path / "dam.usdc"))
    water = UsdGeom.Points.Get(stage, "/World/water")
    assert len(water.GetPointsAttr().GetTimeSamples()) == len(result.rows)
    assert imread(tmp_path / "dam.png")[..., :3].std() > 0.05


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (1, 9.0, "the front runs at"),
        (3, 1.01, "energy grew"),
        (4, 0.02, "density is off"),
    ],
)
def test_the_check_catches(example, column, value, message):
    time = np.linspace(0.0, 3.5, 40)
    rows = np.stack(
        [time, 1.0 + 1.32 * np.maximum(time - 0.9, 0.0), 1.0 - 0.1 * time, 1.0 - 0.01 * time, 0.0 * time], 1
    )
    points = np.array([[1.0, 1.0, 0.0]])
    example.check(example.Result(rows, points, 0.1))
    with pytest.raises(AssertionError, match="inside a wall"):
        example.check(example.Result(rows, -points, 0.1))
    bad = rows.copy()
    bad[:, column] = 1.0 + 0.5 * rows[:, 0] if column == 1 else bad[:, column]
    bad[-1, column] = value
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(bad, points, 0.1))


def test_refusals(example, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(example, tmp_path, "--cells", 3)
    assert "argument --cells: 3 is not above 3" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
