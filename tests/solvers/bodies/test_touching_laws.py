"""Laws of contact: momentum, energy, overlap, friction, restitution, forces."""

import warnings

import numpy as np
import pytest
from touching_scenes import FORMS, Points, add_form, energy, heap, momenta, random_pose, step_all

import warpsim as wp
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverBodies

DT = 1 / 60


@pytest.mark.parametrize("second", FORMS)
@pytest.mark.parametrize("first", FORMS)
def test_collisions_keep_momentum(first, second):
    rng = np.random.default_rng(5)
    builder = ModelBuilder(gravity=0.0)
    cfg = ShapeConfig(mu=0.4, restitution=0.5)
    one, two = random_pose(rng, 0.05), random_pose(rng, 0.05)
    two[0] += 0.9
    add_form(builder, first, one, [0.5, 0.3, -0.8, 3.0, 0.1, 0.0], cfg)
    add_form(builder, second, two, [-0.2, 0.9, 0.4, -1.0, 0.0, 0.2], cfg)
    model = builder.finalize("cpu", dtype=wp.float64)
    solver, state = SolverBodies(model), model.state()
    before = momenta(model, state)
    for _ in range(30):
        solver.step(state, state, dt=DT)
    after = momenta(model, state)
    assert abs(state.body_qd.numpy()[0, 3] - 3.0) > 0.1  # they met
    scale = np.abs(model.body_mass.numpy() * 3.0).max()
    np.testing.assert_allclose(after[0], before[0], atol=1e-12 * scale)
    np.testing.assert_allclose(after[1], before[1], atol=1e-12 * scale)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_energy_of_heaps_never_grows(seed, restitution):
    builder = heap(seed, 20, ShapeConfig(mu=0.5, restitution=restitution))
    model = builder.finalize("cpu", dtype=wp.float64)
    solver, state = SolverBodies(model), model.state()
    values = [energy(model, state)]
    for _ in range(120):
        solver.step(state, state, dt=DT)
        values.append(energy(model, state))
    start = values[0]
    assert np.diff(values).max() < 1e-3 * start
    assert max(values) < (1.0 + 1e-3) * start
    if restitution == 0.0:
        assert values[-1] < 0.5 * start


def test_heap_comes_to_rest_without_overlap():
    solver, state = step_all(heap(1, 20, ShapeConfig(mu=0.5)), 400)
    gaps = np.concatenate([gaps for _, _, gaps, _ in Points(solver).pairs])
    assert gaps.min() > -5e-4
    speed = np.linalg.norm(state.body_qd.numpy()[:, 3:], axis=1)
    assert np.median(speed) < 1e-3
    forces = solver.contact_forces(state)
    mass = solver.model.body_mass.numpy()
    walls = forces.shapes[:, 1] < 5  # obstacles are the second shapes of their pairs
    up = -forces.forces[walls].sum(axis=0)
    assert up[1] == pytest.approx(9.81 * mass.sum(), rel=0.02)


def test_forces_of_a_stack_are_weights():
    builder = ModelBuilder(gravity=-9.81)
    builder.add_ground_plane()
    for i in range(4):
        add_form(builder, "box", (0, 0.25 + 0.5 * i, 0, 0, 0, 0, 1))
    solver, state = step_all(builder, 60)
    weights, forces = 9.81 * solver.model.body_mass.numpy(), solver.contact_forces(state)
    for (one, two), point, normal, force in zip(*forces, strict=True):
        upper = max(one, two)
        sign = 1.0 if two == upper else -1.0
        np.testing.assert_allclose(sign * force, [0, weights[upper - 1 :].sum(), 0], atol=1e-3 * weights[0])
        np.testing.assert_allclose(sign * normal, [0, 1, 0], atol=1e-6)
        np.testing.assert_allclose(point, [0, 0.5 * (upper - 1), 0], atol=1e-3)


