"""Marching cubes: closed surfaces on the right side of every node, positions, gradients, and what it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import warpsim as wp
from warpsim.core.runtime.launches import pool
from warpsim.errors import ArgumentTypeError, ArrayError, DeviceError, LaunchError
from warpsim.geometry.marching_cubes.marching_cubes import MarchingCubes


def axes(n):
    return np.meshgrid(*[np.linspace(-1.0, 1.0, n)] * 3, indexing="ij")


def ball(n, radius=0.7, center=(0.0, 0.0, 0.0)):
    return np.sqrt(sum((x - c) ** 2 for x, c in zip(axes(n), center, strict=True))) - radius


def torus(n, major=0.6, minor=0.25):
    x, y, z = axes(n)
    return np.hypot(np.hypot(x, y) - major, z) - minor


def extract(field, threshold=0.0, **options):
    """Vertices (n, 3) and triangles (m, 3) as NumPy arrays."""
    verts, indices = MarchingCubes.extract(wp.array(field, dtype=float), threshold, **options)
    return verts.numpy(), indices.numpy().reshape(-1, 3)


def sides(triangles):
    return triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)


def assert_closed(triangles):
    """Every directed side once, and its opposite too: two triangles at every side, turning alike."""
    found = sides(triangles).tolist()
    directed = set(map(tuple, found))
    assert len(directed) == len(found)
    assert all((q, p) in directed for p, q in directed)


def euler(verts, triangles):
    return len(verts) - len(sides(triangles)) // 2 + len(triangles)


def corners(verts, triangles):
    return (verts[triangles[:, k]].astype(np.float64) for k in range(3))


def winding(points, verts, triangles):
    """How often the surface goes around each point: solid angles of van Oosterom and Strackee 1983 over 4 pi."""
    a, b, c = (corner[None] - points[:, None] for corner in corners(verts, triangles))
    la, lb, lc = (np.linalg.norm(x, axis=-1) for x in (a, b, c))
    volume = np.einsum("...i,...i", a, np.cross(b, c))
    dots = [np.einsum("...i,...i", x, y) * length for x, y, length in ((a, b, lc), (b, c, la), (c, a, lb))]
    return np.arctan2(volume, la * lb * lc + sum(dots)).sum(axis=1) / (2.0 * math.pi)


# ----- surfaces that are known --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (ball(20), 2),
        (torus(24), 0),
        (np.minimum(ball(24, 0.3, (0.5, 0, 0)), ball(24, 0.3, (-0.5, 0, 0))), 4),
        (np.maximum(ball(24, 0.8), -ball(24, 0.4)), 4),  # a hollow ball: two surfaces
    ],
    ids=["ball", "torus", "two balls", "hollow ball"],
)
def test_topology(field, expected):
    verts, triangles = extract(field)
    assert_closed(triangles)
    assert euler(verts, triangles) == expected
    assert np.array_equal(np.unique(triangles), np.arange(len(verts)))


@pytest.mark.parametrize(("n", "tolerance"), [(16, 0.03), (64, 0.002)])
def test_volume_and_area_of_a_ball_come_near(n, tolerance):
    verts, triangles = extract(ball(n), lower=(-1, -1, -1), upper=(1, 1, 1))
    a, b, c = corners(verts, triangles)
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    assert volume == pytest.approx(4.0 / 3.0 * math.pi * 0.7**3, rel=tolerance)
    assert area == pytest.approx(4.0 * math.pi * 0.7**2, rel=tolerance)


def test_a_plane_is_found_exactly_and_faces_where_the_field_grows():
    field = np.broadcast_to(np.arange(5.0)[:, None, None], (5, 3, 4))
    verts, triangles = extract(field, 2.25)
    np.testing.assert_array_equal(verts[:, 0], np.float32(2.25))
    assert len(verts) == 12 and len(triangles) == 2 * 2 * 3
    a, b, c = corners(verts, triangles)
    np.testing.assert_allclose(np.cross(b - a, c - a), [[1.0, 0.0, 0.0]] * len(a))


def test_one_node_inside_gives_an_octahedron():
    field = np.ones((3, 3, 3))
    field[1, 1, 1] = -1.0
    verts, triangles = extract(field)
    expected = [[1, 1, 1] + 0.5 * s * np.eye(3)[a] for a in range(3) for s in (-1, 1)]
    assert sorted(verts.tolist()) == sorted(np.array(expected).tolist())
    assert len(triangles) == 8
    assert_closed(triangles)


# ----- surfaces of any field ----------------------------------------------------------------------

LEVELS = st.one_of(st.integers(-2, 2).map(float), st.floats(-1.0, 1.0, width=32))


@given(st.tuples(*[st.integers(1, 4)] * 3).flatmap(lambda shape: arrays.arrays(np.float32, shape, elements=LEVELS)))
def test_any_field_gives_a_closed_surface_around_what_is_inside(values):
    """Nodes below the threshold are enclosed once, nodes above never; those at the threshold lie on the surface."""
    field = np.pad(values, 1, constant_values=3.0)
    verts, triangles = extract(field)
    assert_closed(triangles)
    assert np.array_equal(np.unique(triangles), np.arange(len(verts)))
    apart = np.abs(field) > 1e-3
    found = winding(np.argwhere(apart).astype(float), verts, triangles)
    np.testing.assert_allclose(found, (field[apart] < 0).astype(float), atol=1e-4)


@given(arrays.arrays(np.float32, (3, 4, 3), elements=LEVELS), st.sampled_from([0.0, 1.0, 0.3]))
def test_every_cut_edge_has_one_vertex_where_the_line_through_its_values_says(field, threshold):
    verts, _ = extract(field, threshold)
    expected = []
    level = np.float32(threshold)
    for node in np.ndindex(*field.shape):
        for axis in range(3):
            other = tuple(n + (k == axis) for k, n in enumerate(node))
            if other[axis] < field.shape[axis] and (field[node] < level) != (field[other] < level):
                a, b = np.float64(field[node]), np.float64(field[other])
                expected.append(np.array(node) + np.eye(3)[axis] * (np.float64(level) - a) / (b - a))
    np.testing.assert_allclose(verts, np.reshape(expected, (-1, 3)), atol=1e-6)


def test_the_border_of_the_grid_leaves_the_surface_open_there_only():
    verts, triangles = extract(ball(12, 1.2), lower=(-1, -1, -1), upper=(1, 1, 1))
    directed = set(map(tuple, sides(triangles).tolist()))
    loose = np.array([p for p, q in directed if (q, p) not in directed])
    assert len(loose) and np.all(np.abs(np.abs(verts[loose]).max(axis=1) - 1.0) < 1e-6)


def test_values_at_the_threshold_count_as_outside():
    field = np.array([-1.0, 0.0, 0.0, -1.0, 0.0], dtype=np.float32)[:, None, None] * np.ones((5, 2, 2), np.float32)
    verts, _ = extract(field)
    np.testing.assert_array_equal(np.unique(verts[:, 0]), [1.0, 2.0, 4.0])
    assert len(extract(np.zeros((3, 3, 3)))[0]) == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_cells_at_unusable_values_are_left_out(bad):
    field = ball(12)
    verts, triangles = extract(field)
    field[2, 5, 6] = bad
    kept_verts, kept = extract(field)
    assert np.isfinite(kept_verts).all() and np.array_equal(np.unique(kept), np.arange(len(kept_verts)))
    cells = np.floor(verts[triangles].mean(axis=1)).astype(int)
    touched = ((cells == [2, 5, 6]) | (cells == [1, 4, 5])).all(axis=1)
    touched |= (np.isin(cells - [2, 5, 6], (-1, 0))).all(axis=1)
    expected = verts[triangles[~touched]]
    assert touched.any() and np.array_equal(kept_verts[kept], expected)


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_no_surface(value):
    verts, triangles = extract(np.full((4, 5, 6), value))
    assert verts.shape == (0, 3) and triangles.shape == (0, 3)


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 3, 7), (9, 2, 2)])
def test_the_smallest_grids(shape):
    rng = np.random.default_rng(3)
    field = rng.standard_normal(shape)
    verts, triangles = extract(field)
    inside, outside = (np.pad(sign * np.abs(field), 1, constant_values=1.0) for sign in (-1.0, 1.0))
    assert len(triangles) and triangles.max() == len(verts) - 1
    assert_closed(extract(inside)[1])
    assert len(extract(outside)[1]) == 0


def test_values_of_opposite_and_huge_size_stay_finite():
    field = np.full((2, 2, 2), 3e38)
    field[0] = -3e38
    verts, _ = extract(field)
    assert np.isfinite(verts).all() and len(verts) == 4


# ----- placement, memory, devices -----------------------------------------------------------------


def test_bounds_place_the_corners_of_the_grid():
    field = torus(14)[:, :13, :10]
    plain, triangles = extract(field)
    placed, same = extract(field, lower=(1, 2, 3), upper=wp.vec3(14.0, 26.0, 21.0))
    np.testing.assert_array_equal(triangles, same)
    np.testing.assert_allclose(placed, plain * [1.0, 2.0, 2.0] + [1.0, 2.0, 3.0], rtol=1e-6)
    old = MarchingCubes.extract_surface_marching_cubes(wp.array(field, dtype=float), 0.0, (1, 2, 3), (14, 26, 21))
    np.testing.assert_array_equal(old[0].numpy(), placed)


def test_strided_fields_and_the_interpreter_give_the_same_surface():
    field = ball(7, 0.6)
    verts, triangles = extract(field)
    doubled = wp.array(np.repeat(field, 2, axis=1), dtype=float)[:, ::2]
    for found in (doubled, wp.array(field, dtype=float, device="interp")):
        other, indices = MarchingCubes.extract(found)
        np.testing.assert_array_equal(indices.numpy().reshape(-1, 3), triangles)
        np.testing.assert_allclose(other.numpy(), verts, rtol=1e-6)


def test_the_same_bits_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    data = ball(40) + 0.05 * rng.standard_normal((40, 40, 40))
    slopes = rng.standard_normal((10**6, 3)).astype(np.float32)
    found = []
    before = pool.get_pool().threads
    try:
        for threads in (4, 4, 2, 1):
            wp.set_num_threads(threads)
            field = wp.array(data, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                verts, indices = MarchingCubes.extract(field)
            tape.backward(grads={verts: wp.array(slopes[: len(verts)], dtype=wp.vec3)})
            found.append(verts.numpy().tobytes() + indices.numpy().tobytes() + field.grad.numpy().tobytes())
    finally:
        wp.set_num_threads(before)
    assert len(set(found)) == 1


# ----- gradients ----------------------------------------------------------------------------------


def test_gradients_of_vertices_agree_with_finite_differences():
    rng = np.random.default_rng(5)
    field = ball(8) + 0.02 * rng.standard_normal((8, 8, 8))
    source = wp.array(field, dtype=float, requires_grad=True)
    bounds = {"lower": (-1, -1, -1), "upper": (1, 2, 3)}
    with wp.Tape() as tape:
        verts, indices = MarchingCubes.extract(source, 0.1, **bounds)
    weights = rng.standard_normal((len(verts), 3)).astype(np.float32)
    tape.backward(grads={verts: wp.array(weights, dtype=wp.vec3)})
    gradient = source.grad.numpy()

    def loss(values):
        moved, same = extract(values, 0.1, **bounds)
        assert np.array_equal(same.ravel(), indices.numpy())
        return (moved.astype(np.float64) * weights).sum()

    step = 1e-3
    cut = np.argwhere(gradient)
    assert 50 < len(cut) < field.size
    for node in [*cut[::7], (0, 0, 0)]:
        away = np.zeros_like(field)
        away[tuple(node)] = step
        slope = (loss(field + away) - loss(field - away)) / (2.0 * step)
        assert gradient[tuple(node)] == pytest.approx(slope, rel=0.02, abs=0.01)


def test_at_the_threshold_the_derivative_is_that_for_growing_values():
    field = np.full((3, 2, 2), -1.0, dtype=np.float32)
    field[1], field[2] = 0.0, 1.0
    source = wp.array(field, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        verts, _ = MarchingCubes.extract(source)
    tape.backward(grads={verts: wp.array([[1.0, 0.0, 0.0]] * len(verts), dtype=wp.vec3)})
    grown = field.copy()
    grown[1] = 1e-3
    slope = (extract(grown)[0][:, 0] - verts.numpy()[:, 0]) / 1e-3
    np.testing.assert_allclose(source.grad.numpy()[1].ravel(), slope, rtol=2e-3)
    np.testing.assert_array_equal(source.grad.numpy()[2], 0.0)


def test_growing_a_ball_moves_its_surface_outwards():
    """d volume / d threshold is the area, through the gradients of all vertices."""
    field = wp.array(ball(32), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        verts, indices = MarchingCubes.extract(field, lower=(-1, -1, -1), upper=(1, 1, 1))
    a, b, c = corners(verts.numpy(), indices.numpy().reshape(-1, 3))
    slopes = np.zeros((len(verts), 3))
    for k, normal in enumerate((np.cross(b, c), np.cross(c, a), np.cross(a, b))):
        np.add.at(slopes, indices.numpy()[k::3], normal / 6.0)
    tape.backward(grads={verts: wp.array(slopes, dtype=wp.vec3)})
    assert -field.grad.numpy().sum() == pytest.approx(4.0 * math.pi * 0.7**2, rel=0.01)


def test_a_field_without_gradient_gives_vertices_without():
    assert not MarchingCubes.extract(wp.array(ball(6), dtype=float))[0].requires_grad


# ----- the reusable object and its errors -----------------------------------------------------------


def test_the_object_keeps_size_bounds_and_results():
    cubes = MarchingCubes(8, 8, 8, domain_bounds_lower_corner=(0, 0, 0), domain_bounds_upper_corner=(7, 7, 7))
    assert (cubes.nx, cubes.ny, cubes.nz, cubes.verts, cubes.indices) == (8, 8, 8, None, None)
    cubes.surface(wp.array(ball(8), dtype=float), 0.0)
    np.testing.assert_array_equal(cubes.verts.numpy(), extract(ball(8))[0])
    with pytest.raises(ArrayError, match=r"shape \(9, 9, 9\)\nexpected: \(8, 8, 8\)"):
        cubes.surface(wp.array(ball(9), dtype=float), 0.0)
    cubes.resize(9, 9, 9)
    cubes.domain_bounds_upper_corner = (8, 8, 8)
    cubes.surface(wp.array(ball(9), dtype=float))
    assert cubes.upper == (8, 8, 8) and cubes.domain_bounds_lower_corner == (0, 0, 0)
    assert_closed(cubes.indices.numpy().reshape(-1, 3))


def test_patterns_for_own_kernels_say_which_edges_a_cube_cuts():
    """Of every case, by its own corners: the edges of its triangles are those with one end inside, and no other."""
    first, edges = MarchingCubes.CASE_TO_TRI_RANGE, MarchingCubes.TRI_LOCAL_INDICES
    for case in range(256):
        inside = [case >> corner & 1 for corner in range(8)]
        cut = {e for e, (p, q) in enumerate(MarchingCubes.EDGE_TO_CORNERS) if inside[p] != inside[q]}
        assert set(edges[first[case] : first[case + 1]]) == cut
        assert (first[case + 1] - first[case]) % 3 == 0
    ends = np.array(MarchingCubes.CUBE_CORNER_OFFSETS)[np.array(MarchingCubes.EDGE_TO_CORNERS)]
    assert sorted(map(tuple, ends[:, 1] - ends[:, 0])) == sorted([(1, 0, 0), (0, 1, 0), (0, 0, 1)] * 4)


def test_the_names_of_warp_are_the_same_class():
    assert wp.geometry.IsoSurfaceMarchingCubes is wp.MarchingCubes
    assert issubclass(wp.MarchingCubes, wp.geometry.IsoSurfaceBase)
    with pytest.raises(TypeError, match="abstract"):
        wp.geometry.IsoSurfaceBase(4, 4, 4)
    with pytest.raises(AttributeError, match="surface nets are not here yet"):
        wp.geometry.IsoSurfaceNets(4, 4, 4)
    with pytest.raises(ArgumentTypeError, match="`lower` and `domain_bounds_lower_corner` are both there"):
        MarchingCubes(4, 4, 4, lower=(0, 0, 0), domain_bounds_lower_corner=(0, 0, 0))


@pytest.mark.parametrize(
    ("field", "options", "error", "message"),
    [
        (np.zeros((3, 3, 3)), {}, ArgumentTypeError, "field is ndarray"),
        (wp.zeros((3, 3, 3), dtype=wp.float64), {}, ArgumentTypeError, "dtype float64 and rank 3"),
        (wp.zeros((3, 3), dtype=float), {}, ArgumentTypeError, "rank 2\nexpected: float32 and rank 3"),
        (wp.zeros((3, 1, 3), dtype=float), {}, ArrayError, "3 x 1 x 3 nodes has no cells"),
        (wp.zeros((3, 3, 3), dtype=float), {"threshold": math.nan}, ArrayError, "the threshold is nan"),
        (wp.zeros((3, 3, 3), dtype=float), {"lower": (0, math.inf, 0)}, ArrayError, "lower is"),
        (wp.zeros((3, 3, 3), dtype=float), {"upper": (0, 1)}, ArrayError, "three finite"),
    ],
)
def test_refusals(field, options, error, message):
    with pytest.raises(error, match=message):
        MarchingCubes.extract(field, **options)


def test_a_graph_cannot_hold_it():
    field = wp.array(ball(6), dtype=float)
    with wp.ScopedCapture(), pytest.raises(LaunchError, match="not known while a graph is captured"):
        MarchingCubes.extract(field)


def test_the_object_refuses_sizes_without_cells_and_other_devices():
    with pytest.raises(ArrayError, match="1 x 5 x 5 nodes"):
        MarchingCubes(1, 5, 5)
    with pytest.raises(DeviceError, match="the field is on interp"):
        MarchingCubes(5, 5, 5, device="cpu").surface(wp.zeros((5, 5, 5), dtype=float, device="interp"))
