"""A cloth is thrown so that its middle arrives at a target two seconds later: the throw is found by L-BFGS.

Every substep of XPBD is on a tape, so that the gradient of the squared distance with respect to the velocity at the
start is that of the whole flight. Without drag the middle of the turning cloth flies like a stone, so the right throw
is known, and the answer is checked against it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.optim import LBFGS
from warpsim.plot import Surface, render_meshes, sphere, tube
from warpsim.render import SimulationParser, progress
from warpsim.solvers import ModelBuilder, SolverXPBD
from warpsim.usd import UsdWriter

START, TARGET, GUESS = (0.0, 1.0, 0.0), (4.0, 2.0, -2.0), (1.0, 8.0, 0.0)  # [m], [m], [m/s]
SIDE, MASS, STRETCH, BENDING = 1.0, 0.2, 500.0, 1.0e-3  # [m], [kg], [N/m], [N m]
SPIN, GRAVITY = (1.5, 0.5, 2.0), -9.81  # the cloth turns when it leaves [rad/s]; [m/s^2]
ORANGE, BLACK, GREY = (0.70, 0.22, 0.03), (0.02, 0.02, 0.02), (0.55, 0.57, 0.60)  # linear RGB


@wp.kernel
def release(throw: wp.array[wp.vec3], spin: wp.vec3, q: wp.array[wp.vec3], qd: wp.array[wp.vec3]):
    """All particles leave with the throw, and turn about the middle."""
    i = wp.tid()
    qd[i] = throw[0] + wp.cross(spin, q[i] - wp.vec3(0.0, 1.0, 0.0))


@wp.kernel
def find_middle(q: wp.array[wp.vec3], middle: wp.array[wp.vec3]):
    wp.atomic_add(middle, 0, q[wp.tid()] / float(q.shape[0]))


@wp.kernel
def miss(middle: wp.array[wp.vec3], target: wp.vec3, loss: wp.array[float]):
    """The squared distance to the target [m^2]."""
    loss[0] = wp.length_sq(middle[0] - target)


class Flight:
    """The cloth in every frame: states whose first one leaves with the throw."""

    def __init__(self, args):
        builder, n = ModelBuilder(gravity=GRAVITY), args.cells
        lying = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
        corner = np.subtract(START, (SIDE / 2, 0.0, SIDE / 2))
        builder.add_cloth_grid(
            corner, lying, 0.0, n, n, SIDE / n, SIDE / n, MASS / (n + 1) ** 2, spring_ke=STRETCH, edge_ke=BENDING
        )
        self.h, self.frames, self.faces = 1.0 / args.fps, round(args.seconds * args.fps), builder.triangles["indices"]
        self.substeps, self.model = args.substeps, builder.finalize(args.device)
        self.solver = SolverXPBD(self.model, args.substeps)
        self.states = [self.model.state(requires_grad=True) for _ in range(self.frames + 1)]
        grad = {"device": args.device, "requires_grad": True}
        self.throw = wp.array([GUESS], dtype=wp.vec3, **grad)
        self.middle, self.loss = wp.zeros(1, dtype=wp.vec3, **grad), wp.zeros(1, dtype=float, **grad)

    def forward(self):
        """Fly, and see by how much the target was missed."""
        first, last, n, device = self.states[0], self.states[-1], self.model.particle_count, self.model.device
        self.middle.zero_()
        wp.launch(release, n, [self.throw, wp.vec3(*SPIN), first.particle_q, first.particle_qd], device=device)
        for before, after in zip(self.states, self.states[1:], strict=False):
            self.solver.step(before, after, None, None, self.h)
        wp.launch(find_middle, n, [last.particle_q, self.middle], device=device)
        wp.launch(miss, 1, [self.middle, wp.vec3(*TARGET), self.loss], device=device)

    def closure(self):
        """The loss, with its gradient in `throw.grad`."""
        with wp.Tape() as tape:
            self.forward()
        tape.backward(self.loss)
        return self.loss

    def exact(self):
        """The throw of a stone: (x* - x - g T (T + h) / 2) / T for semi-implicit Euler with substeps h, (3,) [m/s]."""
        time, h = self.frames * self.h, self.h / self.substeps
        fall = 0.5 * time * (time + h) * np.array([0.0, GRAVITY, 0.0])
        return (np.array(TARGET) - START - fall) / time


@dataclass
class Result:
    """throw, exact: (3,) [m/s]; distance [m]: to the target per iteration."""

    throw: np.ndarray
    exact: np.ndarray
    distance: np.ndarray


def write(flight, args):
    """The last flight as an animation, and a picture of it: the cloth at five moments on its way."""
    paths = np.array([state.particle_q.numpy() for state in flight.states])
    goal = sphere(TARGET, 0.12, BLACK)
    with UsdWriter(args.output, fps=args.fps, metadata={"solver": "XPBD", "version": wp.__version__}) as usd:
        usd.ground(size=12.0)
        usd.mesh("target", goal.points, goal.triangles, color=BLACK)
        for state, points in zip(progress(flight.states), paths, strict=True):
            usd.frame()
            usd.mesh("cloth", points, flight.faces, color=ORANGE, velocities=state.particle_qd.numpy())
    shown = [Surface(paths[k], flight.faces, ORANGE) for k in np.linspace(0, len(paths) - 1, 5).round().astype(int)]
    path = tube(paths.mean(axis=1), 0.015, GREY)
    render_meshes(args.picture, [[*shown, goal, path]], panel=(1100, 560), azimuth=10.0)


def run(args):
    """Find the throw, write the animation and the picture; returns a Result."""
    flight = Flight(args)
    flight.forward()
    losses = [flight.loss.numpy()[0]]

    def note(found):
        losses.append(found.loss)
        print(f"iteration {found.iterations:2}: {np.sqrt(found.loss):.6f} m from the target")

    found = LBFGS([flight.throw], tolerance_grad=4.0e-3).minimize(flight.closure, args.iterations, callback=note)
    print(f"{found.evaluations} flights of {flight.frames * args.substeps} substeps; stopped by: {found.reason}")
    write(flight, args)
    return Result(flight.throw.numpy()[0].copy(), flight.exact(), np.sqrt(losses))


def check(result):
    """Raise AssertionError unless the cloth arrives, by the throw that is right."""
    assert result.distance[-1] < 1.0e-2, f"missed by {result.distance[-1]:g} m"
    assert np.abs(result.throw - result.exact).max() < 5.0e-3, f"thrown by {result.throw}, right: {result.exact}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--cells", type=int, above=0, default=16, help="along each side of the cloth")
    parser.add_argument("--seconds", type=float, above=0, default=2.0)
    parser.add_argument("--fps", type=int, above=0, default=60)
    parser.add_argument("--substeps", type=int, above=0, default=8, help="per frame")
    parser.add_argument("--iterations", type=int, above=0, default=30, help="at most")
    parser.add_argument("--output", type=Path, default=Path("cloth_throw.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("cloth_throw.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
