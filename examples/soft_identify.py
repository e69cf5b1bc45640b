"""What is this beam made of? Its stiffness is found from a film of how it swings: parameter identification by L-BFGS.

A soft beam is clamped at one end and falls into swinging; of its true material only a noisy trajectory is known. A tape
over all substeps gives the gradient of the squared misfit with respect to the logarithms of Lame's parameters.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.optim import LBFGS
from warpsim.plot import Surface, tube
from warpsim.render import Film, SimulationParser, add_film_options
from warpsim.solvers import ModelBuilder, SolverXPBD, soft

CELLS, CELL, CLEAR = (8, 2, 2), 0.05, 0.45  # of the beam; [m]; height of its lower side [m]
DENSITY, DAMPING, NOISE = 1000.0, 0.02, 1.0e-3  # [kg/m^3], [s], of the measured positions [m]
TRUE, GUESS = (1.2e5, 0.38), (4.0e4, 0.20)  # Young's modulus [Pa] and Poisson's ratio
BLUE, ORANGE, GREY, BLACK = (0.10, 0.24, 0.44), (0.70, 0.25, 0.04), (0.42, 0.44, 0.47), (0.02, 0.02, 0.02)  # linear RGB


@wp.kernel
def set_material(logs: wp.array[float], mu: wp.array[float], lam: wp.array[float]):
    """Lame's parameters [Pa] of all tetrahedra from their logarithms."""
    k = wp.tid()
    mu[k] = wp.exp(logs[0])
    lam[k] = wp.exp(logs[1])


@wp.kernel
def misfit(q: wp.array[wp.vec3], measured: wp.array2d[wp.vec3], frame: int, loss: wp.array[float]):
    """The mean square of differences from the measured coordinates, per that of their noise: 1 for the truth."""
    i = wp.tid()
    share = 1.0 / (3.0 * NOISE * NOISE * float(measured.shape[0] * measured.shape[1]))
    wp.atomic_add(loss, 0, share * wp.length_sq(q[i] - measured[frame, i]))


def elastic(mu, lam):
    """Young's modulus [Pa] and Poisson's ratio of Lame's parameters [Pa]."""
    return mu * (3.0 * lam + 2.0 * mu) / (lam + mu), lam / (2.0 * (lam + mu))


class Beam:
    """The beam in every frame, and the logarithms of its Lame parameters."""

    def __init__(self, args):
        builder = ModelBuilder()
        builder.add_soft_grid(
            (0.0, CLEAR, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, *CELLS, CELL, CELL, CELL, DENSITY, k_damp=DAMPING,
            fix=lambda p: p[:, 0] < 1.0e-6,
        )  # fmt: skip
        self.faces, self.model = builder.triangles["indices"], builder.finalize(args.device, requires_grad=True)
        self.solver, self.dt = SolverXPBD(self.model, args.substeps), 1.0 / args.fps
        self.states = [self.model.state() for _ in range(max(1, round(args.seconds * args.fps)) + 1)]
        self.logs = wp.array(np.log(soft.lame(*GUESS)), dtype=float, device=args.device, requires_grad=True)
        self.loss, self.measured = wp.zeros(1, float, args.device, requires_grad=True), None

    def swing(self):
        """Run all steps; with measurements, rate every frame."""
        device, n, m = self.model.device, self.model.particle_count, self.model
        self.loss.zero_()
        wp.launch(set_material, m.tet_count, [self.logs, m.tet_mu, m.tet_lambda], device=device)
        for k, (before, after) in enumerate(zip(self.states, self.states[1:], strict=False)):
            self.solver.step(before, after, None, None, self.dt)
            if self.measured is not None:
                wp.launch(misfit, n, [after.particle_q, self.measured, k, self.loss], device=device)

    def path(self, young, poisson):
        """Positions (frames, n, 3) [m] with a material."""
        self.logs.assign(np.log(soft.lame(young, poisson)))
        self.swing()
        return np.array([state.particle_q.numpy() for state in self.states])

    def closure(self):
        """The loss, with its gradient in `logs.grad`."""
        with wp.Tape() as tape:
            self.swing()
        tape.backward(self.loss)
        return self.loss


@dataclass
class Result:
    """Young's modulus [Pa] and Poisson's ratio per iteration, (iterations + 1, 2); the misfit per noise of each."""

    material: np.ndarray
    misfit: np.ndarray


def identify(beam, iterations):
    """Find the material from the measurements, starting at the guess; returns a Result."""
    beam.logs.assign(np.log(soft.lame(*GUESS)))
    beam.swing()
    materials, losses = [GUESS], [float(beam.loss.numpy()[0])]

    def note(found):
        materials.append(elastic(*np.exp(beam.logs.numpy().astype(float))))
        losses.append(found.loss)
        young, poisson = materials[-1]
        print(f"iteration {found.iterations}: E = {young:.0f} Pa, nu = {poisson:.3f}, {losses[-1] ** 0.5:.3f} x noise")

    LBFGS([beam.logs], first_step=0.5, tolerance_loss=1.0e-8).minimize(beam.closure, iterations, callback=note)
    return Result(np.array(materials), np.sqrt(losses))


def write(beam, paths, args):
    """The true beam and the found one as an animation and a picture; the guess as the line of its middle."""
    true, guess, found = paths
    about = {"solver": "XPBD", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "fps": args.fps, "ground": 3.0}
    middle = np.flatnonzero(np.isclose(true[0][:, 1:], [CLEAR + CELL, CELL]).all(axis=1))
    aside = np.array([0.0, 0.0, -0.25])
    with Film(seconds=args.seconds, metadata=about, azimuth=12.0, elevation=10.0, **files) as film:
        for k, _ in enumerate(film.frames()):
            film.show("measured", Surface(true[k], beam.faces, BLUE))
            film.show("found", Surface(found[k] + aside, beam.faces, ORANGE))
            film.show("guess", tube(guess[k][middle] - aside, 0.012, GREY))


def check(result):
    """Raise AssertionError unless the material was found, and explains the measurements down to their noise."""
    young, poisson = result.material[-1]
    assert abs(young / TRUE[0] - 1.0) < 0.02, f"found E = {young:.0f} Pa, right: {TRUE[0]:.0f} Pa"
    assert abs(poisson - TRUE[1]) < 0.03, f"found nu = {poisson:.3f}, right: {TRUE[1]:.3f}"
    assert result.misfit[-1] < 1.05, f"off by {result.misfit[-1]:.2f} times the noise"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "soft_identify", seconds=0.6)
    parser.add_argument("--substeps", type=int, above=0, default=10, help="per frame")
    parser.add_argument("--iterations", type=int, above=0, default=20, help="at most")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    beam = Beam(args)
    true, guess = beam.path(*TRUE), beam.path(*GUESS)
    noisy = true[1:] + NOISE * np.random.default_rng(1).normal(size=true[1:].shape)
    beam.measured = wp.array(noisy, dtype=wp.vec3, device=args.device)
    result = identify(beam, args.iterations)
    write(beam, (true, guess, beam.path(*result.material[-1])), args)
    print(f"{args.output}: E = {result.material[-1][0]:.0f} Pa, nu = {result.material[-1][1]:.3f}; right: {TRUE}")
    return result


if __name__ == "__main__":
    main()
