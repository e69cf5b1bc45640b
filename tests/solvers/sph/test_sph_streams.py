"""Streams of fluid: as much comes as should, where it should, through all programs, and they say when none is left."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import KernelAssertionError, ModelError
from warpsim.solvers import Fluid, FluidStream, ModelBuilder, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box

SPACING, WIDE = 0.1, 0.2
POSITION, VELOCITY = np.array([0.3, 0.9, 0.0]), np.array([0.6, -0.8, 0.0])
WATER = Fluid(sound=15.0, alpha=0.05, viscosity=0.01, xsph=0.1)
DT, STEPS = 4.0e-3, 25


class Jet:
    """A slot of four particles above a puddle on the ground."""

    def __init__(
        self, count=24, position=POSITION, velocity=VELOCITY, radius=WIDE, device=None, dtype=wp.float64, dim=2,
        exhausted="stop", puddle=0.2, gravity=-9.81, substeps=2, **options
    ):  # fmt: skip
        builder = ModelBuilder(gravity=gravity)
        if puddle:
            add_fluid_box(builder, (0.0, 0.0, 0.0), (0.6, puddle, 0.0 if dim == 2 else 0.4), SPACING)
        self.spare = builder.add_particles(np.zeros((count, 3)), 0.0, 1000.0 * SPACING**dim)
        builder.add_ground_plane()
        self.model = builder.finalize(device=device, dtype=dtype, requires_grad=True)
        stream = FluidStream(self.spare, position, velocity, radius, exhausted)
        bounds = ((-0.5, 0.0, -0.3), (1.5, 1.0, 0.7)) if dim == 3 else ((-0.5, 0.0, 0.0), (1.5, 1.0, 0.0))
        options = {"bounds": bounds, "fluid": WATER, "streams": [stream], **options}
        self.solver = SolverSPH(self.model, dim=dim, substeps=substeps, **options)
        self.state, [self.nozzle] = self.model.state(), self.solver.streams

    def step(self):
        self.solver.step(self.state, self.state, dt=DT)

    def run(self, steps=STEPS):
        for _ in range(steps):
            self.step()
        return self.state.particle_q.numpy()


@pytest.mark.parametrize(("dim", "side"), [(2, 4), (3, 12)])
def test_as_many_come_as_the_nozzle_lets_through(dim, side):
    jet = Jet(count=80, dim=dim, puddle=0.0, gravity=0.0)
    assert jet.nozzle.layer == side
    points = jet.run(60)[jet.spare.start :]
    came = jet.nozzle.released(jet.state)
    assert jet.state.poured.numpy()[0] == pytest.approx(60 * DT)
    assert came == 2 * side  # a spacing each
    axis = VELOCITY / np.linalg.norm(VELOCITY)
    along = (points - POSITION) @ axis
    assert (along[:came] > 0.0).all() and (along[came:] <= 1.0e-9).all()
    aside = np.linalg.norm(points - POSITION - along[:, None] * axis, axis=1)
    assert aside.max() <= WIDE
    rho = jet.state.particle_rho.numpy()
    assert jet.solver.present(jet.state).sum() == came
    np.testing.assert_allclose(rho, 1000.0, rtol=2.0e-3)  # a jet in free flight feels nothing
    np.testing.assert_allclose(jet.state.particle_qd.numpy()[:came], np.tile(VELOCITY, (came, 1)), atol=2.0e-2)


def test_those_that_wait_are_in_no_statistics():
    jet = Jet(position=(0.3, 0.7, 0.0), velocity=(0.0, -1.0, 0.0))
    jet.run(50)
    there, statistics = jet.solver.present(jet.state), jet.solver.statistics(jet.state)
    q = jet.state.particle_q.numpy()[there]
    assert 12 < there.sum() < len(there)
    assert statistics.mass == pytest.approx(10.0 * there.sum())
    assert statistics.potential_energy == pytest.approx(98.1 * q[:, 1].sum(), rel=1e-5)
    assert statistics.level((-1.0, -1.0, -1.0), (2.0, 9.0, 1.0)) == pytest.approx(q[:, 1].max() + 0.5 * SPACING)
    assert statistics.front(axis=1) == pytest.approx(q[:, 1].max() + 0.5 * SPACING)
    behind = [(0.3, 0.85, 0.0)]  # the nozzle: those in line feel no pressure, and show none
    near = np.linalg.norm(q - behind, axis=1) < jet.solver.support
    weight = (1.0 - np.linalg.norm(q[near] - behind, axis=1) / jet.solver.support) ** 2
    pressure = statistics.pressure[there][near]
    expected = (weight * pressure).sum() / weight.sum() if near.any() else 0.0
    assert statistics.pressure_at(behind)[0] == pytest.approx(expected)
    assert statistics.outside((9.0, 9.0, 9.0), (10.0, 10.0, 10.0)) == there.sum()


def test_those_that_wait_far_off_are_not_felt():
    """They pass through ground and puddle: whether there are any is all the same."""
    ends = [Jet(count=count, position=(0.3, 0.9, 0.0), velocity=(0.0, 1.0, 0.0)) for count in (12, 60)]
    mine, theirs = (jet.run(12)[:12] for jet in ends)
    assert ends[1].state.particle_q.numpy()[:, 1].min() < 0.0
    np.testing.assert_allclose(theirs, mine, atol=2.0e-6)


def test_a_nozzle_under_water_lifts_it():
    """The sheet of water above repeats along x: it cannot flow off, and rises by what comes in."""
    aside = {"period": (0.6, 0.0, 0.0), "smoothing": 1.3, "bounds": ((0.0, 0.0, 0.0), (0.6, 1.0, 0.0))}
    jet = Jet(count=60, position=(0.3, 0.15, 0.0), velocity=(0.0, 0.5, 0.0), puddle=0.5, radius=0.1, **aside)
    jet.run(100)
    came = jet.nozzle.released(jet.state)
    assert came == 4
    wet = np.concatenate([np.arange(30), jet.spare.start + np.arange(came)])
    now = jet.state.particle_q.numpy()[wet, 1]
    assert now.min() > 0.0 and 0.45 < now.max() < 0.75
    assert np.abs(jet.solver.statistics(jet.state).compression[wet]).max() < 0.05


def test_a_nozzle_that_runs_faster_emits_more_and_one_that_turns_takes_its_line_along():
    jet = Jet(count=40, puddle=0.0, gravity=0.0)
    jet.run(20)
    jet.nozzle.velocity.assign([(0.0, 2.0, 0.0)])
    points = jet.run(20)
    assert jet.state.poured.numpy()[0] == pytest.approx(20 * DT * (1.0 + 2.0))
    waiting = points[jet.nozzle.released(jet.state) :]
    assert np.abs(waiting[:, 0] - POSITION[0]).max() < WIDE and waiting[:, 1].max() <= POSITION[1] + 1.0e-9


def test_a_nozzle_can_be_shut():
    jet = Jet(count=12, puddle=0.0, gravity=0.0)
    jet.run(5)
    before = jet.nozzle.released(jet.state), jet.state.poured.numpy()[0]
    jet.nozzle.velocity.zero_()
    points = jet.run(5)
    assert (jet.nozzle.released(jet.state), jet.state.poured.numpy()[0]) == before and np.isfinite(points).all()


def test_a_stream_that_has_no_particles_left_says_so():
    jet = Jet(count=4, exhausted="error", velocity=(3.0, 0.0, 0.0))
    with pytest.raises(KernelAssertionError, match=r"a stream has no particles left; help: give it more of them"):
        jet.run(60)
    assert jet.nozzle.released(jet.state) == 4
    assert np.isfinite(Jet(count=4).run(60)).all()


def test_streams_run_in_graphs_and_under_the_interpreter():
    expected = Jet().run(6)
    jet = Jet()
    with wp.ScopedCapture() as capture:
        jet.step()
    for _ in range(6):
        wp.capture_launch(capture.graph)
    np.testing.assert_allclose(jet.state.particle_q.numpy(), expected, atol=1.0e-12)
    few = {"count": 4, "puddle": 0.0, "radius": 0.0, "smoothing": 0.8}
    ends = [Jet(device=device, **few).run(1) for device in ("cpu", "interp")]
    np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-12)


@wp.kernel
def add_reach(q: wp.array(dtype=wp.vec3d), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, q[i][0] + wp.float64(2.0) * q[i][1] * q[i][1])


def reach(checkpointed=False, density="continuity", **changes):
    """How far the fluid comes in the end, and its gradients to the nozzle."""
    jet = Jet(count=16, density=density, substeps=1)
    for name, change in changes.items():
        target = getattr(jet.nozzle, name)
        target.assign(target.numpy() + change)
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        if checkpointed:
            wp.checkpoint(lambda k: jet.step(), [*jet.state.arrays.values()], STEPS, scratch=jet.solver.scratch)
        else:
            jet.run()
        wp.launch(add_reach, jet.model.particle_count, [jet.state.particle_q, loss])
    tape.backward(loss)
    return float(loss.numpy()[0]), [a.grad.numpy() for a in (jet.nozzle.position, jet.nozzle.velocity)]


@pytest.mark.parametrize("density", ["continuity", "summation"])
def test_nozzles_have_gradients(density):
    _, gradients = reach(density=density)
    direction = np.array([0.3, -0.5, 0.0])
    for name, gradient in zip(("position", "velocity"), gradients, strict=True):
        ends = [reach(density=density, **{name: sign * 1.0e-6 * direction})[0] for sign in (1.0, -1.0)]
        assert float(gradient[0] @ direction) == pytest.approx((ends[0] - ends[1]) / 2.0e-6, rel=1e-4, abs=1e-6)


def test_nozzles_have_the_same_gradients_with_checkpoints():
    for mine, expected in zip(reach(checkpointed=True)[1], reach()[1], strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"radius": -1.0}, r"a stream has the radius -1.0 m\nexpected: 0 or more"),
        ({"radius": "wide"}, r"a stream has the radius 'wide' m\nexpected: 0 or more"),
        ({"radius": 1.0e9}, r"a stream has the radius 1e\+09 m, with places .* m apart\nexpected: at most"),
        ({"velocity": (0.0, 0.0, 0.0)}, r"velocity \(0.0, 0.0, 0.0\) m/s\nexpected: three finite numbers each, and a"),
        ({"velocity": (1.0, 0.0, 1.0)}, r"a stream of a sheet has the velocity \(1.0, 0.0, 1.0\) m/s\nexpected: none"),
        ({"position": 0.0}, r"a stream has position 0.0 m"),
        ({"position": (0.3, 0.9, 0.2)}, r"particles and nozzles of a sheet lie up to 0.2 m apart along z"),
        ({"exhausted": "wait"}, r"exhausted is 'wait'\nexpected: 'error' or 'stop'"),
        ({"streams": [3]}, r"stream 0 is int\nexpected: a FluidStream"),
        (
            {"streams": [FluidStream(range(10, 99), POSITION, VELOCITY, 0.0)]},
            r"particles of a stream are range\(10, 99\)\nexpected: a range of some of the model's 36 particles",
        ),
        (
            {"streams": [FluidStream(range(*ends), POSITION, VELOCITY, 0.0) for ends in ((0, 5), (4, 8))]},
            r"particle 4 belongs to two streams\nexpected: streams of particles of their own",
        ),
    ],
)
def test_streams_that_are_none_are_refused(options, text):
    with pytest.raises(ModelError, match=text):
        Jet(**options)