@pytest.mark.parametrize("e", [0.0, 0.3, 0.8, 1.0])
def test_ball_bounces_with_its_restitution(e):
    builder = ModelBuilder(gravity=0.0)
    builder.add_ground_plane(cfg=ShapeConfig(mu=0.0, restitution=e))
    add_form(builder, "sphere", (0, 0.5, 0, 0, 0, 0, 1), (0, 0, 0, 0.3, -2.0, 0.1), ShapeConfig(mu=0.0))
    _solver, state = step_all(builder, 20)
    np.testing.assert_allclose(state.body_qd.numpy()[0], [0, 0, 0, 0.3, 2.0 * e, 0.1], atol=1e-12)


def test_the_larger_restitution_and_the_mean_friction_count():
    builder = ModelBuilder(gravity=0.0)
    builder.add_ground_plane(cfg=ShapeConfig(mu=0.9, restitution=0.2))
    add_form(
        builder, "sphere", (0, 0.5, 0, 0, 0, 0, 1), (0, 0, 0, 9.0, -2.0, 0.0), ShapeConfig(mu=0.1, restitution=0.6)
    )
    _solver, state = step_all(builder, 20)
    velocity = state.body_qd.numpy()[0]
    assert velocity[4] == pytest.approx(1.2, abs=1e-9)
    assert 9.0 - velocity[3] == pytest.approx(0.3 * 3.2, rel=1e-6)  # it slides all the time: mu times the impulse


def test_static_friction_holds_more_than_sliding():
    def speed(push, qd=0.0):
        builder = ModelBuilder(gravity=-10.0)
        cfg = ShapeConfig(mu=0.3, mu_static=0.6)
        builder.add_ground_plane(cfg=cfg)
        add_form(builder, "box", (0, 0.25, 0, 0, 0, 0, 1), (0, 0, 0, qd, 0, 0), cfg)
        model = builder.finalize("cpu", dtype=wp.float64)
        solver, state = SolverBodies(model), model.state()
        force = np.zeros((1, 6))
        force[0, 3] = push * 10.0 * model.body_mass.numpy()[0]
        state.body_f.assign(force)
        for _ in range(60):
            solver.step(state, state, dt=DT)
        return state.body_qd.numpy()[0, 3]

    assert speed(0.55) == pytest.approx(0.0, abs=1e-6)
    assert speed(0.65) == pytest.approx(10.0 * 0.35, rel=0.02)
    assert speed(0.45, qd=1.0) == pytest.approx(1.0 + 10.0 * 0.15, rel=0.02)


@pytest.mark.parametrize("options", [{}, {"substeps": 40}, {"iterations": 8}])
@pytest.mark.parametrize("form", ["box", "capsule"])
def test_static_friction_holds_a_patch(form, options):
    builder, cfg = ModelBuilder(), ShapeConfig(mu=0.2, mu_static=0.5)
    builder.add_ground_plane(cfg=cfg)
    add_form(builder, form, (0, 0.1, 0, 0, 0, 0, 1), 0.0, cfg, {"box": (0.2, 0.1, 0.2)}.get(form, (0.1, 0.2)), mass=1.0)
    model = builder.finalize("cpu", dtype=wp.float64)
    solver, state = SolverBodies(model, **options), model.state()
    force = np.zeros((1, 6))
    force[0, 3 if form == "box" else 5] = 4.5  # of 4.905 N that static friction bears
    state.body_f.assign(force)
    for _ in range(60):
        solver.step(state, state, dt=DT)
    assert np.abs(state.body_q.numpy()[0, [0, 2]]).max() < 1e-5


@pytest.mark.parametrize("form", ["sphere", "capsule"])
@pytest.mark.parametrize("up_axis", ["x", "y", "z"])
def test_round_bodies_rest_on_a_level_plane_in_single_precision(form, up_axis):
    builder = ModelBuilder(up_axis=up_axis.upper())
    builder.add_ground_plane()
    place, across = np.zeros(3), {"x": [1, 2], "y": [0, 2], "z": [0, 1]}[up_axis]
    place["xyz".index(up_axis)] = 0.1
    turn = (np.sqrt(0.5), 0, 0, np.sqrt(0.5)) if up_axis == "z" else (0, 0, 0, 1)  # the capsule's axis, z, lies
    pose = (*place, *turn)
    add_form(builder, form, pose, sizes={"sphere": (0.1,)}.get(form, (0.1, 0.2)))
    _solver, state = step_all(builder, 600, dtype=wp.float32)
    assert np.abs(state.body_q.numpy()[0, across]).max() < 1e-6


