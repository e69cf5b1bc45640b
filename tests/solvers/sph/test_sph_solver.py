"""`SolverSPH`: the cases of the validation report, what threads, order and device may not change, and refusals."""

import subprocess
import sys

import fluid_scenes
import numpy as np
import pytest
from fluid_scenes import COUNT, run, splash

import warpsim as wp
from warpsim.core.runtime.arrays import creation
from warpsim.solvers import Fluid, FluidStream, ModelBuilder, SolverDFSPH, SolverSPH, validate
from warpsim.solvers.sph.filling import add_fluid_box
from warpsim.solvers.sph.particles import Particles


@pytest.mark.every_case
@pytest.mark.parametrize("name", [c.name for c in validate.choose_cases(["sph"]) if c.tier == validate.FAST])
def test_the_case_passes(name):
    [result] = validate.run([name])
    assert result.passed, validate.table([result])


@pytest.mark.nightly
@pytest.mark.parametrize("name", [c.name for c in validate.choose_cases(["sph"], True) if c.tier == validate.FULL])
def test_the_long_case_passes(name):
    test_the_case_passes(name)


def test_the_interpreter_agrees_with_the_cpu():
    options = {"count": 4, "substeps": 1, "smoothing": 1.0, "bounds": ((0.0, 0.0, 0.0), (0.2, 0.3, 0.0))}
    ends = [run(*splash(device=device, **options), steps=1).arrays for device in ("cpu", "interp")]
    for name, mine in ends[0].items():
        np.testing.assert_allclose(mine.numpy(), ends[1][name].numpy(), rtol=1e-9, atol=1e-10, err_msg=name)


@pytest.mark.filterwarnings("ignore:.*left past the ends:warpsim.solvers.sph.barriers.LeakWarning")
def test_particles_that_are_added_in_another_order_go_the_same_way():
    """To 1e-5: the order of memory follows places, so sums are the same but for the first neighbours."""
    mine = run(*splash(), steps=300).particle_q.numpy()
    for order in (np.arange(COUNT)[::-1], np.random.default_rng(1).permutation(COUNT)):
        other = run(*splash(order=order), steps=300).particle_q.numpy()
        np.testing.assert_allclose(other, mine[order], atol=1e-5)


