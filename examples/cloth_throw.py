"""A cloth is thrown so that its middle arrives at a target two seconds later: the throw is found by L-BFGS.

The gradient is that of the whole flight, substep by substep. Without drag the middle must fly like a stone, and does.
"""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem
from warpsim.plot import Surface, sphere, tube
from warpsim.render import Film, View, film_options
from warpsim.solvers import ModelBuilder, SolverXPBD

START, TARGET, GUESS = (0.0, 1.0, 0.0), (4.0, 2.0, -2.0), (1.0, 8.0, 0.0)  # [m], [m], [m/s]
SIDE, MASS, SPIN, GRAVITY = 1.0, 0.2, (1.5, 0.5, 2.0), -9.81  # [m], [kg], at the start [rad/s], [m/s^2]
STRETCH, BENDING, LYING = 500.0, 1.0e-3, (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))  # [N/m], [N m], how it leaves
ORANGE, BLACK, GREY = (0.70, 0.22, 0.03), (0.02, 0.02, 0.02), (0.55, 0.57, 0.60)  # linear RGB


@wp.kernel
def release(throw: wp.array[wp.vec3], q: wp.array[wp.vec3], qd: wp.array[wp.vec3], start: wp.vec3, spin: wp.vec3):
    qd[wp.tid()] = throw[0] + wp.cross(spin, q[wp.tid()] - start)


@wp.kernel
def measure(q: wp.array[wp.vec3], target: wp.vec3, miss: wp.array[wp.vec3]):
    wp.atomic_add(miss, 0, (q[wp.tid()] - target) / float(len(q)))


def main(argv=None):
    options = {"cells": (16, "along each side"), "substeps": (8, "per frame"), "iterations": (30, "at most")}
    args = film_options(argv, __doc__, "cloth_throw", seconds=2.0, **options)
    builder, n, corner = ModelBuilder(gravity=GRAVITY), args.cells, np.subtract(START, (SIDE / 2, 0.0, SIDE / 2))
    cloth = {"mass": MASS / (n + 1) ** 2, "spring_ke": STRETCH, "edge_ke": BENDING}
    builder.add_cloth_grid(corner, LYING, 0.0, n, n, SIDE / n, SIDE / n, **cloth)
    faces, model, n = builder.triangles["indices"], builder.finalize(requires_grad=True), round(args.seconds * args.fps)
    solver, states = SolverXPBD(model, args.substeps), [model.state() for _ in range(n + 1)]
    throw, miss = (wp.array([v], dtype=wp.vec3, requires_grad=True) for v in (GUESS, (0.0, 0.0, 0.0)))

    def rollout():
        wp.launch(release, model.particle_count, [throw, states[0].particle_q, states[0].particle_qd, START, SPIN])
        for k in range(n):
            solver.step(states[k], states[k + 1], dt=1.0 / args.fps)
        wp.launch(measure, model.particle_count, [states[-1].particle_q, TARGET, miss])

    problem = Problem(rollout, {"throw": throw}, residuals=miss)
    solution = problem.minimize("lbfgs", args.iterations, tolerance_grad=4.0e-3)
    problem.run()
    way = tube([state.particle_q.numpy().mean(axis=0) for state in states], 0.015, GREY)
    view: View = {"moments": np.linspace(0, 1, 5), "together": True, "panel": (1100, 560), "azimuth": 10.0}
    view |= {"ground": 12.0, "standing": {"target": sphere(TARGET, 0.12, BLACK), "path": way}, "solver": "XPBD"}
    with Film(args.output, args.picture, args.seconds, args.fps, **view) as film:
        for state in film.along(states):
            film.show("cloth", Surface(state.particle_q.numpy(), faces, ORANGE), state.particle_qd.numpy())
    print(f"{solution}\n{solution.loss**0.5:.2g} m from the target")
    return solution


if __name__ == "__main__":
    main()