def test_fast_bodies_do_not_pass_through_thin_ones():
    builder = ModelBuilder(gravity=0.0)
    plate = builder.add_body((0, 0, 0, 0, 0, 0, 1))
    builder.add_shape_box(None, 1.0, 0.005, 1.0, body=plate)
    add_form(builder, "sphere", (0.0, 2.0, 0.0, 0, 0, 0, 1), (0, 0, 0, 0, -60.0, 0), sizes=(0.02,))
    _solver, state = step_all(builder, 10)
    q = state.body_q.numpy()
    assert q[1, 1] > q[0, 1]


@pytest.mark.parametrize("form", FORMS)
def test_obstacles_carry_what_lies_on_them(form):
    """A plate that a control moves takes a body along, and has it lifted."""
    builder = ModelBuilder(gravity=-9.81)
    plate = builder.add_shape_box((0, 0, 0, 0, 0, 0, 1), 2.0, 0.1, 2.0, ShapeConfig(mu=0.8))
    turn = (0, 0, 0, 1) if form == "box" else (0, 0.7071067811865476, 0, 0.7071067811865476)
    height = {"sphere": 0.3, "capsule": 0.22, "box": 0.35}[form]
    add_form(builder, form, (0, height, 0, *turn), cfg=ShapeConfig(mu=0.8))
    model = builder.finalize("cpu", dtype=wp.float64)
    solver, state, control = SolverBodies(model), model.state(), model.control()
    control.set_shape(plate, velocity=(0.0, 0.5, 0.3))
    for _ in range(60):
        solver.step(state, state, control, dt=DT)
        control.advance(DT)
    q, qd = state.body_q.numpy()[0], state.body_qd.numpy()[0]
    assert q[1] == pytest.approx(height + 0.5, abs=2e-3)
    assert qd[4] == pytest.approx(0.5, abs=1e-3)
    if form == "box":
        np.testing.assert_allclose(qd[3:], [0.0, 0.5, 0.3], atol=1e-3)


@pytest.mark.parametrize("kind", ["heightfield", "mesh", "hollow_sphere", "cylinder", "sdf"])
@pytest.mark.parametrize("form", FORMS)
def test_bodies_rest_on_obstacles_of_every_kind(kind, form):
    builder = ModelBuilder(gravity=-9.81)
    stand = (-0.7071067811865476, 0, 0, 0.7071067811865476)  # z to y
    cfg = ShapeConfig(mu=0.6)
    if kind == "heightfield":
        builder.add_shape_heightfield((0, 0, 0, *stand), np.zeros((5, 5)), 2.0, 2.0, cfg)
    elif kind in ("mesh", "sdf"):
        corners = np.array([[x, y, z] for x in (-2, 2) for y in (-0.4, 0) for z in (-2, 2)], np.float32)
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        faces = np.array([[q[0], q[k], q[k + 1]] for q in quads for k in (1, 2)], np.int32)
        mesh = wp.Mesh(
            wp.array(corners, dtype=wp.vec3, device="cpu"), wp.array(faces.ravel(), dtype=wp.int32, device="cpu")
        )
        if kind == "mesh":
            builder.add_shape_mesh(None, mesh, cfg=cfg)
        else:
            builder.add_shape_sdf(None, wp.mesh_to_volume(mesh, 0.1, 8.0), cfg)
    elif kind == "hollow_sphere":
        builder.add_shape_sphere((0, 3.0, 0, 0, 0, 0, 1), 3.0, cfg, hollow=True)
    else:
        builder.add_shape_cylinder((0, -0.5, 0, *stand), 1.5, 0.5, cfg)
    add_form(builder, form, (0.02, 0.55, 0.01, 0, 0, 0, 1), cfg=cfg)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _solver, state = step_all(builder, 150, dtype=wp.float32)
    q, qd = state.body_q.numpy()[0], state.body_qd.numpy()[0]
    lowest = {"sphere": 0.2, "capsule": 0.12, "box": 0.15}[form]
    assert lowest - 5e-3 < q[1] < 0.5
    assert np.abs(qd[3:]).max() < 0.2
