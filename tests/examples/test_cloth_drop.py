"""The cloth example: topology and coloring against plain loops, physics, its files, and
refusals."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from pxr import Usd, UsdGeom

from warpsim.usd import UsdError, UsdWriter

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="module")
def example():
    """The example as a module, loaded by its file as any user's script is."""
    spec = importlib.util.spec_from_file_location("cloth_drop", ROOT / "examples" / "cloth_drop.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["cloth_drop"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["cloth_drop"]


def run(example, folder, *options):
    files = ["--output", str(folder / "out.usdc"), "--picture", str(folder / "out.png")]
    return example.main([*files, "--device", str(example.wp.get_device()), *map(str, options)])


@pytest.fixture
def no_picture(example, monkeypatch):
    """The picture takes longer than these simulations, and another test looks at it."""
    monkeypatch.setattr(example, "render_meshes", lambda path, views, captions: path)


def small_sheet(folder, cells=12):
    """A coarse sheet for tests that need a result rather than a good one."""
    points = np.array([[j, 0.0, i] for i in range(cells + 1) for j in range(cells + 1)]) / cells
    corner = [i * (cells + 1) + j for i in range(cells) for j in range(cells)]
    quads = [[a, a + cells + 1, a + cells + 2, a + 1] for a in corner]
    with UsdWriter(folder / "sheet.usda") as usd:
        usd.mesh("sheet", points, quads)
    return folder / "sheet.usda"


def random_triangles(seed):
    """Triangles with shared, repeated and degenerate edges, as bad files have them."""
    return np.random.default_rng(seed).integers(0, 12, size=(25, 3))


@pytest.mark.parametrize("seed", range(5))
def test_edges_and_hinges_agree_with_a_loop(example, seed):
    triangles = random_triangles(seed)
    seen = {}
    for a, b, c in triangles.tolist():
        for i, j, off in ((a, b, c), (b, c, a), (c, a, b)):
            seen.setdefault((min(i, j), max(i, j)), []).append(off)
    edges, hinges = example.edges_and_hinges(triangles)
    assert {tuple(edge) for edge in edges.tolist()} == {(i, j) for i, j in seen if i != j}
    assert len(edges) == len({tuple(edge) for edge in edges.tolist()})
    pairs = [offs[:2] for offs in seen.values() if len(offs) > 1 and offs[0] != offs[1]]
    assert sorted(map(sorted, hinges.tolist())) == sorted(map(sorted, pairs))


def test_a_square_of_two_triangles_has_one_hinge(example):
    edges, hinges = example.edges_and_hinges(np.array([[0, 1, 2], [0, 2, 3]]))
    assert edges.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]
    assert hinges.tolist() == [[1, 3]]


@pytest.mark.parametrize("seed", range(5))
def test_no_color_holds_a_vertex_twice(example, seed):
    pairs = np.concatenate(example.edges_and_hinges(random_triangles(seed)))
    colors = example.color(pairs, 12)
    for one in range(colors.max() + 1):
        vertices = pairs[colors == one].ravel().tolist()
        assert vertices and len(vertices) == len(set(vertices))
    assert colors.max() + 1 < 2 * np.bincount(pairs.ravel()).max()


def test_masses_add_up_to_area_times_density(example):
    points = np.array([[0, 0, 0], [2, 0, 0], [2, 0, 3], [0, 0, 3]], dtype=float)
    mass = example.masses(points, np.array([[0, 1, 2], [0, 2, 3]]))
    np.testing.assert_allclose(mass.sum(), 6.0 * example.DENSITY)
    np.testing.assert_allclose(mass, example.DENSITY * np.array([2, 1, 2, 1]))


def test_free_fall(example, no_picture, tmp_path):
    """Before it touches anything the sheet falls as g t^2 / 2, less the drag, and stays flat."""
    result = run(example, tmp_path, "--mesh", small_sheet(tmp_path), "--seconds", 0.1)
    start = example.BALL[1] + example.RADIUS + 0.15
    fallen = start - result.points[:, 1]
    assert np.ptp(fallen) < 1e-4
    np.testing.assert_allclose(fallen.mean(), 0.5 * 9.81 * 0.1**2, rtol=0.04)
    np.testing.assert_allclose(result.velocities[:, 1].mean(), -9.81 * 0.1, rtol=0.04)


