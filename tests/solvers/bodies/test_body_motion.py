"""Free motion of rigid bodies: momenta, energy, second order, gradients."""

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import warpsim as wp
from warpsim.errors import DivergenceError, ModelError, StateError
from warpsim.solvers import ModelBuilder, SolverBodies, SolverXPBD
from warpsim.solvers.scene.rotations import rotate

REST = (0.0, 0.0, 0.0, 1.0)
MOMENTS = np.array([1.0, 2.0, 2.7])


def free(qd, gravity=0.0, requires_grad=False, device="cpu", com=(0.1, 0.2, -0.1)):
    builder = ModelBuilder(gravity=gravity)
    builder.add_body((0.0, 1.0, 0.0, *REST), qd, mass=2.0, com=com, inertia=MOMENTS)
    return builder.finalize(device=device, dtype=wp.float64, requires_grad=requires_grad)


def run(model, steps, dt, substeps=1):
    solver, state = SolverBodies(model, substeps), model.state()
    for _ in range(steps):
        solver.step(state, state, dt=dt)
    return state


def momentum(state):
    q, w = state.body_q.numpy()[0, 3:], state.body_qd.numpy()[0, :3]
    local = MOMENTS * rotate(q * [-1, -1, -1, 1], w[None])[0]
    return rotate(q, local[None])[0]


def test_angular_momentum_stays_to_rounding_and_energy_near():
    spin = (3.0, 4.0, -2.0, 0.0, 0.0, 0.0)
    before, state = momentum(free(spin).state()), run(free(spin), 2000, 0.01)
    assert np.allclose(momentum(state), before, rtol=0, atol=1e-11)
    energy = [0.5 * momentum(s) @ s.body_qd.numpy()[0, :3] for s in (free(spin).state(), state)]
    assert np.isclose(*energy, rtol=2e-3)


def test_rotation_is_of_second_order():
    """Against Euler's equations by an integrator of high order."""
    spin = np.array([3.0, 4.0, -2.0])

    def change(t, y):
        q, w = y[:4], y[4:]
        turn = 0.5 * np.append(q[3] * w + np.cross(q[:3], w), -q[:3] @ w)
        return np.append(turn, np.cross(MOMENTS * w, w) / MOMENTS)

    exact = solve_ivp(change, (0, 1), [*REST, *spin], rtol=1e-12, atol=1e-12).y[:4, -1]
    errors = []
    for steps in (50, 100, 200):
        q = run(free((*spin, 0, 0, 0), com=(0, 0, 0)), steps, 1 / steps).body_q.numpy()[0, 3:]
        errors.append(min(np.abs(q - exact).max(), np.abs(q + exact).max()))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 1.9).all() and errors[-1] < 1e-4


def test_a_fall_is_exact_for_any_number_of_substeps():
    for substeps in (1, 7):
        state = run(free((0, 0, 0, 1.0, 2.0, 0.0), gravity=-9.81, com=(0, 0, 0)), 10, 0.1, substeps)
        assert np.allclose(state.body_q.numpy()[0, :3], [1.0, 1.0 + 2.0 - 0.5 * 9.81, 0.0], atol=1e-12)


def test_a_force_and_a_torque_change_momenta_by_themselves_times_time():
    model = free((1.0, -2.0, 0.5, 0, 0, 0), gravity=-9.81)
    solver, state = SolverBodies(model, 5), model.state()
    state.body_f.assign([[0.3, -0.2, 0.5, 1.0, 2.0, 3.0]])
    before = momentum(state)
    for _ in range(20):
        solver.step(state, state, dt=0.01)
    assert np.allclose(momentum(state) - before, 0.2 * np.array([0.3, -0.2, 0.5]), atol=1e-12)
    assert np.allclose(state.body_qd.numpy()[0, 3:], 0.2 * np.array([0.5, 1.0 - 9.81, 1.5]), atol=1e-12)


