"""Streams of grains: they come when and where they should, through all programs, and say when none are left."""

import math

import numpy as np
import pytest
from grain_scenes import DENSITY, RADIUS

import warpsim as wp
from warpsim.errors import KernelAssertionError, ModelError
from warpsim.solvers import GrainStream, Material, ModelBuilder, SolverDEM

MASS = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3
POSITION, VELOCITY, WIDE, RATE = np.array([0.1, 0.3, 0.0]), np.array([0.3, -1.0, 0.0]), 3.2 * RADIUS, 150.0
SOFT = Material(8.0e5, rolling_friction=0.05)
DT, STEPS = 2.0e-3, 40


class Pour:
    """A resting grain, and a stream onto it and the floor."""

    def __init__(self, count=24, position=POSITION, velocity=VELOCITY, device=None, **options):
        builder = ModelBuilder()
        builder.add_particle((0.2, RADIUS, 0.0), 0.0, MASS, RADIUS)
        grains = builder.add_particles(np.zeros((count, 3)), 0.0, MASS, RADIUS)
        builder.add_ground_plane()
        self.model = builder.finalize(device=device, dtype=wp.float64, requires_grad=True)
        stream = GrainStream(grains, position, velocity, **{"radius": WIDE, "rate": RATE, **options})
        self.solver = SolverDEM(self.model, SOFT, substeps=4, rolling="spring", streams=[stream])
        self.state, [self.nozzle] = self.model.state(), self.solver.streams

    def step(self):
        self.solver.step(self.state, self.state, dt=DT)

    def run(self, steps=STEPS):
        for _ in range(steps):
            self.step()
        return self.state.particle_q.numpy()


def test_grains_come_at_the_rate_from_the_nozzle():
    pour = Pour()
    released = []
    for step in range(STEPS):
        before = pour.nozzle.released(pour.state)
        waiting = pour.state.particle_q.numpy()[1 + before :].copy()
        pour.step()
        after = pour.nozzle.released(pour.state)
        fresh = pour.state.particle_q.numpy()[1 + before : 1 + after] - POSITION
        axis = VELOCITY / np.linalg.norm(VELOCITY)
        along = fresh @ axis
        assert (np.linalg.norm(fresh - along[:, None] * axis, axis=1) <= WIDE - RADIUS + 1e-9).all()
        assert ((along > -1e-9) & (along < 1.05 * DT)).all()
        if step:
            moved = pour.state.particle_q.numpy()[1 + after :] - waiting[after - before :]
            np.testing.assert_allclose(moved, np.broadcast_to(DT * VELOCITY, moved.shape), atol=1e-12)
        released.append(after)
    assert released[-1] == pytest.approx(RATE * DT * STEPS, abs=5) and np.diff(released).min() >= 0
    assert pour.state.time.numpy()[0] == pytest.approx(DT * STEPS)
    assert pour.state.particle_q.numpy()[0, 1] < RADIUS + 1e-4


def test_no_grain_of_a_dense_stream_comes_inside_of_another(recwarn):
    pour = Pour(count=100, rate=340.0, velocity=(0.0, -1.0, 0.0))
    points = pour.run(1)[1:]
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1) + np.eye(100)
    assert apart.min() > 2.0 * RADIUS and not recwarn.list
    spread = np.ptp(points[:, 1])
    assert spread == pytest.approx(100 / 340.0, rel=0.1)


def test_a_stream_that_has_no_grains_left_says_so():
    pour = Pour(count=3, rate=100.0)
    with pytest.raises(KernelAssertionError, match=r"a stream has no particles left; help: give it more of them"):
        pour.run(100)
    assert pour.nozzle.released(pour.state) == 3
    assert np.isfinite(Pour(count=3, rate=100.0, exhausted="stop").run(30)).all()


def test_streams_run_in_graphs_and_under_the_interpreter():
    expected = Pour().run(12)
    pour = Pour()
    pour.solver.reserve(400)
    with wp.ScopedCapture() as capture:
        pour.step()
    for _ in range(12):
        wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(pour.state.particle_q.numpy(), expected)
    ends = [Pour(count=4, device=device).run(1) for device in ("cpu", "interp")]
    np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-12)


@wp.kernel
def add_reach(q: wp.array(dtype=wp.vec3d), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, q[i][0] + wp.float64(2.0) * q[i][2] * q[i][2])


def reach(checkpointed=False, **changes):
    """How far grains come in the end, and its gradients to the nozzle."""
    pour = Pour(count=12)
    for name, change in changes.items():
        target = getattr(pour.nozzle, name)
        target.assign(target.numpy() + change)
    pour.solver.reserve(400)
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        if checkpointed:
            kept = [*pour.state.arrays.values(), *pour.solver.history]
            wp.checkpoint(lambda k: pour.step(), kept, STEPS, scratch=pour.solver.scratch)
        else:
            pour.run()
        wp.launch(add_reach, 13, [pour.state.particle_q, loss])
    tape.backward(loss)
    return float(loss.numpy()[0]), [a.grad.numpy() for a in (pour.nozzle.position, pour.nozzle.velocity)]


