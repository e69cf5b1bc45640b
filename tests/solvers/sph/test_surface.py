"""Surfaces of fluids as triangles: their volume and orientation, and what ellipsoids do better than balls."""

import numpy as np
import pytest

from warpsim.errors import ModelError
from warpsim.solvers import ModelBuilder, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box
from warpsim.solvers.sph.surface import Surface

SPACING = 0.05


def block(drop=None):
    """A solver and a state of a disordered block of 1 x 0.5 x 1 m, and a drop of one particle above it."""
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 0.5, 1.0), SPACING)
    q = builder.particles["q"]
    other = ModelBuilder()
    off = np.random.default_rng(0).uniform(-0.25, 0.25, q.shape) * SPACING
    other.add_particles(np.concatenate([q + off, *([[drop]] if drop else [])]), 0.0, 1000.0 * SPACING**3)
    solver = SolverSPH(other.finalize())
    return solver, solver.model.state()


def volume(points, triangles):
    """Of what triangles enclose that turn counter-clockwise seen from outside [m^3]."""
    a, b, c = points[triangles].astype(np.float64).transpose(1, 0, 2)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def roughness(points):
    """How far the middle of the block's top is from level [m]."""
    middle = (np.abs(points[:, [0, 2]] - 0.5).max(axis=1) < 0.25) & (points[:, 1] > 0.3)
    return points[middle, 1].std()


def test_triangles_turn_counter_clockwise_around_the_volume_of_the_fluid():
    solver, state = block()
    assert volume(*Surface(solver).extract(state)) == pytest.approx(0.5, rel=0.08)
    assert volume(*Surface(solver, anisotropic=True).extract(state)) == pytest.approx(0.5, rel=0.15)


def test_ellipsoids_make_level_water_smoother():
    solver, state = block()
    balls, ellipsoids = (roughness(Surface(solver, anisotropic=a).extract(state)[0]) for a in (False, True))
    assert ellipsoids < 0.8 * balls


def test_ellipsoids_show_single_drops():
    solver, state = block(drop=[0.5, 1.2, 0.5])
    balls, ellipsoids = (Surface(solver, anisotropic=a).extract(state)[0] for a in (False, True))
    assert balls[:, 1].max() < 0.6
    above = ellipsoids[ellipsoids[:, 1] > 0.8]
    np.testing.assert_allclose(above.mean(axis=0), [0.5, 1.2, 0.5], atol=0.2 * SPACING)


@pytest.mark.parametrize("anisotropic", [False, True])
def test_surfaces_far_from_the_origin_have_the_same_triangles(anisotropic):
    """Places are multiples of 1/64 m; only vertices, which are in the world, are rounded there."""
    off = np.random.default_rng(0).integers(-1, 2, (120, 3)) / 64.0
    ends = []
    for x in (0.0, 16384.0):
        builder = ModelBuilder()
        grains = add_fluid_box(builder, (x, 0.0, 0.0), (x + 0.3125, 0.25, 0.375), 0.0625)
        other = ModelBuilder()
        other.add_particles(builder.particles["q"] + off[: len(grains)], 0.0, 1000.0 * 0.0625**3)
        solver = SolverSPH(other.finalize())
        points, triangles = Surface(solver, anisotropic=anisotropic).extract(solver.model.state())
        ends.append((points - [x, 0.0, 0.0], triangles))
    np.testing.assert_array_equal(ends[0][1], ends[1][1])
    np.testing.assert_allclose(ends[0][0], ends[1][0], atol=2.0e-3)


def test_what_has_no_surface():
    solver, state = block()
    q = state.particle_q.numpy()
    q[0] = 1.0e6
    state.particle_q.assign(q)
    with pytest.raises(ModelError, match=r"particles lie between .* too far apart for cells of 0.025 m"):
        Surface(solver).extract(state)
    with pytest.raises(ModelError, match=r"cell is -1.0\nexpected: above 0 \[m\]"):
        Surface(solver, cell=-1.0)
    with pytest.raises(ModelError, match=r"blur is 0.0 spacings\nexpected: above 0; 1.3 to 2 is usual"):
        Surface(solver, blur=0.0)
    with pytest.raises(ModelError, match=r"a sheet of fluid has no surface\nexpected: a solver with dim=3"):
        Surface(SolverSPH(ModelBuilder().finalize(), dim=2))
