"""A ball is thrown at the ground and a wall so that it ends at a target: the throw is found by L-BFGS.

Every time step is a launch. A tape over all of them gives the gradient of the squared distance at the
end with respect to the velocity at the start. Within a step motion is a parabola, and the moment of
an impact is solved for, so the path is exact for any step and depends on the throw without jumps.

The picture has the path of every iteration, from violet (the first guess) to yellow.
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np

import warpsim as wp
from warpsim.optim import LBFGS
from warpsim.plot import box, render_meshes, sphere, tube
from warpsim.render import SimulationParser
from warpsim.usd import UsdWriter

START, TARGET, GUESS = (-1.2, 0.9, 0.9), (-0.7, 1.5, -0.9), (4.0, -3.5, 0.2)  # [m], [m], [m/s]
SECONDS, GRAVITY = 1.1, -9.81  # [s], [m/s^2]
RADIUS, WALL, RESTITUTION = 0.08, 1.8, 0.85  # of the ball [m], where the wall stands [m], [-]
RED, GREY, BLACK = (0.60, 0.10, 0.06), (0.45, 0.47, 0.50), (0.01, 0.01, 0.01)  # linear RGB

Vec3s = wp.array[wp.vec3]
Floats = wp.array[float]


@wp.func
def fly(x: float, v: float, a: float, floor: float, restitution: float, h: float):
    """Position and velocity after h seconds of falling with acceleration a above `floor`."""
    end = x + v * h + 0.5 * a * h * h
    speed = v + a * h
    if end < floor:
        hit = -wp.sqrt(v * v + 2.0 * a * (floor - x))  # velocity at the impact
        left = h - 2.0 * (floor - x) / (v + hit)  # time after it
        up = -restitution * hit
        end = floor + up * left + 0.5 * a * left * left
        speed = up + a * left
    return end, speed


@wp.kernel
def step(x: Vec3s, v: Vec3s, h: float, x_next: Vec3s, v_next: Vec3s):
    """One time step of the ball; the wall is a floor seen from the other side."""
    i = wp.tid()
    p = x[i]
    u = v[i]
    across, right = fly(-p[0], -u[0], 0.0, RADIUS - WALL, RESTITUTION, h)
    height, rise = fly(p[1], u[1], GRAVITY, RADIUS, RESTITUTION, h)
    x_next[i] = wp.vec3(-across, height, p[2] + u[2] * h)
    v_next[i] = wp.vec3(-right, rise, u[2])


@wp.kernel
def miss(x: Vec3s, target: wp.vec3, loss: Floats):
    """The squared distance to the target [m^2]."""
    loss[0] = wp.length_sq(x[0] - target)


class Throw:
    """The ball at every time step: positions and velocities, whose first ones are the throw."""

    def __init__(self, steps, device):
        self.h, self.device = SECONDS / steps, device
        self.x, self.v = (
            [wp.zeros(1, dtype=wp.vec3, device=device, requires_grad=True) for _ in range(steps + 1)] for _ in range(2)
        )
        self.x[0].assign([START])
        self.v[0].assign([GUESS])
        self.loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)

    def forward(self):
        """Fly, and see by how much the target was missed."""
        for k in range(len(self.x) - 1):
            wp.launch(step, 1, [self.x[k], self.v[k], self.h], [self.x[k + 1], self.v[k + 1]], device=self.device)
        wp.launch(miss, 1, [self.x[-1], wp.vec3(*TARGET)], [self.loss], device=self.device)

    def closure(self):
        """The loss, with its gradient in `v[0].grad`."""
        with wp.Tape() as tape:
            self.forward()
        tape.backward(self.loss)
        return self.loss

    def path(self):
        """Positions (steps + 1, 3) [m] of the last flight."""
        return np.concatenate([x.numpy() for x in self.x])


@dataclass
class Result:
    """velocity (3,) [m/s]: of the throw; distance [m]: to the target per iteration; paths: (steps + 1, 3) [m] each."""

    velocity: np.ndarray
    distance: np.ndarray
    paths: list


def optimise(steps, iterations, device):
    """Find the throw; returns a Result."""
    throw = Throw(steps, device)
    throw.forward()
    paths, losses = [throw.path()], [throw.loss.numpy()[0]]

    def note(found):
        paths.append(throw.path())
        losses.append(found.loss)
        print(f"iteration {found.iterations:2}: {np.sqrt(found.loss):.6f} m from the target")

    optimizer = LBFGS([throw.v[0]], tolerance_grad=1.0e-4)  # [m s]: within about 0.1 mm
    found = optimizer.minimize(throw.closure, max_iterations=iterations, callback=note)
    print(f"{found.evaluations} flights, {len(throw.x) - 1} steps each; stopped by: {found.reason}")
    return Result(throw.v[0].numpy()[0].copy(), np.sqrt(losses), paths)


def scene():
    """The wall, and the target: a black square that hangs in the air."""
    target, half = np.array(TARGET), np.array([0.12, 0.12, 0.02])
    wall = box((WALL, 0.0, -1.6), (WALL + 0.06, 2.6, 1.6), GREY)
    return {"wall": wall, "target": box(target - half, target + half, BLACK)}


def draw(result, path):
    """All paths in one picture, with the ball where they start."""
    colors = matplotlib.colormaps["plasma"](np.linspace(0.05, 0.95, len(result.paths)))[:, :3] ** 2.2
    thick = np.linspace(0.008, 0.018, len(result.paths))
    tubes = [tube(p, r, c) for p, r, c in zip(result.paths, thick, colors, strict=True)]
    ball = sphere(result.paths[-1][0], RADIUS, RED)
    views = [[*scene().values(), *tubes, ball]]
    render_meshes(path, views, panel=(960, 640), azimuth=-20.0, elevation=16.0)


def write(result, path, fps):
    """The last flight as an animation with the path it takes."""
    last, steps = result.paths[-1], len(result.paths[-1]) - 1
    with UsdWriter(path, fps=fps, metadata={"solver": "ballistic", "version": wp.__version__}) as usd:
        usd.ground(size=8.0)
        shown = {**scene(), "path": tube(last, 0.01, (0.9, 0.7, 0.1))}
        for name, surface in shown.items():
            usd.mesh(name, surface.points, surface.triangles, color=surface.color[0])
        for time in np.arange(0.0, SECONDS, 1.0 / fps):
            at = time / SECONDS * steps
            usd.frame()
            usd.sphere("ball", [np.interp(at, np.arange(steps + 1), last[:, k]) for k in range(3)], RADIUS, color=RED)


def check(result):
    """Raise AssertionError unless the ball hits, bounces as it should and stays in the room."""
    assert result.distance[-1] < 1.0e-3, f"missed by {result.distance[-1]:g} m"
    for path in result.paths:
        assert path[:, 1].min() > RADIUS - 1.0e-5, f"{RADIUS - path[:, 1].min():g} m in the ground"
        assert path[:, 0].max() < WALL - RADIUS + 1.0e-5, f"{path[:, 0].max() + RADIUS - WALL:g} m in the wall"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--steps", type=int, above=0, default=110, help="time steps of a flight")
    parser.add_argument("--iterations", type=int, above=0, default=50, help="at most")
    parser.add_argument("--fps", type=int, above=0, default=60)
    parser.add_argument("--output", type=Path, default=Path("bounce_to_target.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("bounce_to_target.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    result = optimise(args.steps, args.iterations, args.device)
    write(result, args.output, args.fps)
    draw(result, args.picture)
    return result


if __name__ == "__main__":
    main()
