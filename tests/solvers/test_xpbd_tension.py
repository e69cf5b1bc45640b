"""Stretch and tension: sheets pulled by known amounts, in any direction of space; springs; a chain that hangs."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import StateError
from warpsim.solvers import ModelBuilder, SolverXPBD
from warpsim.solvers.xpbd.gauges import membrane_tension, principal_stretches, spring_tension

REST = (0.0, 0.0, 0.0, 1.0)
YOUNG, NU = 300.0, 0.3


def sheet(change, **material):
    """Statistics of a sheet in the plane of x and y, deformed by a matrix (3, 3)."""
    builder = ModelBuilder()
    builder.add_cloth_grid((0, 0, 0), REST, 0, 4, 3, 0.1, 0.1, 0.01, **{"tri_ke": YOUNG, "tri_nu": NU, **material})
    solver = SolverXPBD(builder.finalize(dtype=wp.float64))
    state = solver.model.state()
    state.particle_q.assign(state.particle_q.numpy() @ np.transpose(change))
    return solver.statistics(state)


def turned(angle=0.7):
    c, s = np.cos(angle), np.sin(angle)
    about_y, about_z = [[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]], [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
    return np.array(about_y) @ np.array(about_z)


def test_a_sheet_at_rest_has_neither_stretch_nor_tension_however_it_is_turned():
    statistics = sheet(turned())
    np.testing.assert_allclose(principal_stretches(statistics), 1.0, atol=1e-12)
    np.testing.assert_allclose(membrane_tension(statistics), 0.0, atol=1e-9)


@pytest.mark.parametrize("stretches", [(1.1, 1.1), (1.2, 1.0), (1.3, 0.9), (0.8, 1.0)])
def test_principal_values_are_those_of_the_pull(stretches):
    """S = E / (1 - nu^2) (E_1 + nu E_2) in each direction, and T = S times its stretch over the other."""
    a, b = stretches
    statistics = sheet(turned() @ np.diag([a, b, 1.0]))
    np.testing.assert_allclose(principal_stretches(statistics), np.tile(sorted(stretches), (24, 1)), atol=1e-12)
    green = 0.5 * (np.square(stretches) - 1.0)
    stress = YOUNG / (1.0 - NU**2) * (green + NU * green[::-1])
    tension = sorted(stress * [a / b, b / a])
    np.testing.assert_allclose(membrane_tension(statistics), np.tile(tension, (24, 1)), rtol=1e-6, atol=1e-9)


def test_shear_is_a_pull_along_one_diagonal_and_a_push_along_the_other():
    shear = 1.0e-4
    statistics = sheet(np.array([[1.0, shear, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    modulus = statistics.model.tri_stiffness.numpy()[0, 2]
    expected = np.tile([-modulus * shear, modulus * shear], (24, 1))
    np.testing.assert_allclose(membrane_tension(statistics), expected, rtol=1e-3)


def test_sheets_without_stiffness_bear_nothing_but_are_stretched():
    statistics = sheet(np.diag([1.2, 1.0, 1.0]), tri_ke=0.0, spring_ke=100.0)
    assert not membrane_tension(statistics).any()
    np.testing.assert_allclose(principal_stretches(statistics)[:, 1], 1.2)


def test_springs_pull_by_elongation_and_stiffness_and_activation_shortens_them():
    builder = ModelBuilder()
    builder.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 2.0, 0.0]], 0.0, 1.0)
    builder.add_spring(0, 1, ke=50.0, kd=0.0)
    builder.add_spring(1, 2, ke=20.0, kd=0.0)
    model = builder.finalize()
    solver, state, control = SolverXPBD(model), model.state(), model.control()
    state.particle_q.assign([[0.0, 0.0, 0.0], [1.1, 0.0, 0.0], [1.1, 1.5, 0.0]])
    np.testing.assert_allclose(spring_tension(solver.statistics(state)), [5.0, -10.0], rtol=1e-5)
    control.spring_activation.assign([-0.1, 0.0])
    np.testing.assert_allclose(spring_tension(solver.statistics(state), control), [10.0, -10.0], rtol=1e-5)
    model.spring_compliance.assign([0.0, 0.05])
    assert np.isnan(spring_tension(solver.statistics(state))).tolist() == [True, False]


def test_each_spring_of_a_chain_bears_what_hangs_below_it():
    builder = ModelBuilder()
    builder.add_particles(np.arange(6)[:, None] * [0.0, -0.1, 0.0], 0.0, [0.0, 0.1, 0.1, 0.1, 0.1, 0.1])
    for k in range(5):
        builder.add_spring(k, k + 1, ke=500.0, kd=2.0)
    solver = SolverXPBD(builder.finalize(), substeps=20, damping=2.0)
    state = solver.model.state()
    for _ in range(120):
        solver.step(state, state, None, None, 1.0 / 60.0)
    np.testing.assert_allclose(spring_tension(solver.statistics(state)), 0.981 * np.arange(5, 0, -1), rtol=0.03)


def test_what_is_not_finite_leaves_the_rest_of_a_map():
    statistics = sheet(np.diag([1.1, 1.0, 1.0]))
    whole = [principal_stretches(statistics), membrane_tension(statistics)]
    q = statistics.state.particle_q.numpy()
    q[0], q[-1] = np.nan, np.inf
    statistics.state.particle_q.assign(q)
    broken = np.isin(statistics.model.tri_indices.numpy(), [0, len(q) - 1]).any(axis=1)
    assert 2 <= broken.sum() <= 4
    for before, now in zip(whole, (principal_stretches(statistics), membrane_tension(statistics)), strict=True):
        assert np.isnan(now[broken]).all() and (now[~broken] == before[~broken]).all()


def test_springs_of_a_control_of_another_model_are_refused():
    statistics, other = sheet(np.eye(3), spring_ke=100.0), sheet(np.eye(3))
    with pytest.raises(StateError, match="control belongs to another model"):
        spring_tension(statistics, other.model.control())
