"""Pressure along walls: a hydrostatic profile of grains pressed in by known depths; a bed that weighs on its floor."""

import numpy as np
import pytest
from gauge_scenes import RADIUS, touched, weightless

from warpsim.errors import ModelError
from warpsim.solvers import Material, ModelBuilder, ShapeConfig, SolverDEM
from warpsim.solvers.dem.gauges import contact_network, wall_pressure

WALL = [((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))]


def test_the_profile_of_a_hydrostatic_wall():
    """One grain for each cell of a wall, so deep in it that Hertz's force is that of 1000 kg/m^3 of water."""
    cell, rows = 2.2 * RADIUS, 10
    across, depth = np.meshgrid(cell * np.arange(4), cell * (np.arange(rows) + 0.5), indexing="ij")
    force = 1000.0 * 9.81 * depth * cell**2
    overlap = (force / (4.0 / 3.0 * 1.0e7 / (1.0 - 0.25**2) * np.sqrt(RADIUS))) ** (2.0 / 3.0)
    points = np.stack([RADIUS - overlap, across, -depth], axis=-1).reshape(-1, 3)
    network = contact_network(touched(weightless(points, planes=WALL)))
    edges = -cell * np.arange(rows, -1, -1)
    pressure = wall_pressure(network, 0, (0.0, 0.0, 3.0), edges, width=4 * cell)
    np.testing.assert_allclose(pressure, -1000.0 * 9.81 * 0.5 * (edges[1:] + edges[:-1]), rtol=2e-3)


def test_a_bed_weighs_on_its_floor_and_less_on_its_sides():
    builder = ModelBuilder()
    cells = np.stack(np.meshgrid(range(5), range(8), range(5), indexing="ij"), axis=-1).reshape(-1, 3)
    points = (2.02 * cells + 1.05) * RADIUS + np.random.default_rng(0).uniform(-1e-4, 1e-4, cells.shape)
    builder.add_particles(points, 0.0, 0.01, RADIUS)
    slippery, side = ShapeConfig(mu=0.0, restitution=0.1), 10.3 * RADIUS
    builder.add_ground_plane(cfg=slippery)
    walls = [
        builder.add_shape_plane((1.0, 0.0, 0.0), cfg=slippery),
        builder.add_shape_plane((0.0, 0.0, 1.0), cfg=slippery),
    ]
    builder.add_shape_plane((-1.0, 0.0, 0.0), (side, 0.0, 0.0), cfg=slippery)
    builder.add_shape_plane((0.0, 0.0, -1.0), (0.0, 0.0, side), cfg=slippery)
    solver = SolverDEM(builder.finalize(), Material(1.0e6, restitution=0.1, friction=0.3), substeps=10)
    state = solver.model.state()
    for _ in range(200):
        solver.step(state, state, dt=2.0e-3)
    network = contact_network(solver.statistics(state))
    weight = len(points) * 0.01 * 9.81 / side**2
    [floor] = wall_pressure(network, 0, (1.0, 0.0, 0.0), [0.0, side], side)
    assert floor == pytest.approx(weight, rel=0.02)
    for wall in walls:
        lower, upper = wall_pressure(network, wall, (0.0, 1.0, 0.0), [0.0, 8.0 * RADIUS, 16.0 * RADIUS], side)
        assert upper < lower < weight


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"edges": [0.0, 1.0, 0.5]}, "edges are .*two or more that rise"),
        ({"edges": [0.0]}, "edges are"),
        ({"along": (0.0, 0.0, 0.0)}, "along is .*a direction"),
        ({"along": (0.0, np.inf, 0.0)}, "finite numbers"),
        ({"width": 0.0}, "width is 0"),
        ({"shape": 1}, r"shape is 1.*walls, \[0\]"),
        ({"shape": -1}, "shape is -1"),
    ],
)
def test_strips_that_are_none_are_refused(keywords, message):
    network = contact_network(touched(weightless(np.zeros((1, 3)), planes=WALL)))
    with pytest.raises(ModelError, match="(?s)" + message):
        wall_pressure(network, **{"shape": 0, "along": (0.0, 0.0, 1.0), "edges": [0.0, 1.0], "width": 1.0, **keywords})


def test_walls_of_another_world_are_refused_and_those_of_all_are_not():
    builder, one = ModelBuilder(up_axis="Z", gravity=0.0), ModelBuilder(up_axis="Z", gravity=0.0)
    one.add_particle((0.0, 0.0, 0.99 * RADIUS), 0.0, 1.0, RADIUS)
    one.add_shape_plane((0.0, 0.0, 1.0))
    builder.add_shape_plane((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
    builder.add_world(one, 2)
    network = contact_network(touched(SolverDEM(builder.finalize())), world=1)
    assert network.walls.tolist() == [0, 2]
    strip = {"along": (1.0, 0.0, 0.0), "edges": [-1.0, 1.0], "width": 1.0}
    assert wall_pressure(network, 2, **strip) > 0.0 and wall_pressure(network, 0, **strip) == 0.0
    with pytest.raises(ModelError, match=r"shape is 1\nexpected: one of the network's walls, \[0, 2\]"):
        wall_pressure(network, 1, **strip)
