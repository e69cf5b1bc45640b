"""Layers over a stage: points land where they were put, in the world of both stages, and all else shows through."""

import os

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdUtils
from usd_shots import FIRST, LAST, RATE, shot, world_points

from warpsim.usd import UsdError, UsdLayerWriter, read_scene
from warpsim.viewer import Animation

WRITTEN = ("clothes/dress", "figure/body", "dust", "hair", "jelly")
TIMES = [k / RATE for k in range(0, LAST - FIRST + 5, 3)]


def moved(scene, path, seconds):
    """Somewhere else in the world: points [m] and their velocities [m/s]."""
    prim = scene[path]
    start = prim.points if prim.positions is None else prim.positions
    swing = scene.unit * 30.0 * np.stack([np.sin(3.0 * start[:, 0]), np.ones(len(start)), start[:, 2]], axis=1)
    return start + seconds * swing, swing


@pytest.fixture(scope="module", params=[("Z", 0.01, "usda"), ("Y", 1.0, "usdc"), ("Z", 1.0, "usdz")], ids=str)
def layered(request, tmp_path_factory):
    """Paths of an original and of a layer over it in another folder."""
    up, unit, ending = request.param
    folder = tmp_path_factory.mktemp("layered")
    original = shot(folder / "shot.usdc", up, unit)
    if ending == "usdz":
        assert UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(original)), str(folder / "shot.usdz"))
        original = folder / "shot.usdz"
    (folder / "out").mkdir()
    path = folder / "out" / f"sim.{ending.replace('z', 'c')}"
    with read_scene(original) as scene, UsdLayerWriter(path, scene, {"seed": 3}) as layer:
        for seconds in TIMES:
            assert layer.frame(seconds) == pytest.approx(FIRST + seconds * RATE)
            for name in (*WRITTEN, "stones"):
                layer.points(f"/World/{name}", *moved(scene, f"/World/{name}", seconds))
    return original, path


@pytest.mark.parametrize("name", WRITTEN)
def test_points_land_where_they_were_put(layered, name):
    """By pxr's own transforms of the layered stage, also under an animated parent."""
    original, path = layered
    stage = Usd.Stage.Open(str(path))
    with read_scene(original) as scene:
        for seconds in TIMES:
            expected, _ = moved(scene, f"/World/{name}", seconds)
            found = world_points(stage, f"/World/{name}", FIRST + seconds * RATE)
            np.testing.assert_allclose(found, expected, atol=1e-5 * scene.unit * 100)


@pytest.mark.parametrize("number", [float, np.float32], ids=["double", "single"])
def test_time_codes_that_rounding_moves_are_whole(tmp_path, number):
    """So that the viewer, which shows every time code that has a sample, finds none beside those of the original."""
    original = shot(tmp_path / "shot.usdc", "Z", 0.01)
    with read_scene(original) as scene, UsdLayerWriter(tmp_path / "sim.usda", scene) as layer:
        step = number(1.0 / RATE)
        codes = [layer.frame(number(k) * step) for k in range(60)]
        layer.points("/World/dust", *moved(scene, "/World/dust", 0.0))
        assert codes == [FIRST + k for k in range(60)]
        assert layer.frame(60.5 / RATE) == pytest.approx(FIRST + 60.5, abs=1e-9)


def test_copies_move_as_a_whole(layered):
    original, path = layered
    stage = Usd.Stage.Open(str(path))
    with read_scene(original) as scene:
        expected, _ = moved(scene, "/World/stones", TIMES[2])
        found = world_points(stage, "/World/stones", FIRST + TIMES[2] * RATE, "positions")
        np.testing.assert_allclose(found, expected, atol=1e-5 * scene.unit * 100)


@pytest.mark.parametrize("name", ["clothes/dress", "figure/body"])
def test_velocities_are_those_of_the_points(layered, name):
    """What a renderer takes them for: the points drift by them in their own space, and the space goes its own way."""
    original, path = layered
    stage, code, ahead = Usd.Stage.Open(str(path)), FIRST + TIMES[2] * RATE, 0.01
    prim = stage.GetPrimAtPath(f"/World/{name}")
    points, speeds = (np.array(prim.GetAttribute(a).Get(code), float) for a in ("points", "velocities"))
    drifted = points + speeds * ahead / RATE
    matrix = UsdGeom.XformCache(code + ahead).GetLocalToWorldTransform(prim)
    world = np.array([matrix.Transform(Gf.Vec3d(*p)) for p in drifted]) * UsdGeom.GetStageMetersPerUnit(stage)
    if UsdGeom.GetStageUpAxis(stage) == "Z":
        world = world[:, [0, 2, 1]] * [1, 1, -1]
    with read_scene(original) as scene:
        start, swing = moved(scene, f"/World/{name}", TIMES[2])
    rate = (world - world_points(stage, f"/World/{name}", code)) * RATE / ahead
    np.testing.assert_allclose(rate, swing, atol=0.02 * np.abs(swing).max())
    assert len(start) == len(points)


