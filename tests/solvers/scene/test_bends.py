"""Bending of sheets: their rigidity on meshes of any cells and directions, against bent and twisted plates; clamps,
folds of the rest shape, hinges by themselves."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches import pool
from warpsim.solvers import ModelBuilder, SolverXPBD
from warpsim.solvers.scene import bends, cloth


def grid(nx, ny, width, height, alternate=True, noise=0.0):
    """Points and triangles of a sheet in the plane z = 0."""
    j, i = np.mgrid[0 : ny + 1, 0 : nx + 1]
    points = np.stack([i * width / nx, j * height / ny, 0.0 * i], axis=-1)
    inner = points[1:-1, 1:-1, :2]
    inner += noise * np.random.default_rng(0).uniform(-1.0, 1.0, inner.shape) * [width / nx, height / ny]
    numbers = np.arange((nx + 1) * (ny + 1)).reshape(ny + 1, nx + 1)
    if alternate:
        return points.reshape(-1, 3), cloth.grid_triangles(numbers)
    a, b, c, d = (t.ravel() for t in (numbers[:-1, :-1], numbers[:-1, 1:], numbers[1:, 1:], numbers[1:, :-1]))
    return points.reshape(-1, 3), np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def equilateral(n):
    """A square, nearly, of equilateral triangles in rows that are shifted by half of one."""
    rows = round(n / np.sqrt(0.75))
    points, faces = grid(n, rows, 1.0, rows * np.sqrt(0.75) / n, alternate=False)
    j = np.arange(len(points)) // (n + 1)
    points[:, 0] -= 0.5 * j / n
    return points, faces


def stiffness(points, faces, held=None):
    """Of slight deflections (n, n) [N/m] for a rigidity of 1 N m."""
    quads = cloth.hinges(faces)
    shapes = cloth.unfold(points, quads)
    weights, n = cloth.cotangent_weights(shapes), len(points)
    total = np.zeros((n, n))
    bent = bends.elements(quads, shapes, np.zeros(n, bool) if held is None else held)
    for edges, f in zip(bent.edges, bent.flexibility, strict=True):
        block = np.array([[f[0], f[3], f[4]], [f[3], f[1], f[5]], [f[4], f[5], f[2]]])
        there = edges >= 0
        rows = np.zeros((there.sum(), n))
        for row, edge in zip(rows, edges[there], strict=True):
            row[quads[edge]] = weights[edge]
        total += rows.T @ np.linalg.inv(block[np.ix_(there, there)]) @ rows
    return total


def relaxed(matrix, shape, fixed):
    """The energy [J] of a plate whose deflection is given where it is fixed."""
    free, w = ~fixed, shape.copy()
    w[free] = np.linalg.solve(matrix[np.ix_(free, free)], -matrix[np.ix_(free, fixed)] @ w[fixed])
    return 0.5 * w @ matrix @ w


MESHES = {
    "squares": grid(16, 16, 1, 1),
    "1 x 2": grid(20, 10, 1, 1),
    "2 x 1": grid(10, 20, 1, 1),
    "one diagonal": grid(16, 16, 1, 1, False),
    "one diagonal, 1 x 2": grid(20, 10, 1, 1, False),
    "shaken": grid(16, 16, 1, 1, True, 0.25),
    "shaken, one diagonal": grid(16, 16, 1, 1, False, 0.25),
}


@pytest.mark.parametrize("mesh", MESHES)
def test_plates_have_their_rigidity_whatever_their_cells(mesh):
    """A square plate, bent and twisted by what its ends are held at, and under pressure on four supports, against exact
    ones without Poisson's effect: within what its free sides and coarse cells leave."""
    points, faces = MESHES[mesh]
    x, y = points[:, 0], points[:, 1]
    matrix, ends = stiffness(points, faces), (x < 0.1001) | (x > 0.8999)
    bend, twist = relaxed(matrix, 0.5 * x**2, ends) / 0.5, relaxed(matrix, x * y, ends) / 1.0
    free = ~((x < 1e-9) | (x > 1 - 1e-9) | (y < 1e-9) | (y > 1 - 1e-9))
    load = np.bincount(faces.ravel(), np.repeat(cloth.areas(points, faces), 3)) / 3.0
    middle = np.linalg.solve(matrix[np.ix_(free, free)], load[free]).max()
    assert 0.88 < bend < 1.06, bend
    assert 0.9 < twist < (1.6 if mesh == "2 x 1" else 1.3), twist
    assert 0.95 < 0.00406235 / middle < 1.2, 0.00406235 / middle


