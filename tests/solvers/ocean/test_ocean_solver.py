"""Shapes and sheets on the sea: volumes, forces, added mass, rounds of a coupling, gradients, and what is refused."""

import itertools

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ModelError, StateError
from warpsim.solvers import Coupling, ModelBuilder, ShapeConfig, SolverBodies, SolverXPBD
from warpsim.solvers.cases.ocean_bodies import afloat, box, calm_ocean
from warpsim.solvers.ocean import JONSWAP, Ocean, SolverOcean
from warpsim.solvers.ocean.hulls import added_inertia_of, added_mass_of, hull_of
from warpsim.solvers.scene.inertia import polyhedron

D, G, WATER = wp.float64, 9.81, 1025.0
REST, QUARTER = (0.0, 0.0, 0.0, 1.0), (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
SIZES = {
    "sphere": {"radius": 0.7},
    "capsule": {"radius": 0.3, "half_height": 0.5},
    "cylinder": {"radius": 0.5, "half_height": 0.5},
    "box": {"hx": 0.4, "hy": 0.5, "hz": 0.6},
}


def tetrahedron():
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
    return wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(np.ravel(faces), dtype=int))


def one(kind, pose=(0.0, 0.0, 0.0, *REST), density=500.0):
    builder = ModelBuilder(up_axis="Z", gravity=-G)
    body, cfg = builder.add_body(pose), ShapeConfig(density=density)
    if kind == "mesh":
        builder.add_shape_mesh(mesh=tetrahedron(), scale=(1.0, 2.0, 0.5), cfg=cfg, body=body)
    else:
        getattr(builder, f"add_shape_{kind}")(**SIZES[kind], cfg=cfg, body=body)
    return builder.finalize("cpu", dtype=D)


def pressed(model, ocean=None, **options):
    water, state = SolverOcean(model, ocean or calm_ocean(), **options), model.state()
    water.step(state, state, dt=1e-9)
    return water


@pytest.mark.parametrize("kind", [*SIZES, "mesh"])
def test_hulls_have_the_volume_of_their_shape(kind):
    model = one(kind, density=1.0)
    hull = hull_of(model, 0)
    solid = polyhedron(hull.points, hull.triangles)
    assert solid.volume == pytest.approx(model.body_mass.numpy()[0], rel=1e-12)
    np.testing.assert_allclose(solid.center, model.body_com.numpy()[0], atol=1e-12)
    np.testing.assert_allclose(0.5 * np.ptp(hull.points, axis=0), hull.half, rtol=0.015)


@pytest.mark.parametrize("kind", [*SIZES, "mesh"])
def test_a_drowned_shape_is_pushed_up_by_the_water_in_its_place(kind):
    model = one(kind, (3.0, 4.0, -5.0, *QUARTER))
    force = pressed(model).shape_force.numpy()[0]
    center = np.array([0.0, -1.0, 1.0]) * model.body_com.numpy()[0, [0, 2, 1]] * [0, 1, 1]
    weight = model.body_mass.numpy()[0] / 500.0 * WATER * G
    np.testing.assert_allclose(force[3:], [0.0, 0.0, weight], rtol=1e-9, atol=1e-9 * weight)
    arm = np.array([model.body_com.numpy()[0, 0], center[1], 0.0])
    np.testing.assert_allclose(force[:3], np.cross(arm, force[3:]), atol=1e-9 * weight)


@pytest.mark.parametrize("height", [-2.0, -0.3, 0.0, 0.2, 2.0])
def test_what_is_partly_under_water_displaces_that_part(height):
    """A ball, a cylinder upright and one that lies: closed forms."""
    r, h = 0.7, np.clip(0.7 - height, 0.0, 1.4)
    cap = np.pi * h * h * (3.0 * r - h) / 3.0
    depth = np.clip(-height / 0.5, -1.0, 1.0)
    lying = 0.25 * (np.arcsin(depth) + depth * np.sqrt(1.0 - depth**2) + 0.5 * np.pi)
    upright = 0.25 * np.pi * np.clip(0.5 - height, 0.0, 1.0)
    for kind, turn, expected in (("sphere", REST, cap), ("cylinder", REST, upright), ("cylinder", QUARTER, lying)):
        force = pressed(one(kind, (3.0, 4.0, height, *turn))).shape_force.numpy()[0]
        assert force[5] == pytest.approx(WATER * G * expected, rel=3e-3, abs=1e-6)
        assert np.abs(force[:3]).max() < 1e-8


def test_added_mass_of_ellipsoids():
    """Lamb: 1/2 of a ball, 1 across a long cylinder and 0 along it, so 2/3 on average; a ball turns without water."""
    assert added_mass_of(np.ones(3)) == pytest.approx(0.5)
    assert added_mass_of(np.array([1.0, 1.0, 1000.0])) == pytest.approx(2.0 / 3.0, rel=1e-4)
    assert not added_inertia_of(np.ones(3), 1.0).any()
    # across a thin disc of radius a: 16/45 rho a^5
    thin = added_inertia_of(np.array([1.0, 1.0, 1e-4]), 4.0 / 3.0 * np.pi * 1e-4)
    np.testing.assert_allclose(thin, [16.0 / 45.0, 16.0 / 45.0, 0.0], rtol=1e-3)


