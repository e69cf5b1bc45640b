"""The cloth over a mesh: where it comes to lie, its files, and refusals."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

from warpsim.core.runtime.launches import pool
from warpsim.errors import MeshFileError
from warpsim.usd import UsdError, UsdWriter, read_mesh

EXAMPLE = "cloth_on_mesh"
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
QUADS = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
BOX = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (0.0, 0.6) for z in (-0.2, 0.2)])


def box_file(folder):
    with UsdWriter(folder / "box.usda") as usd:
        usd.mesh("box", BOX, QUADS)
    return folder / "box.usda"


def box_distance(points):
    """Signed distance to the box."""
    q = np.abs(points - BOX.mean(axis=0)) - np.ptp(BOX, axis=0) / 2.0
    return np.linalg.norm(np.maximum(q, 0.0), axis=-1) + np.minimum(q.max(axis=-1), 0.0)


def test_distances_are_those_of_a_box(example, tmp_path):
    """Inside, outside, and nearer to the floor."""
    wp = example.wp
    mesh, points, triangles = example.load(box_file(tmp_path), None, None)
    np.testing.assert_allclose(points, BOX, atol=1e-6)
    assert triangles.shape == (12, 3)
    places = np.random.default_rng(1).uniform((-0.5, -0.1, -0.5), (0.5, 0.9, 0.5), (200, 3)).astype(np.float32)
    gap = wp.zeros(200, float)
    wp.launch(example.measure, 200, [mesh.id, wp.array(places, dtype=wp.vec3), gap])
    np.testing.assert_allclose(gap.numpy(), np.minimum(box_distance(places), places[:, 1]), atol=2e-6)


def test_cloth_comes_to_lie_on_a_box(example, run, no_picture, tmp_path):
    """Nothing is inside, the middle lies on the top, the corners hang, all are nearly at rest."""
    result = run("--mesh", box_file(tmp_path), "--vertices", 25, "--seconds", 1.5, "--substeps", 8)
    example.check(result)
    assert box_distance(result.points).min() > 0.9 * example.THICKNESS
    x = result.points.reshape(25, 25, 3)
    on_top = np.abs(x[..., 1] - 0.6 - example.THICKNESS) < 2e-3
    assert on_top[12, 12] and 0.05 < on_top.mean() < 0.2
    assert x[[0, 0, -1, -1], [0, -1, 0, -1], 1].max() < 0.4
    assert np.median(result.speed) < 0.2


def test_the_default_mesh_and_its_files(example, run, tmp_path):
    result = run("--seconds", 0.4, "--vertices", 40, "--substeps", 16)
    example.check(result)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    cloth = UsdGeom.Mesh.Get(stage, "/World/cloth")
    assert cloth.GetPointsAttr().GetTimeSamples() == list(range(25))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 24.0)
    np.testing.assert_array_equal(np.array(cloth.GetPointsAttr().Get(24)), result.points)
    first = read_mesh(tmp_path / "out.usdc", "/World/cloth", time=0)
    np.testing.assert_allclose(np.ptp(first.points, axis=0), [example.SIDE, 0.0, example.SIDE], atol=1e-6)
    obstacle = read_mesh(tmp_path / "out.usdc", "/World/obstacle")
    assert obstacle.points[:, 1].min() == 0.0 and obstacle.points[:, 1].max() == pytest.approx(example.HEIGHT)
    assert stage.GetPrimAtPath("/World/ground")
    picture = imread(tmp_path / "out.png")
    assert (picture[..., 2] > 1.5 * picture[..., 0]).mean() > 0.05


def test_the_same_bits_on_one_and_two_threads(example, run, no_picture):
    found, before = [], pool.get_pool().threads
    try:
        for threads in (2, 1):
            example.wp.set_num_threads(threads)
            result = run("--vertices", 48, "--seconds", 0.3, "--substeps", 6)
            found.append(result.points.tobytes() + result.speed.tobytes())
    finally:
        example.wp.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["bunny", "bear", "rocks"])
def test_meshes_of_other_tools(example, run, no_picture, name):
    mesh = DATA / f"{name}.usd"
    if not mesh.exists():
        pytest.skip("the shared sample files are not on this machine")
    example.check(run("--mesh", mesh, "--vertices", 24, "--seconds", 0.3, "--substeps", 8))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": np.full((1, 3), np.nan)}, "not finite"),
        ({"speed": np.array([np.inf])}, "not finite"),
        ({"gap": np.array([0.1, -0.01])}, "0.01 m inside"),
        ({"strain": np.array([0.1, -0.1])}, "the mean strain reached 10.0%"),
    ],
)
def test_the_check_catches(example, changes, message):
    good = {"points": np.ones((1, 3)), "speed": np.zeros(1), "strain": np.zeros(2), "gap": np.zeros(2)}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **changes}))


def test_refusals(run, tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match=r"missing\.usd"):
        run("--mesh", tmp_path / "missing.usd")
    with pytest.raises(UsdError, match="its meshes are: /World/box"):
        run("--mesh", box_file(tmp_path), "--prim", "/nothing")
    with pytest.raises(MeshFileError, match=r"extension '\.txt'"):
        run("--mesh", tmp_path / "mesh.txt")
    with pytest.raises(SystemExit):
        run("--vertices", 1)
    assert "is not above 1" in capsys.readouterr().err
