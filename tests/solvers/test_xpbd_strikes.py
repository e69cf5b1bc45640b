"""Impacts of XPBD by the normal and the velocity of the surface at their moment: in vessels, on what turns, of
balls that do not bounce. What turning shapes hold; and thin walls of the mesh whose floor leads into them."""

import numpy as np
import pytest
from scipy.optimize import brentq
from xpbd_scenes import closed_box

import warpsim as wp
from warpsim.core.runtime.launches import pool
from warpsim.errors import StateError
from warpsim.solvers import Contacts, ModelBuilder, ShapeConfig, SolverXPBD

H, G = 1.0 / 600.0, 9.81
AT = (0, 0, 0, 0, 0, 0, 1)
PHASES = (0.05, 0.3, 0.5, 0.8, 0.95)


def fly(builder, substeps, drive=None, contacts=None, dtype=wp.float64, **options):
    """Places and velocities after so many substeps of H."""
    model = builder.finalize(device="cpu", dtype=dtype)
    solver, state, control = SolverXPBD(model, substeps=1, **options), model.state(), model.control()
    touching = Contacts(model, **contacts) if contacts is not None else None
    if drive is not None:
        drive(control)
    for _ in range(substeps):
        solver.step(state, state, control, touching, H)
        control.advance(H)
    return state.particle_q.numpy(), state.particle_qd.numpy()


# ----- vessels ------------------------------------------------------------------------------------

VESSELS = {
    "sphere": lambda b, cfg: b.add_shape_sphere(AT, 0.2, cfg, hollow=True),
    "cylinder": lambda b, cfg: b.add_shape_cylinder(AT, 0.2, 2.0, cfg, hollow=True),
    "capsule": lambda b, cfg: b.add_shape_capsule(AT, 0.2, 2.0, cfg, hollow=True),
}


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("radius", [0.0, 0.03])
@pytest.mark.parametrize("name", VESSELS)
def test_walls_of_vessels_turn_velocities_along_the_normal_of_the_impact(name, radius, restitution):
    """v - (1 + e) (v . n) n with the normal where the way meets the wall, at 20 m/s and 9 degrees in a substep."""
    for phase in PHASES:
        touch = (0.2 - radius) * np.array([np.cos(0.7), np.sin(0.7), 0.0])
        v, n = 20.0 * np.array([np.cos(1.5), np.sin(1.5), 0.0]), -touch / np.linalg.norm(touch)
        builder = ModelBuilder(gravity=0.0)
        builder.add_particle(touch - phase * H * v, v, 1.0, radius)
        VESSELS[name](builder, ShapeConfig(mu=0.0, restitution=restitution))
        q, after = fly(builder, 1)
        assert np.allclose(after[0], v - (1 + restitution) * (v @ n) * n, atol=1e-6)
        assert np.linalg.norm(q[0, :2]) < 0.2 - radius + 1e-9


@pytest.mark.parametrize("name", VESSELS)
def test_balls_in_a_vessel_keep_their_energy(name):
    rng, builder = np.random.default_rng(0), ModelBuilder(gravity=0.0)
    v = rng.normal(size=(30, 3)) * [1, 1, 0.01]
    builder.add_particles(rng.uniform(-0.1, 0.1, (30, 3)), 20.0 * v / np.linalg.norm(v, axis=1)[:, None], 1.0, 0.01)
    VESSELS[name](builder, ShapeConfig(mu=0.0, restitution=1.0))
    _, after = fly(builder, 100)
    assert np.allclose(np.linalg.norm(after, axis=1), 20.0, rtol=1e-6)


def test_slow_balls_meet_the_outside_of_a_ball_along_the_normal_of_the_impact():
    """Particles larger than their way in a substep, which are not swept."""
    for phase in PHASES:
        n = np.array([np.cos(0.4), np.sin(0.4), 0.0])
        v = np.array([-10.0, 2.0, 0.0])
        builder = ModelBuilder(gravity=0.0)
        builder.add_particle(0.1 * n - phase * H * v, v, 1.0, 0.05)
        builder.add_shape_sphere(AT, 0.05, ShapeConfig(mu=0.0, restitution=0.6))
        assert np.allclose(fly(builder, 1)[1][0], v - 1.6 * (v @ n) * n, atol=1e-6)


# ----- shapes that turn ---------------------------------------------------------------------------