def hang_chain(example, count, mass, stiffness, substeps, iterations):
    """Extension [m] of `count` masses on springs after 6 s, the first point held in place."""
    wp = example.wp

    def array(values, dtype=float):
        return wp.array(np.asarray(values, dtype=np.float32), dtype=dtype)

    links = 0.1  # [m]; a long chain would drown g h^2 in the rounding of its float32 positions
    points = np.array([[0.0, -links * k, 0.0] for k in range(count + 1)])
    pairs = np.array([[k, k + 1] for k in range(count)])
    colors = example.color(pairs, count + 1)
    order = np.argsort(colors, kind="stable")
    assert np.bincount(colors).tolist() == [count // 2, count // 2]
    x, start, v = (array(p, wp.vec3) for p in (points, points, 0.0 * points))
    w, lam = array([0.0] + [1.0 / mass] * count), array(np.zeros(count))
    bonds = [wp.array(pairs[order].astype(np.int32), dtype=wp.vec2i)]
    bonds += [array(np.full(count, links)), array(np.full(count, 1.0 / stiffness)), lam, w]
    h = 1.0 / (60 * substeps)
    for _ in range(360 * substeps):
        free = [x[1:], v[1:], start[1:], -9.81, 5.0, h]
        wp.launch(example.predict, dim=count, inputs=free)
        wp.launch(example.forget, dim=count, inputs=[lam])
        for _ in range(iterations):
            for first in (0, count // 2):
                inputs = [first, *bonds, h, x]
                wp.launch(example.project, dim=count // 2, inputs=inputs)
        wp.launch(example.update_velocity, dim=count + 1, inputs=[x, start, h, v])
    return points[-1, 1] - x.numpy()[-1, 1]


@pytest.mark.parametrize(("substeps", "iterations"), [(20, 1), (1, 20)])
def test_a_chain_stretches_as_its_compliance_says(example, substeps, iterations):
    """It settles at m g N (N + 1) / (2 k): stiffness depends neither on step nor on iterations."""
    extension = hang_chain(example, 10, 0.1, 1000.0, substeps, iterations)
    np.testing.assert_allclose(extension, 0.1 * 9.81 * 10 * 11 / 2000.0, rtol=0.01)


def test_friction_holds_below_its_cone_and_yields_above(example):
    """A vertex pressed by d and dragged by s ends where Coulomb's law says: at 0 or at s - mu d."""
    wp = example.wp
    depth, floor = 0.01, example.THICKNESS
    drags = np.array([0.001, 0.0039, 0.0041, 0.02])
    start = np.stack([5.0 + 0.0 * drags, np.full(4, floor), 0.0 * drags], axis=1)
    moved = start + np.stack([drags, np.full(4, -depth), 0.0 * drags], axis=1)
    x, begin = (wp.array(p.astype(np.float32), dtype=wp.vec3) for p in (moved, start))
    inputs = [begin, wp.vec3(*example.BALL), example.RADIUS, floor, example.FRICTION, x]
    wp.launch(example.collide, dim=4, inputs=inputs)
    slid = np.maximum(drags - example.FRICTION * depth, 0.0)
    np.testing.assert_allclose(x.numpy()[:, 0] - 5.0, slid, atol=2e-6)
    np.testing.assert_allclose(x.numpy()[:, 1], floor, atol=1e-7)


def reference_substep(example, x, v, bonds, w, h, iterations):
    """One XPBD substep in float64, one constraint after the other, as the papers write it."""
    ball, gap = np.array(example.BALL), example.THICKNESS
    start = x.copy()
    x = x + h * ((1.0 - example.DRAG * h) * v + h * np.array([0.0, example.GRAVITY, 0.0]))
    lam = np.zeros(len(bonds))
    for _ in range(iterations):
        for c, (i, j, rest, alpha) in enumerate(bonds):
            length = np.linalg.norm(x[i] - x[j])
            normal, soft = (x[i] - x[j]) / length, alpha / h**2
            change = (rest - length - soft * lam[c]) / (w[i] + w[j] + soft)
            lam[c] += change
            x[i] += w[i] * change * normal
            x[j] -= w[j] * change * normal
    for i in range(len(x)):
        x[i] = leave(example, x[i], start[i], np.array([0.0, 1.0, 0.0]), gap - x[i, 1])
        away = x[i] - ball
        distance = np.linalg.norm(away)
        depth = example.RADIUS + gap - distance
        x[i] = leave(example, x[i], start[i], away / distance, depth)
    return x, (x - start) / h


def leave(example, p, start, normal, depth):
    if depth <= 0.0:
        return p
    p = p + depth * normal
    slide = (p - start) - normal * np.dot(p - start, normal)
    length = np.linalg.norm(slide)
    return p - slide * min(1.0, example.FRICTION * depth / max(length, 1e-9))


def test_substeps_agree_with_the_algorithm_in_plain_numpy(example):
    """Edges, bending pairs, contact and friction, over substeps with several iterations."""
    rng = np.random.default_rng(2)
    cells = np.arange(16)
    flat = np.stack([cells % 4, 0.0 * cells, cells // 4], axis=1) / 3.0 - 0.5
    points = flat + [0.0, 0.52, 0.0] + 0.01 * rng.standard_normal((16, 3))
    points[:4, 1] = 0.001  # one row starts in the floor
    quads = [[a, a + 4, a + 5, a + 1] for a in range(11) if a % 4 < 3]
    triangles = np.array([[q[0], q[k], q[k + 1]] for q in quads for k in (1, 2)])
    cloth = example.Cloth(points, triangles, None)
    # Strained from the start, and soft enough that the multipliers matter.
    ends, rest = cloth.pairs.numpy(), 0.9 * cloth.rest.numpy()
    alpha = rng.uniform(1e-5, 1e-3, len(rest)).astype(np.float32)
    cloth.rest.assign(rest)
    cloth.alpha.assign(alpha)
    bonds = list(zip(*ends.T.tolist(), rest.tolist(), alpha.tolist(), strict=True))
    x, v, w = points.copy(), np.zeros_like(points), cloth.w.numpy().astype(float)
    for _ in range(8):
        cloth.substep(0.002, 3)
        x, v = reference_substep(example, x, v, bonds, w, 0.002, 3)
    np.testing.assert_allclose(cloth.x.numpy(), x, atol=5e-6)
    np.testing.assert_allclose(cloth.v.numpy(), v, atol=2e-3)
    assert np.abs(x - points).max() > 0.01


def test_the_default_cloth_falls_drapes_and_is_written(example, tmp_path):
    """Half a second: past the impact.  The stage has every frame."""
    result = run(example, tmp_path, "--seconds", 0.5, "--substeps", 20)
    example.check(result)
    assert len(result.strain) == 31 and result.points[:, 1].min() < 0.2
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    cloth = UsdGeom.Mesh.Get(stage, "/World/cloth")
    assert cloth.GetPointsAttr().GetTimeSamples() == list(range(31))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 30.0)
    np.testing.assert_array_equal(np.array(cloth.GetPointsAttr().Get(30)), result.points)
    assert stage.GetPrimAtPath("/World/ball") and stage.GetPrimAtPath("/World/ground")
    picture = imread(tmp_path / "out.png")
    red = (picture[..., 0] > 1.5 * picture[..., 1]) & (picture[..., 0] > 1.5 * picture[..., 2])
    assert red.mean() > 0.05


def test_the_validators_of_usd_find_nothing(example, no_picture, tmp_path):
    validation = pytest.importorskip("pxr.UsdValidation")
    run(example, tmp_path, "--mesh", small_sheet(tmp_path), "--seconds", 0.1, "--substeps", 2)
    stage = Usd.Stage.Open(str(tmp_path / "out.usdc"))
    context = validation.ValidationContext(validation.ValidationRegistry().GetOrLoadAllValidators())
    assert [error.GetMessage() for error in context.Validate(stage)] == []


def test_the_same_bits_twice(example, no_picture, tmp_path):
    options = ("--mesh", small_sheet(tmp_path), "--seconds", 0.3, "--substeps", 10)
    first, second = (run(example, tmp_path, *options) for _ in range(2))
    assert first.points.tobytes() == second.points.tobytes()
    assert first.velocities.tobytes() == second.velocities.tobytes()


def test_more_iterations_stretch_less(example, no_picture, tmp_path):
    options = ("--mesh", small_sheet(tmp_path), "--seconds", 0.4, "--substeps", 5)
    one = run(example, tmp_path, *options)
    many = run(example, tmp_path, *options, "--iterations", 8)
    assert many.strain[-1, 1] < 0.5 * one.strain[-1, 1]


@pytest.mark.parametrize("name", ["bunny", "bear", "rocks"])
def test_meshes_of_other_tools_fall_too(example, no_picture, tmp_path, name):
    mesh = DATA / f"{name}.usd"
    if not mesh.exists():
        pytest.skip("the shared sample files are not on this machine")
    result = run(example, tmp_path, "--mesh", mesh, "--seconds", 0.5)
    assert np.isfinite(result.points).all()
    assert result.points[:, 1].min() >= 0.0
    assert np.linalg.norm(result.points - example.BALL, axis=1).min() >= example.RADIUS
    if name != "rocks":  # its slivers are shorter than a millimetre, so their strain says little
        example.check(result)


def break_result(example, **changes):
    good = {
        "points": np.array([[0.0, 1.0, 0.0]]),
        "velocities": np.zeros((1, 3)),
        "strain": np.zeros((2, 2)),
    }
    return example.Result(**{**good, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": np.array([[np.nan, 1.0, 0.0]])}, "not finite"),
        ({"velocities": np.array([[np.inf, 1.0, 0.0]])}, "not finite"),
        ({"points": np.array([[2.0, -0.01, 0.0]])}, "0.01 m below the floor"),
        ({"points": np.array([[0.0, 0.4, 0.0]])}, "m inside the ball"),
        ({"strain": np.array([[2.0, 0.0], [0.0, 0.0]])}, "an edge was strained by 200%"),
        ({"strain": np.array([[0.1, 0.05], [0.0, 0.0]])}, "the mean strain reached 5.0%"),
    ],
)
def test_the_check_catches(example, changes, message):
    example.check(break_result(example))
    with pytest.raises(AssertionError, match=message):
        example.check(break_result(example, **changes))


def test_refusals(example, tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        run(example, tmp_path, "--mesh", tmp_path / "missing.usd")
    with pytest.raises(UsdError, match="its meshes are: /World/sheet"):
        run(example, tmp_path, "--mesh", small_sheet(tmp_path), "--prim", "/nothing")
    with pytest.raises(SystemExit):
        run(example, tmp_path, "--substeps", 0)
    assert "must be above zero" in capsys.readouterr().err
