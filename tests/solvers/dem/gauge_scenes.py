"""Arrangements of grains of which gauges have known readings."""

import numpy as np

from warpsim.solvers import Material, ModelBuilder, SolverDEM

RADIUS = 0.01
SIDES = {"cubic": 2.0 * RADIUS, "fcc": 2.0 * RADIUS * np.sqrt(2.0)}
_BASES = {"cubic": [(0, 0, 0)], "fcc": [(0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)]}


def lattice(kind, *counts):
    """Centres of cells of a lattice of touching balls, (n, 3)."""
    cells = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    return SIDES[kind] * (cells + np.array(_BASES[kind])).reshape(-1, 3)


def weightless(points, mass=1.0, radius=RADIUS, planes=(), up_axis="Z", **options):
    """A solver of grains that nothing pulls at, before rigid planes (normal, point); smooth and elastic."""
    builder = ModelBuilder(up_axis=up_axis, gravity=0.0)
    builder.add_particles(points, 0.0, mass, radius)
    for normal, point in planes:
        builder.add_shape_plane(normal, point)
    smooth = Material(1.0e7, 0.25, restitution=1.0, friction=0.0)
    return SolverDEM(builder.finalize(), smooth, overlaps="ignore", **options)


def statistics_of(solver):
    """Of where the model has its grains."""
    return solver.statistics(solver.model.state())


def touched(solver):
    """Statistics after a step in which nothing moves, so that contacts are known."""
    state = solver.model.state()
    solver.step(state, state, dt=1.0e-9)
    return solver.statistics(state)
