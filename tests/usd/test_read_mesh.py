"""Meshes read from hand-made stages and from files of other tools: units, axes, winding,
choices."""

from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom

from warpsim.usd import UsdError, read_mesh

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
HEAD = '#usda 1.0\n(\n    metersPerUnit = {unit}\n    upAxis = "{up}"\n)\n'
SQUARE = """
def Mesh "square"
{{
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    {extra}
}}
"""
PLAIN = SQUARE.format(extra="")


@pytest.fixture
def stage_file(tmp_path):
    """Write a text stage and return its path."""

    def make(body=PLAIN, unit=1, up="Y", head=HEAD):
        path = tmp_path / "scene.usda"
        path.write_text(head.format(unit=unit, up=up) + body)
        return path

    return make


def normal(mesh) -> np.ndarray:
    """Unit normal of the first triangle by the right-hand rule."""
    a, b, c = mesh.points[mesh.triangles[0]]
    n = np.cross(b - a, c - a)
    return n / np.linalg.norm(n)


def test_a_quad_becomes_two_triangles(stage_file):
    mesh = read_mesh(stage_file())
    assert mesh.points.dtype == np.float32 and mesh.triangles.dtype == np.int32
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]
    np.testing.assert_array_equal(normal(mesh), [0, 0, 1])


def test_polygons_of_mixed_size(stage_file):
    body = """
def Mesh "m"
{
    int[] faceVertexCounts = [3, 5, 4]
    int[] faceVertexIndices = [0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 4, 6]
    point3f[] points = [(0,0,0),(1,1,0),(2,4,0),(3,9,0),(4,16,0),(5,25,0),(6,36,0),(7,49,0)]
}
"""
    triangles = read_mesh(stage_file(body)).triangles.tolist()
    assert triangles == [[0, 1, 2], [3, 4, 5], [3, 5, 6], [3, 6, 7], [0, 2, 4], [0, 4, 6]]


