"""Cloths are thrown into 64 winds, each in a world of its own, and all throws to one target are found at once.

A cloth flies off with the wind: the throw of a stone misses by metres. One model holds all worlds; three reverses of
one tape say how each cloth follows its throw: with these matrices of 3 x 3 Newton's method runs in all worlds at once.
"""

from collections import namedtuple

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, render_meshes, sphere, tube
from warpsim.render import SimulationParser, add_film_options, progress
from warpsim.solvers import ModelBuilder, SolverXPBD
from warpsim.usd import UsdWriter

START, TARGET, GRAVITY = np.array([0.0, 1.0, 0.0]), np.array([4.0, 1.0, 0.0]), -9.81  # [m], [m], [m/s^2]
SIDE, MASS, GUSTS = 0.5, 0.2, (2.0, 0.3, 2.0)  # [m], [kg], how much winds differ along each axis [m/s]
CLOTH = {"spring_ke": 200.0, "edge_ke": 1.0e-3, "tri_drag": 0.5, "tri_lift": 0.2}  # [N/m], [N m], [-], [-]
HEAD, TAIL, BLACK = np.array([[0.70, 0.22, 0.03], [0.05, 0.20, 0.45], [0.02, 0.02, 0.02]])  # colors by wind, linear
GOAL = sphere(TARGET, 0.12, BLACK)
Result = namedtuple("Result", "winds stone throws distances")  # (worlds, 3) [m/s], distances (iterations, worlds) [m]


@wp.kernel
def release(throw: wp.array[wp.vec3], world: wp.array[int], qd: wp.array[wp.vec3]):
    """All particles of a cloth leave with the throw of its world."""
    i = wp.tid()
    qd[i] = throw[world[i]]


class Flights:
    """Cloths in all winds, in every frame."""

    def __init__(self, args):
        cloth, builder, n, size = ModelBuilder(gravity=GRAVITY), ModelBuilder(), args.cells, SIDE / args.cells
        lying, corner = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)), START - (SIDE / 2, 0.0, SIDE / 2)
        cloth.add_cloth_grid(corner, lying, 0.0, n, n, size, size, MASS / (n + 1) ** 2, **CLOTH)
        builder.add_world(cloth, args.worlds)
        self.model, self.faces, self.h = builder.finalize(args.device), builder.triangles["indices"], 1.0 / args.fps
        self.solver, self.control = SolverXPBD(self.model, args.substeps), self.model.control()
        self.winds = GUSTS * np.random.default_rng(0).normal(size=(args.worlds, 3))
        self.control.wind.assign(self.winds)
        self.throw, frames = wp.zeros_like(self.control.wind, requires_grad=True), round(args.seconds * args.fps)
        self.states = [self.model.state(requires_grad=True) for _ in range(max(1, frames) + 1)]
        stone = (TARGET - START) / args.seconds - (0.0, 0.5 * GRAVITY * args.seconds, 0.0)
        self.stone, self.colors = np.tile(stone, (args.worlds, 1)), np.where(self.winds[:, :1] < 0.0, HEAD, TAIL)

    def fly(self, throws):
        """How far middles arrive from the target (worlds, 3) [m], and that by their throws (worlds, 3, 3) [s]."""
        n, device, first, last = self.model.particle_count, self.model.device, self.states[0], self.states[-1]
        self.throw.assign(throws)
        with wp.Tape() as tape:
            wp.launch(release, n, [self.throw, self.model.particle_world, first.particle_qd], device=device)
            for before, after in zip(self.states, self.states[1:], strict=False):
                self.solver.step(before, after, self.control, dt=self.h)
        slopes = np.zeros((len(throws), 3, 3))
        for k, axis in enumerate(np.eye(3)):
            tape.backward(grads={last.particle_q: wp.full(n, wp.vec3(*axis * len(throws) / n), device=device)})
            slopes[:, k] = self.throw.grad.numpy()
            tape.zero()
        return self.paths()[-1].mean(axis=1) - TARGET, slopes

    def paths(self):
        """Where particles are in each frame, (frames + 1, worlds, particles, 3) [m]."""
        return np.array([state.particle_q.numpy().reshape(len(self.winds), -1, 3) for state in self.states])

    def draw(self, part):
        """The cloths when a part of the time is over, their ways in the colors of their winds, and the target."""
        paths, faces = self.paths(), self.faces[: len(self.faces) // len(self.winds)]
        things = [GOAL]
        for path, color in zip(paths.swapaxes(0, 1), self.colors, strict=True):
            things += Surface(path[round(part * (len(path) - 1))], faces, color), tube(path.mean(axis=1), 0.008, color)
        return things

    def write_animation(self, args):
        colors = self.colors.repeat(self.model.particle_count // args.worlds, axis=0)
        with UsdWriter(args.output, fps=args.fps, metadata={"solver": "XPBD", "version": wp.__version__}) as usd:
            usd.ground(size=14.0)
            usd.mesh("target", GOAL.points, GOAL.triangles, color=BLACK)
            for now in progress(self.states):
                usd.frame()
                usd.mesh("cloths", now.particle_q.numpy(), self.faces, color=colors, velocities=now.particle_qd.numpy())


def run(args):
    """Find the throws, write the animation and the picture; returns a Result."""
    flights, distances, panels = Flights(args), [], []
    throws = flights.stone.copy()
    for k in range(args.iterations + 1):
        miss, slopes = flights.fly(throws)
        panels.append(flights.draw(0.7 if k else 1.0))
        distances.append(np.linalg.norm(miss, axis=1))
        print(f"iteration {k}: {np.median(distances[-1]):.4f} m from the target, {distances[-1].max():.4f} m at most")
        throws -= np.linalg.solve(slopes, miss[..., None])[..., 0]
    flights.write_animation(args)
    render_meshes(args.picture, [panels[0], panels[-1]], panel=(760, 560), azimuth=25.0, elevation=18.0)
    return Result(flights.winds, flights.stone, flights.throw.numpy(), np.array(distances))


def check(result):
    """Raise AssertionError unless all cloths arrive, thrown against their winds."""
    assert np.median(result.distances[0]) > 0.5, "the throw of a stone is good enough"
    assert result.distances[-1].max() < 5.0e-3, f"a cloth is {result.distances[-1].max():g} m from the target"
    assert ((result.stone - result.throws) * result.winds).sum(axis=0)[[0, 2]].min() > 0.0, "not against the wind"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "windy_throws", seconds=1.0, fps=30)
    parser.add_argument("--worlds", type=int, above=0, default=64, help="winds at once")
    parser.add_argument("--cells", type=int, above=0, default=6, help="along each side of a cloth")
    parser.add_argument("--substeps", type=int, above=0, default=8, help="per frame")
    parser.add_argument("--iterations", type=int, above=0, default=3, help="of Newton's method")
    parser.add_argument("--device", default="cpu")
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    main()