def test_all_else_shows_through(layered):
    original, path = layered
    before, behind = Usd.Stage.Open(str(original)), Usd.Stage.Open(str(path))
    assert [p.GetPath() for p in before.Traverse()] == [p.GetPath() for p in behind.Traverse()]
    assert behind.GetDefaultPrim().GetPath() == before.GetDefaultPrim().GetPath()
    assert Usd.ModelAPI(behind.GetDefaultPrim()).GetKind() == "component"
    for ask in (UsdGeom.GetStageMetersPerUnit, UsdGeom.GetStageUpAxis, Usd.Stage.GetTimeCodesPerSecond):
        assert ask(before) == ask(behind)
    own = {"points", "positions", "velocities", "extent", "normals"}
    for prim in before.Traverse():
        other = behind.GetPrimAtPath(prim.GetPath())
        for attribute in prim.GetAttributes():
            if attribute.GetName() not in own or not other.GetAttribute(attribute.GetName()).GetNumTimeSamples():
                assert attribute.Get(FIRST + 3) == other.GetAttribute(attribute.GetName()).Get(FIRST + 3), attribute
    dress = behind.GetPrimAtPath("/World/clothes/dress")
    assert str(UsdShade.MaterialBindingAPI(dress).ComputeBoundMaterial()[0].GetPath()) == "/World/Looks/linen"
    assert UsdGeom.Imageable(dress).ComputePurpose() == "render"


def test_the_layer_has_nothing_but_overs(layered):
    original, path = layered
    layer = Sdf.Layer.FindOrOpen(str(path))
    assert list(layer.subLayerPaths) == [f"../{original.name}"] and layer.customLayerData["seed"] == 3
    prims = []
    layer.Traverse("/", lambda p: prims.append(p) if p.IsPrimPath() else None)
    assert all(layer.GetPrimAtPath(p).specifier == Sdf.SpecifierOver for p in prims)
    assert (layer.startTimeCode, layer.endTimeCode) == (FIRST, FIRST + TIMES[-1] * RATE)


def test_extents_and_normals_are_those_of_the_points(layered):
    _, path = layered
    stage = Usd.Stage.Open(str(path))
    for name in ("clothes/dress", "dust", "jelly"):
        prim = UsdGeom.Boundable.Get(stage, f"/World/{name}")
        for code in prim.GetPrim().GetAttribute("points").GetTimeSamples():
            computed = UsdGeom.Boundable.ComputeExtentFromPlugins(prim, Usd.TimeCode(code))
            np.testing.assert_allclose(prim.GetExtentAttr().Get(code), computed, rtol=1e-5, atol=1e-5)
    mesh = UsdGeom.Mesh.Get(stage, "/World/clothes/dress")
    points, normals = (np.array(a.Get(FIRST), float) for a in (mesh.GetPointsAttr(), mesh.GetNormalsAttr()))
    assert mesh.GetNormalsInterpolation() == "vertex" and len(normals) == len(points)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-5)
    face = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 4)
    flat = np.cross(points[face[:, 1]] - points[face[:, 0]], points[face[:, 3]] - points[face[:, 0]])
    assert (np.einsum("ij,ij->i", flat, normals[face[:, 0]]) > 0.0).all()


def test_the_validators_find_no_more_than_in_the_original(layered):
    original, path = layered
    checks = pytest.importorskip("pxr.UsdValidation")
    validators = checks.ValidationRegistry().GetOrLoadAllValidators()
    texts = [
        {e.GetMessage() for e in checks.ValidationContext(validators).Validate(Usd.Stage.Open(str(p)))}
        for p in (original, path)
    ]
    assert len(texts[1] - texts[0]) == 0, texts[1] - texts[0]


def test_the_viewer_plays_it(layered):
    animation = Animation(layered[1])
    [dress] = [body for body in animation.bodies if body.name == "/World/clothes/dress"]
    assert dress.moving and len(animation) >= len(TIMES)


