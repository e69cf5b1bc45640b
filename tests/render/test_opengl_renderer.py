"""`OpenGLRenderer`: what pictures show where, against projections by hand; what it refuses."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, DeviceError, LaunchError
from warpsim.plot.turned import arrow_outline, capsule_outline, cone_outline, cylinder_outline, revolve

pytestmark = pytest.mark.cpu(reason="pictures are drawn on the CPU")

UPRIGHT = (0.0, 0.0, 0.0, 1.0)
WIDE, HIGH = 40, 30
LOOK = {"screen_width": WIDE, "screen_height": HIGH, "camera_pos": (0.0, 0.0, 5.0), "headless": True}


def depth_of(renderer):
    target = wp.zeros((HIGH, WIDE, 1), dtype=float, device="cpu")
    assert renderer.get_pixels(target, split_up_tiles=False, mode="depth")
    return target.numpy()[:, :, 0]


def pixel(point):
    """Row and column in which the camera of `LOOK` sees a point."""
    slope = 0.5 * HIGH / np.tan(np.radians(22.5)) / (5.0 - point[2])
    return int(0.5 * HIGH - slope * point[1]), int(0.5 * WIDE + slope * point[0])


def test_colors_stand_where_things_are_and_pictures_come_in_bytes_too():
    renderer = wp.render.OpenGLRenderer(**LOOK)
    renderer.begin_frame(0.0)
    renderer.render_sphere("red", (-1.0, 0.5, 0.0), wp.quat_identity(), 0.4, color=(1.0, 0.0, 0.0))
    renderer.render_box("green", (1.0, -0.5, 0.0), UPRIGHT, (0.3, 0.3, 0.3), color=(0.0, 1.0, 0.0))
    renderer.end_frame()
    image = wp.zeros((HIGH, WIDE, 3), dtype=float, device="cpu")
    assert renderer.get_pixels(image, split_up_tiles=False)
    colors = image.numpy()
    for color, at in ((0, (-1.0, 0.5, 0.0)), (1, (1.0, -0.5, 0.0))):
        seen = colors[pixel(at)]
        assert seen[color] > 0.3 and np.delete(seen, color).max() < 0.05
    assert np.ptp(colors[0, 0]) < 0.1 and colors[0, 0].min() > 0.8  # the backdrop
    coarse = wp.zeros((HIGH, WIDE, 3), dtype=wp.uint8, device="cpu")
    renderer.get_pixels(coarse, split_up_tiles=False, use_uint8=True)
    assert np.abs(coarse.numpy() / 255.0 - colors).max() < 0.01


def test_depths_of_things_that_move_hide_and_hang_on_bodies():
    renderer = wp.render.OpenGLRenderer(**LOOK, scaling=2.0, far_plane=50.0)
    assert (depth_of(renderer) == 50.0).all()
    number = renderer.render_sphere("ball", (0.0, 0.0, 0.0), UPRIGHT, 0.25)
    assert depth_of(renderer)[HIGH // 2, WIDE // 2] == pytest.approx(4.5, abs=0.05)
    assert renderer.render_sphere("ball", (0.0, 0.0, 0.5), UPRIGHT, 0.25) == number
    assert depth_of(renderer)[HIGH // 2, WIDE // 2] == pytest.approx(3.5, abs=0.05)
    assert renderer.update_shape_instance("ball", visible=False)
    assert (depth_of(renderer) == 50.0).all()
    renderer.render_box("lid", (0.0, 0.0, 0.0), UPRIGHT, (0.2, 0.2, 0.1), parent_body="arm")
    tf = wp.array([wp.transform((0.5, 0.25, 0.0), wp.quat_identity())], dtype=wp.transform, device="cpu")
    renderer.update_body_transforms(tf)
    there = depth_of(renderer)
    assert there[pixel((1.0, 0.5, 0.0))] == pytest.approx(4.8, abs=0.01)
    assert there[HIGH // 2, WIDE // 2] == 50.0 and not renderer.update_shape_instance("nothing", visible=True)
    renderer.remove_shape_instance("lid")
    assert (depth_of(renderer) == 50.0).all()


@pytest.mark.parametrize(("axis", "along"), [("X", (1, 0, 0)), ("Y", (0, 1, 0)), ("Z", (0, 0, 1))])
def test_the_up_axis_is_up_in_the_picture(axis, along):
    renderer = wp.render.OpenGLRenderer(**LOOK, up_axis=axis)
    renderer.render_points("above", np.array(along, float)[None], 0.3)
    assert np.argwhere(depth_of(renderer) < 50).mean(0) == pytest.approx(pixel((0.0, 1.0, 0.0)), abs=1.0)


def test_meshes_keep_their_faces_and_templates_are_copied():
    renderer = wp.render.OpenGLRenderer(**LOOK)
    square = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], float)
    renderer.render_mesh("sheet", square, wp.array([0, 1, 2, 0, 2, 3], dtype=int, device="cpu"), colors=(1, 0, 0))
    renderer.render_mesh("sheet", square + np.array([0.0, 0.0, 1.0]), ())  # faces as before
    assert depth_of(renderer)[HIGH // 2, WIDE // 2] == pytest.approx(4.0, abs=1e-4)
    renderer.clear()
    renderer.render_mesh("tile", square, [0, 1, 2, 0, 2, 3], is_template=True)
    assert (depth_of(renderer) == 100.0).all()
    renderer.render_ref("left", "tile", (-1.0, 0.0, 0.0), UPRIGHT, (0.2, 0.2, 0.2))
    renderer.render_ref("right", "tile", (1.0, 0.0, 0.0), UPRIGHT, (0.2, 0.2, 0.2), color=(0, 0, 1))
    there = depth_of(renderer)
    assert there[pixel((-1, 0, 0))] == there[pixel((1, 0, 0))] == pytest.approx(5.0, abs=1e-4)
    assert there[HIGH // 2, WIDE // 2] == 100.0
    with pytest.raises(ArgumentTypeError, match="'tail' was not drawn with is_template"):
        renderer.render_ref("x", "tail", (0, 0, 0), UPRIGHT, (1, 1, 1))


def test_lines_planes_grounds_and_a_camera_that_turns():
    renderer = wp.render.OpenGLRenderer(**LOOK)
    renderer.render_line_list("pairs", [(-1, 1, 0), (1, 1, 0), (-1, -1, 0), (1, -1, 0)], [0, 1, 2, 3], radius=0.1)
    renderer.render_line_strip("strip", [(0, -1, 0), (0, 0, 0), (0, 1, 0)], radius=0.1)
    there = depth_of(renderer) < 50
    assert there[pixel((0.5, 1, 0))] and there[pixel((0.5, -1, 0))] and there[pixel((0, 0.5, 0))]
    assert not there[pixel((0.5, 0, 0))]
    renderer.update_view_matrix(cam_front=(0.0, 0.0, 1.0))
    assert not (depth_of(renderer) < 50).any()
    renderer.render_plane("wall", (0, 0, 8), wp.quat_from_axis_angle(wp.vec3(1, 0, 0), 1.5707963), 4.0, 4.0)
    assert depth_of(renderer)[HIGH // 2, WIDE // 2] == pytest.approx(3.0, abs=1e-4)
    renderer.render_ground(plane=(0.0, 1.0, 0.0, 0.5))
    with pytest.raises(ArgumentTypeError, match="is tilted"):
        renderer.render_ground(plane=(1.0, 1.0, 0.0, 0.0))
    assert renderer.is_running()
    renderer.close()
    assert not renderer.is_running()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(
    "outline",
    [cylinder_outline(0.5, 1.0), cone_outline(0.5, 1.0), capsule_outline(0.5, 1.0), arrow_outline(0.1, 1.0, 0.2, 0.4)],
    ids=["cylinder", "cone", "capsule", "arrow"],
)
def test_turned_solids_are_closed_and_enclose_what_their_outlines_say(axis, outline):
    """Volume by the divergence theorem against the sum of frustums; its axis is the longest extent."""
    solid = revolve(outline, axis, sides=64)
    a, b, c = (solid.points[solid.triangles[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    r, h = np.array(outline).T
    exact = np.pi / 3.0 * np.sum((h[:-1] - h[1:]) * (r[:-1] ** 2 + r[:-1] * r[1:] + r[1:] ** 2))
    assert volume == pytest.approx(exact, rel=0.01)
    assert np.argmax(np.ptp(solid.points, axis=0)) == axis


def test_refusals():
    with pytest.raises(DeviceError, match="no window"):
        wp.render.OpenGLRenderer(headless=False)
    with pytest.raises(ArgumentTypeError, match="up_axis is 'W'"):
        wp.render.OpenGLRenderer(up_axis="W")
    renderer = wp.render.OpenGLRenderer(**LOOK)
    target = wp.zeros((HIGH, WIDE, 3), dtype=float, device="cpu")
    with pytest.raises(LaunchError, match="splits no tiles up"):
        renderer.get_pixels(target)
    with pytest.raises(ArgumentTypeError, match=r"of float32, shape \(30, 40, 3\)\nexpected: an array of uint8"):
        renderer.get_pixels(target, split_up_tiles=False, use_uint8=True)
    with pytest.raises(ArgumentTypeError, match="mode is 'normals'"):
        renderer.get_pixels(target, split_up_tiles=False, mode="normals")
    with pytest.raises(ArgumentTypeError, match=r"pos has shape \(2,\)"):
        renderer.render_sphere("ball", (0, 0), UPRIGHT, 1.0)