@pytest.mark.parametrize("mesh", [grid(14, 14, 1, 1, False), grid(24, 12, 1, 1, False), equilateral(14)])
def test_lattices_of_equal_corners_are_at_rest_when_bent_evenly(mesh):
    """No corner away from the sides is pushed off a surface of second order, which moments alone hold."""
    points, faces = mesh
    matrix = stiffness(points, faces)
    x, y = (points[:, :2] - points[:, :2].mean(axis=0)).T
    inner = (np.abs(x) < 0.2) & (np.abs(y) < 0.2)
    for xx, yy, xy in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0.5, 0.5, 0.5), (0.5, 0.5, -0.5)):
        force = matrix @ (0.5 * xx * x**2 + 0.5 * yy * y**2 + xy * x * y)
        assert np.abs(force[inner]).max() < 1e-9 * np.abs(matrix).max()
    assert inner.sum() > 15


def test_a_strip_hangs_alike_from_any_cells():
    """The drop of a strip at Gamma = 8, clamped by a column of cells that is held."""
    drops = []
    for ny in (5, 2):
        builder, rigidity = ModelBuilder(), 0.2 * 9.81 * 0.2**3 / 8.0
        lying, stiffness = (np.sqrt(0.5), 0, 0, np.sqrt(0.5)), {"spring_ke": 1e5, "edge_ke": rigidity}
        sheet = builder.add_cloth_grid((-0.0125, 0, 0), lying, 0, 17, ny, 0.0125, 0.06 / ny, 1.0, **stiffness)
        x = builder.particles["q"][:, 0]
        share = np.where(x < 1e-6, 0.0, np.where(x > 0.2 - 1e-6, 0.5, 1.0))
        builder.particles["mass"][:] = share * 0.2 * 0.2 * 0.06 / (16 * (ny + 1))
        model = builder.finalize(dtype=wp.float64)
        solver, state = SolverXPBD(model, substeps=50, iterations=8, damping=5.0, bending="isometric"), model.state()
        for _ in range(120):
            solver.step(state, state, None, None, 1.0 / 60.0)
        drops.append(-state.particle_q.numpy()[x > 0.2 - 1e-6, 1].mean() / 0.2)
        assert len(sheet) == 18 * (ny + 1)
    assert np.allclose(drops, 0.64063, rtol=0.05), drops


def test_what_is_held_is_a_clamp():
    """A cantilever whose first cells are held sags as one that is clamped at their edge."""
    points, faces = grid(17, 4, 17 / 16, 0.25)
    points[:, 0] -= 1 / 16
    held = points[:, 0] < 1e-9
    load = np.bincount(faces.ravel(), np.repeat(cloth.areas(points, faces), 3)) / 3.0
    w = np.linalg.solve(stiffness(points, faces, held)[np.ix_(~held, ~held)], load[~held])
    assert np.isclose(w[points[~held, 0] > 1 - 1e-9].mean(), 1 / 8, rtol=0.02)


def test_every_edge_bends_in_one_triangle_of_two():
    points, faces = grid(6, 5, 1, 1)
    quads = cloth.hinges(faces)
    bent = bends.elements(quads, cloth.unfold(points, quads), np.zeros(len(points), bool))
    assert sorted(bent.edges[bent.edges >= 0].tolist()) == list(range(len(quads)))
    assert len(bent.edges) == len(faces) // 2
    for indices, edges in zip(bent.indices, bent.edges, strict=True):
        for k, edge in enumerate(edges):
            own = {indices[k], indices[(k + 1) % 3], indices[(k + 2) % 3]}
            if edge >= 0:
                assert own | {indices[3 + k]} == set(quads[edge]) and indices[3 + k] not in own
            else:
                assert indices[3 + k] == indices[(k + 1) % 3]


def test_hinges_by_themselves_twice_and_around_a_corner_bend():
    """One hinge; two over one edge; a tetrahedron, each of whose triangles has one corner beyond all of its edges."""
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
    faces = np.array([(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)])
    for quads, count in (([[0, 3, 1, 2]], 1), ([[0, 3, 1, 2]] * 2, 2), (cloth.hinges(faces), 6)):
        rows = np.asarray(quads)
        bent = bends.elements(rows, cloth.unfold(corners, rows), np.zeros(4, bool))
        assert len(bent.edges) == count
        assert sorted(bent.edges[bent.edges >= 0].tolist()) == list(range(len(rows)))
    assert len(bends.elements(np.zeros((0, 4), int), np.zeros((0, 5)), np.zeros(4, bool)).edges) == 0


@pytest.mark.parametrize("held", [(), (0, 2, 3), (2, 3)], ids=["free", "clamped", "hinged"])
def test_a_hinge_by_itself_has_its_rigidity_whatever_its_size(held):
    points = np.array([(0, 1.0, 0), (0.7, -0.4, 0), (0, 0, 0), (1.5, 0, 0)])
    quad = np.array([[0, 1, 2, 3]])
    bent = bends.elements(quad, cloth.unfold(points, quad), np.isin(np.arange(4), held))
    assert len(bent.indices) == 1
    assert bent.flexibility[0, np.argmax(bent.edges[0] == 0)] == 1.0


