"""What a stage holds reaches simulations in metres of the world, its motion per second; against pxr's answers."""

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdSkel, Vt
from scipy.spatial.transform import Rotation
from usd_shots import FIRST, LAST, RATE, physics, shot, world_points

from warpsim.usd import UsdError, read_scene
from warpsim.usd.topology import vertex_normals

KINDS = {
    "clothes/dress": "mesh",
    "figure/body": "mesh",
    "figure/head": "mesh",
    "figure/chest": "mesh",
    "figure/ball": "solid",
    "dust": "points",
    "hair": "curves",
    "jelly": "tetrahedra",
    "stones": "copies",
}
END = (LAST - FIRST) / RATE


@pytest.fixture(scope="module", params=[("Z", 0.01, "usda"), ("Y", 1.0, "usdc")], ids=["z-cm", "y-m"])
def files(request, tmp_path_factory):
    up, unit, ending = request.param
    return shot(tmp_path_factory.mktemp("shot") / f"shot.{ending}", up, unit)


@pytest.fixture(scope="module", params=["file", "stage"])
def both(request, files):
    """A scene read by another process and in this one, and pxr's stage."""
    stage = Usd.Stage.Open(str(files))
    with read_scene(files if request.param == "file" else stage) as scene:
        yield scene, stage


def test_prims_and_kinds(both):
    scene, stage = both
    assert {path.removeprefix("/World/"): kind for path, kind in scene.kinds.items()} == KINDS
    assert (scene.fps, scene.start, scene.unit) == (RATE, FIRST, UsdGeom.GetStageMetersPerUnit(stage))
    assert scene.duration == pytest.approx(END) and len(scene) == len(KINDS) and "/World/dust" in scene
    assert scene.find("/World/figure") == [f"/World/figure/{n}" for n in ("body", "head", "chest", "ball")]
    assert scene.find("*/h*d") == ["/World/figure/head"] and scene.find("/World/fig") == []


@pytest.mark.parametrize("path", [p for p, kind in KINDS.items() if kind not in ("solid", "copies")])
def test_points_are_where_pxr_has_them(both, path):
    scene, stage = both
    for code in (FIRST, FIRST + 2.5, FIRST + 4, LAST, LAST + 9):
        expected = world_points(stage, f"/World/{path}", code)
        found = scene.positions(f"/World/{path}", (code - FIRST) / RATE)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * scene.unit * 100)


def test_motion_is_told_apart(both):
    scene, _ = both
    motion = {path.removeprefix("/World/"): scene[path].motion for path in scene}
    moving = {"figure/body": "rigid", "figure/head": "rigid", "figure/ball": "rigid", "figure/chest": "deforming"}
    assert motion == {**dict.fromkeys(KINDS, "still"), **moving}


@pytest.mark.parametrize("path", ["figure/body", "figure/chest"])
@pytest.mark.parametrize("code", [FIRST, FIRST + 1.5, FIRST + 4, FIRST + 7.25])
def test_velocities_are_per_second(both, path, code):
    """Against differences of pxr's own points over a thousandth of a time code."""
    scene, stage = both
    near = code + 1.0e-3
    rate = (world_points(stage, f"/World/{path}", near) - world_points(stage, f"/World/{path}", code)) * RATE / 1e-3
    found = scene.velocities(f"/World/{path}", (code - FIRST) / RATE)
    # of one time code of 20 degrees the mean is known, whose chord and direction differ by so much from the arc
    np.testing.assert_allclose(found, rate, atol=0.2 * np.abs(rate).max())
    straight = scene.velocities("/World/clothes/dress", 0.1)
    assert not straight.any()


def test_velocities_of_straight_motion_are_exact(tmp_path):
    path = tmp_path / "slide.usda"
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.SetStageUpAxis(stage, "Y")
    stage.SetTimeCodesPerSecond(30.0)
    mesh = UsdGeom.Mesh.Define(stage, "/m")
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    for code, far in ((0.0, 0.0), (2.5, 5.0), (10.0, 5.0)):
        mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(points + np.float32([far, 0, 0])), code)
    stage.Save()
    with read_scene(path) as scene:
        speed = 5.0 * 0.01 * 30.0 / 2.5
        for seconds, expected in ((-0.1, 0.0), (0.0, speed), (2.4 / 30.0, speed), (2.5 / 30.0, 0.0), (1.0, 0.0)):
            np.testing.assert_allclose(scene.velocities("/m", seconds), [[expected, 0, 0]] * 3, atol=1e-6)


def test_poses_carry_the_points(both):
    scene, _ = both
    for path in ("/World/figure/body", "/World/figure/head"):
        prim = scene[path]
        for seconds in (0.0, 0.11, 0.3, END, 2.0):
            pose = scene.pose(path, seconds)
            carried = Rotation.from_quat(pose[3:]).apply(prim.points - prim.placement[3, :3]) + pose[:3]
            np.testing.assert_allclose(carried, scene.positions(path, seconds), atol=1e-5 * scene.unit * 100)


