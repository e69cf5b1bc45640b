"""`Problem.plan` of rollouts of solvers: memory is known before, and a budget is kept, for cloth, grains and fluids."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.optim import Problem, add_squares, loop
from warpsim.optim.problem.plan import measure
from warpsim.solvers import Fluid, Material, ModelBuilder, SolverDEM, SolverSPH, SolverXPBD

STEPS = 40


def cloth():
    """A hanging cloth of 1,681 particles."""
    builder, options = ModelBuilder(), {"spring_ke": 200.0, "edge_ke": 1.0e-4, "fix_left": True}
    builder.add_cloth_grid((0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, 40, 40, 0.02, 0.02, 0.001, **options)
    model = builder.finalize(requires_grad=True)
    return model, SolverXPBD(model, substeps=2), 1.0 / 60.0


def grains():
    """A block of 512 grains that falls on the ground."""
    builder = ModelBuilder()
    corner = np.stack(np.meshgrid(*3 * [np.arange(8)], indexing="ij"), axis=-1).reshape(-1, 3)
    builder.add_particles(0.021 * corner + [0.0, 0.011, 0.0], mass=0.01, radius=0.01)
    builder.add_ground_plane()
    model = builder.finalize(requires_grad=True)
    solver = SolverDEM(model, Material(youngs_modulus=1.0e5, friction=0.4), substeps=2)
    solver.reserve(8 * model.particle_count)
    return model, solver, 2.0e-3


def fluid():
    """A block of 400 particles of water that falls."""
    builder, spacing = ModelBuilder(), 0.05
    corner = np.stack(np.meshgrid(np.arange(20), np.arange(20), [0], indexing="ij"), axis=-1).reshape(-1, 3)
    builder.add_particles(spacing * corner, mass=1000.0 * spacing**2)
    model = builder.finalize(requires_grad=True)
    return model, SolverSPH(model, Fluid(sound=20.0), dim=2, substeps=2), 2.0e-3


def rollout_of(scene):
    """The problem of the velocities at the start."""
    model, solver, dt = scene()
    start, state = model.state(), model.state()
    carried = [*state.arrays.values(), *getattr(solver, "history", ())]
    target = wp.zeros_like(start.particle_q)
    loss = wp.zeros(1, dtype=float, requires_grad=True)

    def rollout():
        state.assign(start)
        loop(lambda k: solver.step(state, state, dt=dt), carried, STEPS, scratch=solver.scratch)
        add_squares(loss, state.particle_q, target)

    return Problem(rollout, {"velocities": start.particle_qd}, loss)


@pytest.mark.parametrize("scene", [cloth, grains, fluid])
def test_the_memory_of_a_solver_is_known_before(scene):
    problem = rollout_of(scene)
    plan = problem.plan()
    assert measure(problem) == pytest.approx(plan.full, rel=0.1)


@pytest.mark.parametrize("scene", [cloth, grains, fluid])
def test_a_budget_is_kept_by_a_solver(scene):
    problem = rollout_of(scene)
    z = problem.start()
    loss, gradient = problem.value_and_gradient(z)
    allowed = 0.5 * problem.plan().full
    plan = problem.plan(allowed)
    taken = measure(problem)
    assert plan.choice is not None and taken < 1.05 * allowed
    assert taken < 1.1 * plan.expected
    if scene is not fluid:  # of segments of two steps, as of it here, the estimate is on the safe side
        assert taken == pytest.approx(plan.expected, rel=0.1)
    again, slopes = problem.value_and_gradient(z)
    assert again == pytest.approx(loss, rel=1e-6) and np.abs(gradient).max() > 0.0
    np.testing.assert_allclose(slopes, gradient, rtol=1e-4, atol=1e-6 * np.abs(gradient).max())
