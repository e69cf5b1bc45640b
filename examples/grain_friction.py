"""How rough is this floor? Its friction is found from a film of marbles that slide on it: `SolverDEM` and L-BFGS.

Marbles of glass are thrown along a floor. They slide; friction brakes and spins them until they roll, and then leaves
them alone. Of the floor nothing is known but noisy positions of the marbles in each frame. A tape over all substeps
gives the gradient of the squared misfit with respect to the logarithm of the coefficient of friction.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.optim import LBFGS
from warpsim.plot import Balls
from warpsim.render import Film, SimulationParser, add_film_options
from warpsim.solvers import Material, ModelBuilder, SolverDEM

RADIUS, DENSITY, SPEED, LANE = 0.008, 2500.0, 1.0, 0.066  # [m], [kg/m^3], of the fastest throw [m/s], apart [m]
GLASS = Material(youngs_modulus=2.0e6, poissons_ratio=0.25, restitution=0.6)
TRUE, GUESS, NOISE = 0.22, 0.5, 5.0e-4  # coefficients of friction; of measured positions [m]
BLUE, ORANGE, GREY = (0.10, 0.24, 0.44), (0.70, 0.25, 0.04), (0.42, 0.44, 0.47)  # linear RGB


@wp.kernel
def set_floor(log_friction: wp.array[float], mu: wp.array[float]):
    """The coefficient of friction of the only shape from its logarithm."""
    mu[0] = wp.exp(log_friction[0])


@wp.kernel
def misfit(q: wp.array[wp.vec3], measured: wp.array2d[wp.vec3], frame: int, loss: wp.array[float]):
    """The mean square of differences from the measured coordinates, per that of their noise: 1 for the truth."""
    i = wp.tid()
    share = 1.0 / (3.0 * NOISE * NOISE * float(measured.shape[0] * measured.shape[1]))
    wp.atomic_add(loss, 0, share * wp.length_sq(q[i] - measured[frame, i]))


class Marbles:
    """Marbles on a floor, frame by frame, and the logarithm of its friction."""

    def __init__(self, args):
        count = args.marbles
        places = np.zeros((count, 3))
        places[:, 1], places[:, 2] = RADIUS, LANE * (np.arange(count) - 0.5 * (count - 1))
        throws = np.zeros((count, 3))
        throws[:, 0] = SPEED * np.linspace(0.4, 1.0, count)
        builder = ModelBuilder()
        builder.add_particles(places, throws, DENSITY * 4.0 / 3.0 * np.pi * RADIUS**3, RADIUS)
        builder.add_ground_plane()
        self.model = builder.finalize(args.device, requires_grad=True)
        self.solver = SolverDEM(self.model, GLASS, substeps=args.substeps)
        self.dt, self.frames = 1.0 / args.fps, max(1, round(args.seconds * args.fps))
        self.log_friction = wp.zeros(1, float, args.device, requires_grad=True)
        self.loss, self.measured = wp.zeros(1, float, args.device, requires_grad=True), None

    def roll(self):
        """Run all steps, and rate every frame by the measurements; returns positions (frames + 1, n, 3) [m]."""
        model, state = self.model, self.model.state()
        self.loss.zero_()
        self.solver.reset()
        wp.launch(set_floor, 1, [self.log_friction, model.shape_mu], device=model.device)
        path = [state.particle_q.numpy().copy()]
        for k in range(self.frames):
            self.solver.step(state, state, dt=self.dt)
            path.append(state.particle_q.numpy().copy())
            if self.measured is not None:
                rated = [state.particle_q, self.measured, k, self.loss]
                wp.launch(misfit, model.particle_count, rated, device=model.device)
        return np.array(path)

    def path(self, friction):
        """Positions on a floor with a coefficient of friction."""
        self.log_friction.assign([np.log(friction)])
        return self.roll()

    def closure(self):
        """The loss, with its gradient in `log_friction.grad`."""
        with wp.Tape() as tape:
            self.roll()
        tape.backward(self.loss)
        return self.loss


@dataclass
class Result:
    """The coefficient of friction per iteration, and the misfit per noise of each."""

    friction: np.ndarray
    misfit: np.ndarray


def identify(marbles, iterations):
    """Find the friction from the measurements, starting at the guess; returns a Result."""
    marbles.path(GUESS)
    frictions, losses = [GUESS], [float(marbles.loss.numpy()[0])]

    def note(found):
        frictions.append(float(np.exp(marbles.log_friction.numpy()[0])))
        losses.append(found.loss)
        print(f"iteration {found.iterations}: friction {frictions[-1]:.4f}, {losses[-1] ** 0.5:.3f} x noise")

    search = LBFGS([marbles.log_friction], first_step=0.3, tolerance_loss=1.0e-5)
    search.minimize(marbles.closure, iterations, callback=note)
    return Result(np.array(frictions), np.sqrt(losses))


def write(paths, args):
    """Measured, found and guessed marbles as an animation and a picture."""
    colors = {"measured": BLUE, "found": ORANGE, "guess": GREY}
    about = {"solver": "DEM", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "fps": args.fps, "ground": 0.5, "moments": (0.0, 0.5, 1.0)}
    with Film(seconds=args.seconds, metadata=about, azimuth=72.0, elevation=33.0, **files) as film:
        for k, _ in enumerate(film.frames()):
            for row, (name, color) in enumerate(colors.items()):
                film.show_balls(name, Balls(paths[name][k] + [0.0, 0.0, 0.3 * LANE * (row - 1)], RADIUS, color))


def check(result):
    """Raise AssertionError unless the friction was found, and explains the measurements down to their noise."""
    assert abs(result.friction[-1] / TRUE - 1.0) < 0.02, f"found friction {result.friction[-1]:.4f}, right: {TRUE}"
    assert result.misfit[-1] < 1.05, f"off by {result.misfit[-1]:.2f} times the noise"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "grain_friction", seconds=0.3, fps=50)
    parser.add_argument("--marbles", type=int, above=0, default=6, help="on the floor")
    parser.add_argument("--substeps", type=int, above=0, default=80, help="per frame")
    parser.add_argument("--iterations", type=int, above=0, default=12, help="at most")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    marbles = Marbles(args)
    paths = {"measured": marbles.path(TRUE), "guess": marbles.path(GUESS)}
    noisy = paths["measured"][1:] + NOISE * np.random.default_rng(1).normal(size=paths["measured"][1:].shape)
    marbles.measured = wp.array(noisy, dtype=wp.vec3, device=args.device)
    result = identify(marbles, args.iterations)
    paths["found"] = marbles.path(result.friction[-1])
    write(paths, args)
    print(f"{args.output}: friction {result.friction[-1]:.4f}, right: {TRUE}")
    return result


if __name__ == "__main__":
    main()
