"""Residuals of constraints: what one iteration leaves, and the stiffness with which a body rests."""

import numpy as np
import pytest
from xpbd_scenes import REST, SCENES, stirred

import warpsim as wp
from warpsim.errors import StateError
from warpsim.solvers import Contacts, ModelBuilder, SolverXPBD, SurfaceContacts
from warpsim.solvers.cases.xpbd_drape import ball

DT = 1.0 / 60.0


def hanging(substeps, iterations, **options):
    """A strip that hangs at rest: how far its lower side sank, and its residuals."""
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), REST, 0, 2, 10, 0.1, 0.1, 0.002, fix_top=True, tri_ke=500.0)
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state = SolverXPBD(model, substeps, iterations, damping=4.0, **options), model.state()
    for _ in range(200):
        solver.step(state, state, None, None, DT)
    return -state.particle_q.numpy()[:3, 1].mean(), solver.residuals(state)


def test_the_stiffness_is_that_with_which_a_strip_hangs():
    exact, solved = hanging(60, 20)
    assert solved["membranes"].stiffness > 0.999 and solved["membranes"].relative < 0.01
    for substeps, iterations in ((20, 1), (10, 1), (10, 2)):
        sunk, left = hanging(substeps, iterations)
        assert np.isclose(left["membranes"].stiffness, exact / sunk, rtol=0.2)
        assert left["membranes"].stiffness < 0.98


@pytest.mark.parametrize("order", ["colored", "jacobi"])
def test_residuals_fall_with_iterations(order):
    left = [hanging(10, n, order=order)[1]["membranes"].relative for n in (1, 4, 16)]
    assert left[0] > left[1] > left[2]


@pytest.mark.parametrize("scene", SCENES)
def test_every_kind_has_its_residual(scene):
    """Solved to the end there is nothing left of any kind, and the state stays where it was."""
    model = SCENES[scene]().finalize(device="cpu", dtype=wp.float64)
    state = model.state()
    before = [a.numpy().copy() for a in (state.particle_q, state.particle_qd)]
    solver = SolverXPBD(model, substeps=20, iterations=100)
    for left in solver.residuals(state).values():
        assert left.relative < 1e-3 and np.isclose(left.stiffness, 1.0, atol=1e-3)
    assert set(solver.residuals(state)) == set(solver.constraints)
    for array, values in zip((state.particle_q, state.particle_qd), before, strict=True):
        assert (array.numpy() == values).all()


def test_a_filling_has_its_residual():
    builder = ModelBuilder()
    points, faces = ball(2)
    builder.add_cloth_mesh((0, 0, 0), REST, 0.2, 0, points, faces, density=0.2, spring_ke=100.0)
    builder.add_pressure(range(len(faces)), target=1.2, bulk_modulus=1.0e3)
    model = builder.finalize(device="cpu", dtype=wp.float64)
    left = SolverXPBD(model, substeps=20, iterations=50).residuals(model.state())
    assert left["pressure"].relative < 0.02 and abs(left["pressure"].stiffness - 1.0) < 0.02


def test_a_single_spring_is_solved_and_a_rigid_one_does_not_count():
    builder = ModelBuilder()
    builder.add_particles([[0, 0, 0], [1, 0, 0], [2, 0, 0]], mass=[0.0, 1.0, 0.0])
    builder.add_spring(0, 1, 1e4)
    stirred(builder)
    model = builder.finalize(device="cpu", dtype=wp.float64)
    left = SolverXPBD(model).residuals(model.state())["springs"]
    assert left.relative < 1e-12 and np.isclose(left.stiffness, 1.0)
    builder.add_spring(1, 2)
    model = builder.finalize(device="cpu", dtype=wp.float64)
    assert np.isfinite(SolverXPBD(model).residuals(model.state())["springs"]).all()


def test_steps_do_not_notice_that_residuals_were_asked_for():
    model = SCENES["springs"](0.1).finalize(device="cpu")
    states = [model.state(), model.state()]
    solver = SolverXPBD(model)
    for n, state in enumerate(states):
        for _ in range(3):
            solver.step(state, state, None, None, DT)
            if n:
                solver.residuals(state)
    assert (states[0].particle_q.numpy() == states[1].particle_q.numpy()).all()


