"""Flow through gates: a uniform stream of known flow, edges of the gate, directions, worlds; what is refused."""

import numpy as np
import pytest

from warpsim.errors import ModelError
from warpsim.solvers import Fluid, GrainStream, Material, ModelBuilder, SolverDEM, SolverSPH
from warpsim.solvers.particles.flow import mass_flow, mass_through

GATE = {"corner": (0.5, 0.0, 0.0), "sides": [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]}  # x goes through it


def weightless(points, velocity=0.0, mass=0.5):
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles(points, velocity, mass, 0.004)
    return SolverDEM(builder.finalize())


def test_a_uniform_stream_flows_by_density_speed_and_area():
    """A lattice of 20 x 10 x 10 points to the cubic metre goes 0.2 m at a density of 1000 kg/m^3."""
    cells = np.stack(np.meshgrid(np.arange(-20, 40), np.arange(-5, 15), np.arange(-5, 15), indexing="ij"), axis=-1)
    points = (cells.reshape(-1, 3) + 0.5) * [0.05, 0.1, 0.1]
    solver = weightless(points)
    state = solver.model.state()
    state.particle_q.assign(points + np.array([0.2, 0.0, 0.0]))
    assert mass_through(solver.statistics(state), points, **GATE) == 0.5 * 4 * 100
    assert mass_flow(solver.statistics(state), points, 0.1, **GATE) == pytest.approx(1000.0 * 2.0 * 1.0)


def passed(start, end, **gate):
    solver = weightless(np.atleast_2d(end))
    return mass_through(solver.statistics(solver.model.state()), np.atleast_2d(start), **{**GATE, **gate})


def test_paths_count_by_where_they_cross_and_by_their_direction():
    assert passed((0.0, 0.5, 0.5), (1.0, 0.5, 0.5)) == 0.5
    assert passed((1.0, 0.5, 0.5), (0.0, 0.5, 0.5)) == -0.5
    assert passed((0.0, 0.5, 0.5), (0.4, 0.5, 0.5)) == 0.0
    assert passed((0.0, 0.5, 1.5), (1.0, 0.5, 0.9)) == 0.0  # at z = 1.2
    assert passed((0.0, 0.5, 1.5), (1.0, 0.5, 0.3)) == 0.5  # at z = 0.9
    assert passed((0.0, -0.1, 0.5), (1.0, -0.1, 0.5)) == 0.0
    assert passed([(0.0, 0.5, 0.5), (1.0, 0.2, 0.2)], [(1.0, 0.5, 0.5), (0.0, 0.2, 0.2)]) == 0.0  # one each way


def test_gates_may_be_oblique():
    gate = {"corner": (0.0, 0.0, 0.0), "sides": [(1.0, 1.0, 0.0), (0.0, 0.5, 1.0)]}
    middle, normal = np.array([0.5, 0.75, 0.5]), np.cross(*gate["sides"])
    assert passed(middle - normal, middle + normal, **gate) == 0.5
    assert passed(middle - normal + [0.0, 0.0, 0.6], middle + normal + [0.0, 0.0, 0.6], **gate) == 0.0


def test_a_nozzle_lets_through_what_it_emits():
    builder = ModelBuilder(gravity=0.0)
    spare = builder.add_particles(np.zeros((60, 3)), 0.0, 0.01, 0.01)
    pour = GrainStream(spare, position=(0.0, 0.2, 0.0), velocity=(0.0, -1.0, 0.0), radius=0.031, rate=100.0)
    solver = SolverDEM(builder.finalize(), Material(1.0e6), substeps=20, streams=[pour])
    state, below = solver.model.state(), {"corner": (-1.0, 0.1, -1.0), "sides": [(2.0, 0.0, 0.0), (0.0, 0.0, 2.0)]}
    assert np.cross(*below["sides"])[1] < 0.0  # down counts
    total = 0.0
    for _ in range(100):
        before = state.particle_q.numpy().copy()
        solver.step(state, state, dt=4.0e-3)
        total += mass_through(solver.statistics(state), before, **below)
    gone = (state.particle_q.numpy()[solver.present(state), 1] < 0.1).sum()
    assert 20 < gone < 40 and total == pytest.approx(0.01 * gone)


def test_fluids_flow_too_and_each_world_through_its_own_gate():
    builder = ModelBuilder(gravity=0.0)
    for speed in (1.0, 3.0):
        one = ModelBuilder(gravity=0.0)
        cells = np.stack(np.meshgrid(np.arange(10), np.arange(5), indexing="ij"), axis=-1).reshape(-1, 2)
        one.add_particles(np.pad((cells + 0.5) * 0.1, ((0, 0), (0, 1))), (speed, 0.0, 0.0), 10.0)
        builder.add_world(one)
    solver = SolverSPH(builder.finalize(), Fluid(1000.0, sound=30.0), dim=2, spacing=0.1)
    state = solver.model.state()
    before = state.particle_q.numpy().copy()
    for _ in range(10):
        solver.step(state, state, dt=0.01)
    gate = {"corner": (0.5, -1.0, -0.5), "sides": [(0.0, 3.0, 0.0), (0.0, 0.0, 1.0)]}
    flows = [mass_flow(solver.statistics(state, world=world), before, 0.1, **gate) for world in (0, 1)]
    assert flows == pytest.approx([1000.0 * 0.5 * 1.0, 1000.0 * 0.5 * 3.0])  # of a sheet, per metre of depth
    with pytest.raises(ModelError, match="the model has 2"):
        mass_flow(solver.statistics(state), before, 0.1, **gate)
    with pytest.raises(ModelError, match="world is 0, of statistics of world 1"):
        mass_flow(solver.statistics(state, world=1), before, 0.1, **gate, world=0)


def test_what_is_no_gate_is_refused():
    solver = weightless(np.zeros((1, 3)))
    state = solver.model.state()
    statistics = solver.statistics(state)
    with pytest.raises(ModelError, match="span a parallelogram"):
        mass_through(statistics, np.zeros((1, 3)), (0.0, 0.0, 0.0), [(1.0, 0.0, 0.0), (2.0, 0.0, 0.0)])
    with pytest.raises(ModelError, match="memory of the state"):
        mass_through(statistics, state.particle_q.numpy(), **GATE)
    with pytest.raises(ModelError, match="seconds is 0"):
        mass_flow(statistics, np.zeros((1, 3)), 0.0, **GATE)
    for wrong in ({"corner": (np.nan, 0.0, 0.0)}, {"sides": [(np.inf, 0.0, 0.0), (0.0, 0.0, 1.0)]}):
        with pytest.raises(ModelError, match="finite numbers"):
            mass_through(statistics, np.zeros((1, 3)), **{**GATE, **wrong})
