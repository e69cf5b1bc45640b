"""Solid fraction and bulk density: lattices of known packing, wherever the box cuts them; worlds; what is refused."""

import numpy as np
import pytest
from gauge_scenes import RADIUS, SIDES, lattice, statistics_of, weightless

from warpsim.errors import ModelError
from warpsim.solvers import ModelBuilder, SolverDEM
from warpsim.solvers.dem.gauges import bulk_density, solid_fraction
from warpsim.solvers.dem.packing import add_grain_pack

PACKINGS = {"cubic": np.pi / 6.0, "fcc": np.pi / np.sqrt(18.0)}


@pytest.mark.parametrize("shift", [0.0, 0.31])
@pytest.mark.parametrize("kind", PACKINGS)
def test_a_lattice_fills_the_part_of_space_that_it_must(kind, shift):
    statistics = statistics_of(weightless(lattice(kind, 6, 6, 6)))
    low = SIDES[kind] * (np.array([1.0, 1.5, 2.0]) + shift)
    high = low + SIDES[kind] * np.array([3.0, 2.0, 1.0])
    assert solid_fraction(statistics, low, high) == pytest.approx(PACKINGS[kind], abs=2e-6)


def test_bulk_density_is_solid_fraction_times_density():
    mass = 2500.0 * 4.0 / 3.0 * np.pi * RADIUS**3
    statistics = statistics_of(weightless(lattice("fcc", 5, 5, 5), mass))
    box = ([0.03] * 3, [0.03 + 2.0 * SIDES["fcc"]] * 3)
    assert bulk_density(statistics, *box) == pytest.approx(2500.0 * PACKINGS["fcc"], rel=1e-5)


def test_a_random_pack_fills_its_box_by_all_of_its_volume_and_halves_of_it_by_as_much_in_the_mean():
    builder = ModelBuilder()
    add_grain_pack(builder, (0.0, 0.0, 0.0), (0.2, 0.1, 0.1), (0.007, 0.01), 2500.0, fraction=0.4)
    statistics = statistics_of(SolverDEM(builder.finalize()))
    radii = statistics.model.particle_radius.numpy().astype(float)
    whole = (4.0 / 3.0 * np.pi * radii**3).sum() / 0.002
    assert solid_fraction(statistics, (0.0, 0.0, 0.0), (0.2, 0.1, 0.1)) == pytest.approx(whole, rel=1e-5)
    halves = [solid_fraction(statistics, (x, 0.0, 0.0), (x + 0.1, 0.1, 0.1)) for x in (0.0, 0.1)]
    assert np.mean(halves) == pytest.approx(whole, rel=1e-4) and halves[0] != halves[1]


def test_each_world_has_its_own():
    builder = ModelBuilder()
    for kind in PACKINGS:
        one = ModelBuilder()
        one.add_particles(lattice(kind, 5, 5, 5), 0.0, 1.0, RADIUS)
        builder.add_world(one)
    statistics = statistics_of(SolverDEM(builder.finalize(), overlaps="ignore"))
    for world, (kind, packing) in enumerate(PACKINGS.items()):
        high = [2.0 * SIDES[kind]] * 3
        assert solid_fraction(statistics, [0.0] * 3, high, world=world) == pytest.approx(packing, abs=2e-6)
    with pytest.raises(ModelError, match="the model has 2\nexpected: world=0 to 1"):
        solid_fraction(statistics, [0.0] * 3, [1.0] * 3)
    with pytest.raises(ModelError, match="world is 2"):
        solid_fraction(statistics, [0.0] * 3, [1.0] * 3, world=2)


@pytest.mark.parametrize("high", [(1.0, 0.0, 1.0), (1.0, np.inf, 1.0), (1.0, np.nan, 1.0)])
def test_boxes_without_a_volume_are_refused(high):
    with pytest.raises(ModelError, match="low below high"):
        solid_fraction(statistics_of(weightless(np.zeros((1, 3)))), (0.0, 0.0, 0.0), high)
