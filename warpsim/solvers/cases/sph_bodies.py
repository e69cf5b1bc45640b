"""Validation of `SolverSPH` and rigid bodies: what water does to a body that is held, and to one that floats."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..scene.builder import ModelBuilder
from ..sph.filling import add_fluid_box
from ..sph.fluid import Fluid
from ..sph.solver import SolverSPH
from ..validate import Measurement, case, near
from .sph import G, add_tank, scene, settle

SIDE = 0.2  # of the box [m]


def box_in_tank(middle: float, dx: float, width: float, depth: float) -> tuple[SolverSPH, Any, int]:
    """A tank of water at rest, a box in it at a height [m], and the number of its shape."""
    block = ModelBuilder(gravity=-G)
    add_fluid_box(block, (0.0, 0.0, 0.0), (width, depth, 0.0), dx)
    q = block.particles["q"]
    outside = np.abs(q - [0.5 * width, middle, 0.0])[:, :2].max(axis=1) > 0.5 * SIDE
    builder = ModelBuilder(gravity=-G)
    builder.add_particles(q[outside], 0.0, 1000.0 * dx * dx)
    add_tank(builder, width)
    box = builder.add_shape_box([0.5 * width, middle, 0.0, 0.0, 0.0, 0.0, 1.0], 0.5 * SIDE, 0.5 * SIDE, 0.5)
    fluid = Fluid(sound=10.0 * math.sqrt(2.0 * G * depth), alpha=0.1)
    solver, state = scene(builder, fluid, bounds=((0.0, 0.0, 0.0), (width, depth + 0.3, 0.0)))
    settle(solver, state, depth)
    return solver, state, box


@case("S9", "sph", "buoyancy of a box under water")
def buoyancy() -> Iterator[Measurement]:
    """Archimedes: the force on a fixed body is the weight of the water in its place."""
    solver, state, box = box_in_tank(0.3, 0.025, 0.6, 0.6)
    lifts = []
    for k in range(40):
        solver.step(state, state, dt=0.01)
        if k >= 20:
            lifts.append(solver.shape_force.numpy()[box, 4])
    yield near("lift [N/m]", 1000.0 * G * SIDE**2, float(np.mean(lifts)), relative=0.05)


@case("S9-float", "sph", "draught of a floating box")
def draught() -> Iterator[Measurement]:
    """Archimedes: a box of half the density of water, set down 3 cm too high, floats half under after some swings."""
    dx, width, depth, dt = 0.02, 0.8, 0.4, 2.0e-3
    height, speed, heights = depth + 0.03, 0.0, []
    solver, state, box = box_in_tank(height, dx, width, depth)
    water, mass, control = solver.statistics(state).mass / 1000.0, 500.0 * SIDE**2, solver.model.control()
    for _ in range(750):
        control.set_shape(box, position=(0.5 * width, height, 0.0), velocity=(0.0, speed, 0.0))
        solver.step(state, state, control, dt=dt)
        height += dt * speed
        speed += dt * (float(solver.shape_force.numpy()[box, 4]) / mass - G)
        heights.append(height)
    # The level is where water and what the box displaces fill the tank.
    under = (water / width + 0.5 * SIDE - float(np.mean(heights[375:]))) / (1.0 - SIDE / width)
    yield near("draught [m]", 0.5 * SIDE, under, absolute=0.5 * dx)
