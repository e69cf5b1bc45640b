"""The garment: a closed tube that stays on the mannequin and outside of it; refusals."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from warpsim.solvers.scene import cloth

EXAMPLE = "garment"


def test_a_coarse_garment_stays_on(example, run, tmp_path):
    result = run("--sides", 30, "--seconds", 2.4, "--substeps", 10)
    example.check(result)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    form = UsdGeom.Mesh.Get(stage, "/World/mannequin").GetPointsAttr()
    moved = np.array(form.Get(30)) - np.array(form.Get(0))
    assert np.ptp(moved, axis=0).max() < 1e-5 and abs(moved[0, 0]) > 0.02
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_a_revolved_profile_is_a_tube(example):
    points, triangles = example.revolve(np.array([[1.0, 2.0], [1.0, 0.0]]), 200)
    assert cloth.areas(points, triangles).sum() == pytest.approx(4.0 * np.pi, rel=1e-3)
    assert len(cloth.hinges(triangles)) == len(cloth.edges(triangles)) - 400  # all but those of both rims


def test_the_profile_leaves_the_shoulders_free(example):
    radius, height = example.profile(60).T
    np.testing.assert_allclose(np.hypot(*np.diff([radius, height])), np.hypot(*np.diff([radius, height]))[0], rtol=0.01)
    away = np.hypot(radius, np.maximum(height - example.HALF, 0.0))
    assert away.min() > example.RADIUS + example.THICKNESS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gap": np.array([0.1, -0.01])}, "0.01 m inside"),
        ({"neck": np.array([0.4, 0.2])}, "slid off"),
        ({"hem": np.array([0.3, 0.3])}, "never came farther"),
        ({"strain": np.array([0.1, -0.1])}, "mean strain 10.0%"),
    ],
)
def test_the_check_catches(example, changes, message):
    good = {"gap": np.zeros(2), "neck": np.array([0.4, 0.4]), "hem": np.array([0.3, 0.4]), "strain": np.zeros(2)}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **changes}))


def test_wrong_options_are_refused(run, capsys):
    with pytest.raises(SystemExit):
        run("--sides", 4)
    assert "is not above" in capsys.readouterr().err
