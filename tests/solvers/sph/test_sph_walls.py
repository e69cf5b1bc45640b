"""Walls of fluids as surfaces: what they stop, what they feel of it, what turns with them, and what a run says."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import Fluid, ModelBuilder, SolverSPH
from warpsim.solvers.sph.barriers import LeakWarning
from warpsim.solvers.sph.filling import add_fluid_box

SPACING = 0.1
SLANT = (0.0, 0.0, 0.1, float(np.sqrt(0.99)))


def thrown(device=None, requires_grad=False, dtype=wp.float64, **options):
    """A few particles on their way into a thin plate that leans and rises: state, control, solver."""
    builder = ModelBuilder()
    places = np.stack(np.meshgrid(np.arange(3), np.arange(2), [0.0], indexing="ij"), axis=-1).reshape(-1, 3) * SPACING
    rng = np.random.default_rng(3)
    builder.add_particles(
        places + [0.0, 0.09, 0.0] + rng.uniform(-0.01, 0.01, places.shape) * [1.0, 1.0, 0.0],
        np.array([0.5, -6.0, 0.0]) + rng.uniform(-0.5, 0.5, places.shape) * [1.0, 1.0, 0.0],
        1000.0 * SPACING**2,
    )
    builder.add_shape_box((0.1, -0.01, 0.0, *SLANT), 0.5, 0.01, 1.0)
    model = builder.finalize(device=device, dtype=dtype, requires_grad=requires_grad)
    solver = SolverSPH(model, Fluid(sound=15.0, alpha=0.05), dim=2, **{"substeps": 1, "overlaps": "ignore", **options})
    state, control = model.state(), model.control()
    control.set_shape(0, velocity=(0.0, 0.5, 0.0), angular_velocity=(0.0, 0.0, 0.3))
    return state, control, solver


def fly(state, control, solver, steps=6, dt=3.0e-3):
    for _ in range(steps):
        solver.step(state, state, control, dt=dt)
        control.advance(dt)
    return state


def stopped(solver) -> bool:
    return bool(solver.barriers.counts.numpy()[2])


def test_a_plate_of_a_fifth_of_a_spacing_stops_what_it_meets():
    state, control, solver = thrown()
    hits = []
    for _ in range(10):
        fly(state, control, solver, steps=1)
        hits.append(stopped(solver))
    assert any(hits) and solver.statistics(state).in_walls == 0
    pose = control.shape_transform.numpy()[0]
    normal = np.array([-2.0 * SLANT[2] * SLANT[3], 1.0 - 2.0 * SLANT[2] ** 2, 0.0])
    assert ((state.particle_q.numpy() - pose[:3]) @ normal).min() > 0.01


@pytest.mark.parametrize("substeps", [1, 3])
def test_a_shape_feels_what_it_stops(substeps):
    state, control, solver = thrown(substeps=substeps)
    gravity, dt, hit = solver.model.gravity.numpy()[0], 3.0e-3, False
    for _ in range(6):
        before = solver.statistics(state).momentum.copy()
        fly(state, control, solver, steps=1, dt=dt)
        after = solver.statistics(state)
        pushed = after.momentum - before - after.mass * gravity * dt
        hit |= stopped(solver)
        np.testing.assert_allclose(-solver.shape_force.numpy()[0, 3:] * dt, pushed, atol=1e-10)
    assert hit


def test_no_energy_comes_from_a_plate_that_stands_still():
    state, control, solver = thrown()
    control.shape_velocity.zero_()
    energies = []
    for _ in range(12):
        fly(state, control, solver, steps=1)
        now = solver.statistics(state)
        energies.append(now.kinetic_energy + now.potential_energy)
    assert max(energies) <= energies[0] * 1.001


def test_the_interpreter_stops_particles_as_the_cpu_does():
    ends = [fly(*thrown(device=device), steps=4).arrays for device in ("cpu", "interp")]
    for name, mine in ends[0].items():
        np.testing.assert_allclose(mine.numpy(), ends[1][name].numpy(), rtol=1e-9, atol=1e-10, err_msg=name)


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import hashlib
import warpsim as wp
from test_sph_walls import fly, thrown
state, control, solver = thrown(dtype=wp.float32, no_slip=True)
fly(state, control, solver, steps=12)
arrays = [*state.arrays.values(), solver.shape_force]
print(hashlib.sha256(b"".join(a.numpy().tobytes() for a in arrays)).hexdigest())
"""


