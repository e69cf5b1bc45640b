"""Oceans inside larger programs: graphs, checkpoints, tangents, parameters on another device, foam on a tape."""

import dataclasses

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers.cases.ocean_bodies import afloat, box
from warpsim.solvers.ocean import JONSWAP, Foam, Ocean, SolverOcean, query_heights

D = wp.float64
COARSE = pytest.mark.filterwarnings("ignore:the peak of the spectrum")


def make(wind=10.0, cells=16, **options):
    return Ocean(JONSWAP(wind, 1e5), 300.0, cells, **{"dtype": D, "choppiness": 0.5, **options})


REST = (0.0, 0.0, 0.0, 1.0)
BOX = box((1.0, 1.0, 0.25), 512.5)


def test_a_graph_replays_an_update_a_field_and_forces():
    """Parameters are read when the graph is launched."""
    wind = wp.array([10.0], dtype=D)
    ocean = make(wind)
    coupling, state = afloat(BOX, (20.0, 30.0, 0.0, *REST), ocean)
    water, rest = coupling.matter[0], coupling.states()[0]
    water.step(state, rest, dt=0.05)
    water.time = 0.0
    with wp.ScopedCapture() as capture:
        ocean.update()
        water.step(state, rest, dt=0.05)
    for speed in (12.0, 10.0, 10.0):
        wind.assign([speed])
        wp.capture_launch(capture.graph)
        alone = SolverOcean(coupling.bodies.model, make(speed))
        alone.step(state, rest, dt=0.05)
        np.testing.assert_array_equal(water.shape_force.numpy(), alone.shape_force.numpy())


def test_checkpoints_give_the_gradients_of_a_full_tape():
    ocean = make()
    level = float(query_heights(ocean.evaluate(0.0), 20.0, 30.0))

    def motion(checkpointed):
        coupling, state = afloat(BOX, (20.0, 30.0, level, *REST), ocean, requires_grad=True)
        water, bodies = coupling.matter[0], coupling.bodies
        mass = bodies.model.body_mass

        def step(k):
            water.time = 0.05 * k
            coupling.step((state, state), (state, state), dt=0.05)

        with wp.Tape() as tape:
            if checkpointed:
                scratch = [*water.scratch, *bodies.scratch, *coupling.scratch]
                wp.checkpoint(step, list(state.arrays.values()), 5, parameters=[mass], scratch=scratch)
            else:
                for k in range(5):
                    step(k)
        seed = np.array([[0.3, -0.2, 1.0, 0.0, 0.0, 0.0, 0.0]])
        tape.backward(grads={state.body_q: wp.array(seed, dtype=wp.transformd)})
        return state.body_q.numpy().tobytes(), mass.grad.numpy().tobytes()

    full, few = motion(False), motion(True)
    assert full == few and np.frombuffer(full[1])[0] != 0.0


def test_tangents_are_differences():
    wind = wp.array([10.0], dtype=D, requires_grad=True)
    ocean = make(wind)
    with wp.Tape() as tape:
        ocean.update()
        field = ocean.evaluate(1.0)
    along = wp.autograd.jvp(tape, tangents={wind: np.ones(1)})
    ends = [make(10.0 + h).evaluate(1.0) for h in (1e-4, -1e-4)]
    for name in ("height", "normals", "jacobian", "stretch"):
        difference = (getattr(ends[0], name).numpy() - getattr(ends[1], name).numpy()) / 2e-4
        np.testing.assert_allclose(along[getattr(field, name)].numpy(), difference, rtol=1e-5, atol=1e-9)


@COARSE
def test_gradients_reach_parameters_on_another_device():
    found = []
    for device in ("cpu", "interp"):
        values = {"wind": 10.0, "depth": 20.0, "c": 0.7}
        given = {n: wp.array([v], dtype=D, requires_grad=True) for n, v in values.items()}
        ocean = make(given["wind"], 6, depth=given["depth"], choppiness=given["c"], device=device)
        with wp.Tape() as tape:
            ocean.update()
            field = ocean.evaluate(1.0)
        weights = wp.array(np.arange(36.0).reshape(6, 6), dtype=D, device=device)
        tape.backward(grads={field.height: weights, field.jacobian: weights})
        found.append([a.grad.numpy()[0] for a in given.values()])
    assert all(found[0])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)  # noise is float32, and rounded otherwise


@COARSE
def test_gradients_of_foam_that_fades():
    """Two steps, the second of which overwrites the coverage of the first."""
    rng = np.random.default_rng(0)
    fields = [make(cells=4).evaluate(0.0) for _ in range(2)]
    stretches = [rng.uniform(0.1, 0.9, (4, 4)) for _ in fields]
    weights = rng.standard_normal((4, 4))

    def coverage(values, grads=None):
        foam = Foam(0.55, 0.35, 4.0)
        stretched = [
            dataclasses.replace(f, stretch=wp.array(v, dtype=D, requires_grad=True))
            for f, v in zip(fields, values, strict=True)
        ]
        with wp.Tape() as tape:
            for field in stretched:
                cover = foam.step(field, 0.5)
        if grads is not None:
            tape.backward(grads={cover: wp.array(weights, dtype=D)})
            grads += [f.stretch.grad.numpy().copy() for f in stretched]
        return float((cover.numpy() * weights).sum())

    grads, direction = [], rng.standard_normal((4, 4))
    coverage(stretches, grads)
    for k in range(2):
        ends = [coverage([s + h * direction * (n == k) for n, s in enumerate(stretches)]) for h in (1e-6, -1e-6)]
        assert (grads[k] * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)