def test_steps_with_many_substeps_are_many_steps():
    single = run(*splash(substeps=1), steps=20, dt=1.0e-3).particle_q.numpy()
    many = run(*splash(substeps=10), steps=2, dt=1.0e-2).particle_q.numpy()
    np.testing.assert_allclose(many, single, atol=1e-12)


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import hashlib
import warpsim as wp
from fluid_scenes import splash, run
state = run(*splash(dtype=wp.float32, substeps=10), steps=30, dt=1.0e-2)
print(hashlib.sha256(b"".join(a.numpy().tobytes() for a in state.arrays.values())).hexdigest())
"""


def test_any_number_of_threads_gives_the_same_bits():
    program = PROGRAM.format(folder=fluid_scenes.__file__.rpartition("/")[0])
    shown = set()
    for threads in (1, 2, 4):
        code = f"import os; os.environ['WARPSIM_NUM_THREADS'] = '{threads}'\n{program}"
        shown.add(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert len(shown) == 1


def test_what_a_wall_feels_is_what_it_does_to_the_fluid():
    model, solver = splash(substeps=1)
    state, control = model.state(), model.control()
    before, dt = solver.statistics(state).momentum.copy(), 1.0e-3
    state.particle_rho.assign(solver.fluid.density_at(np.linspace(500.0, 5000.0, COUNT)))
    solver.step(state, state, control, dt=dt)
    after = solver.statistics(state)
    pushed = after.momentum - before - after.mass * model.gravity.numpy()[0] * dt
    np.testing.assert_allclose(pushed, -solver.shape_force.numpy()[:, 3:].sum(axis=0) * dt, atol=1e-9)
    assert np.abs(solver.shape_force.numpy()[:, 3:]).max(axis=1).min() > 1.0


def test_a_torque_is_about_the_origin_of_the_shape():
    model, solver = splash(substeps=1)
    run(model, solver, 1)
    p = solver.particles
    ball = p.shape.numpy() == 1
    arm = solver.walls[ball] - [0.95, 0.3, 0.0]
    force = p.force.numpy()[p.slot.numpy()[p.water :] - p.water]
    expected = np.cross(arm, force[ball]).sum(axis=0)
    np.testing.assert_allclose(solver.shape_force.numpy()[1, :3], expected, atol=1e-9)


def test_a_moving_wall_takes_its_particles_along():
    model, solver = splash()
    control = model.control()
    control.set_shape(1, velocity=(0.0, 1.0, 0.0))
    start = run(model, solver, 1, control=model.control())
    before = solver.walls[solver.particles.shape.numpy() == 1]
    for _ in range(5):
        solver.step(start, start, control, dt=2.0e-3)
        control.advance(2.0e-3)
    after = solver.walls[solver.particles.shape.numpy() == 1]
    np.testing.assert_allclose(after - before, np.tile([0.0, 1.0e-2, 0.0], (len(after), 1)), atol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_walls_are_where_their_shapes_are_before_the_first_step_and_after_it(dim):
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (0.5, 0.5, 0.5 * (dim == 3)), 0.125)
    builder.add_shape_sphere([0.25, -0.375, 0.25 * (dim == 3), 0.0, 0.0, 0.0, 1.0], 0.25)
    model = builder.finalize()
    solver = SolverSPH(model, Fluid(sound=20.0), dim=dim)
    before = solver.walls
    state = model.state()
    solver.step(state, state, dt=1.0e-4)
    placed = solver.particles
    where = placed.x.numpy()[placed.slot.numpy()[placed.water :]] + np.array(solver.origin, np.float64)
    np.testing.assert_allclose(solver.walls, where, atol=1e-6)
    np.testing.assert_allclose(before, where, atol=1e-6)


@pytest.mark.parametrize("solver", [SolverSPH, SolverDFSPH])
@pytest.mark.parametrize("dim", [2, 3])
def test_float32_is_as_exact_far_from_the_origin(solver, dim):
    """Places and sizes are multiples of 1/32 m, which float32 has at 16 km, too: the bits are the same."""
    ends = []
    for x in (0.0, 16384.0):
        builder = ModelBuilder()
        add_fluid_box(builder, (x, 0.0, 0.0), (x + 0.5, 0.75, 0.375 * (dim == 3)), 0.125)
        builder.add_shape_plane((0.0, 1.0, 0.0), (x, 0.0, 0.0))
        builder.add_shape_sphere([x + 0.875, 0.25, 0.0, 0.0, 0.0, 0.0, 1.0], 0.25)
        streams = {}
        if solver is SolverSPH:
            spare = builder.add_particles(np.zeros((12, 3)), 0.0, 1000.0 * 0.125**dim)
            streams = {"streams": [FluidStream(spare, (x + 0.25, 1.0, 0.0), (0.0, -2.0, 0.0), 0.0, "stop")]}
        model = builder.finalize()
        bounds = ((x - 0.25, 0.0, -0.25), (x + 1.0, 1.0, 0.75))
        far = solver(model, Fluid(sound=15.0), dim=dim, bounds=bounds, **streams)
        state = model.state()
        for _ in range(40):
            far.step(state, state, dt=5.0e-3)
        q = state.particle_q.numpy().astype(np.float64) + state.particle_rest.numpy() - [x, 0.0, 0.0]
        ends.append((q, state.particle_qd.numpy(), far.shape_force.numpy(), far.statistics(state).front() - x))
    for near, there in zip(*(end[:3] for end in ends), strict=True):
        np.testing.assert_array_equal(near, there)
    assert ends[0][3] == pytest.approx(ends[1][3], abs=2e-3)
    assert np.abs(far.walls[:, 0] - x).max() < 2.0


def test_particles_meet_their_images_in_a_periodic_box():
    builder = ModelBuilder(gravity=0.0)
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), 0.1)
    model = builder.finalize(dtype=wp.float64)
    solver = SolverSPH(model, Fluid(sound=10.0), dim=2, density="summation", smoothing=1.3, period=(1.0, 1.0, 0.0))
    state = run(model, solver, 1)
    rho = state.particle_rho.numpy()
    np.testing.assert_allclose(rho, 1010.47, atol=0.01)  # the sum over an endless lattice
    np.testing.assert_allclose(state.particle_qd.numpy(), 0.0, atol=1e-10)


def test_a_block_in_space_spreads_over_the_ground():
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (0.4, 0.4, 0.4), 0.05)
    builder.add_ground_plane()
    model = builder.finalize()
    bounds = ((-0.6, 0.0, -0.6), (1.0, 0.5, 1.0))
    solver = SolverSPH(model, Fluid(sound=20.0, alpha=0.05), bounds=bounds)
    state = model.state()
    start = solver.statistics(state)
    energy, middle = start.potential_energy, start.center_of_mass
    for _ in range(12):
        solver.step(state, state, dt=0.02)
    now = solver.statistics(state)
    assert now.outside((-0.6, -0.025, -0.6), (1.0, 0.45, 1.0)) == 0
    np.testing.assert_allclose(now.center_of_mass[[0, 2]], middle[[0, 2]], atol=5e-3)
    assert now.front() > 0.55 and now.level((-1, -1, -1), (1, 1, 1)) < 0.4
    assert 0.75 * energy < now.kinetic_energy + now.potential_energy < 1.005 * energy
    assert np.abs(now.compression).mean() < 0.01 and not now.diverged


def test_probes_read_the_pressure_of_water_at_rest():
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), 0.05)
    model = builder.finalize(dtype=wp.float64)
    solver = SolverSPH(model, Fluid(sound=50.0), dim=2)
    state = model.state()
    depth = 1.0 - state.particle_q.numpy()[:, 1]
    state.particle_rho.assign(solver.fluid.density_at(9810.0 * depth))
    found = solver.statistics(state).pressure_at([(0.5, 0.5, 0.0), (0.5, 0.25, 0.0), (5.0, 5.0, 0.0)])
    np.testing.assert_allclose(found, [4905.0, 7357.5, 0.0], rtol=1e-9, atol=1e-9)


def test_a_captured_step_is_that_of_the_program():
    mine = run(*splash(), steps=3).particle_q.numpy()
    model, solver = splash()
    state = model.state()
    with wp.ScopedCapture() as capture:
        solver.step(state, state, dt=2.0e-3)
    for _ in range(3):
        wp.capture_launch(capture.graph)
    np.testing.assert_allclose(state.particle_q.numpy(), mine, atol=1e-13)  # neighbours come in another order


@pytest.mark.parametrize("dim", [2, 3])
def test_tension_pulls_corners_in_and_adds_no_momentum(dim):
    builder, half = ModelBuilder(gravity=0.0), 0.5 * (dim == 3)
    add_fluid_box(builder, (-0.5, -0.5, -half), (0.5, 0.5, half), 0.125 if dim == 2 else 0.2, density=1.0)
    model = builder.finalize(dtype=wp.float64)
    solver = SolverSPH(model, Fluid(density=1.0, sound=60.0, alpha=0.1, tension=1.0), dim=dim, smoothing=2.0)
    state = model.state()
    state.particle_rho.fill_(float(solver.fluid.density_at(solver.cohesion_pressure)))
    corner = np.linalg.norm(state.particle_q.numpy(), axis=1).argmax()
    before = np.linalg.norm(state.particle_q.numpy()[corner])
    solver.step(state, state, dt=0.1)
    q, v = state.particle_q.numpy(), state.particle_qd.numpy()
    assert np.linalg.norm(q[corner]) < 0.985 * before
    np.testing.assert_allclose(v.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(np.cross(q, v).mean(axis=0), 0.0, atol=1e-9)


def test_lists_of_neighbours_serve_until_something_has_moved_too_far(monkeypatch):
    """The same path as with neighbours looked up anew in every substep, which a capture does."""
    model, solver = splash(substeps=1)
    mine, other, control = model.state(), model.state(), model.control()
    control.set_shape(1, velocity=(-1.0, 0.0, 0.0))
    _, looked_up = splash(substeps=1)
    theirs, their_control = looked_up.model.state(), looked_up.model.control()
    their_control.set_shape(1, velocity=(-1.0, 0.0, 0.0))
    with wp.ScopedCapture() as capture:
        looked_up.step(theirs, theirs, their_control, dt=2.0e-3)
    builds, rebuild = [], Particles.rebuild
    monkeypatch.setattr(Particles, "rebuild", lambda self, *args: builds.append(rebuild(self, *args)))
    for k in range(60):
        solver.step(mine if k == 0 else other, other, control, dt=2.0e-3)
        wp.capture_launch(capture.graph)
    np.testing.assert_allclose(other.particle_q.numpy(), theirs.particle_q.numpy(), atol=1e-10)
    assert 2 < len(builds) < 40


def test_steps_after_the_first_allocate_nothing(monkeypatch):
    """No array, while lists of neighbours have room and serve; graphs are made with the first steps."""
    model, solver = splash(dtype=wp.float32)
    state, sizes, allocate = model.state(), [], creation.allocate
    for _ in range(40):
        solver.step(state, state, dt=2.0e-3)

    def note(shape, *args, **options):
        sizes.append(shape)
        return allocate(shape, *args, **options)

    monkeypatch.setattr(creation, "allocate", note)
    builds, rebuild = [], Particles.rebuild
    monkeypatch.setattr(Particles, "rebuild", lambda self, *args: builds.append(rebuild(self, *args)))
    for _ in range(60):
        solver.step(state, state, dt=2.0e-3)
    assert builds and not sizes
    wp.zeros(3)
    assert sizes  # what allocates is seen


def test_rows_of_walls_lie_below_their_surface():
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), 0.1)
    builder.add_ground_plane()
    builder.add_shape_plane((1.0, 0.0, 0.0))
    builder.add_shape_box([2.0, 0.25, 0.0, 0.0, 0.0, 0.0, 1.0], 0.2, 0.25, 1.0)
    builder.add_shape_sphere([3.0, 0.6, 0.0, 0.0, 0.0, 0.0, 1.0], 0.43)
    model = builder.finalize(dtype=wp.float64)
    solver = SolverSPH(model, dim=2, bounds=((0.0, 0.0, 0.0), (4.0, 1.0, 0.0)))
    run(model, solver, 1, dt=1.0e-4)
    x, shape = solver.walls, solver.particles.shape.numpy()
    assert sorted(set(x[shape == 0, 1].round(9))) == [-0.25, -0.15, -0.05]
    assert sorted(set(x[shape == 1, 0].round(9))) == [-0.25, -0.15, -0.05] and (x[shape == 1, 1] > 0.0).all()
    assert (shape == 2).sum() == 4 * 5
    depth = 0.43 - np.linalg.norm(x[shape == 3] - [3.0, 0.6, 0.0], axis=1)
    np.testing.assert_allclose(depth % 0.1, 0.05, atol=1e-9)
