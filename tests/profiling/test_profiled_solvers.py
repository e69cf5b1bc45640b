"""Profiles of solvers, of many worlds, and of kernels as operators of PyTorch."""

import inspect

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers import ModelBuilder, SolverXPBD

pytestmark = pytest.mark.cpu


def cloth(builder):
    builder.add_cloth_grid(
        pos=(0.0, 1.0, 0.0), rot=(0.7071068, 0.0, 0.0, 0.7071068), vel=(0.0, 0.0, 0.0), dim_x=6, dim_y=6,
        cell_x=0.1, cell_y=0.1, mass=0.01, spring_ke=1.0e4, edge_ke=1.0e-3,
    )  # fmt: skip


def run(worlds, steps, profiled):
    one, builder = ModelBuilder(), ModelBuilder()
    cloth(one)
    if worlds > 1:
        builder.add_world(one, worlds)
    else:
        cloth(builder)
    builder.add_ground_plane()
    model = builder.finalize()
    solver, state = SolverXPBD(model, substeps=3), model.state()
    solver.step(state, state, None, None, 1.0 / 60.0)  # captures its graphs
    if not profiled:
        for _ in range(steps):
            solver.step(state, state, None, None, 1.0 / 60.0)
        return state.particle_q.numpy().copy(), None
    with wp.profile(print=False) as profile:
        for _ in range(steps):
            solver.step(state, state, None, None, 1.0 / 60.0)
    return state.particle_q.numpy().copy(), profile.report


@pytest.mark.parametrize("worlds", [1, 3])
def test_stages_of_a_solver_are_told_and_nothing_changes(worlds):
    expected, _ = run(worlds, 4, False)
    positions, report = run(worlds, 4, True)
    assert positions.tobytes() == expected.tobytes()
    assert any(name.startswith("xpbd.") for name in report.stages)
    assert sum(report.stages.values()) <= sum(one.total for one in report.launches) + 1e-9
    counts = {}
    for one in report.launches:
        counts[one.kernel] = counts.get(one.kernel, 0) + one.count
    assert all(count % 4 == 0 for count in counts.values()), counts  # the same in each of four steps
    assert sum(report.parts.values()) == pytest.approx(report.seconds)


@wp.kernel
def halve(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 0.5 * x[i]


@pytest.mark.parametrize("n", [8, 100_000])
def test_operators_of_pytorch_are_counted(n):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    operator = wp.torch_op(halve)
    x = torch.ones(n, requires_grad=True)
    operator(x).sum().backward()  # compiles
    here = inspect.currentframe().f_lineno
    with wp.profile(print=False) as profile:
        for _ in range(5):
            operator(x).sum().backward()
    counts = {one.kernel: one.count for one in profile.report.launches}
    assert counts == {"halve": 5, "halve (adjoint)": 5}
    assert np.allclose(x.grad.numpy(), 6 * 0.5)
    assert {(one.place, one.line - here) for one in profile.report.launches} == {(__file__, 3)}


def test_launches_of_kept_properties_stand_where_they_are_read():
    """`functools.cached_property` calls from a frame of its own."""
    builder = ModelBuilder()
    builder.add_particles([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]], 0.0, 1.0, 0.01)
    model = builder.finalize("cpu")
    solver, state = SolverXPBD(model), model.state()
    with wp.profile(print=False) as profile:
        here = inspect.currentframe().f_lineno
        assert solver.statistics(state).first_not_finite is None
    assert {(one.place, one.line - here) for one in profile.report.launches} == {(__file__, 1)}
