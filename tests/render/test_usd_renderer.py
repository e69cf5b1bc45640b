"""`UsdRenderer`: what stages hold after scripts drew into them."""

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom

import warpsim as wp
from warpsim.errors import ArgumentTypeError

HERE, UPRIGHT = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)


def opened(path):
    stage = Usd.Stage.Open(str(path))
    return stage, lambda name: stage.GetPrimAtPath(f"/root/{name}")


def test_a_script_of_a_few_frames(tmp_path):
    renderer = wp.render.UsdRenderer(str(tmp_path / "a.usd"), fps=30, scaling=2.0)
    renderer.render_ground(size=4.0)
    points = wp.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=wp.vec3)
    for k in range(3):
        renderer.begin_frame(k / 30.0)
        points.assign(points.numpy() + 1.0)
        renderer.render_mesh("cloth", points, wp.array([0, 1, 2], dtype=int), colors=(1, 0, 0))
        renderer.render_points("grains", points.numpy(), radius=0.25, colors=np.eye(3))
        renderer.render_sphere("ball", (k, 0, 0), wp.quat(0, 0, 0, 1), 0.5, color=(0, 1, 0))
        renderer.end_frame()
    assert renderer.save()
    stage, at = opened(tmp_path / "a.usd")
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetFramesPerSecond()) == (0, 2, 30)
    cloth, grains = UsdGeom.Mesh(at("cloth")), UsdGeom.Points(at("grains"))
    assert cloth.GetPointsAttr().GetTimeSamples() == [0, 1, 2]
    assert list(cloth.GetFaceVertexIndicesAttr().Get()) == [0, 1, 2]
    np.testing.assert_array_equal(cloth.GetPointsAttr().Get(2)[1], [8, 6, 6])
    assert list(grains.GetWidthsAttr().Get(1)) == [1, 1, 1] and len(grains.GetDisplayColorAttr().Get(0)) == 3
    ball = UsdGeom.Sphere(at("ball"))
    place = ball.ComputeLocalToWorldTransform(2).ExtractTranslation()
    assert ball.GetRadiusAttr().Get(0) == 1 and place == Gf.Vec3d(4, 0, 0)
    ground = np.array(UsdGeom.Mesh(at("ground")).GetPointsAttr().Get())
    assert (ground[:, 1] == 0).all() and np.ptp(ground[:, 0]) == np.ptp(ground[:, 2]) == 8


def test_frames_are_at_whole_time_codes(tmp_path):
    renderer, seconds = wp.render.UsdRenderer(str(tmp_path / "a.usda"), fps=60), 0.0
    for _ in range(50):
        renderer.begin_frame(seconds)
        renderer.render_sphere("ball", (seconds, 0, 0), UPRIGHT, 0.5)
        renderer.end_frame()
        seconds += 1.0 / 60.0
    assert any(60.0 * sum([1.0 / 60.0] * k) != k for k in range(50)), "no rounding error to take away"
    ball = UsdGeom.Sphere(renderer.stage.GetPrimAtPath("/root/ball"))
    assert UsdGeom.Xformable(ball).GetTimeSamples() == list(range(50))


@pytest.mark.parametrize(("kind", "half"), [("capsule", 0.5), ("cylinder", 0.5), ("cone", 0.5)])
@pytest.mark.parametrize("axis", range(3))
def test_round_shapes_lie_along_their_axis(tmp_path, kind, half, axis):
    renderer = wp.render.UsdRenderer(Usd.Stage.CreateInMemory(), up_axis="Z")
    path = getattr(renderer, f"render_{kind}")("body", (1, 2, 3), UPRIGHT, 0.25, half, up_axis=axis)
    prim = renderer.stage.GetPrimAtPath(path)
    shape = UsdGeom.Boundable(prim)
    low, high = np.array(UsdGeom.Boundable.ComputeExtentFromPlugins(shape, Usd.TimeCode.Default()))
    size = np.full(3, 0.5)
    size[axis] = 2 * half + (0.5 if kind == "capsule" else 0.0)
    np.testing.assert_allclose(high - low, size)
    assert UsdGeom.GetStageUpAxis(renderer.stage) == "Z"


