"""The cloth example: it falls, drapes and stays outside of things; its files, and refusals."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

from warpsim.usd import UsdError, UsdWriter

EXAMPLE = "cloth_drop"
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def small_sheet(folder, cells=12):
    """A coarse sheet for tests that need a result rather than a good one."""
    points = np.array([[j, 0.0, i] for i in range(cells + 1) for j in range(cells + 1)]) / cells
    corner = [i * (cells + 1) + j for i in range(cells) for j in range(cells)]
    quads = [[a, a + cells + 1, a + cells + 2, a + 1] for a in corner]
    with UsdWriter(folder / "sheet.usda") as usd:
        usd.mesh("sheet", points, quads)
    return folder / "sheet.usda"


def test_free_fall(example, run, no_picture, tmp_path):
    """Before it touches anything the sheet falls as g t^2 / 2, less the damping, and stays flat."""
    result = run("--mesh", small_sheet(tmp_path), "--seconds", 0.1)
    start = example.BALL[1] + example.RADIUS + example.ABOVE
    fallen = start - result.points[:, 1]
    assert np.ptp(fallen) < 1e-4
    np.testing.assert_allclose(fallen.mean(), 0.5 * 9.81 * 0.1**2, rtol=0.04)
    np.testing.assert_allclose(result.velocities[:, 1].mean(), -9.81 * 0.1, rtol=0.04)


def test_the_default_cloth_falls_drapes_and_is_written(example, run, tmp_path):
    """Half a second: past the impact. The stage has every frame."""
    result = run("--seconds", 0.5, "--substeps", 30)
    example.check(result)
    assert len(result.strain) == 31 and result.points[:, 1].min() < 0.2
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    cloth = UsdGeom.Mesh.Get(stage, "/World/cloth")
    assert cloth.GetPointsAttr().GetTimeSamples() == list(range(31))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 30.0)
    np.testing.assert_array_equal(np.array(cloth.GetPointsAttr().Get(30)), result.points)
    assert stage.GetPrimAtPath("/World/ball") and stage.GetPrimAtPath("/World/ground")
    picture = imread(tmp_path / "out.png")
    red = (picture[..., 0] > 1.5 * picture[..., 1]) & (picture[..., 0] > 1.5 * picture[..., 2])
    assert red.mean() > 0.05


def test_the_validators_of_usd_find_nothing(run, no_picture, tmp_path):
    validation = pytest.importorskip("pxr.UsdValidation")
    run("--mesh", small_sheet(tmp_path), "--seconds", 0.1, "--substeps", 2)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    context = validation.ValidationContext(validation.ValidationRegistry().GetOrLoadAllValidators())
    assert [error.GetMessage() for error in context.Validate(stage)] == []


def test_the_same_bits_twice(run, no_picture, tmp_path):
    options = ("--mesh", small_sheet(tmp_path), "--seconds", 0.3, "--substeps", 10)
    first, second = (run(*options) for _ in range(2))
    assert first.points.tobytes() == second.points.tobytes()
    assert first.velocities.tobytes() == second.velocities.tobytes()


def test_more_iterations_stretch_less(run, no_picture, tmp_path):
    options = ("--mesh", small_sheet(tmp_path), "--seconds", 0.4, "--substeps", 3)
    one, many = run(*options), run(*options, "--iterations", 8)
    assert many.strain[:, 1].max() < 0.7 * one.strain[:, 1].max()


@pytest.mark.parametrize("name", ["bunny", "bear", "rocks"])
def test_meshes_of_other_tools_fall_too(example, run, no_picture, name):
    mesh = DATA / f"{name}.usd"
    if not mesh.exists():
        pytest.skip("the shared sample files are not on this machine")
    result = run("--mesh", mesh, "--seconds", 0.4, "--substeps", 20)
    assert np.isfinite(result.points).all()
    assert result.gap.min() >= 0.0
    if name != "rocks":  # its slivers are shorter than a millimetre, so their strain says little
        example.check(result)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": np.array([[np.nan, 1.0, 0.0]])}, "not finite"),
        ({"velocities": np.array([[np.inf, 1.0, 0.0]])}, "not finite"),
        ({"gap": np.array([0.1, -0.01])}, "0.01 m inside of the ball or the floor"),
        ({"strain": np.array([[2.0, 0.0], [0.0, 0.0]])}, "an edge was strained by 200%"),
        ({"strain": np.array([[0.1, 0.05], [0.0, 0.0]])}, "the mean strain reached 5.0%"),
    ],
)
def test_the_check_catches(example, changes, message):
    point = np.array([[0.0, 1.0, 0.0]])
    good = {"points": point, "velocities": 0.0 * point, "strain": np.zeros((2, 2)), "gap": np.zeros(2)}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **changes}))


def test_the_nearest_of_ball_and_floor_counts(example):
    assert example.clearance(np.array([[0.0, 0.6, 0.0], [3.0, 0.2, 0.0]])) == pytest.approx(0.1)
    assert example.clearance(np.array([[0.0, 0.4, 0.0], [3.0, 0.2, 0.0]])) == pytest.approx(-0.1)
    assert example.clearance(np.array([[3.0, -0.2, 0.0]])) == pytest.approx(-0.2)


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        run("--mesh", tmp_path / "missing.usd")
    with pytest.raises(UsdError, match="its meshes are: /World/sheet"):
        run("--mesh", small_sheet(tmp_path), "--prim", "/nothing")
    with pytest.raises(SystemExit):
        run("--substeps", 0)
    assert "is not above 0" in capsys.readouterr().err
