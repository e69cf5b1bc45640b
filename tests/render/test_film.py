"""Films: their frames, moments and files, and what an error leaves."""


import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

from warpsim.plot import Curves, Surface, box
from warpsim.render import Film, film
from warpsim.usd import UsdError

TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def shoot(folder, **options):
    """Times of the frames of a triangle that rises by 1 m/s."""
    times = []
    with Film(folder / "f.usdc", folder / "f.png", **options) as made:
        made.stand("box", box((2.0, 0.0, 0.0), (3.0, 1.0, 1.0)))
        for t in made.frames():
            times.append(t)
            risen = Surface(TRIANGLE + np.array([0.0, t, 0.0]), [[0, 1, 2]])
            made.show("rising", risen, np.tile([0.0, 1.0, 0.0], (3, 1)))
    return times


def test_every_frame_is_in_the_animation(tmp_path):
    times = shoot(tmp_path, seconds=0.5, fps=20)
    np.testing.assert_allclose(times, np.arange(11) / 20)
    stage = Usd.Stage.Open(str(tmp_path / "f.usdc"))
    rising = UsdGeom.Mesh.Get(stage, "/World/rising")
    heights = [rising.GetPointsAttr().Get(k)[0][1] for k in range(11)]
    np.testing.assert_allclose(heights, times, atol=1e-7)
    np.testing.assert_allclose(rising.GetVelocitiesAttr().Get(3), np.tile([0.0, 1.0, 0.0], (3, 1)))
    assert UsdGeom.Mesh.Get(stage, "/World/box").GetPointsAttr().GetTimeSamples() == []
    assert stage.GetTimeCodesPerSecond() == 20 and stage.GetEndTimeCode() == 10


def test_a_picture_has_a_panel_for_each_moment(tmp_path, monkeypatch):
    seen = {}
    draw = film.render_meshes
    monkeypatch.setattr(
        film, "render_meshes", lambda path, views, **o: (seen.update(o, views=views), draw(path, views))
    )
    shoot(tmp_path, seconds=1.0, fps=10, moments=(0.0, 0.5, 1.0), azimuth=5.0)
    assert seen["captions"] == ["t = 0.00 s", "t = 0.50 s", "t = 1.00 s"] and seen["azimuth"] == 5.0
    np.testing.assert_allclose([view[1].points[0, 1] for view in seen["views"]], [0.0, 0.5, 1.0])
    assert all(len(view) == 2 for view in seen["views"])
    assert imread(tmp_path / "f.png").shape[1] == 3 * 480


def test_colors_of_points_are_kept(tmp_path):
    colors = np.eye(3)
    with Film(tmp_path / "c.usda", tmp_path / "c.png", seconds=0.1, ground=None) as made:
        for _ in made.frames():
            made.show("colored", Surface(TRIANGLE, [[0, 1, 2]], colors))
    stage = Usd.Stage.Open(str(tmp_path / "c.usda"))
    assert not stage.GetPrimAtPath("/World/ground")
    np.testing.assert_array_equal(UsdGeom.Mesh.Get(stage, "/World/colored").GetDisplayColorAttr().Get(0), colors)


@pytest.mark.parametrize("length", [{"seconds": 1e300}, {"seconds": 1.0, "fps": 1e30}, {"seconds": float("nan")}])
def test_films_that_would_never_end(tmp_path, length):
    with pytest.raises(UsdError, match="frames a second, expected 0 to 1000000 frames"):
        Film(tmp_path / "f.usdc", tmp_path / "f.png", **length)
    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_no_file(tmp_path):
    with pytest.raises(RuntimeError, match="stop"), Film(tmp_path / "f.usdc", tmp_path / "f.png", seconds=1.0) as made:
        for _ in made.frames():
            raise RuntimeError("stop")
    assert list(tmp_path.iterdir()) == []


def test_one_panel_may_have_all_moments_and_charts_beside(tmp_path, monkeypatch):
    seen = {}
    draw = film.mesh_images
    monkeypatch.setattr(film, "mesh_images", lambda views, **o: seen.update(views=views) or draw(views, **o))
    shoot(tmp_path, seconds=1.0, fps=10, moments=(0.0, 1.0), together=True, charts=[Curves([1.0, 2.0])])
    [view] = seen["views"]
    assert len(view) == 3, "the box once, the triangle twice"
    assert imread(tmp_path / "f.png").shape[1] == 480 + round(0.9 * 440)


def test_a_film_along_a_path_without_a_picture(tmp_path):
    path, scene = np.arange(21), {"box": box((2.0, 0.0, 0.0), (3.0, 1.0, 1.0))}
    with Film(tmp_path / "f.usdc", None, seconds=1.0, fps=10, standing=scene) as made:
        rows = list(made.along(path))
    assert rows == list(range(0, 21, 2)) and [p.name for p in tmp_path.iterdir()] == ["f.usdc"]
    stage = Usd.Stage.Open(str(tmp_path / "f.usdc"))
    assert stage.GetPrimAtPath("/World/box") and stage.GetRootLayer().customLayerData["version"]
