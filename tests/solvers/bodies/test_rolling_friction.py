"""Rolling and torsional friction of bodies: what they slow down, what they hold, and their gradients."""

import numpy as np
import pytest
from test_touching_gradients import Rollout
from touching_scenes import add_form, momenta, step_all

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverBodies

RADIUS, G = 0.2, 9.81


def ball_on_a_plane(cfg, qd=0.0, slope=0.0):
    """A ball that touches a plane, which falls towards x at a slope [rad]."""
    builder, normal = ModelBuilder(gravity=-G), np.array([np.sin(slope), np.cos(slope), 0.0])
    builder.add_shape_plane(normal, cfg=ShapeConfig(mu=cfg.mu))
    add_form(builder, "sphere", (*(RADIUS * normal), 0, 0, 0, 1), qd, cfg, (RADIUS,))
    return builder


@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.6, -0.8)])
def test_a_rolling_ball_slows_by_five_sevenths_of_rolling_friction(direction):
    x, z = direction
    speed, rolling = 2.0, 0.01
    qd = (speed / RADIUS * z, 0.0, -speed / RADIUS * x, speed * x, 0.0, speed * z)
    _solver, state = step_all(ball_on_a_plane(ShapeConfig(mu=0.8, mu_rolling=rolling), qd), 60)
    left = speed - 5.0 / 7.0 * rolling / RADIUS * G
    turn, velocity = np.split(state.body_qd.numpy()[0], 2)
    np.testing.assert_allclose(velocity, [left * x, 0.0, left * z], atol=2e-3 * speed)
    np.testing.assert_allclose(turn, [velocity[2] / RADIUS, 0.0, -velocity[0] / RADIUS], atol=1e-3 * speed / RADIUS)


def test_a_ball_that_rolling_friction_stops_stays():
    speed = 0.2
    qd = (0.0, 0.0, -speed / RADIUS, speed, 0.0, 0.0)
    solver, state = step_all(ball_on_a_plane(ShapeConfig(mu=0.8, mu_rolling=0.02), qd), 60)
    place = state.body_q.numpy()[0]
    assert place[0] == pytest.approx(0.5 * speed**2 / (5.0 / 7.0 * 0.02 / RADIUS * G), rel=0.03)
    for _ in range(60):
        solver.step(state, state, dt=1 / 60)
    np.testing.assert_allclose(state.body_q.numpy()[0], place, atol=1e-6)


@pytest.mark.parametrize("part", [0.9, 1.2])
def test_rolling_friction_holds_a_ball_on_a_slope_up_to_its_angle(part):
    """The weight has the arm r sin(slope), against mu_rolling cos(slope)."""
    slope = np.arctan(part * 0.02 / RADIUS)
    _solver, state = step_all(ball_on_a_plane(ShapeConfig(mu=0.8, mu_rolling=0.02), slope=slope), 60)
    speed = state.body_qd.numpy()[0, 3:5] @ [np.cos(slope), -np.sin(slope)]
    if part < 1.0:
        assert abs(speed) < 1e-5
    else:
        assert speed == pytest.approx(5.0 / 7.0 * G * (np.sin(slope) - 0.02 / RADIUS * np.cos(slope)), rel=0.02)


def test_torsional_friction_slows_what_turns_on_the_spot():
    """Of a ball 2/5 m r^2 times its deceleration is mu_torsional m g."""
    start, torsional = 5.0, 0.01
    _solver, state = step_all(
        ball_on_a_plane(ShapeConfig(mu=0.8, mu_torsional=torsional), (0.0, start, 0.0, 0.0, 0.0, 0.0)), 30
    )
    assert state.body_qd.numpy()[0, 1] == pytest.approx(start - 0.5 * torsional * G / (0.4 * RADIUS**2), rel=5e-3)


def test_the_larger_coefficient_counts():
    def left(ball, plane):
        builder = ModelBuilder(gravity=-G)
        builder.add_ground_plane(cfg=ShapeConfig(mu=0.8, mu_rolling=plane))
        qd = (0.0, 0.0, -1.0 / RADIUS, 1.0, 0.0, 0.0)
        add_form(builder, "sphere", (0, RADIUS, 0, 0, 0, 0, 1), qd, ShapeConfig(mu=0.8, mu_rolling=ball), (RADIUS,))
        return step_all(builder, 30)[1].body_qd.numpy()[0, 3]

    assert left(0.01, 0.002) == left(0.002, 0.01) == left(0.01, 0.0) < left(0.002, 0.0) < 1.0