def test_boxes_lines_arrows_planes_and_references(tmp_path):
    other = wp.render.UsdRenderer(str(tmp_path / "other.usda"))
    other.render_sphere("inner", HERE, UPRIGHT, 1.0)
    other.save()
    renderer = wp.render.UsdRenderer(str(tmp_path / "b.usda"))
    renderer.begin_frame(0.0)
    box = renderer.render_box("a box", (1, 0, 0), (0, 0, np.sqrt(0.5), np.sqrt(0.5)), (1, 2, 3))
    renderer.render_line_list("lines", np.eye(3), [0, 1, 1, 2], radius=0.1)
    renderer.render_line_strip("strip", np.eye(3))
    renderer.render_arrow("arrow", HERE, UPRIGHT, 0.1, 1.0)
    renderer.render_plane("plane", HERE, UPRIGHT, 2.0, 0.0, visible=False)
    renderer.render_ref("copy", str(tmp_path / "other.usda"), HERE, UPRIGHT, (2, 2, 2))
    stage = renderer.stage
    bounds = UsdGeom.BBoxCache(0, ["default"]).ComputeWorldBound(stage.GetPrimAtPath(box)).ComputeAlignedRange()
    np.testing.assert_allclose(np.array(bounds.GetSize()), [4, 2, 6], atol=1e-5)  # turned by a quarter about z
    curves = UsdGeom.BasisCurves(stage.GetPrimAtPath("/root/lines"))
    assert list(curves.GetCurveVertexCountsAttr().Get(0)) == [2, 2] and len(curves.GetPointsAttr().Get(0)) == 4
    assert list(UsdGeom.BasisCurves(stage.GetPrimAtPath("/root/strip")).GetCurveVertexCountsAttr().Get(0)) == [3]
    assert UsdGeom.Cone(stage.GetPrimAtPath("/root/arrow/cap")).GetHeightAttr().Get(0) == 0.5
    assert UsdGeom.Imageable(stage.GetPrimAtPath("/root/plane")).ComputeVisibility(0) == "invisible"
    assert stage.GetPrimAtPath("/root/copy/inner").IsA(UsdGeom.Sphere)


def test_bodies_carry_shapes_and_templates_repeat_them():
    renderer = wp.render.UsdRenderer(Usd.Stage.CreateInMemory())
    shape = renderer.render_box("unit", HERE, UPRIGHT, (1, 1, 1), is_template=True)
    for k in range(2):
        renderer.register_body(f"body {k}")
        renderer.add_shape_instance("shape", shape, f"body {k}", (0, 1, 0), UPRIGHT)
    renderer.begin_frame(1.0)
    renderer.update_body_transforms(wp.array([[k, 0, 0, 0, 0, 0, 1] for k in range(2)], dtype=wp.transform))
    for k in range(2):
        prim = renderer.stage.GetPrimAtPath(f"/root/body_{k}/shape")
        moved = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(60).ExtractTranslation()
        assert moved == Gf.Vec3d(k, 1, 0) and prim.GetTypeName() in ("Xform", "Cube")
    assert renderer.stage.GetPrimAtPath(shape).IsAbstract()


def test_what_fits_no_picture_is_refused():
    renderer = wp.render.UsdRenderer(Usd.Stage.CreateInMemory())
    with pytest.raises(ArgumentTypeError, match="points has shape"):
        renderer.render_points("p", np.zeros((4, 2)), 1.0)
    with pytest.raises(ArgumentTypeError, match="rot has shape"):
        renderer.render_sphere("s", HERE, (0.0, 0.0, 1.0), 1.0)
    with pytest.raises(ArgumentTypeError, match="up_axis is 'W'"):
        wp.render.UsdRenderer(Usd.Stage.CreateInMemory(), up_axis="W")
