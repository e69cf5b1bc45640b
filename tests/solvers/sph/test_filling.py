"""Boxes are full of fluid to their walls, whatever the spacing, so that water in a tank is at rest."""

import math

import numpy as np
import pytest
from pytest import approx

import warpsim as wp
from warpsim.solvers import Fluid, ModelBuilder, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box


@pytest.mark.parametrize("depth", [0.0, 0.4])
@pytest.mark.parametrize("spacing", [0.1, 0.096, 0.11, 0.37])
def test_particles_fill_the_box_and_have_its_mass(spacing, depth):
    low, high = np.array([-0.5, 0.2, 0.1]), np.array([0.5, 0.9, 0.1 + depth])
    builder = ModelBuilder()
    chosen = add_fluid_box(builder, low, high, spacing, density=800.0)
    model = builder.finalize(dtype=wp.float64)
    points, mass = model.particle_q.numpy(), model.particle_mass.numpy()
    assert mass.sum() == approx(800.0 * 0.7 * (depth or 1.0)) and len(points) == len(chosen)
    for axis in range(3 if depth else 2):
        places = np.unique(points[:, axis].round(9))
        cell = (high - low)[axis] / len(places)
        assert abs(cell / spacing - 1.0) < 0.5 / len(places) + 1e-9
        np.testing.assert_allclose(places, low[axis] + (np.arange(len(places)) + 0.5) * cell, atol=1e-8)


@pytest.mark.parametrize("spacing", [0.05, 0.047, 0.0555])
def test_water_rests_in_a_tank_that_the_spacing_does_not_divide(spacing):
    builder = ModelBuilder(gravity=-9.81)
    add_fluid_box(builder, (0.0, 0.0, 0.0), (0.5, 0.3, 0.0), spacing)
    builder.add_ground_plane()
    builder.add_shape_plane((1.0, 0.0, 0.0))
    builder.add_shape_plane((-1.0, 0.0, 0.0), (0.5, 0.0, 0.0))
    model = builder.finalize()
    water = Fluid(density=1000.0, sound=10.0 * math.sqrt(2.0 * 9.81 * 0.3), alpha=0.03)
    solver, state = SolverSPH(model, water, dim=2, bounds=((0.0, 0.0, 0.0), (0.5, 0.8, 0.0))), model.state()
    state.particle_rho.assign(water.density_at(9810.0 * (0.3 - state.particle_q.numpy()[:, 1])))
    for _ in range(100):
        solver.step(state, state, dt=2.0e-3)
    q, v = state.particle_q.numpy(), state.particle_qd.numpy()
    assert q[:, 0].min() > 0.0 and q[:, 0].max() < 0.5 and q[:, 1].min() > 0.0
    assert np.abs(v).max() < 0.1
