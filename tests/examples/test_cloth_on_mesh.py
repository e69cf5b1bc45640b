"""The cloth over a mesh: constraints and contact against plain loops and formulas, its files, and refusals."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

from warpsim.core.runtime.launches import pool
from warpsim.errors import MeshFileError
from warpsim.usd import UsdError, UsdWriter, read_mesh

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
QUADS = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
BOX = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (0.0, 0.6) for z in (-0.2, 0.2)])


@pytest.fixture(scope="module")
def example():
    """The example as a module, loaded by its file as any user's script is."""
    spec = importlib.util.spec_from_file_location("cloth_on_mesh", ROOT / "examples" / "cloth_on_mesh.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["cloth_on_mesh"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["cloth_on_mesh"]


@pytest.fixture
def no_picture(example, monkeypatch):
    """The picture takes longer than these simulations, and another test looks at it."""
    monkeypatch.setattr(example, "render_meshes", lambda path, views, captions: path)


def run(example, folder, *options):
    files = ["--output", str(folder / "out.usdc"), "--picture", str(folder / "out.png")]
    return example.main([*files, "--device", str(example.wp.get_device()), *map(str, options)])


def box_file(folder):
    with UsdWriter(folder / "box.usda") as usd:
        usd.mesh("box", BOX, QUADS)
    return folder / "box.usda"


def box_distance(points):
    """Signed distance to the box."""
    q = np.abs(points - BOX.mean(axis=0)) - np.ptp(BOX, axis=0) / 2.0
    return np.linalg.norm(np.maximum(q, 0.0), axis=-1) + np.minimum(q.max(axis=-1), 0.0)


def array(example, values):
    return example.wp.array(np.asarray(values, dtype=np.float32), dtype=example.wp.vec3)


def constraints(shape, di, dj):
    """Both ends of every constraint of a direction."""
    for i, j in np.ndindex(*shape):
        if i + di < shape[0] and 0 <= j + dj < shape[1]:
            yield (i, j), (i + di, j + dj)


@pytest.mark.parametrize("direction", [(1, 0), (0, 1), (1, 1), (1, -1), (2, 0), (0, 2)])
def test_two_launches_solve_every_constraint_of_a_direction_once(example, direction):
    """Positions after both stripes are those of a plain loop over the even constraints, then the odd ones."""
    rng = np.random.default_rng(3)
    start = rng.standard_normal((7, 6, 3)).astype(np.float32)
    x, expected, touched = array(example, start), start.astype(np.float64), Counter()
    rest, soft, w = 0.4, 0.7, 3.0
    axis = 0 if direction[0] else 1
    for odd in (0, 1):
        example.wp.launch(example.project, x.shape, [x, *direction, odd, rest, soft, w])
        for a, b in constraints(start.shape[:2], *direction):
            if a[axis] // direction[axis] % 2 == odd:
                touched.update([a, b])
                offset = expected[a] - expected[b]
                length = np.linalg.norm(offset)
                shift = -w * (length - rest) / (2.0 * w + soft) * offset / length
                expected[a] += shift
                expected[b] -= shift
        assert max(touched.values()) <= odd + 1, "two threads write one vertex"
        np.testing.assert_allclose(x.numpy(), expected, atol=2e-6)


def test_vertices_leave_the_box_and_the_floor(example, tmp_path):
    """Outside and near: to the thickness, along the distance. Inside: out through the nearest face."""
    mesh, points, triangles = example.load(box_file(tmp_path), None, None)
    np.testing.assert_allclose(points, BOX, atol=1e-6)
    assert triangles.shape == (12, 3)
    gap = example.THICKNESS
    places = [[0.0, 0.602, 0.0], [0.0, 0.59, 0.05], [0.203, 0.3, 0.0], [0.5, 0.3, 0.0], [0.5, 0.001, 0.0]]
    wanted = [[0.0, 0.6 + gap, 0.0], [0.0, 0.6 + gap, 0.05], [0.2 + gap, 0.3, 0.0], [0.5, 0.3, 0.0], [0.5, gap, 0.0]]
    x = array(example, [places])
    example.wp.launch(example.collide, x.shape, [mesh.id, array(example, [places]), example.REACH, gap, 0.0, x])
    np.testing.assert_allclose(x.numpy()[0], wanted, atol=2e-6)


def test_friction_holds_below_its_cone_and_yields_above(example, tmp_path):
    """A vertex pressed by d into the top and dragged by s ends where Coulomb's law says: at 0 or at s - mu d."""
    mesh, _, _ = example.load(box_file(tmp_path), None, None)
    depth, gap, mu = 0.01, example.THICKNESS, example.FRICTION
    drags = np.array([0.001, 0.0049, 0.0051, 0.02])
    start = np.stack([0.0 * drags, np.full(4, 0.6 + gap), 0.0 * drags], axis=1)
    moved = start + np.stack([drags, np.full(4, -depth), 0.0 * drags], axis=1)
    x = array(example, [moved])
    example.wp.launch(example.collide, x.shape, [mesh.id, array(example, [start]), example.REACH, gap, mu, x])
    np.testing.assert_allclose(x.numpy()[0, :, 0], np.maximum(drags - mu * depth, 0.0), atol=2e-6)


def test_cloth_comes_to_lie_on_a_box(example, no_picture, tmp_path):
    """Nothing is inside, the middle lies on the top, the corners hang, all are nearly at rest."""
    options = ("--mesh", box_file(tmp_path), "--vertices", 25, "--seconds", 1.5, "--substeps", 8)
    result = run(example, tmp_path, *options)
    example.check(result)
    assert box_distance(result.points).min() > 0.9 * example.THICKNESS
    on_top = np.abs(result.points[..., 1] - 0.6 - example.THICKNESS) < 2e-3
    assert on_top[12, 12] and 0.05 < on_top.mean() < 0.2
    assert result.points[[0, 0, -1, -1], [0, -1, 0, -1], 1].max() < 0.4
    assert np.median(result.speed) < 0.2


def test_the_default_mesh_and_its_files(example, tmp_path):
    result = run(example, tmp_path, "--seconds", 0.4, "--vertices", 40, "--substeps", 8)
    example.check(result)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    cloth = UsdGeom.Mesh.Get(stage, "/World/cloth")
    assert cloth.GetPointsAttr().GetTimeSamples() == list(range(25))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 24.0)
    np.testing.assert_array_equal(np.array(cloth.GetPointsAttr().Get(24)), result.points.reshape(-1, 3))
    first = read_mesh(tmp_path / "out.usdc", "/World/cloth", time=0)
    np.testing.assert_allclose(np.ptp(first.points, axis=0), [example.SIDE, 0.0, example.SIDE], atol=1e-6)
    obstacle = read_mesh(tmp_path / "out.usdc", "/World/obstacle")
    assert obstacle.points[:, 1].min() == 0.0 and obstacle.points[:, 1].max() == pytest.approx(example.HEIGHT)
    assert stage.GetPrimAtPath("/World/ground")
    picture = imread(tmp_path / "out.png")
    assert (picture[..., 2] > 1.5 * picture[..., 0]).mean() > 0.05