def test_rolling_friction_keeps_momentum_of_two_bodies():
    builder = ModelBuilder(gravity=0.0)
    cfg = ShapeConfig(mu=0.5, mu_rolling=0.05, mu_torsional=0.05)
    add_form(builder, "sphere", (0, 0, 0, 0, 0, 0, 1), (1.0, 2.0, -3.0, 1.0, 0.2, 0.0), cfg, (RADIUS,), mass=1.0)
    add_form(builder, "box", (0.5, 0, 0, 0, 0, 0, 1), (-2.0, 1.0, 0.5, -1.0, 0.0, 0.3), cfg, (0.2, 0.3, 0.1), mass=2.0)
    model = builder.finalize("cpu", dtype=wp.float64)
    solver, state = SolverBodies(model), model.state()

    before, spin = momenta(model, state), state.body_qd.numpy()[:, :3].copy()
    for _ in range(30):
        solver.step(state, state, dt=1 / 60)
    assert np.abs(state.body_qd.numpy()[:, :3] - spin).max() > 0.1
    for was, now in zip(before, momenta(model, state), strict=True):
        np.testing.assert_allclose(now, was, atol=1e-11)


GRADIENTS = {
    "rolls": ShapeConfig(mu=0.8, mu_rolling=0.01, mu_torsional=0.004),
    "slides": ShapeConfig(mu=0.1, mu_rolling=0.01, mu_torsional=0.004),
    "stops": ShapeConfig(mu=0.8, mu_rolling=0.3, mu_torsional=0.2),
}


@pytest.mark.parametrize("case", GRADIENTS)
def test_gradients_are_those_of_differences(case):
    rollout = Rollout(ball_on_a_plane(GRADIENTS[case], (0.3, 2.0, -5.0, 1.0, 0.0, 0.4)))
    rollout.differentiate()
    model, start = rollout.model, rollout.states[0]
    inputs = {"rolling": model.shape_mu_rolling, "torsional": model.shape_mu_torsional, "mu": model.shape_mu}
    inputs |= {"mass": model.body_mass, "q": start.body_q, "qd": start.body_qd}
    rng = np.random.default_rng(2)
    for name, a in inputs.items():
        direction = rng.normal(size=a.numpy().shape)
        computed = float((a.grad.numpy() * direction).sum())
        assert computed == pytest.approx(rollout.slope(a, direction), rel=1e-5, abs=1e-6), name
        if case == "rolls" and name in ("rolling", "torsional"):
            assert abs(computed) > 1e-3


@pytest.mark.parametrize("name", ["shape_mu_rolling", "shape_mu_torsional"])
def test_without_friction_the_slope_is_that_of_some(name):
    """Descent moves away from 0: the derivative towards what is possible."""
    rollout = Rollout(ball_on_a_plane(ShapeConfig(mu=0.8), (0.0, 2.0, -5.0, 1.0, 0.0, 0.0)))
    rollout.differentiate()
    a, ball = getattr(rollout.model, name), np.array([0.0, 1.0])
    slope = float((a.grad.numpy() * [1.0, 1.0]).sum())
    values, eps = [], 1e-7
    for step in (0.0, eps):
        a.assign(step * ball)
        values.append(rollout.run())
    assert slope == pytest.approx((values[1] - values[0]) / eps, rel=1e-4)
    assert abs(slope) > 1e-3


@pytest.mark.parametrize("value", [-0.1, np.inf])
@pytest.mark.parametrize("name", ["mu_rolling", "mu_torsional"])
def test_friction_that_is_none_is_refused(name, value):
    builder = ball_on_a_plane(ShapeConfig(mu=0.8, **{name: value}))
    message = rf"shape 1 has the {name[3:]} friction {value} m\nexpected: 0 or more, finite"
    with pytest.raises(ModelError, match=message):
        builder.finalize("cpu")
