"""Cloths are thrown into 64 winds, each in a world of its own, and all throws to one target are found at once.

A cloth flies off with the wind: the throw of a stone misses by metres. One model holds all worlds, which share sweeps:
the method of Gauss and Newton takes as many rollouts for all as it takes for one.
"""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem
from warpsim.plot import Surface, render_meshes, sphere, tube
from warpsim.render import Film, film_options
from warpsim.solvers import ModelBuilder, SolverXPBD

START, TARGET, GRAVITY = np.array([0.0, 1.0, 0.0]), np.array([4.0, 1.0, 0.0]), -9.81  # [m], [m], [m/s^2]
SIDE, MASS, GUSTS = 0.5, 0.2, (2.0, 0.3, 2.0)  # [m], [kg], how much winds differ along each axis [m/s]
LYING, CORNER = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)), START - (SIDE / 2, 0.0, SIDE / 2)  # how a cloth leaves
CLOTH = {"spring_ke": 200.0, "edge_ke": 1.0e-3, "tri_drag": 0.5, "tri_lift": 0.2}  # [N/m], [N m], [-], [-]
HEAD, TAIL, BLACK = np.array([[0.70, 0.22, 0.03], [0.05, 0.20, 0.45], [0.02, 0.02, 0.02]])  # colors by wind, linear


@wp.kernel
def release(throw: wp.array[wp.vec3], world: wp.array[int], qd: wp.array[wp.vec3]):
    qd[wp.tid()] = throw[world[wp.tid()]]


@wp.kernel
def measure(q: wp.array[wp.vec3], world: wp.array[int], target: wp.vec3, miss: wp.array[wp.vec3]):
    wp.atomic_add(miss, world[wp.tid()], (q[wp.tid()] - target) * float(len(miss)) / float(len(q)))


def draw(paths, faces, colors):
    """The target, and all cloths as they are in the last of their frames, (frames, worlds, particles, 3) [m]."""
    ways = [tube(way, 0.008, color) for way, color in zip(paths.mean(axis=2).swapaxes(0, 1), colors, strict=True)]
    return [sphere(TARGET, 0.12, BLACK), *ways, *(Surface(q, faces, c) for q, c in zip(paths[-1], colors, strict=True))]


def main(argv=None):
    options = {"worlds": (64, "winds at once"), "cells": (6, "along each side"), "substeps": (8, "per frame")}
    args = film_options(argv, __doc__, "windy_throws", seconds=1.0, fps=30, iterations=(3, "at most"), **options)
    cloth, builder, n, worlds = ModelBuilder(gravity=GRAVITY), ModelBuilder(), args.cells, args.worlds
    cloth.add_cloth_grid(CORNER, LYING, 0.0, n, n, SIDE / n, SIDE / n, MASS / (n + 1) ** 2, **CLOTH)
    builder.add_world(cloth, worlds)
    model = builder.finalize(requires_grad=True)
    solver, control, frames = SolverXPBD(model, args.substeps), model.control(), max(1, round(args.seconds * args.fps))
    states = [model.state() for _ in range(frames + 1)]
    control.wind.assign(GUSTS * np.random.default_rng(0).normal(size=(worlds, 3)))
    stone = (TARGET - START) / args.seconds - (0.0, 0.5 * GRAVITY * args.seconds, 0.0)
    throw, miss = (wp.array(np.tile(v, (worlds, 1)), dtype=wp.vec3, requires_grad=True) for v in (stone, 0.0 * stone))

    def rollout():
        wp.launch(release, model.particle_count, [throw, model.particle_world, states[0].particle_qd])
        for k in range(frames):
            solver.step(states[k], states[k + 1], control, dt=1.0 / args.fps)
        wp.launch(measure, model.particle_count, [states[-1].particle_q, model.particle_world, TARGET, miss])

    problem = Problem(rollout, {"throw": throw}, residuals=miss, worlds=worlds)
    record = {"miss": miss, "path": [state.particle_q for state in states]}
    solution = problem.minimize("gauss-newton", args.iterations, damping=1.0e-9, record=record)
    problem.run()
    colors = np.where(control.wind.numpy()[:, :1] < 0.0, HEAD, TAIL)
    faces, shades = cloth.triangles["indices"], colors.repeat((n + 1) ** 2, axis=0)
    first, best = (solution.recorded["path"][k].reshape(frames + 1, worlds, -1, 3) for k in (0, -1))
    views = [draw(first, faces, colors), draw(best[: round(0.7 * frames) + 1], faces, colors)]
    render_meshes(args.picture, views, panel=(760, 560), azimuth=25.0, elevation=18.0)
    scene = {"target": sphere(TARGET, 0.12, BLACK)}
    with Film(args.output, None, args.seconds, args.fps, ground=14.0, solver="XPBD", standing=scene) as film:
        for state in film.along(states):
            cloths = Surface(state.particle_q.numpy(), builder.triangles["indices"], shades)
            film.show("cloths", cloths, state.particle_qd.numpy())
    distances = np.linalg.norm(solution.recorded["miss"], axis=2)
    print(f"{solution}\nfrom {distances[0].max():.2f} to {distances[-1].max():.2g} m from the target, at most")
    return solution, control.wind.numpy(), stone, distances


if __name__ == "__main__":
    main()
