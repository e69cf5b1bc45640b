"""What is wrong with the arguments of a step is said by their names, alike by all solvers of particles."""

import inspect

import numpy as np
import pytest

from warpsim.errors import StateError
from warpsim.solvers import Fluid, ModelBuilder, SolverDEM, SolverDFSPH, SolverSPH, SolverXPBD

SOLVERS = {
    "xpbd": SolverXPBD,
    "dem": SolverDEM,
    "sph": lambda m: SolverSPH(m, Fluid(), dim=2, spacing=0.1),
    "dfsph": lambda m: SolverDFSPH(m, Fluid(), dim=2, spacing=0.1),
}


@pytest.fixture(params=SOLVERS)
def scene(request):
    builder = ModelBuilder()
    builder.add_particle((0.0, 0.0, 0.0), radius=0.05)
    model = builder.finalize(device="cpu")
    return SOLVERS[request.param](model), model.state(), model.control()


def test_no_solver_has_a_time_step_of_its_own(scene):
    solver, state, control = scene
    assert list(inspect.signature(solver.step).parameters) == ["state_in", "state_out", "control", "contacts", "dt"]
    for arguments in ((), (control,), (control, None)):
        with pytest.raises(StateError, match=r"dt is None\nexpected: a time step above 0 \[s\]"):
            solver.step(state, state, *arguments)


@pytest.mark.parametrize("dt", [0.01, np.float32(0.5), 1, 0])
def test_a_time_step_in_the_place_of_contacts_is_refused_by_that_name(scene, dt):
    solver, state, control = scene
    told = rf"contacts is .*{dt}.*, a number\nexpected: step\(state_in, state_out, control, contacts, dt\)\nhelp: "
    with pytest.raises(StateError, match=told):
        solver.step(state, state, control, dt)
    with pytest.raises(StateError, match=told):
        solver.step(state, state, None, dt, 0.01)


def test_a_time_step_in_the_place_of_the_control_is_refused_by_that_name(scene):
    solver, state, _ = scene
    with pytest.raises(StateError, match=r"control is 0.01, a number\n(.*\n)*help: .*dt=0.01\)"):
        solver.step(state, state, 0.01)


def test_control_and_contacts_may_be_left_out(scene):
    solver, state, _ = scene
    solver.step(state, state, dt=1.0e-5)
    assert state.particle_qd.numpy()[0, 1] == pytest.approx(-9.81e-5, rel=1e-5)