PADDLES = {
    "plane": lambda b, cfg: b.add_shape_plane((0, 1, 0), cfg=cfg),
    "box": lambda b, cfg: b.add_shape_box((0, -0.05, 0, 0, 0, 0, 1), 0.5, 0.05, 0.5, cfg),
    "thin box": lambda b, cfg: b.add_shape_box((0, -0.001, 0, 0, 0, 0, 1), 0.5, 0.001, 0.5, cfg),
}


def moment_of_paddle(w, v, start, axis, off):
    """When a particle meets a plane that turns by w about z, at a distance from its axis; the normal and the place."""

    def normal(t):
        return np.array([-np.sin(w * t), np.cos(w * t), 0.0])

    t = brentq(lambda t: (start + t * v - axis) @ normal(t) - off, 0.0, 2 * H)
    return t, normal(t), start + t * v


@pytest.mark.parametrize("restitution", [0.0, 1.0])
@pytest.mark.parametrize("radius", [0.0, 0.05])
@pytest.mark.parametrize("name", PADDLES)
def test_paddles_strike_with_their_normal_and_velocity_at_the_moment(name, radius, restitution):
    """A plane that turns by w about z, through its axis or beside it, and the motion found by bisection."""
    w, v, depth = 60.0, np.array([3.0, -20.0, 0.0]), {"plane": 0.0, "box": 0.05, "thin box": 0.001}[name]
    axis = np.array([0.0, -depth, 0.0])
    for phase in PHASES:
        start = np.array([0.2, radius + 30.0 * H * phase, 0.0])
        t, n, touch = moment_of_paddle(w, v, start, axis, depth + radius)
        coming = v - w * np.cross([0.0, 0.0, 1.0], touch - axis)
        builder = ModelBuilder(gravity=0.0)
        builder.add_particle(start, v, 1.0, radius)
        PADDLES[name](builder, ShapeConfig(mu=0.0, restitution=restitution))
        drive = lambda control: control.set_shape(0, angular_velocity=(0, 0, w))  # noqa: E731
        _, after = fly(builder, 1 + (t > H), drive)
        assert np.allclose(after[0], v - (1 + restitution) * (coming @ n) * n, atol=0.01 * np.linalg.norm(coming))


@pytest.mark.parametrize("restitution", [0.0, 0.6])
@pytest.mark.parametrize("mu", [0.2, 2.0])
@pytest.mark.parametrize("radius", [0.0, 0.05])
@pytest.mark.parametrize("name", PADDLES)
def test_paddles_rub_with_their_velocity_at_the_moment(name, radius, mu, restitution):
    """Friction takes mu (1 + e) v_n of what slides against the turning surface at the moment, or all of it."""
    w, v, depth = 60.0, np.array([9.0, -20.0, 4.0]), {"plane": 0.0, "box": 0.05, "thin box": 0.001}[name]
    axis = np.array([0.0, -depth, 0.0])
    for phase in PHASES:
        start = np.array([0.2, radius + 30.0 * H * phase, 0.0])
        t, n, touch = moment_of_paddle(w, v, start, axis, depth + radius)
        coming = v - w * np.cross([0.0, 0.0, 1.0], touch - axis)
        slip = coming - (coming @ n) * n
        lost = min(1.0, -mu * (1 + restitution) * (coming @ n) / np.linalg.norm(slip))
        builder = ModelBuilder(gravity=0.0)
        builder.add_particle(start, v, 1.0, radius)
        PADDLES[name](builder, ShapeConfig(mu=mu, restitution=restitution))
        drive = lambda control: control.set_shape(0, angular_velocity=(0, 0, w))  # noqa: E731
        _, after = fly(builder, 1 + (t > H), drive)
        wanted = v - (1 + restitution) * (coming @ n) * n - lost * slip
        assert np.allclose(after[0], wanted, atol=0.01 * np.linalg.norm(coming))


