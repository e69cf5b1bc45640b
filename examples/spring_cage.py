"""A mass swings in a cage of eight springs: their rest lengths are found so that it comes to rest at a target.

Every time step is a launch in which one thread sums the forces of all springs. A tape over the whole
swing gives the gradient of the loss with respect to the rest lengths, and Adam walks down it. The loss
is the squared distance to the target at the end, plus what the mass could still travel at its speed
in a tenth of a second, squared.
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import warpsim as wp
from warpsim.optim import Adam
from warpsim.plot import coil, mesh_images, sphere, tube
from warpsim.render import SimulationParser, progress
from warpsim.usd import UsdWriter

CENTER, HALF = np.array([0.0, 1.15, 0.0]), 1.0  # of the cage [m]
START, PUSH, TARGET = (-0.5, 0.85, -0.2), (0.4, 3.6, 1.2), (0.45, 1.4, 0.4)  # [m], [m/s], [m]
MASS, STIFFNESS, DAMPING = 0.5, 12.0, 0.9  # [kg], [N/m], [1/s]
REST, SECONDS, GRAVITY = 1.2, 1.6, -9.81  # rest lengths to start from [m], [s], [m/s^2]
STILL = 0.1  # how much speed counts [s]
RED, GREY, STEEL, BLACK = (0.60, 0.10, 0.06), (0.40, 0.42, 0.45), (0.30, 0.38, 0.50), (0.01, 0.01, 0.01)
VIOLET, YELLOW = (0.16, 0.02, 0.35), (0.90, 0.62, 0.05)  # linear RGB

Vec3s = wp.array[wp.vec3]
Floats = wp.array[float]


@wp.kernel
def step(x: Vec3s, v: Vec3s, anchors: Vec3s, rest: Floats, h: float, x_next: Vec3s, v_next: Vec3s):
    """Semi-implicit Euler with Hooke's law for every spring."""
    i = wp.tid()
    force = wp.vec3(0.0, MASS * GRAVITY, 0.0)
    for s in range(rest.shape[0]):
        reach = anchors[s] - x[i]
        length = wp.length(reach)
        force += reach * (STIFFNESS * (length - rest[s]) / length)
    speed = (v[i] + force * (h / MASS)) * (1.0 - DAMPING * h)
    v_next[i] = speed
    x_next[i] = x[i] + speed * h


@wp.kernel
def rate(x: Vec3s, v: Vec3s, target: wp.vec3, loss: Floats):
    """How far from the target the mass is, and from standing still [m^2]."""
    loss[0] = wp.length_sq(x[0] - target) + wp.length_sq(v[0] * STILL)


class Cage:
    """The springs, and the mass at every time step."""

    def __init__(self, steps, device):
        def states():
            return [wp.zeros(1, dtype=wp.vec3, device=device, requires_grad=True) for _ in range(steps + 1)]

        self.h, self.device = SECONDS / steps, device
        corners = np.array(list(product((-1.0, 1.0), repeat=3)))
        self.anchors = wp.array(CENTER + HALF * corners, dtype=wp.vec3, device=device)
        self.rest = wp.full(len(corners), REST, dtype=float, device=device, requires_grad=True)
        self.x, self.v = states(), states()
        self.x[0].assign([START])
        self.v[0].assign([PUSH])
        self.loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)

    def swing(self):
        """Run all time steps and rate the end."""
        for k in range(len(self.x) - 1):
            inputs = [self.x[k], self.v[k], self.anchors, self.rest, self.h]
            wp.launch(step, 1, inputs, [self.x[k + 1], self.v[k + 1]], device=self.device)
        wp.launch(rate, 1, [self.x[-1], self.v[-1], wp.vec3(*TARGET)], [self.loss], device=self.device)

    def path(self):
        """Positions (steps + 1, 3) [m] of the last swing."""
        return np.concatenate([x.numpy() for x in self.x])


@dataclass
class Result:
    """loss [m^2] per iteration; rest (8,) [m]; the first and the last path (steps + 1, 3) [m]; final speed [m/s]."""

    loss: np.ndarray
    rest: np.ndarray
    first: np.ndarray
    last: np.ndarray
    speed: float


def optimise(cage, iterations, rate_of_learning):
    """Let Adam find the rest lengths; returns a Result."""
    cage.swing()
    first, losses = cage.path(), []
    optimizer = Adam([cage.rest], lr=rate_of_learning)
    for _ in progress(range(iterations), "swing"):
        cage.rest.grad.zero_()
        with wp.Tape() as tape:
            cage.swing()
        losses.append(cage.loss.numpy()[0])
        tape.backward(cage.loss)
        optimizer.step([cage.rest.grad])
    cage.swing()
    losses.append(cage.loss.numpy()[0])
    speed = float(np.linalg.norm(cage.v[-1].numpy()))
    return Result(np.array(losses), cage.rest.numpy().copy(), first, cage.path(), speed)


