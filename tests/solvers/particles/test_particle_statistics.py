"""Statistics of particles, of each solver: whose states they take."""

import pytest

from warpsim.errors import StateError
from warpsim.solvers import Fluid, ModelBuilder, SolverDEM, SolverSPH, SolverXPBD

SOLVERS = {
    "dem": lambda model: SolverDEM(model, overlaps="ignore"),
    "sph": lambda model: SolverSPH(model, Fluid(1000.0, sound=30.0), dim=2, spacing=0.1, overlaps="ignore"),
    "xpbd": SolverXPBD,
}


def model_of(count):
    builder = ModelBuilder()
    builder.add_particles([[0.1 * k, 0.0, 0.0] for k in range(count)], 0.0, 10.0, 0.01)
    return builder.finalize("cpu")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("count", [2, 3])
def test_states_of_another_model_are_refused(solver, count):
    """Fewer particles would be read beyond their end, and as many are others."""
    solver = SOLVERS[solver](model_of(3))
    with pytest.raises(StateError, match="state belongs to another model"):
        solver.statistics(model_of(count).state())


@pytest.mark.parametrize("solver", SOLVERS)
def test_they_show_what_can_be_asked(solver):
    model = model_of(3)
    shown = repr(SOLVERS[solver](model).statistics(model.state()))
    assert "Statistics of 3 particles: " in shown and "kinetic_energy, " in shown and " at 0x" not in shown
