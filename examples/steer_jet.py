"""A jet of water is steered at a target by gradients: `SolverSPH` with a stream, and the adjoint of its nozzle.

The nozzle's velocity is sought with which the middle of a slug of water flies through a target at a given time. Each
trial is one simulation on a tape; two backward passes give how the middle moves with the velocity, and Newton's method
solves for it. The answer is close to the parabola of a stone, which is checked; on its way the water spreads.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Balls, sphere
from warpsim.render import Film, SimulationParser, add_film_options, progress
from warpsim.solvers import Fluid, FluidStream, ModelBuilder, SolverSPH

SPACING, MOUTH, SLUG = 0.02, 0.04, 40  # of particles, half of the slot [m], particles that shall hit
GRAVITY, STEP, SUBSTEPS = -9.81, 2.0e-3, 4  # [m/s^2], [s]
WATER = Fluid(sound=25.0, alpha=0.05)
BLUE, DARK, RED = (0.10, 0.35, 0.55), (0.04, 0.12, 0.25), (0.60, 0.08, 0.05)


class Jet:
    """A nozzle at the origin, and the water that it emits in a time."""

    def __init__(self, velocity, device):
        builder = ModelBuilder(gravity=GRAVITY)
        spare = builder.add_particles(np.zeros((6 * SLUG, 3)), 0.0, WATER.density * SPACING**2)
        stream = FluidStream(spare, (0.0, 0.0, 0.0), tuple(velocity), MOUTH, exhausted="stop")
        self.model = builder.finalize(device, dtype=wp.float64, requires_grad=True)
        self.solver = SolverSPH(self.model, WATER, dim=2, substeps=SUBSTEPS, streams=[stream])
        self.state, [self.nozzle] = self.model.state(), self.solver.streams

    def step(self):
        self.solver.step(self.state, self.state, dt=STEP)

    def middle(self):
        """Of the first particles that came (2,) [m]."""
        return self.state.particle_q.numpy()[:SLUG, :2].mean(axis=0)


def tried(velocity, steps, device):
    """Where the slug's middle comes, and how that depends on the velocity: (2,) and (2, 2)."""
    jet, slopes = Jet(velocity, device), []
    with wp.Tape() as tape:
        for _ in range(steps):
            jet.step()
    for axis in range(2):
        seed = np.zeros((jet.model.particle_count, 3))
        seed[:SLUG, axis] = 1.0 / SLUG
        tape.backward(grads={jet.state.particle_q: wp.array(seed, dtype=wp.vec3d, device=device)})
        slopes.append(jet.nozzle.velocity.grad.numpy()[0, :2].copy())
        tape.zero()
    return jet.middle(), np.array(slopes)


def aim(target, steps, args):
    """Velocities that were tried (n, 3) and how far each missed (n,) [m]."""
    velocity, tries, misses = np.array([*args.velocity, 0.0]), [], []
    for _ in progress(range(args.iterations), "try"):
        middle, slopes = tried(velocity, steps, args.device)
        tries.append(velocity.copy())
        misses.append(float(np.linalg.norm(middle - target)))
        if misses[-1] < 1.0e-6:
            break
        velocity[:2] -= np.linalg.solve(slopes, middle - target)
    return np.array(tries), np.array(misses)


@dataclass
class Result:
    """Velocities tried (n, 3) [m/s], distances from the target (n,) [m]; the velocity with which a stone would hit."""

    tries: np.ndarray
    misses: np.ndarray
    thrown: np.ndarray


def run(args):
    """Aim, write the animation and the picture of the first and the last try, print a summary; returns a Result."""
    target, steps = np.array(args.target), round(args.seconds / STEP)
    tries, misses = aim(target, steps, args)
    ball = sphere((*target, 0.0), 0.03, RED, rings=16)
    jets = [(Jet(tries[0], args.device), DARK), (Jet(tries[-1], args.device), BLUE)]
    about = {"solver": "WCSPH", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "ground": None, "moments": (0.35, 1.0)}
    frame = max(1, round(1.0 / (args.fps * STEP)))
    view = {"azimuth": 0.0, "elevation": 3.0, "panel": (640, 400)}
    with Film(seconds=steps / frame / args.fps, fps=args.fps, metadata=about, **view, **files) as film:
        film.stand("target", ball)
        for t in film.frames():
            for name, (jet, color) in zip(("first", "last"), jets, strict=True):
                for _ in range(frame if t else 0):
                    jet.step()
                there = np.flatnonzero(jet.solver.present(jet.state)) if t else np.arange(1)
                q, v = jet.state.particle_q.numpy()[there], jet.state.particle_qd.numpy()[there]
                film.show_balls(name, Balls(q, 0.6 * SPACING, color), v, there)
    wait = 0.5 * SPACING * (SLUG // jets[0][0].nozzle.layer + 1)  # of the slug's middle behind the nozzle [m]
    result = Result(tries, misses, stone(target, steps * STEP, wait))
    print(f"{args.output}: {len(tries)} tries, misses of {', '.join(f'{m * 1000.0:.3g}' for m in misses)} mm")
    return result


def stone(target, time, wait):
    """The velocity of a stone that flies through the target, after it came `wait` [m] along with the stream."""
    velocity = np.zeros(2)
    for _ in range(50):
        flight = time - wait / max(np.linalg.norm(velocity), 1.0)
        velocity = 0.5 * velocity + 0.5 * (target / flight - [0.0, 0.5 * GRAVITY * flight])
    return velocity


def check(result):
    """Raise AssertionError unless the jet hits within few tries, about as a stone would."""
    assert result.misses[-1] < 1.0e-4, f"the jet misses by {result.misses[-1] * 1000.0:.2g} mm"
    off = np.linalg.norm(result.tries[-1, :2] - result.thrown) / np.linalg.norm(result.thrown)
    assert off < 0.05, f"the velocity is {off:.0%} off that of a stone"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "steer_jet", seconds=0.4, fps=50)
    parser.add_argument("--target", type=float, nargs=2, default=(0.8, 0.25), metavar=("X", "Y"), help="[m]")
    parser.add_argument("--velocity", type=float, nargs=2, default=(2.0, 2.0), metavar=("X", "Y"), help="[m/s]")
    parser.add_argument("--iterations", type=int, above=0, default=8, help="of Newton's method, at most")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
