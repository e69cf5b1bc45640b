"""Distance fields end somewhere: what contact needs is asked for at the start, and nothing is pushed beyond it."""

import re

import numpy as np
import pytest
from dem.grain_scenes import block
from shape_probe import measured

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import (
    Fluid,
    Material,
    ModelBuilder,
    ShapeConfig,
    ShapeType,
    SolverDEM,
    SolverDFSPH,
    SolverSPH,
    SolverXPBD,
)

LOW, HIGH = (-0.1, -0.1, -0.1), (0.1, 0.0, 0.1)  # a block whose top is at y = 0
RADIUS, VOXEL = 0.02, 0.005
TANK = ((-0.1, 0.0, -0.1), (0.1, 0.1, 0.1))


def field(half_width=3.0, voxel=VOXEL):
    return wp.mesh_to_volume(block(LOW, HIGH), voxel, half_width=half_width)


def scene(volume, cfg=None, pos=(0.013, RADIUS, 0.017), vel=0.0, radius=RADIUS, dtype=wp.float32):
    builder = ModelBuilder()
    builder.add_particle(pos, vel, 0.05, radius)
    if volume is None:
        builder.add_shape_box((0, -0.05, 0, 0, 0, 0, 1), 0.1, 0.05, 0.1, cfg)
    else:
        builder.add_shape_sdf(None, volume, cfg)
    return builder.finalize(dtype=dtype)


