"""A block of water that falls apart in a tank: particle-steps a second of `SolverSPH`.

    python -m benchmarks.sph [particles ...] [--smoothing 1.5]

A step is one substep: neighbours, walls, pressure, viscosity, diffusion of density, motion. The least time of several
runs of ten steps is reported, walls' particles not counted as work done, and the gradient of a step by its own time.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

import warpsim as wp
from warpsim.solvers import Fluid, ModelBuilder, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box

ROUNDS, STEPS = 7, 10


def tank(particles: int, smoothing: float):
    """A solver, a state of about so many particles, and a time step [s]."""
    side = round(particles ** (1.0 / 3.0))
    dx = 1.0 / side
    builder = ModelBuilder()
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), dx)
    builder.add_ground_plane()
    for axis in (0, 2):
        normal = np.eye(3)[axis]
        builder.add_shape_plane(normal)
        builder.add_shape_plane(-normal, (1.0 + axis) * normal)
    model = builder.finalize()
    water = Fluid(sound=10.0 * math.sqrt(2.0 * 9.81), alpha=0.03)
    solver = SolverSPH(model, water, smoothing=smoothing, substeps=1, bounds=((0.0, 0.0, 0.0), (1.0, 1.2, 3.0)))
    return solver, model.state(), 0.9 * min(solver.time_step_limits(model.state()).values())


def forward(solver, state, dt: float) -> float:
    """The least time of a step [s]."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(STEPS):
            solver.step(state, state, dt=dt)
        times.append((time.perf_counter() - begin) / STEPS)
    return min(times)


def backward(solver, state, dt: float) -> float:
    """The least time of the gradient of a step to its state [s], without that of the step."""
    times, seed = [], wp.ones_like(state.particle_q)
    for array in (state.particle_q, state.particle_qd, state.particle_rho):
        array.requires_grad = True
    for _ in range(ROUNDS):
        with wp.Tape() as tape:
            solver.step(state, state, dt=dt)
        begin = time.perf_counter()
        tape.backward(grads={state.particle_q: seed})
        times.append(time.perf_counter() - begin)
        tape.zero()
    return min(times)


def main(sizes: list[int], smoothing: float) -> None:
    print("| particles | of walls | ms a step | M particle-steps/s | gradient by forward |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for size in sizes:
        solver, state, dt = tank(size, smoothing)
        step = forward(solver, state, dt)
        ratio = backward(solver, state, dt) / step
        n = len(state.particle_q)
        print(f"| {n} | {solver.wall_count} | {1e3 * step:.1f} | {n / step / 1e6:.2f} | {ratio:.1f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("particles", type=int, nargs="*", default=[8_000, 62_500])
    parser.add_argument("--smoothing", type=float, default=1.5, help="length in spacings")
    options = parser.parse_args()
    main(options.particles, options.smoothing)