def bars():
    """The twelve edges of the cage."""
    corners = [CENTER + HALF * np.array(c) for c in product((-1.0, 1.0), repeat=3)]
    pairs = [(a, b) for k, a in enumerate(corners) for b in corners[:k]]
    return [tube([a, b], 0.015, GREY) for a, b in pairs if np.isclose(np.abs(a - b).sum(), 2.0 * HALF)]


def springs(cage, at):
    """The springs as they are with the mass at a place (3,)."""
    return [coil(a, at, 0.03, 0.006, turns=14, color=STEEL) for a in cage.anchors.numpy()]


def draw(cage, result, path):
    """The cage at the start with the first and the last path; the distance over time; the loss."""
    figure = Figure((13.0, 6.2), dpi=100, facecolor="white")
    scene = [*bars(), *springs(cage, np.array(START)), sphere(START, 0.09, RED), sphere(TARGET, 0.06, BLACK)]
    scene += [tube(result.first, 0.008, VIOLET), tube(result.last, 0.012, YELLOW)]
    view = figure.add_axes((0.0, 0.0, 0.56, 1.0))
    view.imshow(mesh_images([scene], panel=(728, 620), azimuth=-18.0, elevation=16.0)[0])
    view.set_axis_off()
    time = np.linspace(0.0, SECONDS, len(result.last))
    above, below = figure.add_axes((0.64, 0.58, 0.34, 0.36)), figure.add_axes((0.64, 0.1, 0.34, 0.36))
    for name, found, color in (("first", result.first, VIOLET), ("last", result.last, YELLOW)):
        shade = np.array(color) ** (1.0 / 2.2)
        above.plot(time, np.linalg.norm(found - TARGET, axis=1), color=shade, lw=2.0, label=f"{name} swing")
    above.set(xlabel="time [s]", ylabel="distance to the target [m]", xlim=(0.0, SECONDS), ylim=(0.0, None))
    above.legend(frameon=False)
    below.semilogy(result.loss, color="0.25")
    below.set(xlabel="iteration", ylabel="loss [m²]", xlim=(0, len(result.loss) - 1))
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.savefig(path, metadata={"Software": None})


def write(cage, result, path, fps):
    """The last swing as an animation."""
    steps = len(result.last) - 1
    with UsdWriter(path, fps=fps, metadata={"solver": "semi-implicit Euler", "version": wp.__version__}) as usd:
        usd.ground(size=8.0)
        usd.sphere("target", TARGET, 0.05, color=BLACK)
        for k, bar in enumerate(bars()):
            usd.mesh(f"bar_{k}", bar.points, bar.triangles, color=GREY)
        for time in np.arange(0.0, SECONDS, 1.0 / fps):
            at = [np.interp(time / SECONDS * steps, np.arange(steps + 1), result.last[:, k]) for k in range(3)]
            usd.frame()
            usd.sphere("mass", at, 0.09, color=RED)
            for k, spring in enumerate(springs(cage, np.array(at))):
                usd.mesh(f"spring_{k}", spring.points, spring.triangles, color=STEEL)


def check(result):
    """Raise AssertionError unless the mass ends at the target, almost at rest, on springs that can be built."""
    distance = np.linalg.norm(result.last[-1] - TARGET)
    assert distance < 5.0e-3, f"the mass ends {distance:g} m from the target"
    assert result.speed < 0.05, f"it passes at {result.speed:g} m/s"
    assert result.rest.min() > 0.1, f"a rest length of {result.rest.min():g} m"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--steps", type=int, above=0, default=320, help="time steps of a swing")
    parser.add_argument("--iterations", type=int, above=0, default=200, help="of Adam")
    parser.add_argument("--rate", type=float, above=0, default=0.03, help="learning rate of Adam [m]")
    parser.add_argument("--fps", type=int, above=0, default=40)
    parser.add_argument("--output", type=Path, default=Path("spring_cage.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("spring_cage.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    cage = Cage(args.steps, args.device)
    result = optimise(cage, args.iterations, args.rate)
    write(cage, result, args.output, args.fps)
    draw(cage, result, args.picture)
    miss = np.linalg.norm(result.last[-1] - TARGET)
    print(f"{args.output}: the loss fell from {result.loss[0]:.3f} to {result.loss[-1]:.1e} m²")
    print(f"the mass ends {miss:.1e} m from the target at {result.speed:.1e} m/s")
    return result


if __name__ == "__main__":
    main()