def test_twists_carry_one_pose_to_the_next(both):
    scene, _ = both
    for dt in (0.5 / RATE, 1.0 / RATE, 0.1):
        start, end = scene.pose("/World/figure/body", 0.05), scene.pose("/World/figure/body", 0.05 + dt)
        twist = scene.twist("/World/figure/body", 0.05, dt)
        turned = Rotation.from_rotvec(dt * twist[:3]) * Rotation.from_quat(start[3:])
        assert (turned * Rotation.from_quat(end[3:]).inv()).magnitude() < 1e-6
        np.testing.assert_allclose(start[:3] + dt * twist[3:], end[:3], atol=1e-6)
    rate = np.radians(240.0) * RATE / (LAST - FIRST)  # a turn by 240 degrees is no turn back by 120
    now = scene.twist("/World/figure/body", 0.2)
    np.testing.assert_allclose(np.linalg.norm(now[:3]), rate, rtol=1e-5)
    assert not scene.twist("/World/figure/body", END + 0.1).any()
    assert not scene.twist("/World/clothes/dress", 0.1).any()


@pytest.mark.parametrize("path", ["figure/body", "figure/head", "figure/chest", "figure/ball", "stones"])
def test_surfaces_are_closed_and_turn_outwards(both, path):
    """By their volume, whatever the orientation and the mirroring of the file."""
    prim = both[0][f"/World/{path}"]
    a, b, c = (prim.points[prim.triangles[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", np.cross(a, b), c).sum() / 6.0 / prim_unit(both[0])
    expected = {
        "figure/body": 8 * 8 * 5 * 12,
        "figure/head": 8 * 64,
        "figure/chest": 8.0,
        "stones": 64 * (1 + 8 + 1),
        "figure/ball": 4 / 3 * np.pi * 27,
    }[path]
    assert volume == pytest.approx(expected, rel=0.03 if path == "figure/ball" else 1e-4)


def prim_unit(scene):
    return scene.unit**3


def test_tetrahedra_are_right_handed_and_fill_the_cube(both):
    prim = both[0]["/World/jelly"]
    a, b, c, d = (prim.points[prim.tetrahedra[:, k]] for k in range(4))
    volumes = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0
    assert volumes.min() > 0.0 and volumes.sum() == pytest.approx(8000.0 * prim_unit(both[0]), rel=1e-5)


def test_what_else_prims_have(both):
    scene, _ = both
    dress = scene["/World/clothes/dress"]
    assert dress.material == "/World/Looks/linen" and list(dress.subsets) == ["hem"]
    np.testing.assert_array_equal(np.sort(dress.subsets["hem"]), np.arange(12))
    corner = dress.points[dress.triangles] - dress.placement[3, :3]
    along = dress.placement[:3, :3] / np.linalg.norm(dress.placement[:3, :3], axis=1, keepdims=True)
    flat = np.einsum("mkj,ij->mki", corner, along)[..., :2] / (60.0 * scene.unit) + 0.5
    np.testing.assert_allclose(dress.uvs, flat, atol=1e-5)
    dust, hair = scene["/World/dust"], scene["/World/hair"]
    np.testing.assert_allclose(dust.radii, np.array([0.5, 1.0, 0.5, 1.0, 0.5]) * scene.unit, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(dust.velocities, axis=1), 10.0 * np.arange(5) * scene.unit, atol=1e-6)
    assert hair.edges.tolist() == [[0, 1], [1, 2], [2, 3], [4, 5], [5, 6]]
    stones = scene["/World/stones"]
    assert stones.positions.shape == (3, 3) and len(stones.points) == 24
    reach = np.linalg.norm([2, 2, 3]) * scene.unit
    np.testing.assert_allclose(stones.radii, [reach, 2 * reach, reach], rtol=1e-3)


def test_copies_stand_where_pxr_has_them(both):
    scene, stage = both
    instancer = UsdGeom.PointInstancer.Get(stage, "/World/stones")
    world = UsdGeom.XformCache(FIRST).GetLocalToWorldTransform(instancer.GetPrim())
    corners = UsdGeom.Mesh.Get(stage, "/World/stones/kinds/stone").GetPointsAttr().Get()
    placed = [
        (matrix * world).Transform(Gf.Vec3d(*map(float, p)))
        for matrix in instancer.ComputeInstanceTransformsAtTime(FIRST, FIRST)
        for p in corners
    ]
    expected = np.array(placed) * scene.unit
    if UsdGeom.GetStageUpAxis(stage) == "Z":
        expected = expected[:, [0, 2, 1]] * [1, 1, -1]
    np.testing.assert_allclose(scene["/World/stones"].points, expected, atol=1e-3 * scene.unit * 10)


def test_instances_are_looked_into(tmp_path, files):
    path = tmp_path / "crowd.usda"
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    for name, far in (("one", 0.0), ("two", 500.0)):
        copy = UsdGeom.Xform.Define(stage, f"/{name}")
        copy.GetPrim().GetReferences().AddReference(str(files), "/World")
        copy.AddTranslateOp(opSuffix="far").Set(Gf.Vec3d(far, 0, 0))
        copy.GetPrim().SetInstanceable(True)
    stage.Save()
    with read_scene(path) as scene:
        one, two = scene["/one/figure/body"], scene["/two/figure/body"]
        assert one.layered["instances"] == ["/one"]
        np.testing.assert_allclose(np.linalg.norm(two.points - one.points, axis=1), 5.0, rtol=1e-5)


def test_physics_of_the_file_is_in_si_units(tmp_path):
    with read_scene(physics(shot(tmp_path / "shot.usda"))) as scene:
        roles = {path.removeprefix("/World/"): scene[path].physics["role"] for path in scene}
        there = {"clothes/dress": "cloth", "jelly": "soft"} | dict.fromkeys(("figure/body", "figure/head"), "collider")
        assert {path: role for path, role in roles.items() if role} == there
        dress = scene["/World/clothes/dress"].physics
        assert dress["density"] == pytest.approx(1200.0) and dress["thickness"] == pytest.approx(0.001)
        assert dress["youngs_modulus"] == pytest.approx(2.0e5 * 0.001 / 0.01)
        assert dress["poissons_ratio"] == pytest.approx(0.25) and scene["/World/jelly"].physics["mass"] == 0.5
        body = scene["/World/figure/body"].physics
        assert [body[k] for k in ("friction", "static_friction", "restitution")] == pytest.approx([0.3, 0.4, 0.1])


def test_skins_follow_their_skeleton(tmp_path):
    path = tmp_path / "skin.usda"
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    root = UsdSkel.Root.Define(stage, "/root")
    skeleton = UsdSkel.Skeleton.Define(stage, "/root/bones")
    skeleton.CreateJointsAttr(["hip"])
    skeleton.CreateBindTransformsAttr([Gf.Matrix4d(1)])
    skeleton.CreateRestTransformsAttr([Gf.Matrix4d(1)])
    motion = UsdSkel.Animation.Define(stage, "/root/walk")
    motion.CreateJointsAttr(["hip"])
    motion.CreateRotationsAttr([Gf.Quatf(1)])
    motion.CreateScalesAttr([Gf.Vec3h(1)])
    for code, far in ((0, 0.0), (24, 3.0)):
        motion.CreateTranslationsAttr().Set([Gf.Vec3f(far, 0, 0)], code)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([motion.GetPath()])
    mesh = UsdGeom.Mesh.Define(stage, "/root/skin")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    binding.CreateJointIndicesPrimvar(False, 1).Set([0, 0, 0])
    binding.CreateJointWeightsPrimvar(False, 1).Set([1.0, 1.0, 1.0])
    assert root
    stage.GetRootLayer().Save()
    with read_scene(path) as scene:
        assert scene["/root/skin"].motion == "deforming"
        np.testing.assert_allclose(scene.positions("/root/skin", 0.5)[0], [1.5, 0, 0], atol=1e-6)
        np.testing.assert_allclose(scene.velocities("/root/skin", 0.5), [[3, 0, 0]] * 3, atol=1e-5)


def test_time_chooses_second_zero(files):
    with read_scene(files, time=FIRST + 6) as later, read_scene(files) as scene:
        np.testing.assert_array_equal(
            later["/World/figure/body"].points, scene.positions("/World/figure/body", 6 / RATE)
        )


def test_refusals(files, tmp_path):
    with pytest.raises(FileNotFoundError):
        read_scene(tmp_path / "none.usda")
    with pytest.raises(UsdError, match="up_axis is 'X'"):
        read_scene(files, up_axis="X")
    with read_scene(files) as scene:
        with pytest.raises(
            UsdError, match="'/World/no' is no prim with a shape in this stage; those are: /World/clothes"
        ):
            scene["/World/no"]
        with pytest.raises(UsdError, match="chest deforms and has no pose"):
            scene.pose("/World/figure/chest", 0.0)
    with pytest.raises(UsdError, match="is closed; read it again"):
        scene["/World/dust"]
    stage = Usd.Stage.CreateInMemory()
    mesh = UsdGeom.Mesh.Define(stage, "/m")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "vertex")
    primvar.Set([(0, 0)])
    with pytest.raises(UsdError, match="found 1 rows, but corners of faces name 0 to 2"):
        read_scene(stage)["/m"]
    assert np.isfinite(vertex_normals(np.zeros((3, 3)), np.int32([[0, 1, 2]]), (0, 1, 0))).all()
