"""Gradients through many contacts to states, materials, walls and controls: differences, and Taylor's test."""

import numpy as np
import pytest
from grain_scenes import heap

import warpsim as wp
from warpsim.solvers import Material, ModelBuilder, SolverDEM

STEPS = 12


@wp.kernel
def add_loss(
    q: wp.array(dtype=wp.vec3d),
    v: wp.array(dtype=wp.vec3d),
    w: wp.array(dtype=wp.vec3d),
    loss: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    moved = wp.dot(q[i], wp.vec3d(1.0, 2.0, 3.0)) + wp.float64(0.1) * wp.dot(v[i], v[i])
    wp.atomic_add(loss, 0, moved + wp.float64(1.0e-4) * wp.dot(w[i], w[i]))


class Rollout:
    """Some steps on a tape; `changes` are added to inputs by name."""

    def __init__(self, fresh=True, rolling="spring", law="hertz", cells=(3, 5, 3), steps=STEPS, **changes):
        model, solver = heap(requires_grad=True, rolling=rolling, law=law, cells=cells)
        state, control = model.state(), model.control()
        self.inputs = {
            "velocity": state.particle_qd, "position": state.particle_q, "gravity": control.gravity,
            "pose": control.shape_transform, "twist": control.shape_velocity, "mu": model.shape_mu,
            "force": state.particle_f, "radius": model.particle_radius,
            **{name: getattr(solver.materials, name) for name in (
                "youngs_modulus", "poissons_ratio", "stiffness", "restitution", "friction", "rolling_friction",
                "cohesion", "adhesion",
            )},
        }  # fmt: skip
        if law == "linear":
            solver.materials.stiffness.assign([2000.0])
        for name, change in changes.items():
            self.inputs[name].assign(self.inputs[name].numpy() + change)
        self.loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        self.tape = wp.Tape()
        with self.tape:
            for _ in range(steps):
                after = model.state() if fresh else state
                solver.step(state, after, control, dt=1.0e-4)
                state = after
            ends = [state.particle_q, state.particle_qd, state.particle_w]
            wp.launch(add_loss, model.particle_count, [*ends, self.loss])
        self.value = float(self.loss.numpy()[0])
        self.touching = solver.statistics(state).contacts

    def gradients(self):
        self.tape.backward(self.loss)
        return {name: a.grad.numpy().copy() for name, a in self.inputs.items()}


@pytest.mark.parametrize("law", ["hertz", "linear", "jkr"])
def test_gradients_are_those_of_differences(law):
    rollout = Rollout(law=law)
    assert rollout.touching > 10
    gradients = rollout.gradients()
    rng = np.random.default_rng(7)
    unused = {
        "hertz": {"stiffness", "adhesion"},
        "linear": {"youngs_modulus", "poissons_ratio", "adhesion"},
        "jkr": {"stiffness"},
    }[law]
    for name, gradient in gradients.items():
        if name in unused:
            assert (gradient == 0.0).all()
            continue
        value = rollout.inputs[name].numpy()
        small = name in ("pose", "position", "radius")
        direction = rng.normal(size=value.shape) * (np.abs(value) + (1e-3 if small else 0.1))
        if name == "pose":
            direction[:, 3:] = 0.0
        step = 1.0e-6
        ends = [Rollout(law=law, **{name: sign * step * direction}).value for sign in (1.0, -1.0)]
        measured = (ends[0] - ends[1]) / (2.0 * step)
        expected = float((gradient * direction).sum())
        assert measured == pytest.approx(expected, rel=1e-5, abs=3e-8), name


def test_states_in_place_have_the_gradients_of_fresh_ones():
    fresh, place = Rollout().gradients(), Rollout(fresh=False)
    place.tape.backward(place.loss)
    np.testing.assert_array_equal(place.inputs["youngs_modulus"].grad.numpy(), fresh["youngs_modulus"])
    np.testing.assert_array_equal(place.inputs["mu"].grad.numpy(), fresh["mu"])


def test_the_remainder_of_first_order_falls_with_the_square_of_the_step():
    """Taylor's test: |J(x + e d) - J(x) - e dJ d| falls four times when e halves."""
    hundred = {"cells": (5, 4, 5), "steps": 20}
    rollout = Rollout(**hundred)
    assert rollout.touching > 30
    gradient = rollout.gradients()["velocity"]
    direction = np.random.default_rng(8).normal(size=gradient.shape)
    steps = 2.0e-6 * 0.5 ** np.arange(5)
    slope = (gradient * direction).sum()
    rests = [abs(Rollout(**hundred, velocity=e * direction).value - rollout.value - e * slope) for e in steps]
    slopes = np.log2(np.array(rests[:-1]) / np.array(rests[1:]))
    assert ((slopes > 1.9) & (slopes < 2.1)).all(), slopes


def gradients_of_pairs(offset, velocity):
    """The gradient to positions after three steps in float32 of many pairs that are `offset` apart, (pairs, 3)."""
    count = len(offset)
    points = np.repeat(0.1 * np.stack(np.meshgrid(range(10), range(10), range(count // 100)), -1).reshape(-1, 3), 2, 0)
    points[1::2] += offset
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles(points, velocity, 0.01, 0.01)
    model = builder.finalize(requires_grad=True)
    solver, state = SolverDEM(model, Material(1.0e6, rolling_friction=0.1), rolling="spring"), model.state()
    with wp.Tape() as tape:
        for _ in range(3):
            solver.step(state, state, dt=1.0e-6)
    tape.backward(grads={state.particle_qd: wp.ones_like(state.particle_qd)})
    return state.particle_q.grad.numpy()


def test_grains_that_just_touch_have_finite_gradients():
    """Rounded, the overlap may be none where the square of the distance says that there is one."""
    rng = np.random.default_rng(11)
    direction = rng.normal(size=(3000, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    assert np.isfinite(gradients_of_pairs(0.02 * (1.0 - 2.0e-8) * direction, 0.0)).all()


def test_contacts_that_hardly_slide_have_finite_gradients():
    """The squares of their springs are below what float32 holds."""
    velocity = np.zeros((200, 3))
    velocity[1::2, 1] = 10.0 ** -np.linspace(1.0, 25.0, 100)
    assert np.isfinite(gradients_of_pairs(np.full((100, 3), [0.0199, 0.0, 0.0]), velocity)).all()


@pytest.mark.parametrize("rolling", ["constant", "spring"])
def test_rolling_friction_has_its_one_sided_derivative_at_its_default_of_zero(rolling):
    radius = 0.01

    def spin(rolling_friction):
        builder = ModelBuilder()
        builder.add_particle((0.0, 0.999 * radius, 0.0), (0.3, 0.0, 0.0), 0.01, radius)
        builder.add_ground_plane()
        model = builder.finalize(dtype=wp.float64, requires_grad=True)
        solver, state = SolverDEM(model, Material(1.0e6, friction=0.3), substeps=4, rolling=rolling), model.state()
        table = solver.materials.rolling_friction
        table.fill_(rolling_friction)
        with wp.Tape() as tape:
            for _ in range(10):
                solver.step(state, state, dt=4.0e-4)
        tape.backward(grads={state.particle_w: wp.array([[0.0, 0.0, 1.0]], dtype=wp.vec3d)})
        return state.particle_w.numpy()[0, 2], table.grad.numpy().sum()

    (free, slope), braked = spin(0.0), spin(1.0e-6)[0]
    assert free < 0.0 < slope
    assert slope == pytest.approx((braked - free) / 1.0e-6, rel=1e-3)
