"""A walker of springs learns to walk: the rhythm of its muscles is found by Adam, through 682 steps of contact.

Squares of springs with diagonals stand on a floor with friction, between two smooth plates. Springs of the legs change
their rest length in a rhythm, which is learnt. A foot that touches down is a kink: rounds go up and down.
"""

from itertools import combinations

import numpy as np

import warpsim as wp
from warpsim.optim import Problem
from warpsim.plot import Balls, Curves, tubes
from warpsim.render import Film, View, film_options
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverXPBD

CELL, CELLS = 0.1, ((0, 0), (2, 0), (0, 1), (1, 1), (2, 1))  # two legs under a back of three squares [m]
MASS, STIFFNESS, DAMPING, DRAG = 0.01, 300.0, 0.5, 2.0  # [kg], [N/m], [N s/m], [1/s]
RHYTHM, REACH = 15.0, 0.15  # [rad/s]; largest relative change of the rest length of a muscle
DT, RATE, LARGEST = 0.004, 0.07, 3.0  # [s]; of Adam; of the norm of a gradient [m]
RED, GREY, BLACK = (0.62, 0.10, 0.06), (0.45, 0.47, 0.50), (0.05, 0.05, 0.06)  # linear RGB
Number = wp.float64


@wp.kernel
def drive(weights: wp.array2d[Number], reach: wp.array[Number], phase: Number, activation: wp.array[Number]):
    """Relative changes of rest lengths: two harmonics for every spring, kept within its reach."""
    s = wp.tid()
    wave = weights[s, 0]
    for k in range(1, 3):
        wave += weights[s, 2 * k - 1] * wp.sin(Number(k) * phase) + weights[s, 2 * k] * wp.cos(Number(k) * phase)
    activation[s] = reach[s] * wp.tanh(wave)


@wp.kernel
def advance(first: wp.array[wp.vec3d], last: wp.array[wp.vec3d], loss: wp.array[Number]):
    """Minus the distance that the middle has gone along x [m]."""
    wp.atomic_sub(loss, 0, (last[wp.tid()][0] - first[wp.tid()][0]) / Number(last.shape[0]))


def build():
    """The walker, and the reach of every spring: uprights and diagonals of the legs are muscles."""
    squares = [[(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)] for i, j in CELLS]
    places, reaches = list(dict.fromkeys(place for square in squares for place in square)), {}
    for one, other in (pair for square in squares for pair in combinations(square, 2)):
        pair = tuple(sorted((places.index(one), places.index(other))))
        reaches[pair] = REACH if one[1] + other[1] == 1 else 0.0
    builder = ModelBuilder(gravity=-9.81)
    builder.add_particles([[CELL * x, CELL * y, 0.0] for x, y in places], mass=MASS, radius=0.0)
    builder.add_springs(list(reaches), STIFFNESS, DAMPING)
    builder.add_ground_plane(cfg=ShapeConfig(mu=1.0, margin=0.0))
    for side in (1.0, -1.0):
        builder.add_shape_plane((0.0, 0.0, side), (0.0, 0.0, 0.0), ShapeConfig(mu=0.0, margin=0.0))
    return builder.finalize(requires_grad=True, dtype=Number), np.array(list(reaches)), np.array(list(reaches.values()))


def main(argv=None):
    options = {"seconds": 2.728, "fps": 50, "rounds": (14, "of learning")}
    args = film_options(argv, __doc__, "walker", **options)
    model, pairs, reaches = build()
    solver, control = SolverXPBD(model, substeps=2, damping=DRAG), model.control()
    states = [model.state() for _ in range(max(1, round(args.seconds / DT)) + 1)]
    steps, reach = len(states) - 1, wp.array(reaches, dtype=Number)
    start = 0.1 * np.random.default_rng(0).normal(size=(len(reaches), 5))
    weights, loss = wp.array(start, dtype=Number, requires_grad=True), wp.zeros(1, dtype=Number, requires_grad=True)

    def rollout():
        for k in range(steps):
            wp.launch(drive, len(reaches), [weights, reach, Number(RHYTHM * DT * k), control.spring_activation])
            solver.step(states[k], states[k + 1], control, None, DT)
        wp.launch(advance, model.particle_count, [states[0].particle_q, states[-1].particle_q, loss])

    problem = Problem(rollout, {"weights": weights}, loss)
    solution = problem.minimize("adam", args.rounds, lr=RATE, clip=LARGEST)
    problem.run()
    path = np.array([state.particle_q.numpy() for state in states])
    way = np.maximum.accumulate(path[:, :, 0].mean(axis=1))
    moments = np.searchsorted(way, np.linspace(way[0], way[-1], 4)) / steps  # as far from each other as they can be
    view: View = {"moments": moments, "together": True, "panel": (1100, 420), "azimuth": 8.0}
    charts = [Curves([-loss for loss in solution.losses], "distance [m]", "round")]
    with Film(args.output, args.picture, args.seconds, args.fps, charts=charts, solver="XPBD", **view) as film:
        for points in film.along(path):
            film.show_balls("masses", Balls(points, 0.016, BLACK))
            film.show("muscles", tubes(points[pairs[reaches > 0.0]], 0.008, RED))
            film.show("springs", tubes(points[pairs[reaches == 0.0]], 0.005, GREY))
    print(f"{solution}\n{-solution.loss:.3f} m in {args.seconds:g} s; before learning {-solution.losses[0]:.3f} m")
    return solution, path


if __name__ == "__main__":
    main()
