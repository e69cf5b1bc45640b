"""Wave gauges: still water, waves of a known profile, walls, drops; run-up on slopes of known waterlines."""

import math

import numpy as np
import pytest

from warpsim.errors import ModelError
from warpsim.solvers import Fluid, ModelBuilder, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box
from warpsim.solvers.sph.gauges import run_up, surface_height, volume_flow

SPACING = 0.05
WATER = Fluid(1000.0, sound=30.0)


def lattice(*sizes):
    """Centres of cells of the spacing that fill a box from the origin."""
    counts = [round(size / SPACING) for size in sizes]
    return SPACING * (np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1).reshape(-1, len(sizes)) + 0.5)


def statistics_of(points, dim, up_axis="Y", world=None):
    """Of particles where they are put, (n, 2) or (n, 3); worlds: lists of those."""
    builder = ModelBuilder(up_axis=up_axis)
    for part in points if isinstance(points, list) else [points]:
        one = ModelBuilder(up_axis=up_axis)
        one.add_particles(np.pad(part, ((0, 0), (0, 3 - part.shape[1]))), 0.0, 1000.0 * SPACING**dim)
        builder.add_world(one)
    solver = SolverSPH(builder.finalize(), WATER, dim=dim, spacing=SPACING, overlaps="ignore")
    return solver.statistics(solver.model.state(), world)


@pytest.mark.parametrize("up_axis", ["Y", "Z"])
def test_still_water_stands_where_it_was_filled_to_in_the_middle_and_at_walls(up_axis):
    points = lattice(0.8, 0.6, 0.8)
    statistics = statistics_of(points if up_axis == "Y" else points[:, [0, 2, 1]], 3, up_axis)
    at = np.array([[0.4, 9.0, 0.4], [0.4, 0.0, 0.01], [0.01, 0.0, 0.4], [0.01, 0.0, 0.01]])
    heights = surface_height(statistics, at if up_axis == "Y" else at[:, [0, 2, 1]])
    np.testing.assert_allclose(heights, 0.6, atol=0.1 * SPACING)


def test_a_line_of_points_reads_the_profile_of_a_wave():
    def profile(x):
        return 0.5 + 0.15 * np.sin(2.0 * np.pi * x / 2.0)

    points = lattice(4.0, 1.0)
    statistics = statistics_of(points[points[:, 1] < profile(points[:, 0])], 2)
    x = np.linspace(0.5, 3.5, 61)
    heights = surface_height(statistics, np.stack([x, 0.0 * x, 0.0 * x], axis=1))
    assert np.abs(heights - profile(x)).max() < 0.6 * SPACING  # the lattice itself is half a spacing off
    assert np.sqrt(np.mean((heights - profile(x)) ** 2)) < 0.25 * SPACING


def test_drops_do_not_count_and_dry_places_have_no_height():
    points = np.concatenate([lattice(1.0, 0.5), [[0.5, 0.9]]])
    at = [[0.5, 0.0, 0.0], [1.5, 0.0, 0.0], [1.0 + 0.6 * SPACING, 0.0, 0.0]]
    heights = surface_height(statistics_of(points, 2), at)
    assert heights[0] == pytest.approx(0.5, abs=0.1 * SPACING) and np.isnan(heights[1:]).all()


def test_a_film_of_single_particles_has_a_height():
    heights = surface_height(statistics_of(lattice(1.0, SPACING), 2), [[0.5, 0.0, 0.0]])
    assert heights[0] == pytest.approx(SPACING, abs=0.6 * SPACING)


def test_each_world_has_its_own_surface():
    points = [lattice(1.0, 0.5), lattice(1.0, 0.8)]
    for world, level in enumerate((0.5, 0.8)):
        height = surface_height(statistics_of(points, 2, world=world), [[0.5, 0.0, 0.0]])[0]
        assert height == pytest.approx(level, abs=0.1 * SPACING)
    with pytest.raises(ModelError, match="the model has 2"):
        surface_height(statistics_of(points, 2), [[0.5, 0.0, 0.0]])


@pytest.mark.parametrize("angle", [20.0, 45.0, 90.0])
def test_water_at_rest_has_not_run_up_and_a_film_has_by_its_height(angle):
    slope = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])  # uphill
    normal = np.array([-slope[1], slope[0]])
    points = lattice(4.0, 0.5) - [2.0, 0.0]
    still = points[points @ normal > 0.4 * SPACING]
    reads = run_up(statistics_of(still, 2), 0.5, (0.0, 0.0, 0.0), (*normal, 0.0))
    assert abs(reads) < SPACING
    way = np.arange((0.5 + SPACING) / slope[1], 0.8 / slope[1], SPACING)
    film = way[:, None] * slope + 0.5 * SPACING * normal
    statistics = statistics_of(np.concatenate([still, film]), 2)
    assert run_up(statistics, 0.5, (0.0, 0.0, 0.0), (*(2.0 * normal), 0.0)) == pytest.approx(
        0.3, abs=SPACING * slope[1]
    )


def test_what_no_run_up_is():
    statistics = statistics_of(lattice(0.5, 0.5), 2)
    assert math.isnan(run_up(statistics, 0.5, (5.0, 0.0, 0.0), (-1.0, 0.0, 0.0)))
    with pytest.raises(ModelError, match="it is level"):
        run_up(statistics, 0.5, (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def test_a_tank_at_rest_keeps_its_level_and_no_volume_flows_in_a_breaking_dam_it_does():
    length = 0.5
    for gate in (True, False):
        builder = ModelBuilder()
        add_fluid_box(builder, (0.0, 0.0, 0.0), (length, 0.4, 0.0), SPACING)
        builder.add_ground_plane()
        builder.add_shape_plane((1.0, 0.0, 0.0))
        if gate:
            builder.add_shape_plane((-1.0, 0.0, 0.0), (length, 0.0, 0.0))
        fluid = Fluid(1000.0, sound=28.0, alpha=0.1)
        bounds = ((0.0, 0.0, 0.0), (length if gate else 2.0, 1.0, 0.0))
        solver = SolverSPH(builder.finalize(), fluid, dim=2, bounds=bounds)
        state = solver.model.state()
        state.particle_rho.assign(fluid.density_at(9810.0 * (0.4 - state.particle_q.numpy()[:, 1])))
        before = state.particle_q.numpy().copy()
        for _ in range(10):
            solver.step(state, state, dt=0.02)
        statistics = solver.statistics(state)
        [height] = surface_height(statistics, [[0.45, 0.0, 0.0]])
        flow = volume_flow(statistics, before, 0.2, (0.45, -1.0, -0.5), [(0.0, 3.0, 0.0), (0.0, 0.0, 1.0)])
        beyond = [(q[:, 0] > 0.45).sum() for q in (before, state.particle_q.numpy())]
        moved = SPACING**2 * (beyond[1] - beyond[0])
        assert flow == pytest.approx(moved / 0.2)
        if gate:
            assert height == pytest.approx(0.4, abs=0.5 * SPACING) and flow == 0.0
        else:
            assert height < 0.36 and flow > 0.05


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: surface_height(s, [[0.1, 0.0, np.nan]]), "points is .*finite numbers"),
        (lambda s: run_up(s, 0.0, (np.inf, 0.0, 0.0), (1.0, 0.0, 0.0)), "point is .*finite numbers"),
        (lambda s: run_up(s, 0.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), film=0.0), "film is 0"),
    ],
)
def test_places_that_are_none_are_refused(ask, message):
    with pytest.raises(ModelError, match="(?s)" + message):
        ask(statistics_of(lattice(0.2, 0.2), 2))