def test_added_mass_is_that_of_the_displaced_part():
    water = pressed(one("box"), added_mass=0.7)
    volume = 0.5 * 8.0 * 0.4 * 0.5 * 0.6
    assert water.body_added_mass.numpy()[0] == pytest.approx(0.7 * WATER * volume, rel=1e-9)
    moments = 0.5 * WATER * added_inertia_of(np.array([0.4, 0.5, 0.6]), 2.0 * volume)
    np.testing.assert_allclose(water.body_added_inertia.numpy()[0], np.diag(moments), rtol=1e-9, atol=1e-9)


def test_a_shape_aside_of_the_centre_of_mass_adds_the_moments_of_its_water():
    builder = ModelBuilder(up_axis="Z", gravity=-G)
    body = builder.add_body((0.0, 0.0, -5.0, *REST), mass=10.0, com=(0.0, 0.0, 0.0), inertia=(1.0, 1.0, 1.0))
    builder.add_shape_sphere((2.0, 1.0, 0.0, *REST), 0.1, body=body)
    water = pressed(builder.finalize("cpu", dtype=D), added_mass=0.5)
    mass = 0.5 * WATER * 4.0 / 3.0 * np.pi * 1e-3
    expected = mass * np.array([[1.0, -2.0, 0.0], [-2.0, 4.0, 0.0], [0.0, 0.0, 5.0]])
    np.testing.assert_allclose(water.body_added_inertia.numpy()[0], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("iterations", [1, 3])
def test_a_body_much_lighter_than_its_added_mass_is_stable(iterations):
    """An air ball of 10 kg/m^3 under water: a = (rho - rho_b) g / (rho_b + rho / 2) when it is let go."""

    def ball(builder, body):
        builder.add_shape_sphere(radius=0.5, cfg=ShapeConfig(density=10.0), body=body)

    coupling, state = afloat(ball, (0.0, 0.0, -20.0, *REST), drag=0.0, friction=0.0)
    coupling = Coupling(coupling.bodies, coupling.matter, iterations=iterations, relaxation=1.0)
    for _ in range(20):
        coupling.step((state, state), (state, state), dt=0.05)
    expected = (WATER - 10.0) * G / (10.0 + 0.5 * WATER)
    assert state.body_qd.numpy()[0, 5] == pytest.approx(expected, rel=1e-9)
    assert coupling.matter[0].time == pytest.approx(1.0)


def test_a_joint_bears_what_the_water_does_not():
    """Added mass has no weight: a drowned body that a joint holds pulls with its weight less buoyancy."""
    builder = ModelBuilder(up_axis="Z", gravity=-G)
    body = builder.add_body((0.0, 0.0, -5.0, *REST))
    builder.add_shape_box(None, 0.1, 0.1, 0.1, ShapeConfig(density=3000.0), body=body)
    builder.add_joint_fixed(-1, body, parent_xform=(0.0, 0.0, -5.0, *REST))
    model = builder.finalize("cpu", dtype=D)
    coupling = Coupling(SolverBodies(model), [SolverOcean(model, calm_ocean())])
    states = coupling.states()
    for _ in range(3):
        coupling.step(states, states, dt=0.02)
    assert states[0].joint_f.numpy()[0, 5] == pytest.approx((3000.0 - WATER) * 8e-3 * G, rel=1e-6)


def test_a_tilted_slab_rights_itself_and_drag_stops_it():
    coupling, state = afloat(box((1.0, 1.0, 0.2), 512.5), (0.0, 0.0, 0.0, np.sin(0.15), 0.0, 0.0, np.cos(0.15)),
                             drag=2.0, friction=0.5)  # fmt: skip
    state.body_qd.assign([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]])
    for _ in range(400):
        coupling.step((state, state), (state, state), dt=0.02)
    pose = state.body_q.numpy()[0]
    assert abs(pose[3]) < 0.05 and 0.0 < state.body_qd.numpy()[0, 3] < 0.3 and abs(pose[2]) < 0.02


def test_coefficients_are_those_of_each_shape():
    builder = ModelBuilder(up_axis="Z", gravity=-G)
    for k in range(2):
        body = builder.add_body((5.0 * k, 0.0, -5.0, *REST), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0))
        builder.add_shape_box(None, 0.5, 0.5, 0.5, body=body)
    model = builder.finalize("cpu", dtype=D)
    options = {"drag": [1.0, 2.0], "friction": 0.0, "linear_drag": [0.0, 3.0]}
    force = pressed(model, **options).shape_force.numpy()[:, 3]
    np.testing.assert_allclose(force, [-0.5 * WATER, -WATER - 18.0], rtol=1e-9)


