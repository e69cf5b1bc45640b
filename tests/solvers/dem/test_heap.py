"""The angle of repose: cones and wedges of known angles, up any axis; a heap that a solver poured; what is refused."""

import numpy as np
import pytest
from gauge_scenes import statistics_of, weightless

from warpsim.errors import ModelError
from warpsim.solvers import GrainStream, Material, ModelBuilder, ShapeConfig, SolverDEM
from warpsim.solvers.dem.gauges import angle_of_repose, heap_surface

SMALL = 0.004


def heap_of(angle, wedge=False, jitter=0.0):
    """Grains below a cone, or between walls below a wedge along y, of radius 0.2 m, z up."""
    cells = np.stack(np.meshgrid(*[np.arange(-25, 26)] * 2, np.arange(24), indexing="ij"), axis=-1).reshape(-1, 3)
    points = 2.0 * SMALL * cells + np.random.default_rng(0).uniform(-jitter, jitter, cells.shape)
    if wedge:
        points = points[np.abs(points[:, 0]) < 0.05]
    distance = np.abs(points[:, 1]) if wedge else np.hypot(points[:, 0], points[:, 1])
    return points[points[:, 2] < np.tan(np.radians(angle)) * (0.2 - distance)]


@pytest.mark.parametrize("jitter", [0.5 * SMALL, SMALL])
@pytest.mark.parametrize("angle", [15.0, 25.0, 35.0])
def test_a_cone_has_the_angle_that_it_was_made_with(angle, jitter):
    statistics = statistics_of(weightless(heap_of(angle, jitter=jitter), radius=SMALL))
    assert angle_of_repose(statistics) == pytest.approx(angle, abs=0.5)


@pytest.mark.parametrize("angle", [20.0, 30.0])
def test_so_has_a_wedge(angle):
    statistics = statistics_of(weightless(heap_of(angle, wedge=True, jitter=SMALL), radius=SMALL))
    assert angle_of_repose(statistics, along=(0.0, 2.0, 0.0)) == pytest.approx(angle, abs=0.5)


@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
def test_up_is_where_the_model_has_it(axis):
    order = {"X": [2, 0, 1], "Y": [0, 2, 1], "Z": [0, 1, 2]}[axis]
    points = heap_of(25.0, jitter=SMALL)[:, order] + [3.0, -2.0, 1.0]
    assert angle_of_repose(statistics_of(weightless(points, radius=SMALL, up_axis=axis))) == pytest.approx(25, abs=0.5)


def test_grains_scattered_around_do_not_count():
    around = np.random.default_rng(2).uniform(-0.6, 0.6, (300, 3)) * [1.0, 1.0, 0.0]
    points = np.concatenate([heap_of(25.0, jitter=SMALL), around[np.hypot(around[:, 0], around[:, 1]) > 0.25]])
    statistics = statistics_of(weightless(points, radius=SMALL))
    assert angle_of_repose(statistics, middle=(0.0, 0.0, 0.0)) == pytest.approx(25.0, abs=0.5)


def test_surface_points_are_the_highest_of_their_columns():
    points = np.array([[0.0, 0.0, 0.0], [0.001, 0.0, 0.02], [0.1, 0.0, 0.01]])
    surface = heap_surface(statistics_of(weightless(points, radius=SMALL)), middle=(0.0, 0.0, 5.0))
    np.testing.assert_allclose(surface[np.argsort(surface[:, 0])], [[0.001, 0.024], [0.1, 0.014]], atol=1e-7)


def test_rough_grains_that_a_nozzle_pours_on_a_plate_make_a_heap():
    builder = ModelBuilder()
    spare = builder.add_particles(np.zeros((150, 3)), 0.0, 2500.0 * 4.0 / 3.0 * np.pi * 0.01**3, 0.01)
    builder.add_ground_plane(cfg=ShapeConfig(mu=0.7, restitution=0.1))
    pour = GrainStream(spare, (0.0, 0.2, 0.0), (0.0, -1.0, 0.0), radius=0.04, rate=330.0, exhausted="stop")
    sand = Material(1.0e6, restitution=0.2, friction=0.7, rolling_friction=0.3)
    solver = SolverDEM(builder.finalize(), sand, substeps=10, rolling="spring", streams=[pour])
    state = solver.model.state()
    for _ in range(350):
        solver.step(state, state, dt=2.0e-3)
    angle = angle_of_repose(solver.statistics(state), middle=(0.0, 0.0, 0.0))
    q = state.particle_q.numpy()
    as_cone = np.degrees(np.arctan(2.0 * q[:, 1].mean() / np.hypot(q[:, 0], q[:, 2]).mean()))  # by its mean places
    assert angle > 10.0 and angle == pytest.approx(as_cone, rel=0.3)


def test_what_makes_no_angle_is_refused():
    lone = statistics_of(weightless(np.zeros((1, 3))))
    with pytest.raises(ModelError, match=r"0 points of the surface are flank.*\nexpected: 3 or more"):
        angle_of_repose(lone, part=(0.0, 1.0))
    with pytest.raises(ModelError, match="part is"):
        angle_of_repose(lone, part=(0.8, 0.2))
    with pytest.raises(ModelError, match="not vertical"):
        heap_surface(lone, along=(0.0, 0.0, 1.0))
    with pytest.raises(ModelError, match="there is no grain"):
        heap_surface(statistics_of(weightless(np.empty((0, 3)))))
