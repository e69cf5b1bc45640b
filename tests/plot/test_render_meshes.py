"""Pictures looked at by their pixels: what is where, what is in shadow, and what is refused."""

import io

import matplotlib.image
import numpy as np
import pytest

from warpsim.plot import Balls, PlotError, Surface, mesh_images, render_meshes, sphere

PANEL = (160, 120)
RED, BLUE = (0.8, 0.02, 0.02), (0.02, 0.02, 0.8)


def render(tmp_path, frames, **options):
    path = render_meshes(tmp_path / "picture.png", frames, panel=PANEL, **options)
    return matplotlib.image.imread(path)[:, :, :3]


def reddish(image):
    return (image[..., 0] > 2.0 * image[..., 1]) & (image[..., 0] > 2.0 * image[..., 2])


def bluish(image):
    return (image[..., 2] > 2.0 * image[..., 0]) & (image[..., 2] > 2.0 * image[..., 1])


def square(height, half=1.0, color=RED):
    points = half * np.array([[-1, 0, 1], [1, 0, 1], [1, 0, -1], [-1, 0, -1]]) + [0, height, 0]
    return Surface(points, np.array([[0, 1, 2], [0, 2, 3]]), color)


def test_a_ball_is_a_disc(tmp_path):
    image = render(tmp_path, [[sphere((0, 1, 0), 1.0, RED)]], ground=None)
    assert image.shape == (PANEL[1], PANEL[0], 3)
    rows, columns = np.nonzero(reddish(image))
    width, height = np.ptp(columns) + 1, np.ptp(rows) + 1
    assert abs(width - height) <= 2
    assert abs(len(rows) / (np.pi / 4 * width * height) - 1.0) < 0.03
    assert not reddish(image)[0].any() and not reddish(image)[:, 0].any()


def test_balls_and_surfaces_of_balls_look_alike(tmp_path):
    one = render(tmp_path, [[Balls([[0, 1, 0], [0, 1, 3]], [1.0, 0.5], [RED, BLUE]), square(0.5, 6.0)]])
    other = render(tmp_path, [[sphere((0, 1, 0), 1.0, RED), sphere((0, 1, 3), 0.5, BLUE), square(0.5, 6.0)]])
    assert bluish(one).any() and np.abs(one - other).mean() < 3e-3


@pytest.mark.parametrize("nothing", [Balls(np.zeros((0, 3)), 1.0), Balls([[0, 0, 0]], 0.0)])
def test_balls_of_no_size_are_not_seen(tmp_path, nothing):
    scene = [sphere((0, 1, 0), 1.0, RED)]
    np.testing.assert_array_equal(render(tmp_path, [[*scene, nothing]]), render(tmp_path, [scene]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((2, 2)), 1.0), r"Balls centers: found shape \(2, 2\), expected \(n, 3\)"),
        ((np.zeros((2, 3)), np.ones(3)), r"Balls radii: found shape \(3,\), expected a number or \(2,\)"),
        ((np.zeros((2, 3)), [1.0, -1.0]), "number 1 has the centre .* and the radius -1, expected"),
        (([[0, 0, np.nan]], 1.0), "number 0 has the centre"),
        ((np.zeros((2, 3)), 1.0, (1, 0)), r"Balls color: found shape \(2,\), expected \(3,\) or \(2, 3\)"),
    ],
)
def test_wrong_balls(arguments, message):
    with pytest.raises(PlotError, match=message):
        Balls(*arguments)


def test_the_nearer_surface_hides_the_farther(tmp_path):
    front, back = sphere((0, 0, 1), 0.5, RED), sphere((0, 0, -1), 0.45, BLUE)
    for order in ([front, back], [back, front]):
        image = render(tmp_path, [order], azimuth=0.0, elevation=0.0, ground=None)
        assert reddish(image).any() and not bluish(image).any()


def test_surfaces_may_cut_each_other(tmp_path):
    """Of a ball through a sheet, seen from elevation e, the share (1 + sin e) / 2 is left."""
    sheet, ball = square(0.0, 2.0, BLUE), sphere((0, 0, 0), 1.0, RED)
    no_sheet = Surface(sheet.points, np.zeros((0, 3), int), BLUE)
    cut = render(tmp_path, [[sheet, ball]], elevation=20.0, ground=None)
    whole = render(tmp_path, [[no_sheet, ball]], elevation=20.0, ground=None)
    assert bluish(cut).any() and not bluish(whole).any()
    share = reddish(cut).sum() / reddish(whole).sum()
    assert abs(share - 0.5 * (1.0 + np.sin(np.radians(20.0)))) < 0.04


def test_the_floor_hides_what_is_under_it(tmp_path):
    scene = [square(1.0, 1.0, BLUE), sphere((0, -3, 0), 1.0, RED)]
    assert not reddish(render(tmp_path, [scene], ground=0.0, elevation=40.0)).any()
    assert reddish(render(tmp_path, [scene], ground=None, elevation=40.0)).any()


def test_shadows_fall_on_the_floor(tmp_path):
    """The darkest grey pixel of the floor is clearly darker than with the sheet lying on it."""
    floating = render(tmp_path, [[square(1.5), sphere((0, 0.05, 0), 0.05, RED)]], ground=0.0)
    grey = floating[(np.ptp(floating, axis=2) < 0.04)]
    lit, dark = np.quantile(grey, 0.5), np.quantile(grey, 0.02)
    assert dark < 0.75 * lit