def test_hinges_that_share_a_triangle_are_a_sheet():
    points, faces = grid(2, 1, 2, 1)
    quads = cloth.hinges(faces)
    bent = bends.elements(quads, cloth.unfold(points, quads), np.zeros(6, bool))
    assert len(quads) == 3 and not (bent.flexibility[:, :3] == 1.0).all(axis=1).any()


@pytest.mark.parametrize("bending", ["dihedral", "isometric"])
def test_the_interpreter_bends_as_compiled_kernels_do(bending):
    """With damping, on free sides and beside what is held."""
    places = []
    for device in ("cpu", "interp"):
        builder = ModelBuilder()
        builder.add_cloth_grid(
            (0, 0, 0), (0, 0, 0, 1), 0, 2, 2, 0.1, 0.1, 0.01, edge_ke=0.02, edge_kd=1e-3, fix_left=True
        )
        model = builder.finalize(device=device, dtype=wp.float64)
        solver, state = SolverXPBD(model, substeps=2, iterations=2, bending=bending), model.state()
        noise = 0.01 * np.random.default_rng(0).normal(size=(9, 3))
        state.particle_q.assign(builder.particles["q"] + noise)
        state.particle_qd.assign(10.0 * noise)
        solver.step(state, state, None, None, 1.0 / 60.0)
        places.append(state.particle_q.numpy().copy())
    np.testing.assert_allclose(places[0], places[1], rtol=1e-10, atol=1e-13)


@pytest.fixture
def threads():
    """Whatever a test sets, others have the number of threads that they had."""
    before = pool.get_pool().threads
    yield
    wp.set_num_threads(before)


@pytest.mark.parametrize("bending", ["dihedral", "isometric"])
def test_threads_do_not_change_a_bit(bending, threads):
    """Of a sheet whose colors are cut into pieces of different sizes, in both precisions."""
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), (0, 0, 0, 1), 0, 70, 61, 0.01, 0.01, 1e-4, edge_ke=1e-4, spring_ke=100.0)
    noise = 1e-3 * np.random.default_rng(0).normal(size=(builder.particle_count, 3))
    for dtype in (wp.float32, wp.float64):
        model, places = builder.finalize(device="cpu", dtype=dtype), []
        for count in (1, 2, 4):
            wp.set_num_threads(count)
            solver, state = SolverXPBD(model, bending=bending), model.state()
            state.particle_q.assign(builder.particles["q"] + noise)
            for _ in range(2):
                solver.step(state, state, None, None, 1.0 / 60.0)
            places.append(state.particle_q.numpy().copy())
        assert (places[0] == places[1]).all() and (places[0] == places[2]).all()


@pytest.mark.parametrize("flip", [False, True])
def test_a_folded_sheet_returns_to_its_rest_shape(flip):
    """A roof of two slopes that starts flat folds by the angle it was made with, however its triangles turn."""
    points, faces = grid(6, 2, 1.2, 0.4)
    flat = points.copy()
    points[:, 2] = 0.5 * np.abs(points[:, 0] - 0.6)
    if flip:
        turned = np.random.default_rng(2).random(len(faces)) < 0.5
        faces[turned] = faces[turned][:, [0, 2, 1]]
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles(points, mass=0.01)
    builder.add_springs(cloth.edges(faces), 1e4)
    builder.add_edges(cloth.hinges(faces), 0.05)
    model = builder.finalize(device="cpu", dtype=wp.float64)
    state = model.state()
    flat[:, 2] = 1e-3 * np.abs(flat[:, 0] - 0.6)
    state.particle_q.assign(flat)
    solver = SolverXPBD(model, substeps=20, iterations=2, damping=5.0)
    for _ in range(300):
        solver.step(state, state, None, None, 1.0 / 60.0)
    quads = cloth.hinges(faces)
    angles = cloth.dihedral_angles(state.particle_q.numpy(), quads)
    assert np.abs(angles - cloth.dihedral_angles(points, quads)).max() < 0.01


def test_edges_of_different_rigidity_keep_theirs():
    """A rigid edge in a soft sheet stays flat where its neighbours fold; the sheet is at rest and pulled apart."""
    points, faces = grid(4, 4, 1, 1)
    quads = cloth.hinges(faces)
    stiff = np.isclose(points[quads[:, 2:], 0], 0.5).all(axis=1)
    builder = ModelBuilder(gravity=-9.81, up_axis="Z")
    builder.add_particles(points, mass=np.where((points[:, 0] < 1e-9) | (points[:, 0] > 1 - 1e-9), 0.0, 0.01))
    builder.add_springs(cloth.edges(faces), 50.0)
    builder.add_edges(quads, np.where(stiff, np.inf, 1e-3))
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state = SolverXPBD(model, substeps=20, iterations=5, damping=3.0), model.state()
    for _ in range(120):
        solver.step(state, state, None, None, 1.0 / 60.0)
    angles = np.abs(cloth.dihedral_angles(state.particle_q.numpy(), quads))
    assert angles[stiff].max() < 0.02 and angles[~stiff].max() > 0.2