@pytest.mark.parametrize("mu", [0.1, 0.3, 5.0])
@pytest.mark.parametrize("radius", [0.0, 0.03])
def test_drums_rub_with_their_velocity_at_the_moment(radius, mu):
    """A drum that turns about its axis has one wall for all times, met to second order in its angle."""
    w, r = 40.0, 0.5
    for restitution in (0.0, 0.5):
        for phase in PHASES:
            angle = 0.3
            n = -np.array([np.cos(angle), np.sin(angle), 0.0])
            touch, v = -r * n, np.array([12.0, -3.0, 5.0])
            u = w * np.cross([0.0, 0.0, 1.0], touch)
            slip = v - u - ((v - u) @ n) * n
            lost = min(1.0, -mu * (1 + restitution) * (v @ n) / np.linalg.norm(slip))
            builder = ModelBuilder(gravity=0.0)
            builder.add_particle(touch - phase * H * v, v, 1.0, radius)
            builder.add_shape_cylinder(AT, r + radius, 2.0, ShapeConfig(mu=mu, restitution=restitution), hollow=True)
            drive = lambda control: control.set_shape(0, angular_velocity=(0, 0, w))  # noqa: E731
            _, after = fly(builder, 1, drive)
            assert np.allclose(after[0], v - (1 + restitution) * (v @ n) * n - lost * slip, atol=2e-3 * 25.0)


# ----- balls without rebound ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("mu", [0.0, 0.1])
def test_balls_that_do_not_bounce_stop_along_the_normal_of_the_impact(mu, dtype):
    """Oblique, at every phase: half of (v . n) n passes on, and mu times that along the tangent, in one substep."""
    n = np.array([np.cos(0.6), np.sin(0.6), 0.0])
    t = np.array([-n[1], n[0], 0.0])
    v = np.array([20.0, 0.0, 0.0])
    for phase in PHASES:
        builder = ModelBuilder(gravity=0.0)
        builder.add_particles([-0.2 * n - phase * H * v, [0, 0, 0]], [v, 0.0 * v], 1.0, 0.1)
        _, after = fly(builder, 1, contacts={"friction": mu, "restitution": 0.0}, dtype=dtype)
        passed = 0.5 * (v @ n)
        assert np.allclose(after.sum(axis=0), v, atol=1e-4)
        assert np.allclose(after[1], passed * n + mu * passed * np.sign(v @ t) * t, atol=1e-4 * 20.0)


# ----- what turning shapes hold, and lead ---------------------------------------------------------


@pytest.mark.parametrize("radius", [0.0, 0.05])
@pytest.mark.parametrize("w", [8.0, 20.0])
def test_friction_holds_what_turns_with_the_inside_of_a_drum(w, radius):
    """mu w^2 r is more than gravity: it goes round with the drum, and does not creep by 0.4 g h in each substep."""
    builder, r = ModelBuilder(gravity=-G), 0.5
    builder.add_particle((0, -r, 0), (w * r, 0, 0), 1.0, radius)
    builder.add_shape_cylinder(AT, r + radius, 1.0, ShapeConfig(mu=0.5), hollow=True)
    drive = lambda control: control.set_shape(0, angular_velocity=(0, 0, w))  # noqa: E731
    q, _ = fly(builder, 600, drive)
    angle = np.arctan2(q[0, 0], -q[0, 1])
    assert abs((angle - w * 600 * H + np.pi) % (2 * np.pi) - np.pi) < 1e-4
    assert np.isclose(np.hypot(*q[0, :2]), r, atol=1e-6)


def test_a_turning_wall_drives_what_slides_on_it_outwards():
    """r = r0 cosh(w t) on a smooth plane through its axis; half of the Coriolis force was missing."""
    errors = []
    for substeps in (1, 2, 4):
        builder, w = ModelBuilder(gravity=0.0), 3.0
        builder.add_particle((0.1, 0, 0), (0, 0.3, 0), 1.0, 0.0)
        builder.add_shape_plane((0, 1, 0), cfg=ShapeConfig(mu=0.0))
        model = builder.finalize(device="cpu", dtype=wp.float64)
        solver, state, control = SolverXPBD(model, substeps=substeps), model.state(), model.control()
        control.set_shape(0, angular_velocity=(0, 0, w))
        for _ in range(60):
            solver.step(state, state, control, None, 1.0 / 60.0)
            control.advance(1.0 / 60.0)
        errors.append(abs(np.linalg.norm(state.particle_q.numpy()[0]) / (0.1 * np.cosh(w)) - 1.0))
    assert errors[2] < 0.03 and errors[2] < 0.6 * errors[1] < 0.4 * errors[0]


# ----- a mesh whose floor leads into its own wall -------------------------------------------------


def floor_with_wall(thick, hollow=False):
    """A box 1 m deep and a plate across it as one mesh; hollow: as the inside of both, seen from the free side."""
    box, faces = np.array(closed_box().points.numpy()), closed_box().indices.numpy().reshape(-1, 3)
    floor, wall = box * [6.0, 1.0, 6.0] + [0, -0.5, 0], box * [thick, 1.0, 4.0] + [0.5, 0.499, 0]
    faces = np.concatenate([faces, faces + len(box)])
    faces = faces[:, ::-1].copy() if hollow else faces
    return wp.Mesh(wp.array(np.concatenate([floor, wall]), dtype=wp.vec3), wp.array(faces.ravel(), dtype=int))