def test_the_validators_of_usd_find_nothing(example, no_picture, tmp_path):
    validation = pytest.importorskip("pxr.UsdValidation")
    run(example, tmp_path, "--mesh", box_file(tmp_path), "--vertices", 12, "--seconds", 0.1, "--substeps", 2)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    context = validation.ValidationContext(validation.ValidationRegistry().GetOrLoadAllValidators())
    assert [error.GetMessage() for error in context.Validate(stage)] == []


def test_the_same_bits_on_one_and_two_threads(example, no_picture, tmp_path):
    found, before = [], pool.get_pool().threads
    try:
        for threads in (2, 1):
            example.wp.set_num_threads(threads)
            result = run(example, tmp_path, "--vertices", 48, "--seconds", 0.3, "--substeps", 6)
            found.append(result.points.tobytes() + result.speed.tobytes())
    finally:
        example.wp.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["bunny", "bear", "rocks"])
def test_meshes_of_other_tools(example, no_picture, tmp_path, name):
    mesh = DATA / f"{name}.usd"
    if not mesh.exists():
        pytest.skip("the shared sample files are not on this machine")
    result = run(example, tmp_path, "--mesh", mesh, "--vertices", 24, "--seconds", 0.3, "--substeps", 8)
    example.check(result)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": np.full((1, 1, 3), np.nan)}, "not finite"),
        ({"speed": np.array([[np.inf]])}, "not finite"),
        ({"points": np.array([[[0.0, -0.01, 0.0]]])}, "below the floor"),
        ({"strain": np.array([0.1, -0.1])}, "the mean strain reached 10.0%"),
    ],
)
def test_the_check_catches(example, changes, message):
    good = {"points": np.ones((1, 1, 3)), "speed": np.zeros((1, 1)), "strain": np.zeros(2), "mesh": None}
    example.check(example.Result(**good))
    with pytest.raises(AssertionError, match=message):
        example.check(example.Result(**{**good, **changes}))


def test_refusals(example, tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match=r"missing\.usd"):
        run(example, tmp_path, "--mesh", tmp_path / "missing.usd")
    with pytest.raises(UsdError, match="its meshes are: /World/box"):
        run(example, tmp_path, "--mesh", box_file(tmp_path), "--prim", "/nothing")
    with pytest.raises(MeshFileError, match=r"extension '\.txt'"):
        run(example, tmp_path, "--mesh", tmp_path / "mesh.txt")
    with pytest.raises(SystemExit):
        run(example, tmp_path, "--vertices", 1)
    assert "must be above zero" in capsys.readouterr().err
