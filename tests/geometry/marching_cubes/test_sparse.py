"""Surfaces of some cells are those of the whole grid, where the octree leaves out what cannot matter."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError, LaunchError
from warpsim.geometry import lipschitz_octree, sparse_marching_cubes, sparse_marching_cubes_from_cells

LOWER, UPPER = (-1.0, -0.8, -0.7), (1.0, 0.9, 0.6)


@wp.kernel
def measure(points: wp.array[wp.vec3], radius: wp.array[float], values: wp.array[float]):
    """Two spheres that meet."""
    i = wp.tid()
    a = wp.length(points[i] - wp.vec3(-0.2, 0.0, 0.0)) - radius[0]
    b = wp.length(points[i] - wp.vec3(0.25, 0.1, 0.0)) - 0.35
    values[i] = wp.min(a, b)


@wp.kernel
def squared_sum(verts: wp.array[wp.vec3], total: wp.array[float]):
    wp.atomic_add(total, 0, wp.length_sq(verts[wp.tid()]))


class Spheres:
    """A field that counts what it is asked."""

    def __init__(self, radius=0.4):
        self.radius = wp.array([radius], dtype=float, requires_grad=True)
        self.asked = 0

    def __call__(self, points):
        assert points.dtype is wp.vec3
        self.asked += len(points)
        values = wp.zeros(len(points), requires_grad=True)
        wp.launch(measure, len(points), inputs=[points, self.radius], outputs=[values])
        return values


def nodes_of(shape, lower=LOWER, upper=UPPER):
    """In the arithmetic of the library, so that corners have the same bits."""
    spacing = np.float32([(b - a) / (n - 1) for a, b, n in zip(lower, upper, shape, strict=True)])
    return np.float32(lower) + spacing * np.stack(np.indices(shape), -1).astype(np.float32)


def dense(field, shape, threshold=0.0, lower=LOWER, upper=UPPER):
    points = wp.array(nodes_of(shape, lower, upper).reshape(-1, 3), dtype=wp.vec3)
    values = wp.array(field(points).numpy().reshape(shape), dtype=float)
    return wp.MarchingCubes.extract(values, threshold, lower=lower, upper=upper)


def triangles(verts, indices):
    """The triangles as sorted corners, rounded: a set that does not depend on how vertices are numbered."""
    corners = np.round(verts.numpy()[indices.numpy()].reshape(-1, 3, 3), 4) + 0.0
    turned = [min(tuple(map(tuple, np.roll(t, k, axis=0).tolist())) for k in range(3)) for t in corners]
    return sorted(turned)


def cells_near(shape):
    return np.argwhere(np.ones(np.array(shape) - 1, bool)).astype(np.int32)


@pytest.mark.parametrize("shape", [(33, 33, 33), (17, 30, 9), (2, 2, 2), (5, 40, 3)])
@pytest.mark.parametrize("threshold", [0.0, -0.1])
def test_the_surface_is_that_of_the_whole_grid(shape, threshold):
    field = Spheres()
    verts, indices, stats = sparse_marching_cubes(
        field, *shape, lower=LOWER, upper=UPPER, threshold=threshold, return_stats=True
    )
    assert stats["field_evaluations"] == field.asked and stats["requested_ncells"] == tuple(n - 1 for n in shape)
    whole = dense(field, shape, threshold)
    assert triangles(verts, indices) == triangles(*whole) and len(verts) == len(whole[0])
    if shape == (33, 33, 33):
        assert field.asked - 33**3 < 33**3 / 2 and stats["leaf_cells"] > len(verts) / 2


def test_every_side_belongs_to_two_triangles():
    _, indices = sparse_marching_cubes(Spheres(), 40, 40, 40, lower=LOWER, upper=UPPER)
    corners = indices.numpy().reshape(-1, 3)
    sides = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]), axis=1)
    assert (np.unique(sides, axis=0, return_counts=True)[1] == 2).all()


def test_steep_fields_need_their_bound():
    def steep(points):
        return 3.0 * Spheres()(points)

    shape = (24, 24, 24)
    whole = triangles(*dense(steep, shape))
    bounded = sparse_marching_cubes(steep, *shape, lower=LOWER, upper=UPPER, lipschitz_bound=3.0)
    assert triangles(*bounded) == whole


def test_gradients_reach_what_the_field_is_made_of():
    def moved(radius):
        field, total = Spheres(radius), wp.zeros(1, requires_grad=True)
        with wp.Tape() as tape:
            verts, _ = sparse_marching_cubes(field, 12, 12, 12, lower=LOWER, upper=UPPER)
            wp.launch(squared_sum, len(verts), inputs=[verts], outputs=[total])
        tape.backward(total)
        return len(verts), total.list()[0], field.radius.grad.list()[0]

    step = 2e-4
    (count, below, _), (same, above, _) = moved(0.41 - step), moved(0.41 + step)
    assert count == same  # the same edges are cut
    assert moved(0.41)[2] == pytest.approx((above - below) / (2 * step), rel=1e-2)


def test_cells_of_a_list():
    shape, field = (12, 10, 9), Spheres()
    values = field(wp.array(nodes_of(shape).reshape(-1, 3), dtype=wp.vec3)).numpy().reshape(shape)
    cells = np.random.default_rng(0).permutation(cells_near(shape))
    offsets = np.array(wp.MarchingCubes.CUBE_CORNER_OFFSETS)
    corners = values[tuple(np.moveaxis(cells[:, None] + offsets, -1, 0))]
    whole = wp.MarchingCubes.extract(wp.array(values, dtype=float), 0.0, lower=(1.0, 2.0, 3.0), upper=(6.5, 6.5, 7.0))
    for given_cells in (cells, wp.array(cells, dtype=wp.vec3i), wp.array(cells, dtype=int)):
        verts, indices = sparse_marching_cubes_from_cells(given_cells, corners, (1.0, 2.0, 3.0), 0.5)
        assert triangles(verts, indices) == triangles(*whole) and len(verts) == len(whole[0])
    far = np.array([1 << 27, -5000, 77])
    moved = sparse_marching_cubes_from_cells(cells + far, corners.ravel(), (1.0, 2.0, 3.0) - 0.5 * far, 0.5)
    assert triangles(*moved) == triangles(*whole)  # where float32 has no halves
    half = cells[:, 0] < 6
    verts, indices = sparse_marching_cubes_from_cells(cells[half], corners[half])
    assert 0 < len(indices) < len(whole[1])


def test_gradients_of_corner_values():
    values = wp.array([[-1.0, 1.0, 2.0, 3.0, 1.5, 2.0, 2.0, 2.0]], dtype=float, requires_grad=True)
    total = wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        verts, indices = sparse_marching_cubes_from_cells([[0, 0, 0]], values)
        wp.launch(squared_sum, len(verts), inputs=[verts], outputs=[total])
    tape.backward(total)
    assert len(indices) == 3
    np.testing.assert_allclose(np.sort(verts.numpy().max(axis=1)), [1 / 3, 0.4, 0.5], rtol=1e-6)
    a, expected = -1.0, np.zeros(8)
    for c in (1, 2, 4):  # t = -a / (b - a) along each axis, and its square is summed
        b = values.numpy()[0, c]
        t = -a / (b - a)
        expected[0] += 2 * t * -b / (b - a) ** 2
        expected[c] += 2 * t * a / (b - a) ** 2
    np.testing.assert_allclose(values.grad.numpy()[0], expected, rtol=1e-5)


def test_cells_with_unusable_values_and_none_at_all():
    values = np.full((2, 8), 1.0, np.float32)
    values[:, 0] = -1.0
    values[1, 7] = np.nan
    verts, indices = sparse_marching_cubes_from_cells([[0, 0, 0], [5, 0, 0]], values)
    assert len(verts) == 3 and len(indices) == 3
    for cells, corners in ((np.zeros((0, 3), int), np.zeros((0, 8))), ([[0, 0, 0]], np.ones((1, 8)))):
        verts, indices = sparse_marching_cubes_from_cells(cells, corners)
        assert verts.shape == indices.shape == (0,) and verts.dtype is wp.vec3 and indices.dtype is wp.int32
    away = sparse_marching_cubes(Spheres(), 9, 9, 9, lower=(5.0, 5.0, 5.0), upper=(6.0, 6.0, 6.0))
    assert away[0].shape == away[1].shape == (0,)


def test_cells_of_the_octree_hold_the_surface():
    field = Spheres()
    cells, width = lipschitz_octree(field, (-1.0, -1.0, -1.0), 2.0, 4)
    assert width == 0.125 and cells.dtype is wp.vec3i and field.asked < 16**3
    kept_cells = {tuple(c) for c in cells.numpy().tolist()}
    assert len(kept_cells) == len(cells)
    shape = (17,) * 3
    points = nodes_of(shape, (-1.0,) * 3, (1.0,) * 3)
    values = field(wp.array(points.reshape(-1, 3), dtype=wp.vec3)).numpy().reshape(shape)
    offsets = np.array(wp.MarchingCubes.CUBE_CORNER_OFFSETS)
    every = cells_near(shape)
    below = values[tuple(np.moveaxis(every[:, None] + offsets, -1, 0))] < 0
    cut = every[below.any(1) & ~below.all(1)]
    assert len(cut) and {tuple(c) for c in cut.tolist()} <= kept_cells
    assert lipschitz_octree(field, (0.0, 0.0, 0.0), 1.0, 0)[0].numpy().tolist() == [[0, 0, 0]]
    assert len(lipschitz_octree(field, (9.0, 0.0, 0.0), 1.0, 5)[0]) == 0


def test_fields_of_numpy():
    def sphere(points):
        return wp.array(np.linalg.norm(points.numpy(), axis=1) - 0.5, dtype=float)

    verts, _ = sparse_marching_cubes(sphere, 20, 20, 20, lower=(-1.0,) * 3, upper=(1.0,) * 3)
    assert np.abs(np.linalg.norm(verts.numpy(), axis=1) - 0.5).max() < 0.01


def test_mistakes():
    field = Spheres()
    for arguments, error in ((((1, 9, 9),), ValueError), (((9, 9, 2**21),), ArrayError)):
        with pytest.raises(error):
            sparse_marching_cubes(field, *arguments[0])
    for wrong in (3, wp.func(lambda p: p), None):
        with pytest.raises(ArgumentTypeError, match="a function from points"):
            lipschitz_octree(wrong, (0.0, 0.0, 0.0), 1.0, 3)
    for options in ({"root_width": 0.0}, {"max_depth": -1}, {"max_depth": 31}, {"lipschitz_bound": -1.0}):
        usual = {"origin": (0.0, 0.0, 0.0), "root_width": 1.0, "max_depth": 3}
        with pytest.raises(ValueError):
            lipschitz_octree(field, **{**usual, **options})
    for answer in (np.zeros(1), wp.zeros(3), wp.zeros(1, dtype=int)):
        with pytest.raises(ArrayError, match="the field gave"):
            lipschitz_octree(lambda points, answer=answer: answer, (0.0, 0.0, 0.0), 1.0, 3)
    with pytest.raises(ArrayError, match="corner_values"):
        sparse_marching_cubes_from_cells([[0, 0, 0]], np.zeros((1, 7)))
    with pytest.raises(ArrayError, match="apart"):
        sparse_marching_cubes_from_cells([[0, 0, 0], [2**30, 0, 0]], np.zeros((2, 8)))
    with pytest.raises(ArgumentTypeError, match="integers"):
        sparse_marching_cubes_from_cells([[0.5, 0, 0]], np.zeros((1, 8)))
    with pytest.raises(ValueError, match="cell_width"):
        sparse_marching_cubes_from_cells([[0, 0, 0]], np.zeros((1, 8)), cell_width=0.0)
    with wp.ScopedCapture(), pytest.raises(LaunchError, match="captured"):
        sparse_marching_cubes(field, 9, 9, 9)