def test_nozzles_have_gradients_with_and_without_checkpoints():
    _, gradients = reach()
    direction = np.array([0.3, -0.5, 0.8])
    for name, gradient in zip(("position", "velocity"), gradients, strict=True):
        ends = [reach(**{name: sign * 1.0e-6 * direction})[0] for sign in (1.0, -1.0)]
        assert float(gradient[0] @ direction) == pytest.approx((ends[0] - ends[1]) / 2.0e-6, rel=1e-4, abs=1e-6)
    for mine, expected in zip(reach(checkpointed=True)[1], gradients, strict=True):
        np.testing.assert_array_equal(mine, expected)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rate": 1.0e4}, r"rate is 10000 grains a second\nexpected: at most 358.2, 7 side by side at 1.04403 m/s"),
        ({"rate": 0.0}, r"a stream has the rate 0.0 1/s\nexpected: above 0"),
        ({"rate": "fast"}, r"a stream has the rate 'fast' 1/s\nexpected: above 0"),
        ({"radius": -1.0}, r"a stream has the radius -1.0 m\nexpected: 0 or more"),
        ({"radius": None}, r"a stream has the radius None m\nexpected: 0 or more"),
        ({"radius": 1.0e3}, r"a stream has the radius 1000 m, with places .* m apart\nexpected: at most"),
        ({"seed": -1}, r"a stream has the seed -1\nexpected: an integer, 0 or more"),
        ({"velocity": (0.0, 0.0, 0.0)}, r"velocity \(0.0, 0.0, 0.0\) m/s\nexpected: three finite numbers each, and a"),
        ({"position": 0.0}, r"a stream has position 0.0 m"),
        ({"position": (0.0, math.nan, 0.0)}, r"a stream has position \(0.0, nan, 0.0\) m"),
        ({"velocity": "down"}, r"velocity 'down' m/s\nexpected: three finite numbers"),
        ({"velocity": (0.0, "down", 0.0)}, r"velocity \(0.0, 'down', 0.0\) m/s\nexpected: three finite numbers"),
        ({"position": None}, r"a stream has position None m"),
        ({"exhausted": "wait"}, r"exhausted is 'wait'\nexpected: 'error' or 'stop'"),
    ],
)
def test_streams_that_are_none_are_refused(options, text):
    with pytest.raises(ModelError, match=text):
        Pour(**options)


def test_a_stream_may_be_as_slow_as_it_likes():
    pour = Pour(rate=1.0e-9)
    pour.run()
    assert pour.nozzle.released(pour.state) == 0


def test_grains_that_wait_are_in_no_statistics():
    pour = Pour()
    pour.run()
    came, statistics = pour.nozzle.released(pour.state), pour.solver.statistics(pour.state)
    there = pour.solver.present(pour.state)
    mass, velocity = pour.model.particle_mass.numpy(), pour.state.particle_qd.numpy().astype(float)
    assert 0 < came < len(pour.nozzle.particles) and there.sum() == len(there) - len(pour.nozzle.particles) + came
    assert statistics.mass == pytest.approx(mass[there].sum(), rel=1e-6)
    assert statistics.kinetic_energy == pytest.approx(0.5 * (mass * (velocity**2).sum(axis=1))[there].sum(), rel=1e-5)
    assert statistics.coordination_number == pytest.approx(2.0 * statistics.contacts / there.sum())
    assert statistics.outside((9.0, 9.0, 9.0), (10.0, 10.0, 10.0)) == there.sum()


def test_grains_of_streams_are_there_and_belong_to_one():
    builder = ModelBuilder()
    builder.add_particles(np.zeros((8, 3)), 0.0, MASS, RADIUS)
    model = builder.finalize()
    both = [GrainStream(range(*ends), (0.0, 0.0, 0.0), (0.0, -1.0, 0.0), 0.0, 10.0) for ends in ((0, 5), (4, 8))]
    with pytest.raises(ModelError, match=r"grain 4 belongs to two streams"):
        SolverDEM(model, streams=both)
    with pytest.raises(ModelError, match=r"a stream are range\(4, 9\)\nexpected: a range of some of the model's 8"):
        SolverDEM(model, streams=[GrainStream(range(4, 9), (0.0, 0.0, 0.0), (0.0, -1.0, 0.0), 0.0, 10.0)])
    with pytest.raises(ModelError, match=r"stream 0 is int\nexpected: a GrainStream"):
        SolverDEM(model, streams=[3])
