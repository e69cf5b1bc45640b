"""Meshes from files of several formats: the same shape from each, and what is refused."""

import builtins
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import MeshFileError, MissingPackageError
from warpsim.geometry.mesh.files import load_mesh, mesh_from_file
from warpsim.usd import UsdError, UsdWriter

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=np.float32)
QUADS = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
CORNERS = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"


def volume(points, indices):
    """By the divergence theorem; negative when the triangles face inwards."""
    a, b, c = (points[indices[k::3]].astype(np.float64) for k in range(3))
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0


def assert_closed(indices):
    sides = indices.reshape(-1, 3)[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2).tolist()
    directed = set(map(tuple, sides))
    assert len(directed) == len(sides) and all((q, p) in directed for p, q in directed)


@pytest.fixture
def obj(tmp_path):
    """Write the text of an OBJ file and return its path."""
    pytest.importorskip("trimesh", reason="trimesh is not installed; pip install 'warpsim[mesh]' brings it")

    def write(text):
        path = tmp_path / "mesh.obj"
        path.write_text(text)
        return path

    return write


def cube_as(tmp_path, kind):
    path = tmp_path / f"cube.{kind}"
    if kind.startswith("usd"):
        with UsdWriter(path) as usd:
            usd.mesh("cube", CUBE, QUADS)
    elif kind == "obj":
        lines = [f"v {x:g} {y:g} {z:g}" for x, y, z in CUBE] + ["f " + " ".join(map(str, q + 1)) for q in QUADS]
        path.write_text("\n".join(lines))
    else:
        trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
        triangles = np.concatenate([QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]])
        trimesh.Trimesh(CUBE, triangles, process=False).export(path)
    return path


@pytest.mark.parametrize("kind", ["usda", "usdc", "obj", "stl", "ply", "off", "glb"])
def test_a_cube_is_closed_and_faces_outwards_in_every_format(tmp_path, kind):
    if kind == "obj":
        pytest.importorskip("trimesh", reason="trimesh is not installed")
    points, indices = load_mesh(cube_as(tmp_path, kind))
    assert points.dtype == np.float32 and indices.dtype == np.int32 and indices.shape == (36,)
    assert points.shape == (8, 3) and sorted(points.tolist()) == sorted(CUBE.tolist())
    assert_closed(indices)
    assert volume(points, indices) == pytest.approx(1.0)