def test_instances_are_opened_for_what_is_written_alone(tmp_path):
    original = shot(tmp_path / "shot.usda")
    crowd = tmp_path / "crowd.usda"
    stage = Usd.Stage.CreateNew(str(crowd))
    for name in ("one", "two"):
        prim = stage.DefinePrim(f"/{name}")
        prim.GetReferences().AddReference(original.name, "/World")
        prim.SetInstanceable(True)
    stage.Save()
    with read_scene(crowd) as scene, UsdLayerWriter(tmp_path / "sim.usda", scene) as layer:
        layer.frame(0.0)
        layer.points("/one/dust", scene["/one/dust"].points + 1.0)
    stage = Usd.Stage.Open(str(tmp_path / "sim.usda"))
    assert not stage.GetPrimAtPath("/one").IsInstance() and stage.GetPrimAtPath("/two").IsInstance()
    np.testing.assert_allclose(
        world_points(stage, "/one/dust", FIRST), world_points(stage, "/two/dust", FIRST) + 1.0, atol=1e-5
    )


def test_what_would_be_out_of_date_is_blocked(tmp_path):
    original = shot(tmp_path / "shot.usda")
    stage = Usd.Stage.Open(str(original))
    mesh = UsdGeom.Mesh.Get(stage, "/World/clothes/dress")
    count = len(mesh.GetPointsAttr().Get())
    mesh.CreateVelocitiesAttr([(1, 1, 1)] * count)
    mesh.CreateAccelerationsAttr([(1, 1, 1)] * count)
    normals = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("normals", Sdf.ValueTypeNames.Normal3fArray, "faceVarying")
    normals.Set([(1, 0, 0)])
    normals.SetIndices([0] * 144)
    UsdGeom.ModelAPI.Apply(stage.GetPrimAtPath("/World")).SetExtentsHint([(-1, -1, -1), (1, 1, 1)])
    stage.Save()
    with read_scene(original) as scene, UsdLayerWriter(tmp_path / "sim.usdc", scene) as layer:
        layer.frame(0.25)
        layer.points("/World/clothes/dress", scene["/World/clothes/dress"].points)
    stage = Usd.Stage.Open(str(tmp_path / "sim.usdc"))
    mesh = UsdGeom.Mesh.Get(stage, "/World/clothes/dress")
    assert not mesh.GetVelocitiesAttr().HasAuthoredValue() and not mesh.GetAccelerationsAttr().HasAuthoredValue()
    primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals")
    assert primvar.GetInterpolation() == "vertex" and not primvar.IsIndexed() and len(primvar.Get(FIRST + 6)) == count
    assert UsdGeom.ModelAPI(mesh.GetPrim().GetStage().GetPrimAtPath("/World")).GetExtentsHint(FIRST) is None


def dust(layer, *arrays):
    layer.points("/World/dust", *arrays)


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda layer, q: layer.points("/World/dust", q), "written before a frame; call frame"),
        (lambda layer, q: [layer.frame(1.0), layer.frame(1.0)], r"frame at 1.0 s, expected later .* \(1.0 s\)"),
        (lambda layer, q: layer.frame(float("nan")), "frame at nan s"),
        (lambda layer, q: [layer.frame(0.0), layer.points("/World/dust", q[:4])], "found 4 rows, expected 5"),
        (lambda layer, q: [layer.frame(0.0), layer.points("/World/dust", q * np.nan)], "found nan in row 0"),
        (lambda layer, q: [layer.frame(0.0), layer.points("/World/gone", q)], "'/World/gone' is no prim with a shape"),
        (lambda layer, q: [layer.frame(0.0), dust(layer, q), dust(layer, q)], "written twice"),
        (lambda layer, q: [layer.frame(0), dust(layer, q, q), layer.frame(1), dust(layer, q)], "every frame or never"),
        (lambda layer, q: None, "nothing was written to"),
    ],
)
def test_refusals_leave_no_file(tmp_path, write, text):
    original = shot(tmp_path / "shot.usda")
    with pytest.raises(UsdError, match=text), read_scene(original) as scene:
        with UsdLayerWriter(tmp_path / "sim.usda", scene) as layer:
            write(layer, scene["/World/dust"].points)
    assert os.listdir(tmp_path) == ["shot.usda"]


def test_a_layer_needs_a_stage_on_disk(tmp_path):
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.Points.Define(stage, "/p").CreatePointsAttr([(0, 0, 0)])
    with pytest.raises(UsdError, match="is not on disk as it is; save it"):
        UsdLayerWriter(tmp_path / "a.usda", read_scene(stage))
    original = shot(tmp_path / "shot.usda")
    with read_scene(original) as scene:
        with pytest.raises(UsdError, match="is the stage itself"):
            UsdLayerWriter(original, scene)
        with pytest.raises(UsdError, match=r"UsdLayerWriter: 'a.txt' has the extension"):
            UsdLayerWriter(tmp_path / "a.txt", scene)