@pytest.mark.parametrize("radius", [0.0, 0.004])
@pytest.mark.parametrize("thick", [0.02, 0.001])
def test_what_slides_on_a_mesh_stops_at_a_thin_wall_of_it(thick, radius):
    """At 5 to 300 m/s, along the floor and landing before the wall; it stops where the wall is."""
    builder = ModelBuilder(gravity=-G)
    for speed in (5.0, 60.0, 300.0):
        for phase in (0.05, 0.4, 0.77):
            builder.add_particle((0.4 - speed * H * (1 + phase), radius, 0.1), (speed, 0, 0), 1.0, radius)
            way = speed * np.array([0.8, -0.6, 0.0])
            builder.add_particle(np.array([0.4, radius, 0.2]) - way * H * (1 + phase), way, 1.0, radius)
    builder.add_shape_mesh(AT, floor_with_wall(thick), cfg=ShapeConfig(mu=0.0))
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state, face = SolverXPBD(model, substeps=1), model.state(), 0.5 - 0.5 * thick - radius
    for _ in range(30):
        solver.step(state, state, None, None, H)
        assert state.particle_q.numpy()[:, 0].max() < face + 1e-5
    ends, speeds = state.particle_q.numpy(), state.particle_qd.numpy()
    assert np.allclose(ends[6:, 0], face, atol=1e-4 + 0.5 * radius) and np.abs(speeds[6:, 0]).max() < 0.01
    assert np.abs(ends[:, 1] - radius).max() < 1e-4


# ----- gradients, threads -------------------------------------------------------------------------


def striking_vessel(builder, rng):
    builder.add_particles(np.add(rng.uniform(-0.02, 0.02, (6, 3)), [0.1, 0.05, 0]), [15.0, 8.0, 1.0], 0.1, 0.02)
    builder.add_shape_sphere(AT, 0.25, ShapeConfig(mu=0.1, restitution=0.5), hollow=True)


def striking_paddle(builder, rng):
    builder.add_particles(np.add(rng.uniform(-0.02, 0.02, (6, 3)), [0.2, 0.2, 0]), [2.0, -15.0, 1.0], 0.1, 0.03)
    builder.add_shape_box((0, -0.05, 0, 0, 0, 0, 1), 0.5, 0.05, 0.5, ShapeConfig(mu=0.1, restitution=0.5))


def striking_rough_paddle(builder, rng):
    builder.add_particles(np.add(rng.uniform(-0.02, 0.02, (6, 3)), [0.2, 0.2, 0]), [2.0, -15.0, 1.0], 0.1, 0.03)
    builder.add_shape_box((0, -0.05, 0, 0, 0, 0, 1), 0.5, 0.05, 0.5, ShapeConfig(mu=3.0, restitution=0.5))


def held_in_drum(builder, rng):
    angle = rng.uniform(0, 6, 6)
    places = 0.5 * np.stack([np.cos(angle), np.sin(angle), 0.1 * angle], axis=1)
    builder.add_particles(places, 10.0 * np.stack([-places[:, 1], places[:, 0], 0 * angle], axis=1), 0.1, 0.02)
    builder.add_shape_cylinder(AT, 0.5195, 2.0, ShapeConfig(mu=0.1), hollow=True)


def stopping_balls(builder, rng):
    apart = np.array([[0, 0, 0], [0, 1, 0], [0, 2, 0], [0.4, 0, 0], [0.4, 1, 0], [0.4, 2, 0]])
    places = apart + rng.uniform(-0.02, 0.02, (6, 3))
    builder.add_particles(places, np.repeat([[12.0, 0, 0], [0, 1.0, 0]], 3, axis=0), 0.1, 0.1)


SCENES = [striking_vessel, striking_paddle, striking_rough_paddle, held_in_drum, stopping_balls]


