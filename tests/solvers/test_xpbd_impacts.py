"""Impacts and curved ways of XPBD: friction of the whole impulse at every moment of a substep, the centripetal force,
and thin obstacles."""

import numpy as np
import pytest
from xpbd_scenes import UP, closed_box

import warpsim as wp
from warpsim.solvers import Contacts, ModelBuilder, ShapeConfig, SolverXPBD

H, G = 1.0 / 600.0, 9.81
PHASES = (0.05, 0.3, 0.5, 0.8, 0.95)


def run(builder, steps, contacts=None, substeps=10, dt=1.0 / 60.0, drive=None):
    """Positions and velocities after a number of steps."""
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state, control = SolverXPBD(model, substeps=substeps), model.state(), model.control()
    if drive is not None:
        drive(control)
    touching = Contacts(model, **contacts) if contacts else None
    for _ in range(steps):
        solver.step(state, state, control, touching, dt)
        control.advance(dt)
    return state.particle_q.numpy(), state.particle_qd.numpy()


@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("normal", [(0, 1, 0), (0.3, 1.0, -0.2)])
def test_friction_of_an_impact_is_that_of_its_impulse_at_every_phase(normal, restitution):
    """Loss along the wall: mu (1 + e) v_n (C.-A. de Coulomb); a wall that moves takes its velocity along."""
    n = np.array(normal) / np.linalg.norm(normal)
    t = np.cross(n, [0.0, 0.0, 1.0])
    t /= np.linalg.norm(t)
    pace = np.array([0.7, -0.2, 0.4])
    for phase in PHASES:
        builder = ModelBuilder(gravity=0.0)
        builder.add_particle(2.0 * H * (3 + phase) * n, 3.0 * t - 2.0 * n + pace, 1.0, 0.0)
        wall = builder.add_shape_plane(tuple(n), cfg=ShapeConfig(mu=0.3, restitution=restitution))
        _, v = run(builder, 3, drive=lambda control, wall=wall: control.set_shape(wall, velocity=pace))
        assert np.isclose((v[0] - pace) @ t, 3.0 - 0.3 * (1 + restitution) * 2.0, rtol=1e-3)
        assert np.isclose((v[0] - pace) @ n, restitution * 2.0, atol=1e-6)


def test_an_impact_within_the_cone_of_friction_sticks_at_every_phase():
    for phase in PHASES:
        builder = ModelBuilder(gravity=0.0)
        builder.add_particle((0.0, 2.0 * H * (3 + phase), 0.0), (0.5, -2.0, 0.0), 1.0, 0.0)
        builder.add_ground_plane(cfg=ShapeConfig(mu=0.3))
        q, v = run(builder, 3)
        assert np.abs(v).max() < 1e-9
        assert np.isclose(q[0, 0], 0.5 * H * (3 + phase), rtol=1e-9)  # where it touched


@pytest.mark.parametrize("restitution", [0.4, 1.0])
def test_balls_rub_each_other_by_the_impulse_at_every_phase(restitution):
    n = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6), 0.0])
    t = np.array([-n[1], n[0], 0.0])
    for phase in PHASES:
        builder = ModelBuilder(gravity=0.0)
        builder.add_particles([[phase * H, 0, 0], [0.3, 0.1, 0]], [[1.0, 0, 0], [0, 0, 0]], 1.0, 0.1)
        _, v = run(builder, 40, {"margin": 0.1, "friction": 0.1, "restitution": restitution})
        passed = 0.5 * (1 + restitution) * n[0]
        assert np.allclose(v.sum(axis=0), [1, 0, 0], atol=1e-12)
        assert np.isclose(v[1] @ n, passed, rtol=0.02)
        assert np.isclose(-(v[1] @ t), 0.1 * passed, rtol=0.05)  # the normal is that of the overlap


BENDS = {
    "pipe": lambda b, cfg: b.add_shape_cylinder((0, 0, 0, 0, 0, 0, 1), 1.0, 5.0, cfg, hollow=True),
    "bowl": lambda b, cfg: b.add_shape_sphere((0, 0, 0, 0, 0, 0, 1), 1.0, cfg, hollow=True),
    "capsule": lambda b, cfg: b.add_shape_capsule((0, 0, 0, 0, 0, 0, 1), 1.0, 5.0, cfg, hollow=True),
}