SOLVERS = {
    "xpbd": SolverXPBD,
    "dem": lambda model: SolverDEM(model, Material(1.0e6), substeps=10),
    "sph": lambda model: SolverSPH(model, Fluid(), spacing=0.01, bounds=TANK),
    "dfsph": lambda model: SolverDFSPH(model, Fluid(), spacing=0.01, bounds=TANK),
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_band_that_is_too_narrow_is_refused_with_the_one_that_is_needed(solver):
    with pytest.raises(ModelError, match=r"knows distances up to 0\.015 m from its surface, 3 voxels") as refused:
        SOLVERS[solver](scene(field()))
    needed = int(re.search(r"half_width=(\d+)", str(refused.value)).group(1))
    assert needed > 4
    with pytest.raises(ModelError, match="knows distances"):
        SOLVERS[solver](scene(field(needed - 1)))
    SOLVERS[solver](scene(field(needed)))


def test_a_margin_needs_as_much_of_the_band_as_a_radius():
    with pytest.raises(ModelError, match=r"contact at 0\.015 m .*\nhelp: .*half_width=5\)"):
        SolverXPBD(scene(field(), ShapeConfig(margin=0.01), radius=0.005))
    SolverXPBD(scene(field(5), ShapeConfig(margin=0.01), radius=0.005))


def test_values_that_are_no_level_set_have_no_band():
    axis = 0.02 * (np.arange(11) - 5.0)
    heights = np.broadcast_to(axis[None, :, None], (11, 11, 11)).astype(np.float32)
    volume = wp.Volume.load_from_numpy(heights, min_world=(-0.1, -0.1, -0.1), voxel_size=0.02, bg_value=0.0)
    model = scene(volume, pos=(0.0, RADIUS + 0.001, 0.0))
    solver, state = SolverXPBD(model), model.state()
    for _ in range(30):
        solver.step(state, state, None, None, 1 / 60)
    np.testing.assert_allclose(state.particle_q.numpy(), [[0.0, RADIUS, 0.0]], atol=1e-5)


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("solver", ["xpbd", "dem"])
def test_a_ball_rests_on_a_field_whose_band_was_widened(solver, mu):
    model = scene(field(6), ShapeConfig(mu=mu), pos=(0.013, RADIUS + 0.0005, 0.017))
    solver, state = SOLVERS[solver](model), model.state()
    for _ in range(250):
        solver.step(state, state, None, None, 1e-3)
    np.testing.assert_allclose(state.particle_q.numpy(), [[0.013, RADIUS, 0.017]], atol=2e-4)


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_outside_of_the_band_a_distance_is_a_bound_without_direction(dtype):
    volume = field()
    far = np.array([[0.0, 0.04, 0.0], [0.3, 0.3, 0.3], [0.0, -0.05, 0.0], [0.02, -0.06, 0.03]])
    distance, normal, gradient = measured(ShapeType.SDF, far, source=volume.id, dtype=dtype)
    np.testing.assert_allclose(distance, [0.015, 0.015, -0.015, -0.015], atol=1e-7)
    assert not normal.any() and not gradient.any()


def test_inside_of_the_band_that_is_asked_for_distances_of_tilted_planes_are_exact():
    tilt = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    mesh = block(LOW, HIGH)
    mesh.points.assign((mesh.points.numpy() @ tilt.T).astype(np.float32))
    mesh.refit()
    volume = wp.mesh_to_volume(mesh, VOXEL, half_width=6)
    heights = np.linspace(-RADIUS, RADIUS, 41)
    spots = np.random.default_rng(2).uniform(-0.05, 0.05, (41, 3))
    spots[:, 1] = heights
    distance, normal, _ = measured(ShapeType.SDF, spots @ tilt.T, source=volume.id)
    np.testing.assert_allclose(distance, heights, atol=1e-6)
    np.testing.assert_allclose(normal, np.tile(tilt[:, 1], (41, 1)), atol=1e-4)


@pytest.mark.parametrize("speed", [20.0, 300.0])
def test_what_flies_into_a_field_from_outside_of_its_band_stops_at_its_surface(speed):
    """Also where the substep ends so deep in it that the field knows no way out."""
    model = scene(field(voxel=0.002), pos=(0.013, 0.08, 0.017), vel=(0.0, -speed, 0.0), radius=0.001)
    solver, state = SolverXPBD(model, substeps=1), model.state()
    for _ in range(4):
        solver.step(state, state, None, None, 0.13 / speed)
    np.testing.assert_allclose(state.particle_q.numpy(), [[0.013, 0.001, 0.017]], atol=1e-4)


def test_what_starts_deep_inside_of_a_field_falls_as_in_a_mesh():
    model = scene(field(), pos=(0.01, -0.05, 0.0), radius=0.001)
    solver, state = SolverXPBD(model), model.state()
    solver.step(state, state, None, None, 0.01)
    np.testing.assert_allclose(state.particle_qd.numpy(), [[0.0, -0.0981, 0.0]], atol=1e-6)


@pytest.mark.parametrize("phase", [0.2, 0.5, 0.8])
def test_friction_of_an_impact_from_outside_of_the_band_is_that_on_a_box(phase):
    """The band ends 0.2 radii beyond contact, and in a substep the ball moves 0.9 radii."""
    ends = []
    for volume in (None, field(13, 0.001)):
        start = (-0.02, 0.01 + phase * 0.0085, 0.0)
        model = scene(volume, ShapeConfig(mu=0.2), start, (0.3, -0.85, 0.0), 0.01, wp.float64)
        solver, state = SolverXPBD(model, substeps=1), model.state()
        solver.step(state, state, None, None, 0.01)
        ends.append(np.concatenate([state.particle_q.numpy()[0], state.particle_qd.numpy()[0]]))
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-5)


def test_the_interpreter_sweeps_alike_through_what_a_field_does_not_know():
    ends, grid = [], field(voxel=0.004).array().numpy()
    for device in ("cpu", "interp"):
        builder = ModelBuilder()
        builder.add_particle((0.013, 0.08, 0.017), (20.0, -200.0, 3.0), 0.05, 0.002)
        builder.add_shape_sdf(None, wp.Volume(grid, device=device), ShapeConfig(mu=0.3))
        model = builder.finalize(device, dtype=wp.float64)
        solver, state = SolverXPBD(model, substeps=1), model.state()
        for _ in range(2):
            solver.step(state, state, None, None, 5.0e-4)
        ends.append(np.concatenate([state.particle_q.numpy(), state.particle_qd.numpy()]))
    assert ends[0][0, 1] > 0.0
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-6, atol=1e-6)