@wp.kernel
def heights(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.mesh_query_point(mesh, points[i], 10.0)
    out[i] = query.sign * wp.length(points[i] - wp.mesh_eval_position(mesh, query.face, query.u, query.v))


def test_a_mesh_of_a_file_answers_queries(tmp_path):
    mesh = mesh_from_file(cube_as(tmp_path, "usda"), support_winding_number=True, meters_per_unit=2.0)
    points = wp.array([[1.0, 1.0, 0.5], [1.0, 1.0, 2.5], [3.0, 3.0, 2.0]], dtype=wp.vec3)
    out = wp.zeros(3, dtype=float)
    wp.launch(heights, 3, [mesh.id, points, out])
    np.testing.assert_allclose(out.numpy(), [-0.5, 0.5, 2.0**0.5], rtol=1e-6)
    assert mesh.support_winding_number and mesh.face_count == 12


def test_options_of_usd_are_passed_on(tmp_path):
    path = tmp_path / "two.usda"
    with UsdWriter(path, up_axis="Z") as usd:
        usd.mesh("a", CUBE, QUADS)
        usd.frame()
        usd.mesh("b", CUBE + np.float32([0, 0, 5]), QUADS)
        usd.frame()
        usd.mesh("b", CUBE + np.float32([0, 0, 7]), QUADS)
    with pytest.raises(UsdError, match="found 2 meshes"):
        load_mesh(path)
    assert load_mesh(path, "/World/b", up_axis="Z")[0][:, 2].max() == 6.0
    assert load_mesh(path, "/World/b", 1.0, up_axis="Z")[0][:, 2].max() == 8.0
    assert load_mesh(path, "/World/b", 1.0, meters_per_unit=0.1)[0][:, 1].max() == pytest.approx(0.8)
    with pytest.raises(UsdError, match="has no prim '/c'"):
        load_mesh(path, "/c")


def test_points_of_usd_are_welded_on_request_only(tmp_path):
    path = tmp_path / "soup.usda"
    with UsdWriter(path) as usd:
        usd.mesh("soup", CUBE[QUADS.ravel()], np.arange(24).reshape(6, 4))
    assert len(load_mesh(path)[0]) == 24
    points, indices = load_mesh(path, weld=True)
    assert len(points) == 8
    np.testing.assert_array_equal(points, CUBE[[0, 1, 3, 2, 4, 6, 7, 5]])  # in the order of their first use
    assert_closed(indices)


def test_polygons_of_obj_become_triangles(obj):
    points, indices = load_mesh(obj(CORNERS + "v 0 0.5 0\nf 1 2 3 4 5\nf 1 2 3\n"))
    assert len(points) == 5 and len(indices) == 12
    a, b, c = (points[indices[k::3]] for k in range(3))
    assert 0.5 * np.cross(b - a, c - a)[:, 2].sum() == pytest.approx(1.5)


def test_materials_and_texture_coordinates_of_obj_leave_points_shared(obj):
    """An edge between two materials, or with a seam of the texture, is still one edge."""
    text = (
        CORNERS + "vt 0 0\nvt 1 1\nusemtl red\nf 1/1 2/1 3/1\nusemtl blue\nf 1/2 3/2 4/1\nusemtl red\nf 1/2 4/2 2/2\n"
    )
    points, indices = load_mesh(obj(text))
    assert sorted(points.tolist()) == sorted([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]) and len(indices) == 9
    assert len(load_mesh(obj(text), weld=False)[0]) > 4


def test_negative_indices_count_from_the_end(obj):
    points, indices = load_mesh(obj(CORNERS + "f -4 -3 -2\n"))
    np.testing.assert_array_equal(points[indices], [[0, 0, 0], [1, 0, 0], [1, 1, 0]])


def test_negative_zero_is_at_the_place_of_zero(obj):
    assert len(load_mesh(obj("v 0 0 0\nv -0 0 -0\nv 1 0 0\nv 0 1 0\nf 1 3 4\nf 2 4 3\n"))[0]) == 3


def test_a_unit_scales_formats_without_one(obj):
    assert load_mesh(obj(CORNERS + "f 1 2 3\n"), meters_per_unit=0.01)[0].max() == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 points and 0 triangles"),
        (CORNERS, "and 0 triangles"),
        ("a letter to a friend", "0 points and 0 triangles"),
        (CORNERS + "f 1 2 9\n", "cannot be read .IndexError"),
        ("v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", r"point 0 is \[ 0.  0. nan\]\nexpected: finite"),
        ("v 0 0 1e39\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "point 0 is .*inf"),
        ("v 0 0 zero\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "cannot be read .ValueError"),
    ],
)
def test_unusable_obj_files(obj, text, message):
    with pytest.raises(MeshFileError, match=message):
        load_mesh(obj(text))


@pytest.mark.parametrize("kind", ["stl", "ply", "off", "glb", "gltf"])
def test_files_that_are_something_else(tmp_path, kind):
    pytest.importorskip("trimesh", reason="trimesh is not installed")
    path = tmp_path / f"letter.{kind}"
    path.write_bytes(b"dear friend, I write to you\n" * 20)
    with pytest.raises(MeshFileError, match=r"letter\.\w+' (cannot be read|holds 0 points)"):
        load_mesh(path)


def test_indices_that_name_no_point(tmp_path):
    pytest.importorskip("trimesh", reason="trimesh is not installed")
    head = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    path = tmp_path / "far.ply"
    path.write_text(
        head + "element face 2\nproperty list uchar int vertex_indices\nend_header\n"
        "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n3 0 1 7\n"
    )
    with pytest.raises(MeshFileError, match=r"triangle 1 has the corners \[0 1 7\]\nexpected: points 0 to 2"):
        load_mesh(path)


def test_missing_files_unknown_formats_and_misplaced_options(obj, tmp_path):
    for name in ("none.obj", "none.usd"):
        with pytest.raises(FileNotFoundError, match=name):
            load_mesh(tmp_path / name)
    (tmp_path / "folder.obj").mkdir()
    with pytest.raises(FileNotFoundError, match="is not a file"):
        load_mesh(tmp_path / "folder.obj")
    with pytest.raises(MeshFileError, match=r"extension '.blend'\nexpected: one of .usd"):
        load_mesh("scene.blend")
    for option in ({"prim_path": "/a"}, {"time": 1.0}, {"up_axis": "Z"}):
        with pytest.raises(MeshFileError, match=r"for a \.obj file\nexpected: None"):
            load_mesh(obj(CORNERS), **option)
    with pytest.raises(MeshFileError, match="meters_per_unit is -1"):
        load_mesh(obj(CORNERS), meters_per_unit=-1.0)
    with pytest.raises(UsdError, match="expected 'Y' or 'Z'"):
        load_mesh(cube_as(tmp_path, "usda"), up_axis="X")


def test_without_trimesh_the_error_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "mesh.obj"
    path.write_text(CORNERS)
    found = builtins.__import__

    def refuse(name, *args, **options):
        if name == "trimesh":
            raise ImportError(name)
        return found(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingPackageError, match=r"pip install 'warpsim\[mesh\]'"):
        load_mesh(path)


@pytest.mark.parametrize(("name", "triangles"), [("bunny", 12200), ("bear", 3968), ("rocks", 10870)])
def test_meshes_of_other_tools(name, triangles):
    path = DATA / f"{name}.usd"
    if not path.exists():
        pytest.skip("the shared sample files are not on this machine")
    points, indices = load_mesh(path)
    assert indices.shape == (3 * triangles,) and indices.max() == len(points) - 1
    if name != "rocks":
        assert volume(points, indices) > 0.0


@pytest.mark.parametrize("wrong", [None, 3, b"x.obj"])
def test_what_is_no_path_is_refused(wrong):
    for load in (load_mesh, mesh_from_file):
        with pytest.raises(MeshFileError, match="expected: the path of a file"):
            load(wrong)