def test_any_number_of_threads_stops_the_same_bits():
    program = PROGRAM.format(folder=__file__.rpartition("/")[0])
    shown = set()
    for threads in (1, 2, 4):
        code = f"import os; os.environ['WARPSIM_NUM_THREADS'] = '{threads}'\n{program}"
        shown.add(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert len(shown) == 1


@wp.kernel
def add_up(
    q: wp.array(dtype=wp.vec3d),
    v: wp.array(dtype=wp.vec3d),
    force: wp.array(dtype=wp.spatial_vectord),
    loss: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.dot(q[i], wp.vec3d(1.0, 2.0, 0.0)) + wp.float64(0.05) * wp.dot(v[i], v[i]))
    if i == 0:
        wp.atomic_add(loss, 0, wp.float64(1.0e-5) * (force[0][4] + force[0][2]))


def losses(changes, **options):
    """A loss of what is stopped, and its gradients by name of the input."""
    state, control, solver = thrown(requires_grad=True, **options)
    inputs = {"q": state.particle_q, "v": state.particle_qd, "pose": control.shape_transform}
    inputs |= {"twist": control.shape_velocity}
    for name, change in changes.items():
        inputs[name].assign(inputs[name].numpy() + change)
    loss, tape = wp.zeros(1, dtype=wp.float64, requires_grad=True), wp.Tape()
    with tape:
        fly(state, control, solver, steps=4)
        wp.launch(add_up, len(state.particle_q), [state.particle_q, state.particle_qd, solver.shape_force, loss])
    tape.backward(loss)
    return float(loss.numpy()[0]), {name: a.grad.numpy().copy() for name, a in inputs.items()}, stopped(solver)


@pytest.mark.parametrize("options", [{}, {"no_slip": True}], ids=["slip", "no_slip"])
def test_gradients_pass_through_what_is_stopped(options):
    start, gradients, hit = losses({}, **options)
    assert hit
    rng = np.random.default_rng(5)
    for name, gradient in gradients.items():
        direction = rng.normal(size=gradient.shape)
        if name in ("q", "v"):
            direction[:, 2] = 0.0
        if name == "pose":
            direction[:, 3:] = 0.0
        direction[..., 2] *= name == "twist"
        slope, rests = float((gradient * direction).sum()), []
        assert abs(slope) > 1e-6, name
        for step in (4.0e-5, 2.0e-5, 1.0e-5):
            ends = [losses({name: sign * step * direction}, **options)[0] for sign in (1.0, -1.0)]
            assert (ends[0] - ends[1]) / (2.0 * step) == pytest.approx(slope, rel=1e-4), name
            rests.append(abs(ends[0] - start - step * slope))
        orders = np.log2(np.array(rests[:-1]) / rests[1:])
        assert ((orders > 1.9) & (orders < 2.1)).all(), (name, orders)


def test_walls_too_thin_to_have_two_sides_are_refused():
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), SPACING)
    builder.add_shape_box((0.5, -0.0005, 0.0, 0.0, 0.0, 0.0, 1.0), 1.0, 0.0005, 1.0)
    model = builder.finalize()
    with pytest.raises(ModelError, match=r"walls of shape 0 are 0.001 m thin(.|\n)*a fiftieth of that, 0.002 m"):
        SolverSPH(model, Fluid(), dim=2)


def test_a_run_says_that_a_wall_was_put_onto_the_fluid():
    builder = ModelBuilder(gravity=0.0)
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), SPACING)
    builder.add_shape_box((0.5, -2.0, 0.0, 0.0, 0.0, 0.0, 1.0), 2.0, 1.0, 1.0)
    model = builder.finalize()
    solver = SolverSPH(model, Fluid(), dim=2)
    state, control = model.state(), model.control()
    solver.step(state, state, control, dt=1.0e-3)
    assert solver.statistics(state).in_walls == 0
    control.set_shape(0, position=(0.5, -0.6, 0.0))  # up to y = 0.4: rows at 0.05 to 0.25 m are deep in it
    with pytest.warns(LeakWarning, match="after step 2 30 particles are in walls"):
        solver.step(state, state, control, dt=1.0e-6)
    assert solver.statistics(state).in_walls == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solver.step(state, state, control, dt=1.0e-6)  # said once


