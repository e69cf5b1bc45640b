"""Ways of XPBD's particles after shapes have pushed them: thin walls in any order, bumpy ground, small restitutions."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import RegularGridInterpolator
from xpbd_scenes import closed_box, stirred

import warpsim as wp
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverXPBD

H, G = 1.0 / 600.0, 9.81
LYING = (0, 0, 0, -np.sqrt(0.5), 0, 0, np.sqrt(0.5))


def flight(builder, substeps):
    """Places and velocities of all particles, one substep after the other."""
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state = SolverXPBD(model, substeps=1), model.state()
    for _ in range(substeps):
        solver.step(state, state, None, None, H)
        yield state.particle_q.numpy(), state.particle_qd.numpy()


def plate_mesh(*half):
    points = np.array(closed_box().points.numpy()) * 2.0 * np.array(half)
    return wp.Mesh(wp.array(points, dtype=wp.vec3), closed_box().indices)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("floor", ["plane", "box"])
@pytest.mark.parametrize("wall", ["box", "mesh"])
@pytest.mark.parametrize("wall_first", [True, False])
def test_nothing_slides_through_a_thin_wall_on_its_floor(wall_first, wall, floor, restitution):
    """What lands in front of it, 1 mm thick, in whatever order the two were added."""
    builder, at = ModelBuilder(gravity=-G), (0.5, 0.5, 0, 0, 0, 0, 1)
    way = np.array([0.8, -0.6, 0.0])
    for speed in (5.0, 60.0):
        for phase in (0.05, 0.4):
            lands = np.array([0.5 - 0.8 * speed * H * 0.35, 0.0, 0.0])
            builder.add_particle(lands - way * speed * H * (3 + phase), speed * way, 1.0, 0.0)
    cfg, smooth = ShapeConfig(mu=0.0, restitution=restitution), ShapeConfig(mu=0.0)
    adds = [
        lambda: (
            builder.add_shape_box(at, 0.0005, 0.5, 2.0, smooth)
            if wall == "box"
            else builder.add_shape_mesh(at, plate_mesh(0.0005, 0.5, 2.0), cfg=smooth)
        ),
        lambda: (
            builder.add_ground_plane(cfg=cfg)
            if floor == "plane"
            else builder.add_shape_box((0, -0.5, 0, 0, 0, 0, 1), 3.0, 0.5, 3.0, cfg)
        ),
    ]
    for add in adds if wall_first else reversed(adds):
        add()
    for q, _ in flight(builder, 30):
        assert q[:, 0].max() < 0.5


def test_what_slides_over_bumpy_ground_does_not_end_in_it():
    rng, builder, axis = np.random.default_rng(0), ModelBuilder(gravity=-G), np.linspace(-1.0, 1.0, 41)
    heights = rng.uniform(0.0, 0.04, (41, 41))
    places = rng.uniform([-0.3, 0.1, -0.3], [0.3, 0.3, 0.3], (40, 3))
    velocities = rng.normal(size=(40, 3)) * [1.0, 0.2, 1.0]
    velocities[:, 1] = -np.abs(velocities[:, 1])
    builder.add_particles(places, 100.0 * velocities / np.linalg.norm(velocities, axis=1)[:, None], 1.0, 0.0)
    builder.add_shape_heightfield(LYING, heights, 1.0, 1.0, ShapeConfig(mu=0.0))
    ground = RegularGridInterpolator((axis, axis), heights, bounds_error=False, fill_value=-9.0)
    for q, _ in flight(builder, 12):
        assert (ground(np.stack([q[:, 0], -q[:, 2]], axis=1)) - q[:, 1]).max() < 1e-6


FLOORS = {
    "box": lambda b, cfg: b.add_shape_box((0, -1, 0, 0, 0, 0, 1), 9, 1, 9, cfg),
    "mesh": lambda b, cfg: b.add_shape_mesh((0, -1, 0, 0, 0, 0, 1), plate_mesh(9, 1, 9), cfg=cfg),
    "heights": lambda b, cfg: b.add_shape_heightfield(LYING, np.zeros((9, 9)), 9, 9, cfg),
}


@pytest.mark.parametrize("restitution", [0.0, 1e-7, 1e-4, 1e-2])
@pytest.mark.parametrize("floor", FLOORS)
def test_an_oblique_impact_takes_nothing_of_the_way_along_a_smooth_floor(floor, restitution):
    builder = ModelBuilder(gravity=-G)
    for phase in np.linspace(0.1, 0.9, 5):
        builder.add_particle((0.1, 0.01 + 25.0 * H * phase, 0.05), (20.0, -25.0, 3.0), 1.0, 0.01)
    FLOORS[floor](builder, ShapeConfig(mu=0.0, restitution=restitution))
    *_, (q, _) = flight(builder, 3)
    assert np.allclose(q[:, 2], 0.05 + 3.0 * 3 * H, atol=0.01 * 3.0 * H)


@pytest.mark.parametrize("restitution", [0.0, 1e-3, 0.05, 0.2])
@pytest.mark.parametrize("radius", [0.0, 0.01])
def test_a_bead_runs_up_a_half_pipe_in_the_time_of_its_energy(radius, restitution):
    """z = x^2 / 2 in cells of 5 cm, at 20 m/s: dt = sqrt((1 + x^2) / (v0^2 - g x^2)) dx."""
    xs, builder = np.linspace(-3, 3, 121), ModelBuilder(gravity=-G)
    builder.add_particle((0.0, radius, 0.0), (20.0, 0.0, 0.0), 1.0, radius)
    heights = np.tile((0.5 * xs * xs)[:, None], (1, 3))
    builder.add_shape_heightfield(LYING, heights, 3.0, 1.0, ShapeConfig(mu=0.0, restitution=restitution))
    along = np.array([0.0, *(q[0, 0] for q, _ in flight(builder, 80))])
    expected = quad(lambda x: np.sqrt((1 + x * x) / (400 - G * x * x)), 0, 1.5)[0]
    assert np.isclose(np.interp(1.5, along, np.arange(81) * H), expected, rtol=0.03)


def test_gradients_of_what_is_pressed_between_shapes_without_moving_there():
    """A filled body that starts inside of a box: some of its corners end where the box has pushed them."""
    builder = ModelBuilder()
    builder.add_soft_grid((0, 0.02, 0), (0, 0, 0, 1), (0, -1, 0), 2, 2, 2, 0.1, 0.1, 0.1, 300.0, youngs_modulus=5e3)
    builder.add_pressure(range(builder.triangles.count), 1.2, 1e4)
    builder.add_shape_box((0.3, 0.0, 0.0, 0, 0, 0, 1), 0.15, 0.3, 0.3)
    builder.add_ground_plane()
    model = stirred(builder, 0.2).finalize(device="cpu", dtype=wp.float64, requires_grad=True)
    solver, places = SolverXPBD(model, substeps=1), model.particle_q.numpy()
    way = np.random.default_rng(3).normal(size=places.shape)

    def end(step):
        before, after = model.state(), model.state()
        before.particle_q.assign(places + step * way)
        with wp.Tape() as tape:
            solver.step(before, after, None, None, 0.01)
        tape.backward(grads={after.particle_q: wp.ones(model.particle_count, dtype=wp.vec3d)})
        return after.particle_q.numpy().sum(), (before.particle_q.grad.numpy() * way).sum()

    slope = (end(1e-7)[0] - end(-1e-7)[0]) / 2e-7
    assert end(0.0)[1] == pytest.approx(slope, rel=1e-5)
    assert np.isfinite(model.particle_mass.grad.numpy()).all()
