"""A sheet of cloth on the sea, on one tape: gradients to waves and wind, and to where the sheet began."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers import ModelBuilder, SolverXPBD
from warpsim.solvers.ocean import JONSWAP, Ocean, ocean_surface
from warpsim.solvers.ocean.query import SurfaceD

D, STEPS, DT, CELLS = wp.float64, 4, 0.05, 3
pytestmark = pytest.mark.filterwarnings("ignore:the peak of the spectrum")


@wp.kernel
def carry(sea: SurfaceD, q: wp.array[wp.vec3], qd: wp.array[wp.vec3], force: wp.array[wp.vec3]):
    """Springs to the surface and drag to the velocity of the water, both smooth."""
    i = wp.tid()
    z, _slope, flow, _rise, _found = ocean_surface(sea, wp.float64(q[i][0]), wp.float64(q[i][1]))
    pull = wp.vec3(float(flow[0]), float(flow[1]), float(flow[2])) - qd[i]
    force[i] = 4.0 * (float(z) - q[i][2]) * wp.vec3(0.0, 0.0, 1.0) + pull


@wp.kernel
def measure(q: wp.array[wp.vec3], loss: wp.array[D]):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.float64(float(i + 1) * q[i][2] + 0.5 * q[i][0] * q[i][2]))


class Voyage:
    """The loss of a voyage as a function of the wind [m/s], the noise of the waves and the first positions."""

    def __init__(self):
        builder = ModelBuilder(up_axis="Z", gravity=0.0)
        builder.default_particle_radius = 0.0
        level = (20.0, 30.0, 0.0)
        builder.add_cloth_grid(
            level, (0.0, 0.0, 0.0, 1.0), 0.0, CELLS, CELLS, 2.0, 2.0, 1.0, spring_ke=40.0, edge_ke=0.5
        )
        self.model = builder.finalize(requires_grad=True)
        self.solver = SolverXPBD(self.model, substeps=2)
        self.wind = wp.array([10.0], dtype=D, requires_grad=True)
        self.ocean = Ocean(JONSWAP(self.wind, 1e5), 300.0, 16, dtype=D, choppiness=0.5)
        self.ocean.noise.requires_grad = True
        self.first = self.model.particle_q.numpy().astype(np.float64)

    def run(self, way, first=None):
        state = self.model.state(requires_grad=True)
        start = wp.array(self.first if first is None else first, dtype=wp.vec3, requires_grad=True)
        loss = wp.zeros(1, dtype=D, requires_grad=True)

        def step(k):
            field = self.ocean.evaluate(DT * k, velocity=True)
            arrays = [state.particle_q, state.particle_qd, state.particle_f]
            wp.launch(carry, self.model.particle_count, [field.surface, *arrays])
            self.solver.step(state, state, None, None, DT)

        with wp.Tape() as tape:
            wp.copy(state.particle_q, start)
            self.ocean.update()
            if way == "checkpoint":
                moved = [state.particle_q, state.particle_qd, state.particle_f]
                wp.checkpoint(step, moved, STEPS, scratch=self.solver.scratch)
            else:
                for k in range(STEPS):
                    step(k)
            wp.launch(measure, self.model.particle_count, [state.particle_q, loss])
        return tape, start, loss

    def gradients(self, way):
        tape, start, loss = self.run(way)
        tape.backward(loss)
        found = [a.grad.numpy().copy() for a in (self.wind, self.ocean.noise, start)]
        tape.zero()
        return found

    def loss(self, first=None):
        return float(self.run("plain", first)[2].numpy()[0])


@pytest.fixture(scope="module")
def voyage():
    return Voyage()


def difference(low_high, h):
    return (low_high[1] - low_high[0]) / (2.0 * h)


def test_gradients_of_a_voyage_are_differences(voyage):
    """Positions are of single precision, so steps are wide and differences good to about a thousandth."""
    wind, noise, start = voyage.gradients("plain")
    ends = []
    for h in (-0.02, 0.02):
        voyage.wind.assign([10.0 + h])
        ends.append(voyage.loss())
    voyage.wind.assign([10.0])
    assert wind[0] == pytest.approx(difference(ends, 0.02), rel=5e-3)
    before, direction = voyage.ocean.noise.numpy().copy(), np.random.default_rng(1).standard_normal(noise.shape)
    ends = []
    for h in (-0.01, 0.01):
        voyage.ocean.noise.assign(before + h * direction)
        ends.append(voyage.loss())
    voyage.ocean.noise.assign(before)
    assert (noise * direction).sum() == pytest.approx(difference(ends, 0.01), rel=5e-3)
    for seed in range(2):
        along = np.random.default_rng(seed).standard_normal(voyage.first.shape)
        ends = [voyage.loss(voyage.first + h * along) for h in (-0.02, 0.02)]
        assert (start * along).sum() == pytest.approx(difference(ends, 0.02), rel=1e-2)


def test_checkpoints_of_a_voyage_have_the_gradients_of_its_tape(voyage):
    full, few = voyage.gradients("plain"), voyage.gradients("checkpoint")
    for a, b in zip(full, few, strict=True):
        assert np.abs(a).max() > 0.0
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6 * np.abs(a).max())
