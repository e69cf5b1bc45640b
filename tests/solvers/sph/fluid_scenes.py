"""Scenes of a little fluid for tests of `SolverSPH`."""

import numpy as np

import warpsim as wp
from warpsim.solvers import Fluid, ModelBuilder, SolverSPH

SPACING, COUNT = 0.1, 60
WATER = Fluid(sound=15.0, alpha=0.05, viscosity=0.01, xsph=0.1)
BOUNDS = ((-0.2, 0.0, 0.0), (0.8, 1.0, 0.0))


def splash(
    dtype=wp.float64,
    device=None,
    requires_grad=False,
    order=None,
    fluid=WATER,
    count=None,
    dim=2,
    cells=(6, 10),
    **options,
):
    """Particles that move about over the ground, beside a ball: a model and its solver."""
    rng = np.random.default_rng(0)
    cells = np.stack(np.meshgrid(*map(np.arange, cells), [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    points = (cells + [0.5, 0.5, 0.0] + rng.uniform(-0.1, 0.1, cells.shape) * [1.0, 1.0, dim == 3]) * SPACING
    velocity = rng.uniform(-0.5, 0.5, cells.shape) * [1.0, 1.0, dim == 3]
    order = np.arange(len(cells))[:count] if order is None else order
    builder = ModelBuilder()
    builder.add_particles(points[order], velocity[order], 1000.0 * SPACING**dim)
    builder.add_ground_plane()
    builder.add_shape_sphere([0.95, 0.3, 0.0, 0.0, 0.0, 0.0, 1.0], 0.35)
    model = builder.finalize(device=device, dtype=dtype, requires_grad=requires_grad)
    options = {"no_slip": True, "substeps": 2, "bounds": BOUNDS, **options}
    return model, SolverSPH(model, fluid, dim=dim, **options)


def run(model, solver, steps, dt=2.0e-3, control=None):
    """A state after some steps in place."""
    state = model.state()
    for _ in range(steps):
        solver.step(state, state, control, dt=dt)
    return state
