"""One solver, or one kernel with scratch arrays, on a tape for each step: the gradients of one tape of all steps."""

import sys
from pathlib import Path

import numpy as np
import pytest

import warpsim as wp

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "sph"))

from fluid_scenes import splash  # noqa: E402
from xpbd_scenes import springs  # noqa: E402

from warpsim.solvers import Fluid, Material, ModelBuilder, SolverDEM, SolverDFSPH, SolverXPBD  # noqa: E402

STEPS = 3
SMOOTH = Material(2.0e6, 0.25, 0.6, 0.0)  # without friction, contacts remember nothing from step to step
BOUNDS = ((-0.2, 0.0, 0.0), (0.8, 1.0, 0.0))


def cloth():
    model = springs().finalize(dtype=wp.float64, requires_grad=True)
    solver = SolverXPBD(model, substeps=2)
    return model, lambda start, end: solver.step(start, end, None, None, 5.0e-3)


def stepped(model, solver, dt):
    return model, lambda start, end: solver.step(start, end, None, dt=dt)


def grains():
    builder = ModelBuilder(gravity=0.0)
    points = 0.0195 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.2]])
    builder.add_particles(points, np.eye(4, 3), 0.01, 0.01)
    model = builder.finalize(dtype=wp.float64, requires_grad=True)
    return stepped(model, SolverDEM(model, SMOOTH), 1.0e-5)


def fluid():
    return stepped(*splash(requires_grad=True, cells=(3, 4)), 2.0e-3)


def incompressible():
    model, _ = splash(requires_grad=True, cells=(3, 4))
    return stepped(model, SolverDFSPH(model, Fluid(sound=15.0, alpha=0.05), 2, substeps=2, bounds=BOUNDS), 2.0e-3)


SCENES = {"SolverXPBD": cloth, "SolverDEM": grains, "SolverSPH": fluid, "SolverDFSPH": incompressible}


def fields(state):
    """The arrays of a state that steps change and that have gradients."""
    return [
        a
        for name in ("particle_q", "particle_qd", "particle_w", "particle_rho")
        if (a := getattr(state, name, None)) is not None and a.requires_grad and a.size
    ]


def seeds(state):
    rng = np.random.default_rng(1)
    return {a: wp.array(rng.uniform(-1.0, 1.0, a.numpy().shape), dtype=a.dtype) for a in fields(state)}


def on_one_tape(make):
    model, step = make()
    states = [model.state() for _ in range(STEPS + 1)]
    with wp.Tape() as tape:
        for k in range(STEPS):
            step(states[k], states[k + 1])
    tape.backward(grads=seeds(states[-1]))
    return [a.grad.numpy().copy() for a in fields(states[0])]


def on_a_tape_each(make):
    """The way of `torch.autograd.Function`: a state of its own for each step, gradients handed from tape to tape."""
    model, step = make()
    tapes = []
    before = model.state()
    for _ in range(STEPS):
        start, end, tape = model.state(), model.state(), wp.Tape()
        for a, b in zip(fields(start), fields(before), strict=True):
            a.assign(b)
        with tape:
            step(start, end)
        tapes.append((tape, start, end))
        before = end
    gradients = list(seeds(before).values())
    for tape, start, end in reversed(tapes):
        tape.backward(grads=dict(zip(fields(end), gradients, strict=True)))
        gradients = [wp.clone(a.grad) for a in fields(start)]
        tape.zero()
    return [g.numpy() for g in gradients]


@pytest.mark.parametrize("name", SCENES)
def test_a_tape_for_each_step_of_a_solver(name):
    one, each = on_one_tape(SCENES[name]), on_a_tape_each(SCENES[name])
    assert len(one) == len(each) > 1 and any(g.any() for g in one)
    for a, b in zip(one, each, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12 * np.abs(a).max())


# ----- kernels with scratch arrays ---------------------------------------------------------------------


@wp.kernel
def strain(x: wp.array[wp.float64], scratch: wp.array[wp.float64]):
    i = wp.tid()
    scratch[i] = wp.sin(x[i]) * x[i]


@wp.kernel
def relax(x: wp.array[wp.float64], scratch: wp.array[wp.float64], y: wp.array[wp.float64]):
    i = wp.tid()
    y[i] = x[i] + scratch[i] * scratch[i]


def new(values=(0.0, 0.0)):
    return wp.array(values, dtype=wp.float64, requires_grad=True)


def test_a_tape_for_each_launch_that_uses_one_scratch_array():
    scratch, values, tapes = new(), np.array([0.3, 0.7]), []
    for _ in range(3):
        x, y, tape = new(values), new(), wp.Tape()
        with tape:
            wp.launch(strain, 2, [x, scratch])
            wp.launch(relax, 2, [x, scratch, y])
        tapes.append((tape, x, y))
        values = y.numpy().copy()
    gradient = np.ones(2)
    for tape, x, y in reversed(tapes):
        s, c = np.sin(x.numpy()), np.cos(x.numpy())
        expected = gradient * (1.0 + 2.0 * s * x.numpy() * (c * x.numpy() + s))
        tape.backward(grads={y: wp.array(gradient, dtype=wp.float64)})
        gradient = x.grad.numpy().copy()
        assert gradient == pytest.approx(expected, rel=1e-12)


def test_what_a_tape_kept_for_another_is_reported():
    scratch, first = new(), wp.Tape()
    with first:
        wp.launch(strain, 2, [new((0.3, 0.7)), scratch])
        wp.launch(relax, 2, [new(), scratch, new()])
    assert first.report().bytes == 0
    with wp.Tape():
        wp.launch(strain, 2, [new((0.1, 0.2)), scratch])
    assert first.report().bytes == scratch.numpy().nbytes