@pytest.mark.parametrize("restitution", [0.0, 0.6])
@pytest.mark.parametrize("substeps", [2, 12])
@pytest.mark.parametrize("name", BENDS)
def test_friction_in_a_bend_is_that_of_the_centripetal_force(name, substeps, restitution):
    """dv/dt = -mu v^2 / R: v = v0 / (1 + mu v0 t / R). What slides is not what bounces."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0, -1, 0), (2.0, 0, 0), 1.0, 0.0)
    BENDS[name](builder, ShapeConfig(mu=0.2, restitution=restitution))
    _, v = run(builder, 240, substeps=substeps, dt=1.0 / 240.0)
    assert np.isclose(np.linalg.norm(v[0]), 2.0 / (1 + 0.2 * 2.0), rtol=0.01)


@pytest.mark.parametrize("substeps", [4, 16, 64])
@pytest.mark.parametrize("shape", ["sphere", "ball", "moving"])
def test_a_particle_leaves_a_ball_where_gravity_no_longer_holds_it(shape, substeps):
    """At cos = 2/3 + v0^2 / (3 g R), on an obstacle, on one in motion, and on a held ball."""
    speed, pace = 0.15, np.array([1.0, 0.0, 0.5]) * (shape == "moving")
    builder, contacts, drive = ModelBuilder(gravity=-G), None, None
    if shape == "ball":
        builder.add_particles([[0, 0, 0], [0, 2, 0]], [[0, 0, 0], [speed, 0, 0]], [0.0, 1.0], [0.9, 0.1])
        contacts = {"margin": 0.2, "friction": 0.0}
    else:
        builder.add_particle((0, 1, 0), np.array([speed, 0, 0]) + pace, 1.0, 0.0)
        ball = builder.add_shape_sphere((0, 0, 0, 0, 0, 0, 1), 1.0, ShapeConfig(mu=0.0))
        drive = lambda control: control.set_shape(ball, velocity=pace)  # noqa: E731
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state, control = SolverXPBD(model, substeps=substeps), model.state(), model.control()
    touching = Contacts(model, **contacts) if contacts else None
    if drive:
        drive(control)
    if touching:  # what touches at rest would be neighbours
        state.particle_q.assign([[0, 0, 0], [0, 1, 0]])
    dt, last = 1.0 / 240.0, None
    for k in range(1, 400):
        solver.step(state, state, control, touching, dt)
        control.advance(dt)
        q = state.particle_q.numpy()[-1] - pace * k * dt
        if q[1] < 0.0:
            break
        last = q
    out = np.interp(0.0, [q[1], last[1]], [q[0], last[0]])
    c = 2.0 / 3.0 + speed**2 / (3.0 * G)
    v, s = np.sqrt(speed**2 + 2.0 * G * (1.0 - c)), np.sqrt(1.0 - c * c)
    fall = (-v * s + np.sqrt((v * s) ** 2 + 2.0 * G * c)) / G
    assert np.isclose(out, s + v * c * fall, rtol=0.005)


@pytest.mark.parametrize("shape", ["box", "sphere", "capsule", "cylinder", "mesh", "sdf"])
@pytest.mark.parametrize("speed", [3.0, 20.0, 80.0])
def test_nothing_passes_through_thin_obstacles(shape, speed):
    """Particles of 2 mm against obstacles 1 cm thick, in motion, from both sides."""
    rng = np.random.default_rng(int(speed))
    way = 0.02 * rng.normal(size=(40, 3))
    way[:, 1] = np.where(np.arange(40) % 2, 1.0, -1.0)  # against the flat sides
    builder, at = ModelBuilder(gravity=0.0), (0, 0, 0, 0, 0, 0, 1)
    builder.add_particles(-0.3 * way, speed * way, 0.001, 0.002)
    plate = wp.Mesh(wp.array(closed_box().points.numpy() * [0.4, 0.01, 0.4], dtype=wp.vec3), closed_box().indices)
    {
        "box": lambda: builder.add_shape_box(at, 0.2, 0.005, 0.2),
        "sphere": lambda: builder.add_shape_sphere(at, 0.05),
        "capsule": lambda: builder.add_shape_capsule(at, 0.005, 0.2),
        "cylinder": lambda: builder.add_shape_cylinder((0, 0, 0, *UP), 0.2, 0.005),
        "mesh": lambda: builder.add_shape_mesh(at, plate),
        "sdf": lambda: builder.add_shape_sdf(at, wp.mesh_to_volume(plate, 0.002)),
    }[shape]()
    if shape == "capsule":
        builder.particles["q"][:, 0], builder.particles["qd"][:, 0] = 0.0, 0.0
    pace = np.array([0.0, 1.0, 0.0])
    q, _ = run(builder, 40, drive=lambda control: control.set_shape(0, velocity=pace))
    ahead = (q[:, 1] - 40.0 / 60.0) * way[:, 1]  # of the obstacle's middle, along the particle's way
    assert (ahead < 0.003).all()


@pytest.mark.parametrize("shape", ["box", "sphere", "capsule", "cylinder"])
def test_gradients_go_through_swept_impacts(shape):
    """With what has been through the obstacle at the end of its substep, against central differences."""
    builder = ModelBuilder(gravity=-G)
    rng = np.random.default_rng(4)
    builder.add_particles(np.add(rng.uniform(-0.01, 0.01, (6, 3)), (0, 0.3, 0)), [3.0, -30.0, 2.0], 0.1, 0.002)
    cfg = ShapeConfig(mu=0.05, restitution=0.5)
    {
        "box": lambda: builder.add_shape_box((0, 0, 0, 0, 0, np.sin(0.1), np.cos(0.1)), 0.4, 0.01, 0.4, cfg),
        "sphere": lambda: builder.add_shape_sphere((0, 0, 0, 0, 0, 0, 1), 0.04, cfg),
        "capsule": lambda: builder.add_shape_capsule((0, 0, 0, 0, 0, 0, 1), 0.04, 0.2, cfg),
        "cylinder": lambda: builder.add_shape_cylinder((0, 0, 0, *UP), 0.3, 0.02, cfg),
    }[shape]()
    model = builder.finalize(device="cpu", dtype=wp.float64, requires_grad=True)
    solver, start = SolverXPBD(model, substeps=2), model.state(requires_grad=True)
    control, weights = model.control(requires_grad=True), rng.normal(size=(6, 3))

    def fly(state):
        solver.step(start, state, control, None, 1.0 / 60.0)
        solver.step(state, state, control, None, 1.0 / 60.0)
        return float((state.particle_q.numpy() * weights).sum())

    after = model.state(requires_grad=True)
    with wp.Tape() as tape:
        fly(after)
    tape.backward(grads={after.particle_q: wp.array(weights, dtype=wp.vec3d)})
    inputs = {"q": start.particle_q, "qd": start.particle_qd, "mu": model.shape_mu, "e": model.shape_restitution}
    inputs |= {"margin": model.shape_margin, "pose": control.shape_transform, "size": model.shape_scale}
    for name, array in inputs.items():
        before, gradient = array.numpy().copy(), array.grad.numpy()
        direction, sides = rng.normal(size=before.shape), []
        for side in (1.0, -1.0):
            array.assign(before + side * 1e-6 * direction)
            sides.append(fly(model.state()))
        array.assign(before)
        expected = (sides[0] - sides[1]) / 2e-6
        parts = np.abs(gradient * direction).sum()
        assert parts > 0.0 or name == "size"
        assert abs((gradient * direction).sum() - expected) <= 1e-4 * parts + 1e-8, name


@pytest.mark.parametrize("shape", ["plane", "cylinder", "box"])
def test_friction_holds_what_turns_with_a_table(shape):
    """mu g = 4.9 m/s^2 is more than w^2 r = 4.5: the radius stays, and does not shrink as exp(-w^2 h t / 2)."""
    builder, w, r, cfg = ModelBuilder(gravity=-G), 15.0, 0.02, ShapeConfig(mu=0.5)
    builder.add_particle((r, 0, 0), (0, 0, -w * r), 1.0, 0.0)
    {
        "plane": lambda: builder.add_shape_plane((0, 1, 0), cfg=cfg),
        "cylinder": lambda: builder.add_shape_cylinder((0, -0.1, 0, *UP), 2.0, 0.1, cfg),
        "box": lambda: builder.add_shape_box((0, -0.1, 0, 0, 0, 0, 1), 2.0, 0.1, 2.0, cfg),
    }[shape]()
    q, _ = run(builder, 60, drive=lambda control: control.set_shape(0, angular_velocity=(0, w, 0)))
    assert np.isclose(np.hypot(q[0, 0], q[0, 2]), r, rtol=1e-6)