def test_a_sheet_floats_and_flows():
    builder = ModelBuilder(up_axis="Z", gravity=-G)
    builder.default_particle_radius = 0.0
    builder.add_cloth_grid((0.0, 0.0, 0.0), REST, 0.0, 4, 4, 0.5, 0.5, 2.0, spring_ke=1e3)
    model = builder.finalize("cpu", dtype=D)
    water, solver, state = SolverOcean(model, calm_ocean(), sheet=(0.05, 100.0)), SolverXPBD(model, 4), model.state()
    state.particle_f = water.particle_force
    for _ in range(200):
        water.step(state, state, dt=0.02)
        solver.step(state, state, dt=0.02)
    assert water.particle_force.numpy()[:, 2].sum() == pytest.approx(25 * 2.0 * G, rel=0.05)
    draught = -state.particle_q.numpy()[:, 2]  # particles at corners have a smaller share of the sheet
    assert draught.min() > 0.4 * 25 * 2.0 / (WATER * 4.0) and draught.max() < 0.05


@pytest.mark.parametrize("name", ["body_com", "body_inertia", "linear_drag", "noise", "particle_q"])
@pytest.mark.filterwarnings("ignore:the peak of the spectrum")
def test_gradients_are_those_of_differences(name):
    """Of a ball and a box on one body, and of a sheet beside it; bodies and cloth of one model."""
    steps = {"body_com": 1e-6, "body_inertia": 1e-4, "linear_drag": 1e-4, "noise": 1e-6, "particle_q": 1e-6}

    def loss_of(change, gradient=False):
        builder = ModelBuilder(up_axis="Z", gravity=-G)
        builder.default_particle_radius = 0.0
        body = builder.add_body((3.0, 4.0, 0.1, *REST), (0.3, -0.2, 0.1, 0.5, 0.2, -0.3))
        builder.add_shape_box((0.1, 0.0, 0.05, *REST), 0.5, 0.4, 0.3, ShapeConfig(density=400.0), body=body)
        builder.add_shape_sphere((-0.7, 0.0, 0.05, *REST), 0.3, body=body)
        builder.add_cloth_grid((30.0, 30.0, -0.01), REST, 0.0, 2, 2, 0.5, 0.5, 0.3, spring_ke=1e3)
        model = builder.finalize("cpu", dtype=D, requires_grad=True)
        ocean = Ocean(JONSWAP(10.0, 1e5), 300.0, 16, dtype=D, choppiness=0.5)
        ocean.noise.requires_grad = True
        water = SolverOcean(model, ocean, linear_drag=20.0, sheet=(5.0, 100.0))
        coupling = Coupling(SolverBodies(model, 2), [water, SolverXPBD(model, 4)])
        states = [coupling.states() for _ in range(5)]
        for state in states:
            state[0].particle_f = water.particle_force
        owners = (water, ocean, states[0][0], model)
        source = next(getattr(owner, name) for owner in owners if hasattr(owner, name))
        source.assign(source.numpy() + change)
        with wp.Tape() as tape:
            ocean.update()
            for before, after in itertools.pairwise(states):
                coupling.step(before, after, dt=0.04)
        ends = [states[-1][0].body_q, states[-1][0].body_qd, states[-1][0].particle_q]
        weights = [np.random.default_rng(k).standard_normal(a.numpy().shape) for k, a in enumerate(ends)]
        if not gradient:
            return sum((a.numpy() * w).sum() for a, w in zip(ends, weights, strict=True))
        tape.backward(grads={a: wp.array(w, dtype=a.dtype) for a, w in zip(ends, weights, strict=True)})
        return source.grad.numpy().copy()

    slope = loss_of(0.0, True)
    assert np.abs(slope).max() > 1e-9
    direction, h = np.random.default_rng(5).standard_normal(slope.shape), steps[name]
    if name == "body_inertia":
        direction = direction + np.swapaxes(direction, 1, 2)
    expected = (loss_of(h * direction) - loss_of(-h * direction)) / (2.0 * h)
    assert (slope * direction).sum() == pytest.approx(expected, rel=1e-5)


def test_refusals():
    model, ocean = one("box"), calm_ocean()
    with pytest.raises(ModelError, match="up axis Y"):
        SolverOcean(ModelBuilder(up_axis="Y").finalize("cpu", dtype=D), ocean)
    with pytest.raises(ModelError, match="drag is -1"):
        SolverOcean(model, ocean, drag=-1.0)
    with pytest.raises(ModelError, match="one for each shape"):
        SolverOcean(model, ocean, added_mass=[1.0, 2.0])
    with pytest.raises(ModelError, match="expected: 1 of float64 on cpu"):
        SolverOcean(model, ocean, friction=wp.array([1.0], dtype=float, device="cpu"))
    with pytest.raises(ModelError, match="density is 0"):
        SolverOcean(model, ocean, density=0.0)
    builder = ModelBuilder(up_axis="Z")
    body = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0), com=(0.0, 0.0, 0.0))
    builder.add_shape_sphere(hollow=True, body=body)
    with pytest.raises(ModelError, match="shape 0 of a body is a hollow_sphere"):
        SolverOcean(builder.finalize("cpu", dtype=D), ocean)
    water, state = SolverOcean(model, ocean), model.state()
    with pytest.raises(StateError, match="above 0"):
        water.step(state, state, dt=-1.0)
    with pytest.raises(ModelError, match="time is nan"):
        water.time = np.nan
    with pytest.raises(StateError, match="another model"):
        water.step(one("box").state(), state, dt=0.1)