def test_concave_polygons_are_not_fanned(stage_file):
    """An arrowhead whose notch is corner 2: a fan from corner 0 would cover ground outside of it."""
    notched = PLAIN.replace("(0, 0, 0), (1, 0, 0), (1, 1, 0)", "(0, 0, 0), (2, 0, 0), (0.5, 0.5, 0)")
    notched = notched.replace("(0, 1, 0)", "(0, 2, 0)").replace("[0, 1, 2, 3]", "[1, 2, 3, 0]")
    assert sorted(map(sorted, read_mesh(stage_file(notched)).triangles.tolist())) == [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize(
    ("extra", "scale", "expected"),
    [
        ("", "(1, 1, 1)", [0, 0, 1]),
        ('uniform token orientation = "leftHanded"', "(1, 1, 1)", [0, 0, -1]),
        ("", "(-1, 1, 1)", [0, 0, 1]),
        ('uniform token orientation = "leftHanded"', "(-1, 1, 1)", [0, 0, -1]),
    ],
)
def test_winding_survives_orientation_and_mirrors(stage_file, extra, scale, expected):
    placed = (
        extra
        + f"""
    float3 xformOp:scale = {scale}
    uniform token[] xformOpOrder = ["xformOp:scale"]"""
    )
    mesh = read_mesh(stage_file(SQUARE.format(extra=placed)))
    np.testing.assert_array_equal(normal(mesh), expected)


@pytest.mark.parametrize(("unit", "side"), [(1, 1.0), (0.01, 0.01), (0.0254, 0.0254)])
def test_lengths_become_metres(stage_file, unit, side):
    mesh = read_mesh(stage_file(unit=unit))
    np.testing.assert_allclose(mesh.points.max(0), [side, side, 0.0], rtol=1e-6)


def test_a_stage_without_units_counts_in_centimetres_unless_told(stage_file):
    path = stage_file(head="#usda 1.0\n")
    np.testing.assert_allclose(read_mesh(path).points.max(), 0.01, rtol=1e-6)
    np.testing.assert_allclose(read_mesh(path, meters_per_unit=1.0).points.max(), 1.0)


@pytest.mark.parametrize(
    ("stage_up", "up_axis", "corner"),
    [("Y", "Y", [1, 1, 0]), ("Z", "Y", [1, 0, -1]), ("Y", "Z", [1, 0, 1]), ("Z", "Z", [1, 1, 0])],
)
def test_the_up_axis_is_turned(stage_file, stage_up, up_axis, corner):
    mesh = read_mesh(stage_file(up=stage_up), up_axis=up_axis)
    np.testing.assert_allclose(mesh.points[2], corner, atol=1e-7)


def test_up_stays_up(stage_file):
    """A Z-up square standing on the floor has its height along Y afterwards, and keeps facing."""
    standing = PLAIN.replace("(1, 1, 0), (0, 1, 0)", "(1, 0, 1), (0, 0, 1)")
    mesh = read_mesh(stage_file(standing, up="Z"))
    np.testing.assert_allclose(np.ptp(mesh.points, axis=0), [1, 1, 0], atol=1e-7)
    np.testing.assert_allclose(normal(mesh), [0, 0, 1], atol=1e-7)


def test_world_transforms_are_applied(stage_file):
    body = (
        """
def Xform "arm"
{
    double3 xformOp:translate = (10, 0, 0)
    float xformOp:rotateZ = 90
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ"]
"""
        + PLAIN
        + "}\n"
    )
    mesh = read_mesh(stage_file(body))
    np.testing.assert_allclose(
        mesh.points, [[10, 0, 0], [10, 1, 0], [9, 1, 0], [9, 0, 0]], atol=1e-6
    )


def test_time_chooses_a_sample(stage_file):
    body = SQUARE.format(
        extra="point3f[] points.timeSamples = {\n 5: [(0,0,0),(2,0,0),(2,2,0),(0,2,0)],\n"
        " 7: [(0,0,0),(4,0,0),(4,4,0),(0,4,0)] }"
    )
    path = stage_file(body)
    assert read_mesh(path).points.max() == 2.0
    assert read_mesh(path, time=7).points.max() == 4.0
    assert read_mesh(path, time=6).points.max() == 3.0


def test_instances_are_looked_into(stage_file):
    body = (
        'class "proto"\n{\n'
        + PLAIN
        + """}
def Xform "one" ( inherits = </proto>
    instanceable = true )
{
    double3 xformOp:translate = (0, 0, 3)
    uniform token[] xformOpOrder = ["xformOp:translate"]
}
"""
    )
    mesh = read_mesh(stage_file(body))
    np.testing.assert_allclose(mesh.points[:, 2], 3.0)
    assert read_mesh(stage_file(body), "/one/square").points.shape == (4, 3)


PARTED = """
def Mesh "m"
{
    int[] faceVertexCounts = [3, 3, 4]
    int[] faceVertexIndices = [0, 1, 2, 0, 2, 3, 4, 5, 6, 7]
    int[] holeIndices = [0]
    point3f[] points = [(0,0,0), (1,0,0), (1,1,0), (0,1,0), (0,0,1), (1,0,1), (1,1,1), (0,1,1)]
    def GeomSubset "part"
    {
        uniform token elementType = "face"
        int[] indices = %s
    }
}
"""


def test_holes_are_left_out_and_subsets_ignored(stage_file):
    mesh = read_mesh(stage_file(PARTED % "[2]"))
    assert mesh.triangles.tolist() == [[0, 2, 3], [4, 5, 6], [4, 6, 7]] and len(mesh.points) == 8


def test_a_subset_can_be_read_by_its_own_path(stage_file):
    """Its faces, the points they use in the order of the mesh, and no holes."""
    mesh = read_mesh(stage_file(PARTED % "[2, 0, 1, 2]"), "/m/part")
    assert mesh.triangles.tolist() == [[0, 1, 2], [3, 4, 5], [3, 5, 6]]
    assert mesh.points[:3].tolist() == [[0, 0, 0], [1, 1, 0], [0, 1, 0]] and len(mesh.points) == 7


@pytest.mark.parametrize(
    ("faces", "message"),
    [
        ("[3]", "the subset names face 3, but there are 3 faces"),
        ("[-1]", "the subset names face -1"),
        ("[]", "no face is left"),
        ("[0]", "no face is left"),
    ],
)
def test_unusable_subsets(stage_file, faces, message):
    with pytest.raises(UsdError, match=message):
        read_mesh(stage_file(PARTED % faces), "/m/part")


def test_subsets_of_points_are_no_meshes(stage_file):
    with pytest.raises(UsdError, match="is a subset of points, expected one of faces"):
        read_mesh(stage_file((PARTED % "[0]").replace('"face"', '"point"')), "/m/part")


TWO = PLAIN + PLAIN.replace("square", "other")


def test_several_meshes_need_a_choice(stage_file):
    path = stage_file(TWO)
    with pytest.raises(UsdError, match=r"found 2 meshes \(/square, /other\); pass prim_path"):
        read_mesh(path)
    assert len(read_mesh(path, "/other").points) == 4


def test_long_listings_are_cut(stage_file):
    body = "".join(PLAIN.replace("square", f"m{k}") for k in range(12))
    with pytest.raises(UsdError, match=r"found 12 meshes \(/m0, .*/m7, and 4 more\)"):
        read_mesh(stage_file(body))


def mesh_with(points="[(0,0,0),(1,0,0),(0,1,0)]", counts="[3]", indices="[0, 1, 2]", extra=""):
    return f"""
def Mesh "m"
{{
    int[] faceVertexCounts = {counts}
    int[] faceVertexIndices = {indices}
    point3f[] points = {points}
    {extra}
}}
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('def Xform "a"\n{\n    def Sphere "b"\n    {\n    }\n}\n', "no Mesh, only Sphere, Xform"),
        ("", "found no Mesh, only empty prims"),
        (mesh_with(points="[]"), "/m: the mesh has no points"),
        (mesh_with(counts="[]", indices="[]"), "found no faces"),
        (mesh_with(indices="[0, 1, 3]"), "index 3 of face 0 names no point, expected 0 to 2"),
        (mesh_with(counts="[3, 3]", indices="[0, 1, 2, 0, 1, -4]"), "index -4 of face 1"),
        (mesh_with(counts="[4]"), "add up to 4, but there are 3 face indices"),
        (mesh_with(counts="[3, -3, 3]"), "face 1 has -3 corners"),
        (mesh_with(counts="[2]", indices="[0, 1]"), "face 0 has 2 corners"),
        (mesh_with(points="[(0,0,0),(1,nan,0),(0,1,0)]"), "found nan in row 1"),
        (mesh_with(points="[(0,0,0),(1,inf,0),(0,1,0)]"), "found inf in row 1"),
        (mesh_with(extra="int[] holeIndices = [4]"), "holeIndices name face 4, but there are 1"),
        (mesh_with(extra="int[] holeIndices = [0]"), "no face is left"),
    ],
)
def test_unusable_meshes(stage_file, body, message):
    with pytest.raises(UsdError, match=message):
        read_mesh(stage_file(body))


def test_a_scale_that_overflows_is_refused(stage_file):
    with pytest.raises(UsdError, match="points in metres: found inf"):
        read_mesh(stage_file(), meters_per_unit=1e300)


@pytest.mark.parametrize("prim_path", ["/nothing", "not a path!", "/square/deeper"])
def test_a_wrong_prim_path_lists_the_meshes(stage_file, prim_path):
    with pytest.raises(UsdError, match=r"has no prim .*its meshes are: /square"):
        read_mesh(stage_file(), prim_path)


def test_a_prim_without_a_mesh_beneath(stage_file):
    with pytest.raises(UsdError, match="/light: found no Mesh, only Sphere"):
        read_mesh(stage_file(TWO + 'def Sphere "light"\n{\n}\n'), "/light")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"up_axis": "X"}, "expected 'Y' or 'Z'"), ({"meters_per_unit": 0.0}, "expected a positive")],
)
def test_wrong_options(stage_file, arguments, message):
    with pytest.raises(UsdError, match=message):
        read_mesh(stage_file(), **arguments)


@pytest.mark.parametrize("name", ["x.usda", "x.usdc", "x.usdz", "x.obj", "noextension"])
def test_files_that_are_not_usd(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"solid not a stage\n" * 10)
    with pytest.raises(UsdError, match=r"is damaged or no USD file|is a damaged package"):
        read_mesh(path)


def test_a_truncated_crate_is_refused_or_whole(tmp_path):
    """Half a binary file never crashes and never gives half a mesh."""
    whole = tmp_path / "whole.usdc"
    stage = Usd.Stage.CreateNew(str(whole))
    mesh = UsdGeom.Mesh.Define(stage, "/m")
    mesh.CreatePointsAttr([Gf.Vec3f(k, k * k % 7, k % 3) for k in range(300)])
    mesh.CreateFaceVertexCountsAttr([3] * 100)
    mesh.CreateFaceVertexIndicesAttr(list(range(300)))
    stage.GetRootLayer().Save()
    data = whole.read_bytes()
    cut = tmp_path / "cut.usdc"
    cut.write_bytes(data[: len(data) // 2])
    with pytest.raises(UsdError):
        read_mesh(cut)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_mesh(tmp_path / "missing.usd")
    with pytest.raises(FileNotFoundError, match="is not a file"):
        read_mesh(tmp_path)


@pytest.mark.parametrize(
    ("name", "points", "triangles"),
    [("bunny", 6102, 12200), ("bear", 1986, 3968), ("rocks", 5437, 10870)],
)
def test_meshes_of_other_tools(name, points, triangles):
    path = DATA / f"{name}.usd"
    if not path.exists():
        pytest.skip("the shared sample files are not on this machine")
    mesh = read_mesh(path)
    assert mesh.points.shape == (points, 3) and mesh.triangles.shape == (triangles, 3)
    assert np.isfinite(mesh.points).all()
    assert mesh.triangles.min() == 0 and mesh.triangles.max() == points - 1
    if name != "rocks":  # closed and facing outwards: the divergence theorem gives a volume above 0
        a, b, c = (mesh.points[mesh.triangles[:, k]].astype(float) for k in range(3))
        assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0 > 0.0
