"""A walker of springs learns to walk: the rhythm of its muscles is found by Adam, through 682 steps of contact.

Squares of springs with diagonals stand on a floor with friction, held between two smooth plates. The springs of the
legs change their rest length in a rhythm, which is learnt; the gradient of the distance passes through every step. A
foot that touches down is a kink, so distances go up and down between rounds, and the best counts.
"""

from itertools import combinations
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.optim import Adam
from warpsim.plot import Balls, render_meshes, tube
from warpsim.render import SimulationParser, progress
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverXPBD
from warpsim.usd import UsdWriter

CELL, CELLS = 0.1, ((0, 0), (2, 0), (0, 1), (1, 1), (2, 1))  # two legs under a back of three squares [m]
MASS, STIFFNESS, DAMPING, DRAG = 0.01, 300.0, 0.5, 2.0  # [kg], [N/m], [N s/m], [1/s]
RHYTHM, REACH = 15.0, 0.15  # [rad/s]; largest relative change of the rest length of a muscle
DT, RATE, LARGEST = 0.004, 0.07, 3.0  # [s]; of Adam; of the norm of a gradient [m]
RED, GREY, BLACK = (0.62, 0.10, 0.06), (0.45, 0.47, 0.50), (0.05, 0.05, 0.06)  # linear RGB


@wp.kernel
def drive(
    weights: wp.array2d[wp.float64], reach: wp.array[wp.float64], phase: wp.float64, activation: wp.array[wp.float64]
):
    """Relative changes of rest lengths: two harmonics for every spring, kept within its reach."""
    s = wp.tid()
    wave = weights[s, 0]
    for k in range(1, 3):
        angle = wp.float64(k) * phase
        wave += weights[s, 2 * k - 1] * wp.sin(angle) + weights[s, 2 * k] * wp.cos(angle)
    activation[s] = reach[s] * wp.tanh(wave)


@wp.kernel
def advance(first: wp.array[wp.vec3d], last: wp.array[wp.vec3d], loss: wp.array[wp.float64]):
    """Minus the distance that the middle has gone along x [m]."""
    i = wp.tid()
    wp.atomic_sub(loss, 0, (last[i][0] - first[i][0]) / wp.float64(last.shape[0]))


def body():
    """The walker as a builder, with the reach of every spring: uprights and diagonals of the legs are muscles."""
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
    return builder, np.array(list(reaches.values()))


class Walk:
    """The walker in all steps: states whose muscles follow the weights."""

    def __init__(self, steps, device):
        builder, self.reaches = body()
        self.device, self.pairs = device, builder.springs["indices"]
        self.model = builder.finalize(device, requires_grad=True, dtype=wp.float64)
        self.solver, self.control = SolverXPBD(self.model, substeps=2, damping=DRAG), self.model.control()
        self.states = [self.model.state() for _ in range(steps + 1)]
        self.reach = wp.array(self.reaches, dtype=wp.float64, device=device)
        start = 0.1 * np.random.default_rng(0).normal(size=(len(self.reaches), 5))
        self.weights = wp.array(start, dtype=wp.float64, device=device, requires_grad=True)
        self.loss = wp.zeros(1, dtype=wp.float64, device=device, requires_grad=True)

    def go(self):
        """Walk; returns how far the middle gets [m]."""
        self.loss.zero_()
        for k, (before, after) in enumerate(zip(self.states, self.states[1:], strict=False)):
            inputs = [self.weights, self.reach, wp.float64(RHYTHM * DT * k), self.control.spring_activation]
            wp.launch(drive, self.model.spring_count, inputs, device=self.device)
            self.solver.step(before, after, self.control, None, DT)
        ends = [self.states[0].particle_q, self.states[-1].particle_q, self.loss]
        wp.launch(advance, self.model.particle_count, ends, device=self.device)
        return -float(self.loss.numpy()[0])

    def springs(self, points):
        """Springs as tubes between points (n, 3) [m]: muscles thick and red."""
        looks = [(0.008, RED) if reach else (0.005, GREY) for reach in self.reaches]
        return [tube(points[pair], *look) for pair, look in zip(self.pairs, looks, strict=True)]


def learn(walk, rounds):
    """Adam; the weights of the best round stay. Returns the distances [m]."""
    optimizer, distances, best = Adam([walk.weights], lr=RATE), [], None
    for k in progress(range(rounds)):
        with wp.Tape() as tape:
            distances.append(walk.go())
        walk.weights.grad.zero_()
        tape.backward(walk.loss)
        print(f"round {k:2}: {distances[-1]:.3f} m")
        best = walk.weights.numpy().copy() if distances[-1] == max(distances) else best
        gradient = walk.weights.grad.numpy()
        walk.weights.grad.assign(gradient * min(1.0, LARGEST / np.linalg.norm(gradient)))
        optimizer.step([walk.weights.grad])
    walk.weights.assign(best)
    return np.array(distances)


def write(walk, paths, args):
    """The walk as an animation, and a picture of it: the walker at four places on its way."""
    with UsdWriter(args.output, fps=1.0 / (5 * DT), metadata={"solver": "XPBD", "version": wp.__version__}) as usd:
        usd.ground(size=6.0)
        for points in progress(paths[::5]):
            usd.frame()
            usd.points("masses", points, 0.016, color=BLACK)
            for k, part in enumerate(walk.springs(points)):
                usd.mesh(f"spring_{k}", part.points, part.triangles, color=part.color)
    way = np.maximum.accumulate(paths[:, :, 0].mean(axis=1))
    moments = paths[np.searchsorted(way, np.linspace(way[0], way[-1], 4))]  # as far from each other as they can be
    shown = [part for points in moments for part in (*walk.springs(points), Balls(points, 0.016, BLACK))]
    render_meshes(args.picture, [shown], panel=(1100, 420), azimuth=8.0)


def run(args):
    """Learn, and walk with the best weights; returns distances [m] of all rounds, and paths (steps + 1, 12, 3) [m]."""
    walk = Walk(round(args.seconds / DT), args.device)
    distances = learn(walk, args.rounds)
    print(f"{walk.go():.3f} m in {args.seconds:g} s; before learning {distances[0]:.3f} m")
    paths = np.array([state.particle_q.numpy() for state in walk.states])
    write(walk, paths, args)
    return distances, paths


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--seconds", type=float, least=DT, default=2.728, help="of every walk [s]")
    parser.add_argument("--rounds", type=int, least=1, default=14, help="of learning")
    parser.add_argument("--output", type=Path, default=Path("walker.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("walker.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
