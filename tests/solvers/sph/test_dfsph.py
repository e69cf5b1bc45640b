"""`SolverDFSPH`: errors that are kept, what must not change, gradients, and refusals."""

import numpy as np
import pytest
from fluid_scenes import COUNT, splash

import warpsim as wp
from warpsim.errors import DivergenceError, ModelError, StateError
from warpsim.solvers import Fluid, ModelBuilder, SolverDFSPH
from warpsim.solvers.sph.filling import add_fluid_box

G = 9.81


def tank(size=0.5, dx=0.05, dtype=wp.float64, dim=2, **options):
    """Water in a tank, or on the ground of a box in space."""
    builder = ModelBuilder(gravity=-G)
    add_fluid_box(builder, (0.0, 0.0, 0.0), (size, size, 0.0 if dim == 2 else size), dx)
    builder.add_ground_plane()
    for axis in (0, 2)[: dim - 1]:
        normal = np.eye(3)[axis]
        builder.add_shape_plane(normal)
        builder.add_shape_plane(-normal, size * normal)
    bounds = ((0.0, 0.0, 0.0), (size, 1.5 * size, size * (dim == 3)))
    model = builder.finalize(dtype=dtype, requires_grad=options.pop("requires_grad", False))
    return SolverDFSPH(model, Fluid(sound=20.0, alpha=0.05), dim, bounds=bounds, **options), model.state()


def test_water_settles_on_the_floor_with_its_density():
    solver, state = tank(0.5, 0.05)
    forces, energies = [], []
    for _ in range(30):
        solver.step(state, state, dt=0.02)
        now = solver.statistics(state)
        assert solver.last_errors[1] <= solver.density_error or solver.last_iterations[1] == solver.iterations
        assert now.compression.max() < 0.01
        forces.append(-solver.shape_force.numpy()[0, 4])
        energies.append(now.kinetic_energy + now.potential_energy)
    weight = now.mass * G
    assert 0.8 < np.mean(forces[10:]) / weight < 1.3
    assert max(energies) < weight * 0.25 * 1.002 and now.kinetic_energy < 0.02 * weight * 0.25
    assert now.outside((-0.03, -0.03, -1.0), (0.53, 0.53, 1.0)) == 0
    pressure = now.pressure
    assert pressure.min() >= 0.0 and pressure.max() > 2000.0


def test_a_block_in_space_falls_and_spreads():
    solver, state = tank(0.5, 0.1, wp.float32, dim=3)
    for _ in range(10):
        solver.step(state, state, dt=0.02)
    now = solver.statistics(state)
    assert now.compression.max() < 0.015 and now.outside((-0.05, -0.05, -0.05), (0.55, 0.7, 0.55)) == 0


def test_a_free_block_keeps_its_momentum():
    builder = ModelBuilder(gravity=0.0)
    velocity = np.random.default_rng(0).uniform(-0.3, 0.3, (400, 3)) * [1.0, 1.0, 0.0]
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), 0.05, vel=velocity)
    model = builder.finalize(dtype=wp.float64)
    solver, state = SolverDFSPH(model, Fluid(sound=10.0), dim=2), model.state()
    before = solver.statistics(state)
    momentum, spin = before.momentum.copy(), before.angular_momentum.copy()
    for _ in range(10):
        solver.step(state, state, dt=0.02)
    after = solver.statistics(state)
    np.testing.assert_allclose(after.momentum, momentum, atol=1e-10 * after.mass)
    # corrections turn nothing, but positions move after them: central forces at the old ones
    np.testing.assert_allclose(after.angular_momentum, spin, atol=1e-9 * after.mass)


def ends(order=None, substeps=2):
    model, _ = splash(order=order)
    solver = SolverDFSPH(model, Fluid(sound=15.0), dim=2, substeps=substeps, bounds=((-0.2, 0.0, 0.0), (0.8, 1.0, 0.0)))
    state = model.state()
    for _ in range(10):
        solver.step(state, state, dt=4.0e-3)
    return state.particle_q.numpy()


def test_the_order_of_particles_does_not_matter():
    order = np.random.default_rng(1).permutation(COUNT)
    np.testing.assert_allclose(ends(order=order), ends()[order], atol=1e-8)


class Thrown:
    """Two steps on a tape, from states with some change of the velocities."""

    def __init__(self, change=0.0):
        model, _ = splash(requires_grad=True)
        options = {"substeps": 1, "iterations": 5, "density_error": 1e-9, "bounds": ((-0.2, 0.0, 0.0), (0.8, 1.0, 0.0))}
        solver = SolverDFSPH(model, Fluid(sound=15.0), dim=2, **options)
        state = model.state()
        state.particle_qd.assign(state.particle_qd.numpy() + change)
        self.start, self.tape = state.particle_qd, wp.Tape()
        with self.tape:
            for _ in range(2):
                solver.step(state, state, dt=4.0e-3)
        self.end = state.particle_q


def test_gradients_go_through_the_iterations():
    rng = np.random.default_rng(2)
    weights, direction = rng.normal(size=(2, COUNT, 3)) * [1.0, 1.0, 0.0]
    thrown = Thrown()
    thrown.tape.backward(grads={thrown.end: wp.array(weights, dtype=wp.vec3d)})
    expected = (thrown.start.grad.numpy() * direction).sum()
    step = 1.0e-6
    values = [(Thrown(sign * step * direction).end.numpy() * weights).sum() for sign in (1.0, -1.0)]
    assert (values[0] - values[1]) / (2.0 * step) == pytest.approx(expected, rel=1e-5)


def test_what_cannot_be_is_refused():
    with pytest.raises(ModelError, match=r"density_error is 0.0\nexpected: between 0 and 1"):
        tank(density_error=0.0)
    with pytest.raises(ModelError, match=r"an incompressible fluid has surface tension\nexpected: none, or SolverSPH"):
        SolverDFSPH(ModelBuilder().finalize(), Fluid(tension=0.1))
    with pytest.raises(ModelError, match=r"iterations is 1\nexpected: 2 or more"):
        tank(iterations=1)
    with pytest.raises(ModelError, match=r"iterations is 1e\+300\nexpected: 2 or more, whole, up to 1000000"):
        tank(iterations=1e300)
    solver, state = tank(substeps=1)
    with pytest.raises(StateError, match=r"the host counts its iterations\nhelp: call step\(\) outside of the capture"):
        with wp.ScopedCapture():
            solver.step(state, state, dt=1.0e-3)
    velocity = state.particle_qd.numpy()
    velocity[3, 0] = np.nan
    state.particle_qd.assign(velocity)
    with pytest.raises(DivergenceError, match=r"a particle is not finite in step 1\nhelp: a shorter time step"):
        solver.step(state, state, dt=1.0e-3)
