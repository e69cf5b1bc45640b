"""A column of grains collapses and spreads as in experiments: `SolverDEM`, with twelve thousand grains or more.

Grains are balls with Hertz-Mindlin contacts: they press, slide and roll on each other, and what a contact has slid and
rolled is remembered until it ends. Radii differ by 10 %, or the heap would stay a crystal.

The grains settle in a pipe, which then is gone, as in the experiments of Lube et al. (2004, J. Fluid Mech. 508): a
column of aspect ratio a = height / radius below 1.7 spreads by 1.24 a of its radius, a taller one by 1.6 sqrt(a). The
picture has a ring where that is.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.plot import Balls, render_meshes, sphere, tube
from warpsim.render import Saves, SimulationParser, add_save_options, progress
from warpsim.solvers import Material, ModelBuilder, Scene, ShapeConfig, SolverDEM
from warpsim.usd import UsdWriter
from warpsim.viewer import Slider

RADIUS, SPREAD, DENSITY = 0.005, 0.1, 2500.0  # mean radius [m], part by which radii differ, [kg/m^3]
LARGEST = RADIUS * (1.0 + SPREAD)
SAND = Material(youngs_modulus=4.0e6, restitution=0.4, friction=0.5, rolling_friction=0.1)
GROUND = ShapeConfig(mu=0.5, restitution=0.4)
GAP, JITTER = 1.06, 0.025  # of the loose lattice to start from, in largest diameters and in pitches
STEP, SETTLE = 1.0e-4, 0.3  # a sixth of what stress needs over a grain, time in the pipe [s]
GRAVITY = -9.81
BLACK = (0.02, 0.02, 0.02)
BANDS = np.array([(0.55, 0.16, 0.08), (0.86, 0.62, 0.25), (0.20, 0.32, 0.45)])  # linear RGB by height


def column(grains, aspect):
    """Centres (n, 3) [m] of a cylinder of about `grains` grains, `aspect` times as high as its radius."""
    pitch = 2.0 * LARGEST * GAP
    radius = pitch * (grains / (np.pi * aspect)) ** (1.0 / 3.0)
    across = np.arange(-int(radius / pitch) - 1, int(radius / pitch) + 2)
    up = np.arange(round(aspect * radius / pitch) or 1) + 0.5
    points = pitch * np.stack(np.meshgrid(across, up, across), axis=-1).reshape(-1, 3)
    points = points[np.hypot(points[:, 0], points[:, 2]) < radius]
    return points + pitch * np.random.default_rng(0).uniform(-JITTER, JITTER, points.shape)


class Grains:
    """A column in a pipe, and its solver."""

    def __init__(self, points, device):
        self.radii = RADIUS * np.random.default_rng(1).uniform(1.0 - SPREAD, 1.0 + SPREAD, len(points))
        self.mass = DENSITY * 4.0 / 3.0 * np.pi * self.radii**3
        builder = ModelBuilder(gravity=GRAVITY)
        builder.add_particles(points, 0.0, self.mass, self.radii)
        builder.add_ground_plane(cfg=GROUND)
        reach = np.hypot(points[:, 0], points[:, 2]).max() + LARGEST
        upright = [0.0, 0.0, 0.0, -(0.5**0.5), 0.0, 0.0, 0.5**0.5]
        self.pipe = builder.add_shape_cylinder(upright, reach, 100.0, ShapeConfig(mu=0.0), hollow=True)
        self.model = builder.finalize(device)
        self.solver = SolverDEM(self.model, SAND, substeps=20, rolling="spring")
        self.state, self.control = self.model.state(), self.model.control()

    def run(self, seconds):
        for _ in range(round(seconds / (STEP * self.solver.substeps))):
            self.solver.step(self.state, self.state, self.control, dt=STEP * self.solver.substeps)

    def sliders(self):
        """What may be changed while they run."""
        gravity, materials = self.control.gravity, self.solver.materials

        def rub(coefficient):
            for a in (materials.friction, materials.friction_static, self.model.shape_mu, self.model.shape_mu_static):
                a.fill_(coefficient)

        return [
            Slider("friction [-]", SAND.friction, 0.0, 1.0, rub),
            Slider("gravity [m/s²]", -GRAVITY, -5.0, 20.0, lambda g: gravity.assign([(0.0, -g, 0.0)])),
        ]

    def settle(self):
        """Let them come to rest in the pipe."""
        for _ in progress(range(10), "tenth of settling"):
            self.run(SETTLE / 10)

    def widen_pipe(self):
        """Take it away: as wide as that it is never met."""
        scale = self.model.shape_scale.numpy()
        scale[self.pipe, 0] = 1.0e6
        self.model.shape_scale.assign(scale)


def ball(color):
    """A ball of radius 1 with one light half, to see it turn: points, triangles, colors."""
    shape = sphere((0.0, 0.0, 0.0), 1.0, rings=4)
    return shape.points, shape.triangles, np.where(shape.points[:, :1] > 0.0, 0.75 + 0.25 * color, color)


def spread_by_law(height, reach):
    """How far a column spreads, by its radius."""
    aspect = height / reach
    return 1.24 * aspect if aspect < 1.7 else 1.6 * aspect**0.5


def ring(radius):
    """A ring on the floor."""
    angle = np.linspace(0.0, 2.0 * np.pi, 181)[:, None]
    return tube(radius * np.concatenate([np.cos(angle), 0.0 * angle, np.sin(angle)], axis=1), 0.3 * RADIUS, BLACK)


@dataclass
class Result:
    """The end: points (n, 3), radii (n,) [m]. Per frame: time [s], height of 99 %, reach of 95 % [m], energy [J]."""

    points: np.ndarray
    radii: np.ndarray
    rows: np.ndarray


def run(args):
    """Simulate, write the animation and the picture; returns a Result."""
    points = column(args.grains, args.aspect)
    grains = Grains(points, args.device)
    radii, mass = grains.radii, grains.mass
    kinds = (6 * points[:, 1] / (points[:, 1].max() + RADIUS)).astype(int) % len(BANDS)
    shapes = [ball(band) for band in BANDS]
    frames = round(args.seconds * args.fps) or 1
    steps = max(round(1.0 / (args.fps * STEP)), grains.solver.substeps)
    shown = {0, round(0.3 * frames), frames}
    parts = {"solver": grains.solver, "state": grains.state, "control": grains.control}
    scene = Scene(**parts, rows=[], views={}, spent=0.0)
    saves, about = Saves(args, scene, grains.sliders()), {"solver": "DEM", "version": wp.__version__}
    if args.resume is None:
        grains.settle()
    grains.widen_pipe()
    with saves.watch(UsdWriter(args.output, fps=args.fps, metadata=about)) as usd:
        usd.ground(size=20.0 * np.ptp(points[:, 0]))
        for frame in saves.frames(range(frames + 1)):
            usd.frame()
            begin = time.perf_counter()
            grains.run(steps * STEP if frame else 0.0)
            scene.spent += time.perf_counter() - begin
            x, v = (a.numpy().astype(np.float64) for a in (grains.state.particle_q, grains.state.particle_qd))
            spins, turned = grains.state.particle_w.numpy(), grains.state.particle_rotation.numpy()
            usd.instances("grains", shapes, x, turned, radii, kinds=kinds, velocities=v, spins=spins)
            energy = (mass * (0.5 * (v**2).sum(axis=1) - GRAVITY * x[:, 1])).sum()
            most = np.quantile(x[:, 1], 0.99), np.quantile(np.hypot(x[:, 0], x[:, 2]), 0.95)
            scene.rows.append((frame * steps * STEP, *most, energy))
            law = scene.rows[0][2] * (1.0 + spread_by_law(*scene.rows[0][1:3]))
            if frame in shown:
                near = np.hypot(x[:, 0], x[:, 2]) < 1.1 * most[1]  # few roll far, and would make the others small
                balls = Balls(x[near], radii[near], BANDS[kinds[near]])
                scene.views[f"t = {scene.rows[-1][0]:.2f} s"] = [balls, ring(law)]
    views = scene.views
    render_meshes(args.picture, list(views.values()), captions=list(views), elevation=18.0, panel=(560, 380))
    print(f"{args.output}: {len(points)} grains, {frames * steps} steps, {frames * steps / scene.spent:.0f} steps/s")
    print(f"the column came as far as {scene.rows[-1][2]:.3f} m; by the law of Lube et al. {law:.3f} m")
    return Result(x, radii, np.array(scene.rows))


def check(result):
    """Raise AssertionError unless the heap is made of whole grains, lost energy, and spread as columns do."""
    _, height, reach, energy = result.rows.T
    assert np.isfinite(result.points).all(), "not finite"
    sunk = (result.radii - result.points[:, 1]).max() / RADIUS
    assert sunk < 0.2, f"a grain sank into the floor by {sunk:.0%} of a radius"
    released, *gains = np.diff(energy) / energy[0]  # in its first frame the column lets go what its weight had pressed
    assert released < 0.02, f"the column let go {released:.1%} of its energy"
    assert max(gains) < 1.0e-4, f"energy grew by {max(gains):g} in a frame"
    expected = spread_by_law(height[0], reach[0])
    spread = reach[-1] / reach[0] - 1.0
    assert 0.6 * expected < spread < 1.4 * expected, f"spread by {spread:.2f} radii instead of about {expected:.2f}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--grains", type=int, above=0, default=12_000, help="about how many")
    parser.add_argument("--aspect", type=float, above=0, default=3.0, help="height of the column by its radius [-]")
    parser.add_argument("--seconds", type=float, above=0, default=0.8)
    parser.add_argument("--fps", type=int, above=0, default=25)
    for name, ending in (("--output", "usdc"), ("--picture", "png")):
        parser.add_argument(name, type=Path, default=Path(f"dem_grains.{ending}"))
    parser.add_argument("--device", default="cpu")
    add_save_options(parser, "dem_grains")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