def test_a_body_without_mass_turns_with_its_velocity():
    builder = ModelBuilder()
    builder.add_body((0, 1, 0, *REST), (0, 0, 0.5 * np.pi, 1, 0, 0), mass=0.0, com=(0, 0, 0), inertia=(1, 1, 1))
    state = run(builder.finalize(device="cpu", dtype=wp.float64), 10, 0.1, 3)
    assert np.allclose(state.body_q.numpy()[0], [1, 1, 0, 0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-12)


def test_the_interpreter_agrees():
    states = [run(free((1.0, -2.0, 0.5, 0.3, 0, 0), -9.81, device=d), 2, 0.01, 2) for d in ("cpu", "interp")]
    assert np.allclose(states[0].body_q.numpy(), states[1].body_q.numpy(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["body_q", "body_qd", "body_f", "body_mass", "body_com", "body_inertia", "gravity"])
def test_gradients_are_those_of_differences(name):
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((2, 7))

    def loss_of(change, gradient=False):
        model = free((1.0, -2.0, 0.5, 0.3, 0, 0), -9.81, requires_grad=True)
        states, control = [model.state() for _ in range(4)], model.control()
        states[0].body_f.assign([[0.3, -0.2, 0.5, 1.0, 2.0, 3.0]])
        owner = control if name == "gravity" else states[0] if hasattr(states[0], name) else model
        source = getattr(owner, name)
        source.assign(source.numpy() + change)
        solver = SolverBodies(model, 3)
        with wp.Tape() as tape:
            for before, after in itertools.pairwise(states):
                solver.step(before, after, control, dt=0.05)
        q, qd = (states[-1].body_q.numpy() * weights[0]).sum(), (states[-1].body_qd.numpy() * weights[1, :6]).sum()
        if not gradient:
            return q + qd
        like = states[-1]
        seeds = {like.body_q: wp.array(weights[:1], dtype=like.body_q.dtype, device="cpu")}
        seeds[like.body_qd] = wp.array(weights[1:, :6], dtype=like.body_qd.dtype, device="cpu")
        tape.backward(grads=seeds)
        return source.grad.numpy().copy()

    found = loss_of(0.0, gradient=True)
    direction = rng.standard_normal(found.shape)
    if name == "body_q":
        direction[:, 3:] = 0.0  # a quaternion has a length
    if name == "body_inertia":
        direction = direction + np.swapaxes(direction, 1, 2)
    h = 1e-5
    expected = (loss_of(h * direction) - loss_of(-h * direction)) / (2 * h)
    assert np.isclose((found * direction).sum(), expected, rtol=1e-6, atol=1e-8)


def test_what_is_no_body_is_refused():
    builder = ModelBuilder()
    builder.add_particle((0, 0, 0))
    with pytest.raises(ModelError, match="no bodies"):
        SolverBodies(builder.finalize(device="cpu"))
    model = free((0, 0, 0, 0, 0, 0))
    solver = SolverBodies(model)
    with pytest.raises(ModelError, match="substeps"):
        solver.substeps = 0
    with pytest.raises(StateError, match="another model"):
        solver.step(free((0, 0, 0, 0, 0, 0)).state(), model.state(), dt=0.1)
    with pytest.raises(StateError, match="dt"):
        solver.step(model.state(), model.state(), dt=-1.0)


def test_numbers_that_are_not_finite_are_found():
    model = free((0, 0, 0, 0, 0, 0))
    solver, state = SolverBodies(model, check=True), model.state()
    state.body_qd.assign([[0, 0, 0, np.inf, 0, 0]])
    with pytest.raises(DivergenceError, match="body 0"):
        solver.step(state, state, dt=0.1)


def test_particles_meet_shapes_where_their_bodies_are():
    """A particle falls onto a box that a body carries upwards."""
    builder = ModelBuilder(gravity=0.0)
    body = builder.add_body((0, 0.5, 0, *REST), (0, 0, 0, 0, 1.0, 0))
    builder.add_shape_box((0, 0.1, 0, *REST), 0.2, 0.1, 0.2, body=body)
    builder.add_particle((0, 1.0, 0), radius=0.0)
    model = builder.finalize(device="cpu", dtype=wp.float64)
    bodies, cloth, state = SolverBodies(model, 2), SolverXPBD(model), model.state()
    for _ in range(40):
        cloth.step(state, state, dt=0.01)
        bodies.step(state, state, dt=0.01)
    assert np.allclose(state.body_q.numpy()[0, 1], 0.9)
    assert np.isclose(state.particle_q.numpy()[0, 1], 1.1, atol=1e-9)
    assert np.isclose(state.particle_qd.numpy()[0, 1], 1.0)