@pytest.mark.parametrize("scene", SCENES)
def test_gradients_of_strikes_are_those_of_central_differences_and_of_second_order(scene):
    builder, rng = ModelBuilder(gravity=-G), np.random.default_rng(4)
    scene(builder, rng)
    model = builder.finalize(device="cpu", dtype=wp.float64, requires_grad=True)
    solver, start = SolverXPBD(model, substeps=2), model.state(requires_grad=True)
    control, weights = model.control(requires_grad=True), rng.normal(size=(6, 3))
    if model.shape_count:
        control.set_shape(0, angular_velocity=(0.0, 0.0, 10.0))
    contacts = Contacts(model, friction=0.2) if scene is stopping_balls else None

    def value(state):
        for _ in range(4):
            solver.step(state, state, control, contacts, 1.0 / 120.0)
        return float((state.particle_q.numpy() * weights).sum())

    def run():
        state = model.state(requires_grad=True)
        state.particle_q.assign(start.particle_q)
        state.particle_qd.assign(start.particle_qd)
        return value(state)

    after = model.state(requires_grad=True)
    with wp.Tape() as tape:
        wp.copy(after.particle_q, start.particle_q)
        wp.copy(after.particle_qd, start.particle_qd)
        value(after)
    tape.backward(grads={after.particle_q: wp.array(weights, dtype=wp.vec3d)})
    inputs = {"q": start.particle_q, "qd": start.particle_qd}
    if model.shape_count:
        inputs |= {"mu": model.shape_mu, "e": model.shape_restitution}
        if scene is not held_in_drum:  # what rests on a wall that may move away has one-sided derivatives
            inputs |= {"twist": control.shape_velocity}
    else:
        inputs |= {"mu": contacts.friction}
    for name, array in inputs.items():
        before, gradient = array.numpy().copy(), array.grad.numpy()
        direction = rng.normal(size=before.shape)
        slope, sides = float((gradient * direction).sum()), []
        for side in (1.0, -1.0):
            array.assign(before + side * 1e-6 * direction)
            sides.append(run())
        parts = np.abs(gradient * direction).sum()
        assert abs(slope - (sides[0] - sides[1]) / 2e-6) <= 1e-4 * parts + 1e-7, name
        if name in ("q", "qd"):
            array.assign(before)
            here, left = run(), []
            for k in range(5):
                step = 1e-4 * 0.5**k
                array.assign(before + step * direction)
                left.append(abs(run() - here - step * slope))
            orders = np.log2(np.array(left[:-1]) / np.array(left[1:]))
            assert (np.abs(orders - 2.0) < 0.1).all() or max(left) < 1e-9, (name, orders)
        array.assign(before)


@pytest.mark.parametrize("scene", SCENES)
def test_strikes_have_the_same_bits_on_any_number_of_threads(scene):
    results, before = [], pool.get_pool().threads
    try:
        for threads in (1, 2, 4):
            wp.set_num_threads(threads)
            builder = ModelBuilder(gravity=-G)
            scene(builder, np.random.default_rng(4))
            drive = (lambda c: c.set_shape(0, angular_velocity=(0, 0, 9))) if scene is not stopping_balls else None
            q, qd = fly(builder, 20, drive, {} if scene is stopping_balls else None, dtype=wp.float32)
            results.append(q.tobytes() + qd.tobytes())
    finally:
        wp.set_num_threads(before)
    assert results[0] == results[1] == results[2]


# ----- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["position", "rotation", "velocity", "angular_velocity"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_poses_that_are_none_are_refused_and_leave_the_control_as_it_is(name, bad):
    builder = ModelBuilder()
    builder.add_shape_sphere(AT, 1.0)
    control = builder.finalize(device="cpu").control()
    before = [a.numpy().tobytes() for a in (control.shape_transform, control.shape_velocity)]
    value = np.full(4 if name == "rotation" else 3, bad)
    with pytest.raises(StateError, match=rf"{name} is .*\nexpected: {len(value)} finite numbers"):
        control.set_shape(0, **{name: value})
    with pytest.raises(StateError, match=r"rotation is .*\nexpected: 4 finite numbers, not all of them 0"):
        control.set_shape(0, rotation=(0, 0, 0, 0))
    assert before == [a.numpy().tobytes() for a in (control.shape_transform, control.shape_velocity)]


@pytest.mark.parametrize("dt", ["1", b"1", "nan"])
def test_text_is_no_time(dt):
    builder = ModelBuilder()
    builder.add_particle((0, 0, 0))
    model = builder.finalize(device="cpu")
    solver, state = SolverXPBD(model), model.state()
    with pytest.raises(StateError, match=r"dt is b?'.*'\nexpected: a time step above 0 \[s\]"):
        solver.step(state, state, dt=dt)