def test_both_sides_are_drawn_and_lit_alike(tmp_path):
    up = square(1.0)
    down = Surface(up.points, up.triangles[:, ::-1], RED)
    one = render(tmp_path, [[up]], ground=None)
    other = render(tmp_path, [[down]], ground=None)
    np.testing.assert_allclose(one, other, atol=1.0 / 255.0)


def test_colors_per_point_blend(tmp_path):
    surface = square(0.0, color=[RED, RED, BLUE, BLUE])
    image = render(tmp_path, [[surface]], azimuth=0.0, elevation=80.0, ground=None)
    assert reddish(image)[PANEL[1] // 2 :].any() and not bluish(image)[PANEL[1] // 2 :].any()
    assert bluish(image)[: PANEL[1] // 2].any() and not reddish(image)[: PANEL[1] // 2].any()


@pytest.mark.parametrize("axis", ["Y", "Z"])
def test_up_is_up(tmp_path, axis):
    up = np.array([0, 1, 0]) if axis == "Y" else np.array([0, 0, 1])
    scene = [sphere(2 * up, 0.5, RED), sphere(0 * up, 0.5, BLUE)]
    image = render(tmp_path, [scene], up_axis=axis, ground=None)
    assert np.nonzero(reddish(image))[0].max() < np.nonzero(bluish(image))[0].min()


def test_panels_share_one_camera(tmp_path):
    frames = [[sphere((0, 1, 0), 0.5, RED)], [sphere((0, 3, 0), 0.5, RED)]]
    image = render(tmp_path, frames, captions=["low", "high"])
    left, right = image[:, : PANEL[0]], image[:, PANEL[0] :]
    assert image.shape == (PANEL[1], 2 * PANEL[0], 3)
    assert np.nonzero(reddish(right))[0].max() < np.nonzero(reddish(left))[0].min()
    stacked = render(tmp_path, frames, columns=1)
    assert stacked.shape == (2 * PANEL[1], PANEL[0], 3)


def test_images_are_the_panels_of_the_picture(tmp_path):
    views = [[sphere((0, 1, 0), 1.0, RED)], [square(0.5, 1.0, BLUE)]]
    images = mesh_images(views, panel=PANEL, azimuth=10.0)
    picture = render(tmp_path, views, azimuth=10.0)
    assert [image.shape for image in images] == [(PANEL[1], PANEL[0], 3)] * 2
    assert abs(np.concatenate(images, axis=1) - picture).max() < 1.5 / 255.0


def test_captions_are_written(tmp_path):
    scene = [[sphere((0, 0, 0), 1.0, RED)]]
    plain = render(tmp_path, scene)
    named = render(tmp_path, scene, captions=["t = 1 s"])
    changed = np.abs(plain - named).max(axis=2) > 0.1
    rows, columns = np.nonzero(changed)
    assert len(rows) > 20 and rows.max() < PANEL[1] // 3 and columns.max() < PANEL[0] * 2 // 3


def test_same_input_same_bytes(tmp_path):
    scene = [[sphere((0, 1, 0), 0.5), square(2.0)]]
    first = render_meshes(tmp_path / "a.png", scene, panel=PANEL).read_bytes()
    second = render_meshes(tmp_path / "b.png", scene, panel=PANEL).read_bytes()
    assert first == second and matplotlib.image.imread(io.BytesIO(first)).ndim == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.png"]


def test_pyplot_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    render(tmp_path, [[square(1.0)]])


TRIANGLE = np.array([[0, 1, 2]])
POINTS = np.eye(3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((POINTS[:, :2], TRIANGLE), r"found shape \(3, 2\), expected \(n, 3\)"),
        ((POINTS[:0], TRIANGLE[:0]), "with n > 0"),
        ((POINTS * np.nan, TRIANGLE), "row 0 is .*expected finite numbers"),
        ((POINTS, TRIANGLE.astype(float)), "found float64 of shape"),
        ((POINTS, TRIANGLE + 1), "indices run from 1 to 3, expected 0 to 2"),
        ((POINTS, TRIANGLE, (1, 0)), r"found shape \(2,\), expected \(3,\) or \(3, 3\)"),
        ((POINTS, TRIANGLE, (255, 0, 0)), r"expected linear RGB in \[0, 1\]"),
    ],
)
def test_wrong_surfaces(arguments, message):
    with pytest.raises(PlotError, match=message):
        Surface(*arguments)


@pytest.mark.parametrize(
    ("name", "frames", "options", "error", "message"),
    [
        ("x.jpg", [[square(0)]], {}, PlotError, r"extension '\.jpg', expected \.png"),
        ("no/x.png", [[square(0)]], {}, FileNotFoundError, "does not exist; make it first"),
        ("x.png", [], {}, PlotError, "found no surface"),
        ("x.png", [[], []], {}, PlotError, "found no surface"),
        ("x.png", [[square(0)]], {"captions": ["a", "b"]}, PlotError, "2 captions, expected 1"),
        ("x.png", [[square(0)]], {"up_axis": "X"}, PlotError, "expected 'Y' or 'Z'"),
        ("x.png", [[square(0)]], {"elevation": 90.0}, PlotError, "expected -85 to 85"),
    ],
)
def test_wrong_pictures(tmp_path, name, frames, options, error, message):
    with pytest.raises(error, match=message):
        render_meshes(tmp_path / name, frames, panel=PANEL, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_panel_without_surfaces_shows_the_floor():
    """A stream that has not begun."""
    empty, full = mesh_images([[], [square(0)]], panel=PANEL)
    assert empty.shape == full.shape
    assert 0.0 < np.abs(full - empty).max()
