"""Scenes of a few grains for tests of `SolverDEM`."""

import numpy as np

import warpsim as wp
from warpsim.solvers import Material, ModelBuilder, SolverDEM

RADIUS, DENSITY, COUNT = 0.01, 2500.0, 45
STICKY = Material(2.0e6, 0.25, 0.6, 0.4, rolling_friction=0.1, cohesion=100.0, adhesion=0.05)


def heap(
    dtype=wp.float64,
    device=None,
    requires_grad=False,
    order=None,
    material=STICKY,
    substeps=2,
    count=None,
    cells=(3, 5, 3),
    **options,
):
    """Grains that fall on the ground, a ball and a box: a model and its solver."""
    rng = np.random.default_rng(0)
    cells = np.stack(np.meshgrid(*map(range, cells), indexing="ij"), axis=-1).reshape(-1, 3)
    points = (1.97 * cells + rng.uniform(-0.2, 0.2, cells.shape) + [0.0, 1.0, 0.0]) * RADIUS
    radius, velocity = RADIUS * rng.uniform(0.8, 1.0, len(cells)), rng.uniform(-0.3, 0.3, cells.shape)
    order = np.arange(len(cells))[:count] if order is None else order
    builder = ModelBuilder()
    mass = DENSITY * 4.0 / 3.0 * np.pi * radius[order] ** 3
    builder.add_particles(points[order], velocity[order], mass, radius[order])
    builder.add_ground_plane()
    builder.add_shape_sphere([0.02, 0.0, 0.02, 0.0, 0.0, 0.0, 1.0], 0.015)
    builder.add_shape_box([-0.03, 0.03, 0.02, 0.0, 0.0, 0.0, 1.0], 0.015, 0.03, 0.05)
    model = builder.finalize(device=device, dtype=dtype, requires_grad=requires_grad)
    return model, SolverDEM(model, material, substeps=substeps, **{"overlaps": "ignore", **options})


def block(low, high):
    """A closed mesh: the box between two corners."""
    corners = np.array([[(low, high)[k >> 2][0], (low, high)[k >> 1 & 1][1], (low, high)[k & 1][2]] for k in range(8)])
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    triangles = quads[:, [0, 1, 2, 0, 2, 3]].ravel().astype(np.int32)
    return wp.Mesh(wp.array(corners.astype(np.float32), dtype=wp.vec3), wp.array(triangles, dtype=wp.int32))


def run(model, solver, steps, dt=1.0e-4, control=None):
    """A state after some steps in place."""
    state = model.state()
    for _ in range(steps):
        solver.step(state, state, control, dt=dt)
    return state