def test_a_run_says_what_fell_past_the_end_of_a_plane():
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (0.4, 0.4, 0.0), SPACING)
    builder.add_ground_plane()
    model = builder.finalize()
    solver = SolverSPH(model, Fluid(), dim=2, bounds=((-0.1, 0.0, 0.0), (0.5, 1.0, 0.0)))
    state = model.state()
    q = state.particle_q.numpy().copy()
    q[0] = [3.0, -1.0, 0.0]
    state.particle_q.assign(q)
    with pytest.warns(LeakWarning, match="1 left past the ends"):
        solver.step(state, state, dt=1.0e-4)
    assert solver.statistics(state).lost == 1 and solver.statistics(state).in_walls == 0


def test_a_pipe_as_long_as_the_period_has_no_ends():
    builder = ModelBuilder(gravity=0.0)
    side = (np.arange(6) - 2.5) * SPACING
    places = np.stack(np.meshgrid(side, side, (np.arange(8) + 0.5) * SPACING, indexing="ij"), axis=-1).reshape(-1, 3)
    builder.add_particles(places, (0.0, 0.0, 2.0), 1000.0 * SPACING**3)
    builder.add_shape_cylinder((0.0, 0.0, 0.4, 0.0, 0.0, 0.0, 1.0), 0.5, 0.4, hollow=True)
    model = builder.finalize()
    solver = SolverSPH(model, Fluid(alpha=0.0), spacing=SPACING, period=(0.0, 0.0, 0.8))
    state = model.state()
    for _ in range(20):
        solver.step(state, state, dt=0.02)
    along = state.particle_q.numpy()[:, 2] - places[:, 2]
    np.testing.assert_allclose(along, 0.8, atol=0.02)


def test_viscosity_keeps_the_spin_of_a_drop():
    builder = ModelBuilder(gravity=0.0)
    side = (np.arange(12) - 5.5) * SPACING
    places = np.stack(np.meshgrid(side, side, [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    places = places[np.linalg.norm(places, axis=1) < 0.55]
    builder.add_particles(places, np.cross([0.0, 0.0, 2.0], places), 1000.0 * SPACING**2)
    model = builder.finalize(dtype=wp.float64)
    solver = SolverSPH(model, Fluid(alpha=0.0, viscosity=0.5, diffusion=0.0), dim=2)
    state = model.state()
    before = solver.statistics(state).angular_momentum[2]
    for _ in range(10):
        solver.step(state, state, dt=5.0e-3)
    assert solver.statistics(state).angular_momentum[2] == pytest.approx(before, rel=1e-3)


def test_a_can_that_turns_with_its_water_does_not_pull_at_it():
    builder, rate = ModelBuilder(gravity=0.0), 3.0
    side = (np.arange(16) - 7.5) * SPACING
    places = np.stack(np.meshgrid(side, side, [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    places = places[np.linalg.norm(places, axis=1) < 0.8]
    builder.add_particles(places, np.cross([0.0, 0.0, rate], places), 1000.0 * SPACING**2)
    can = builder.add_shape_cylinder((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 0.8, 0.8, hollow=True)
    model = builder.finalize(dtype=wp.float64)
    solver = SolverSPH(model, Fluid(sound=30.0, alpha=0.0, viscosity=0.1), dim=2, no_slip=True, spacing=SPACING)
    state, control = model.state(), model.control()
    control.set_shape(can, angular_velocity=(0.0, 0.0, rate))
    solver.step(state, state, control, dt=1.0e-3)
    scale = 4.0 * np.pi * 1000.0 * 0.1 * rate * 0.8**2
    assert abs(solver.shape_force.numpy()[can, 2]) < 0.05 * scale  # half of it, where viscosity resists rotations
