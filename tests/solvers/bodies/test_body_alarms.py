"""What a solver of bodies says of joints that open, of limits that are broken at the start, and of NaN."""

import warnings

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import DivergenceError
from warpsim.solvers import DivergenceWarning, ModelBuilder, SolverBodies, StartWarning

DT = 1 / 60


def chain(count, end, dtype=wp.float64):
    """Links of 1 kg and 10 cm that fall from level, the last one heavier."""
    builder, parent = ModelBuilder(), -1
    for k in range(count):
        mass = end if k == count - 1 else 1.0
        inertia = np.full(3, 1e-3 * mass)
        child = builder.add_body((0.1 * k + 0.05, 0, 0, 0, 0, 0, 1), mass=mass, com=(0, 0, 0), inertia=inertia)
        frame = (0.0 if parent < 0 else 0.05, 0, 0, 0, 0, 0, 1)
        builder.add_joint_ball(parent, child, frame, (-0.05, 0, 0, 0, 0, 0, 1))
        parent = child
    return builder.finalize("cpu", dtype=dtype)


def energy(model, state):
    """Of a chain, as part of what it may fall: its mass, times its length [1]."""
    q, qd, mass = state.body_q.numpy(), state.body_qd.numpy(), model.body_mass.numpy()
    turning = 1e-3 * (qd[:, :3] ** 2).sum(axis=1)
    own = mass * (9.81 * q[:, 1] + 0.5 * (qd[:, 3:] ** 2).sum(axis=1) + 0.5 * turning)
    return own.sum() / (9.81 * mass.sum() * 0.1 * len(mass))


@pytest.mark.parametrize("iterations", [2, 8])
@pytest.mark.parametrize("count", [5, 10])
def test_a_chain_with_a_heavy_end_does_not_explode(count, iterations):
    model = chain(count, 100.0)
    solver, state = SolverBodies(model, iterations=iterations), model.state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        for _ in range(180):
            solver.step(state, state, dt=DT)
            assert abs(energy(model, state)) < 0.5
    assert np.linalg.norm(state.body_q.numpy()[-1, :3]) < 0.1 * count


def test_enough_substeps_keep_the_energy_of_a_heavy_end():
    model = chain(10, 100.0)
    solver, state = SolverBodies(model, substeps=20), model.state()
    for _ in range(180):
        solver.step(state, state, dt=DT)
        assert abs(energy(model, state)) < 1e-3


def pendulum():
    builder = ModelBuilder()
    turn = (0, 0, np.sin(0.5), np.cos(0.5))
    body = builder.add_body((np.sin(1), -np.cos(1), 0, *turn), mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.add_joint_revolute(-1, body, child_xform=(0, 1, 0, 0, 0, 0, 1))
    return builder.finalize("cpu", dtype=wp.float64)


def test_a_joint_that_opens_is_told_once():
    model = pendulum()
    solver, state = SolverBodies(model), model.state()
    words = r"step 0: joint 0 of parent -1 and child 0 .*\nhelp: more substeps"
    with pytest.warns(DivergenceWarning, match=words) as told:
        for _ in range(3):
            solver.step(state, state, dt=100.0)
    assert len(told) == 1


@pytest.mark.parametrize("jointed", [False, True])
def test_numbers_that_are_not_finite_are_told(jointed):
    builder = ModelBuilder()
    for x in range(3):
        builder.add_body((x, 0, 0, 0, 0, 0, 1), mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    if jointed:
        builder.add_joint_ball(0, 1)
    model = builder.finalize("cpu")
    solver, state = SolverBodies(model), model.state()
    force = np.zeros((3, 6))
    force[2, 3] = np.nan
    state.body_f.assign(force)
    with pytest.warns(DivergenceWarning, match="step 0: body 2 has numbers that are not finite"):
        solver.step(state, state, dt=DT)
    with pytest.raises(DivergenceError, match="body 2"):
        SolverBodies(model, check=True).step(state, state, dt=DT)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("revolute", r"joint 0 .* angle about z is 0 rad, and has the limits 1 to 2; it returns with at most 3 rad/s"),
        ("prismatic", r"joint 0 .* translation along z is 0 m"),
    ],
)
def test_a_joint_that_starts_outside_of_its_limits_returns_slowly(kind, words):
    builder = ModelBuilder(gravity=0.0)
    body = builder.add_body(mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    getattr(builder, f"add_joint_{kind}")(-1, body, limit_lower=1.0, limit_upper=2.0)
    model = builder.finalize("cpu", dtype=wp.float64)
    with pytest.warns(StartWarning, match=words):
        solver = SolverBodies(model)
    state, places = model.state(), []
    for _ in range(30):
        solver.step(state, state, dt=DT)
        q = state.body_q.numpy()[0]
        places.append(2 * np.arctan2(q[5], q[6]) if kind == "revolute" else q[2])
    np.testing.assert_allclose(np.diff(places[:19]), 3 * DT, rtol=1e-6)
    assert places[-1] == pytest.approx(1.0, abs=1e-6)


def test_a_rope_that_starts_too_long_is_told():
    builder = ModelBuilder()
    body = builder.add_body((0, -1, 0, 0, 0, 0, 1), mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    builder.add_joint_distance(-1, body, max_distance=0.5)
    with pytest.warns(StartWarning, match="its distance is 1 m"):
        SolverBodies(builder.finalize("cpu"))
