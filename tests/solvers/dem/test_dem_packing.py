"""Boxes of grains: as many as asked for, inside, apart, and the same for the same seed."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from warpsim.errors import ModelError
from warpsim.solvers import Material, ModelBuilder, SolverDEM
from warpsim.solvers.dem.packing import add_grain_lattice, add_grain_pack

LOW, HIGH, RADIUS = np.array([-0.1, 0.0, 0.3]), np.array([0.02, 0.15, 0.42]), 0.01


def scene(add, **options):
    """Places, radii and masses of grains in a box."""
    builder = ModelBuilder()
    builder.add_particle((0.0, 9.0, 0.0))
    grains = add(builder, LOW, HIGH, **options)
    rows = slice(grains.start, grains.stop)
    assert grains.start == 1 and grains.stop == builder.particle_count
    return (builder.particles[name][rows] for name in ("q", "radius", "mass"))


def overlap(points, radii):
    """The largest of two grains [m]."""
    i, j = np.triu_indices(len(points), 1)
    return (radii[i] + radii[j] - pdist(points)).max()


@pytest.mark.parametrize("shake", [0.0, 0.5, 1.0])
def test_a_lattice_fills_the_box(shake):
    points, radii, mass = scene(add_grain_lattice, radius=RADIUS, shake=shake, density=1000.0)
    assert len(points) == 6 * 7 * 6
    assert (points >= LOW + RADIUS - 1e-12).all() and (points <= HIGH - RADIUS + 1e-12).all()
    assert overlap(points, radii) < 1e-12
    assert mass == pytest.approx(1000.0 * 4.0 / 3.0 * math.pi * RADIUS**3)
    places = len(np.unique(points[:, 1].round(9)))
    assert places == 7 if shake == 0.0 else places > 200  # no room to move along x and z


@pytest.mark.parametrize(("radius", "fraction"), [(RADIUS, 0.5), ((0.007, RADIUS), 0.45), (RADIUS, 0.1)])
def test_packed_grains_fill_their_part_and_do_not_overlap(radius, fraction):
    points, radii, mass = scene(add_grain_pack, radius=radius, fraction=fraction)
    assert (points >= LOW + radii[:, None]).all() and (points <= HIGH - radii[:, None]).all()
    assert overlap(points, radii) < 1.1e-3 * radii.min()
    volume = 4.0 / 3.0 * math.pi * radii**3
    assert volume.sum() / np.prod(HIGH - LOW) == pytest.approx(fraction, rel=0.04)
    np.testing.assert_allclose(mass, 2500.0 * volume)
    assert (radii.min(), radii.max()) == pytest.approx((np.min(radius), np.max(radius)), rel=0.03)
    again, *_ = scene(add_grain_pack, radius=radius, fraction=fraction)
    other, *_ = scene(add_grain_pack, radius=radius, fraction=fraction, seed=1)
    assert (again == points).all() and not (other == points).all()


def test_packed_grains_start_without_a_warning(recwarn):
    builder = ModelBuilder(gravity=0.0)
    add_grain_pack(builder, LOW, HIGH, RADIUS)
    model = builder.finalize()
    solver, state = SolverDEM(model, Material(1.0e6), overlaps="error"), model.state()
    for _ in range(20):
        solver.step(state, state, dt=1.0e-4)
    assert np.abs(state.particle_qd.numpy()).max() < 0.05 and not recwarn.list


@pytest.mark.parametrize("add", [add_grain_lattice, add_grain_pack])
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"low": HIGH, "high": LOW}, r"a box of \[-0.12.* m holds no grain with a radius of 0.01 m"),
        ({"high": (1.0, 1.0)}, r"the box has corners .*\nexpected: three coordinates each"),
        ({"radius": 0.0}, r"radius is 0.0\nexpected: above 0"),
        ({"radius": 1.0}, r"holds no grain with a radius of 1 m"),
        ({"radius": None}, r"radius is None\nexpected: above 0"),
        ({"radius": math.nan}, r"radius is nan\nexpected: above 0"),
        ({"density": -1.0}, r"density is -1.0\nexpected: above 0"),
        ({"seed": 0.5}, r"seed is 0.5\nexpected: an integer"),
    ],
)
def test_boxes_that_hold_no_grains_are_refused(add, options, text):
    with pytest.raises(ModelError, match=text):
        add(ModelBuilder(), **{"low": LOW, "high": HIGH, "radius": RADIUS, **options})


def test_what_cannot_be_packed_or_shaken_is_refused():
    with pytest.raises(ModelError, match=r"fraction is 0.7\nexpected: above 0, and at most 0.55"):
        add_grain_pack(ModelBuilder(), LOW, HIGH, RADIUS, fraction=0.7)
    with pytest.raises(ModelError, match=r"shake is 2\nexpected: 0 to 1"):
        add_grain_lattice(ModelBuilder(), LOW, HIGH, RADIUS, shake=2)
    with pytest.raises(ModelError, match=r"8 grains still overlap by up to .*\nhelp: a smaller fraction"):
        add_grain_pack(ModelBuilder(), (0.0, 0.0, 0.0), (0.039, 0.039, 0.039), RADIUS, fraction=0.55)