def test_states_of_other_models_have_no_residuals():
    models = [SCENES["springs"]().finalize(device="cpu") for _ in range(2)]
    with pytest.raises(StateError, match="state_in belongs to another model"):
        SolverXPBD(models[0]).residuals(models[1].state())


def test_residuals_in_a_capture_are_refused():
    model = SCENES["springs"]().finalize(device="cpu")
    solver, state = SolverXPBD(model), model.state()
    with pytest.raises(StateError, match="in a capture"), wp.ScopedCapture():
        solver.residuals(state)


def test_residuals_between_steps_leave_gradients_as_they_are():
    model = SCENES["membrane"]().finalize(device="cpu", dtype=wp.float64, requires_grad=True)
    solver, gradients = SolverXPBD(model), []
    for asked in (False, True):
        first, last = model.state(requires_grad=True), model.state(requires_grad=True)
        with wp.Tape() as tape:
            solver.step(first, last, dt=DT)
            if asked:
                solver.residuals(last)
            solver.step(last, last, dt=DT)
        tape.backward(grads={last.particle_q: wp.full(len(last.particle_q), 1.0, dtype=wp.vec3d)})
        gradients.append(first.particle_q.grad.numpy())
    assert np.abs(gradients[0]).max() > 0.0 and (gradients[0] == gradients[1]).all()


@pytest.mark.parametrize("substeps", [50, 200])
def test_single_precision_rests_within_what_its_positions_can_hold(substeps):
    """Corrections below half the spacing of positions are lost; double precision has the exact length."""
    for dtype in (wp.float32, wp.float64):
        builder = ModelBuilder(gravity=0.0)
        builder.add_particles([[0, 0, 0], [0, -1.1, 0]], mass=[0.0, 1.0])
        builder.add_spring(0, 1, 1e4, 100.0, 1.0)
        model = builder.finalize(device="cpu", dtype=dtype)
        solver, state = SolverXPBD(model, substeps=substeps), model.state()
        for _ in range(300):
            solver.step(state, state, None, None, DT)
        lost = 0.5 * np.spacing(np.float32(1.0)) * (1.0 + (60.0 * substeps) ** 2 / 1e4)
        error = abs(-state.particle_q.numpy()[1, 1] - 1.0)
        assert error < (1.1 * lost if dtype is wp.float32 else 1e-9)


def crowded():
    """Two sheets with more contacts than fit, and as many pairs of particles."""
    builder = ModelBuilder(gravity=0.0)
    builder.default_particle_radius, lying = 0.02, (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
    for height, speed in ((0.0, 0.5), (0.05, -0.5)):
        builder.add_cloth_grid((0, height, 0), lying, (0.0, speed, 0.0), 5, 5, 0.01, 0.01, 1e-4, spring_ke=1e3)
    model = builder.finalize(device="cpu", dtype=wp.float64, requires_grad=True)
    return model, [SurfaceContacts(model, capacity=2), Contacts(model, capacity=2)]


@pytest.mark.parametrize("substeps", [5, "auto"])
def test_contacts_say_the_same_after_residuals(substeps):
    model, contacts = crowded()
    state, solver = model.state(), SolverXPBD(model, substeps)
    solver.residuals(state, None, contacts)
    surfaces, balls = contacts
    assert surfaces.overflow == surfaces.unresolved == surfaces.count == balls.overflow == 0
    solver.step(state, state, None, contacts, DT)
    said = [a.numpy().copy() for touching in contacts for a in touching.readings]
    assert surfaces.overflow > 0 and balls.overflow > 0
    solver.residuals(state, None, contacts)
    assert all((a.numpy() == b).all() for a, b in zip((a for c in contacts for a in c.readings), said, strict=True))


def test_residuals_with_contacts_leave_gradients_as_they_are():
    gradients = []
    for asked in (False, True):
        model, contacts = crowded()
        solver = SolverXPBD(model, 3)
        with wp.Tape() as tape:
            state = model.state()
            for _ in range(2):
                solver.step(state, state, None, contacts, DT)
                if asked:
                    solver.residuals(state, None, contacts)
        tape.backward(grads={state.particle_q: wp.ones(len(state.particle_q), dtype=wp.vec3d)})
        gradients.append(model.particle_q.grad.numpy().copy())
    assert np.abs(gradients[0]).max() > 0.0 and (gradients[0] == gradients[1]).all()
