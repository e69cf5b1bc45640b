"""A file comes with what a renderer needs: the material of every shape, a camera that sees all of it, lights."""

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdLux, UsdShade

from warpsim.usd import UsdError, UsdWriter

TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), [[0, 1, 2]]


def written(path, axis="Y", ground=True, shift=0.0):
    """Balls that fly away, a stone that turns, a ball, a ground that is larger than all of it."""
    rng = np.random.default_rng(4)
    start, speed = rng.uniform(-1.0, 1.0, (2, 30, 3))
    with UsdWriter(path, fps=50, up_axis=axis) as usd:
        if ground:
            usd.ground(size=500.0)
        for frame in range(21):
            usd.frame()
            usd.points("balls", start + shift + 0.2 * frame * speed, 0.05, color=(0.8, 0.1, 0.1))
            stones = np.array([[shift + 0.1 * frame, 0.0, 0.0]]), np.array([[0.0, 0.0, 0.0, 1.0]])
            usd.instances("stones", [(*TRIANGLE, (0.1, 0.2, 0.3))], *stones, 0.5)
            usd.sphere("tool", (shift, 2.0, 0.0), 0.3)
    return Usd.Stage.Open(str(path))


def corners(stage, frame, name):
    """The corners of the box around a prim at a frame, as the camera's picture has them: -1 to 1 is inside."""
    cache = UsdGeom.BBoxCache(Usd.TimeCode(frame), [UsdGeom.Tokens.default_], useExtentsHint=False)
    box = cache.ComputeWorldBound(stage.GetPrimAtPath(f"/World/{name}")).ComputeAlignedRange()
    frustum = UsdGeom.Camera.Get(stage, "/camera").GetCamera(Usd.TimeCode(frame)).frustum
    seen = frustum.ComputeViewMatrix() * frustum.ComputeProjectionMatrix()
    return np.array([seen.Transform(box.GetCorner(k)) for k in range(8)])


@pytest.mark.parametrize("axis", ["Y", "Z"])
@pytest.mark.parametrize("shift", [0.0, 300.0])
def test_the_camera_sees_everything_in_every_frame(tmp_path, axis, shift):
    stage = written(tmp_path / "all.usdc", axis, shift=shift)
    seen = np.concatenate([corners(stage, k, name) for k in range(0, 21, 5) for name in ("balls", "stones", "tool")])
    assert np.abs(seen).max() < 1.0
    assert np.abs(seen[:, :2]).max() > 0.4, "it is near enough"


def test_the_camera_looks_from_above_and_upright(tmp_path):
    for axis in "YZ":
        stage = written(tmp_path / f"{axis}.usda", axis)
        camera = UsdGeom.Camera.Get(stage, "/camera").GetCamera(0)
        up = np.array(camera.transform.TransformDir(Gf.Vec3d(0, 1, 0)))["XYZ".index(axis)]
        assert up == pytest.approx(np.cos(np.radians(22.0)), abs=1e-6)
        assert camera.frustum.ComputeViewDirection()["XYZ".index(axis)] < -0.3


@pytest.mark.parametrize("frames", [0, 1])
def test_a_file_of_one_moment_has_a_camera(tmp_path, frames):
    with UsdWriter(tmp_path / "still.usda") as usd:
        if frames:
            usd.frame()
        usd.mesh("sheet", *TRIANGLE)
    stage = Usd.Stage.Open(str(tmp_path / "still.usda"))
    assert np.abs(corners(stage, 0, "sheet")).max() < 1.0


def test_what_has_no_extent_needs_no_camera(tmp_path):
    with UsdWriter(tmp_path / "empty.usda") as usd:
        usd.frame()
        usd.points("none", np.zeros((0, 3)), 0.1)
    assert not Usd.Stage.Open(str(tmp_path / "empty.usda")).GetPrimAtPath("/camera")


def test_every_shape_shows_its_color_also_where_the_file_is_referenced(tmp_path):
    written(tmp_path / "all.usda")
    other = Usd.Stage.CreateInMemory()
    other.DefinePrim("/copy").GetReferences().AddReference(str(tmp_path / "all.usda"))
    shapes = [prim for prim in other.Traverse() if prim.IsA(UsdGeom.Gprim)]
    assert {prim.GetName() for prim in shapes} == {"balls", "shape_0", "tool", "ground"}
    for prim in shapes:
        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        surface, _, _ = material.ComputeSurfaceSource()
        assert surface.GetIdAttr().Get() == "UsdPreviewSurface"
        source = surface.GetInput("diffuseColor").GetConnectedSources()[0][0].source
        assert source.GetPrim().GetAttribute("inputs:varname").Get() == "displayColor"
        assert UsdGeom.Gprim(prim).GetDisplayColorAttr().HasAuthoredValue()


def test_sun_and_sky(tmp_path):
    stage = written(tmp_path / "all.usda", "Z")
    sun, sky = UsdLux.DistantLight.Get(stage, "/Lights/sun"), UsdLux.DomeLight.Get(stage, "/Lights/sky")
    ray = UsdGeom.Xformable(sun).GetLocalTransformation().TransformDir(Gf.Vec3d(0, 0, -1))
    assert ray[2] == pytest.approx(-np.sin(np.radians(52.0))) and sky.GetIntensityAttr().Get() > 0.0


def test_rates_are_those_that_were_asked_for(tmp_path):
    stage = written(tmp_path / "all.usda")
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == 50.0


def test_the_name_of_the_materials_is_taken(tmp_path):
    with UsdWriter(tmp_path / "x.usda") as usd:
        with pytest.raises(UsdError, match="/World/Looks: is where the material is; use another name"):
            usd.mesh("Looks", *TRIANGLE)
        usd.mesh("sheet", *TRIANGLE)
