"""A dam breaks: a column of water in a plane runs down a dry bed, with `SolverSPH`.

`check` compares the front with the experiment of Martin and Moyce (1952): in units of the width a of the
column and of sqrt(a / 2g) it runs at 1.32, read from their table between T = 1.43 and 3.33.
"""

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import warpsim as wp
from warpsim.plot import tube
from warpsim.render import Saves, SimulationParser, add_save_options
from warpsim.solvers import Fluid, ModelBuilder, Scene, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box
from warpsim.usd import UsdWriter

WIDTH, HEIGHT, TANK, TOP = 1.0, 2.0, 4.4, 3.0  # column, tank, and how high its walls are [m]
GRAVITY = -9.81  # [m/s^2]
SOUND = 10.0 * math.sqrt(2.0 * 9.81 * HEIGHT)  # ten times the fastest water: 0.5 % of compression [m/s]
WATER = Fluid(density=1000.0, sound=SOUND, alpha=0.03)


class Dam:
    """A column of water in a tank, under its own weight."""

    def __init__(self, cells, device):
        self.dx = WIDTH / cells
        builder = ModelBuilder(gravity=GRAVITY)
        add_fluid_box(builder, (0.0, 0.0, 0.0), (WIDTH, HEIGHT, 0.0), self.dx)
        builder.add_ground_plane()
        builder.add_shape_plane((1.0, 0.0, 0.0))
        builder.add_shape_plane((-1.0, 0.0, 0.0), (TANK, 0.0, 0.0))
        self.model = builder.finalize(device=device)
        self.solver = SolverSPH(self.model, WATER, dim=2, bounds=((0.0, 0.0, 0.0), (TANK, TOP, 0.0)))
        self.now = self.model.state()
        depth = HEIGHT - self.now.particle_q.numpy()[:, 1]
        self.now.particle_rho.assign(WATER.density_at(-WATER.density * GRAVITY * depth))

    def step(self, dt):
        self.solver.step(self.now, self.now, dt=dt)

    def state(self):
        """Positions and velocities (n, 3) of the water, and its statistics."""
        return self.now.particle_q.numpy().copy(), self.now.particle_qd.numpy().copy(), self.solver.statistics(self.now)


@dataclass
class Result:
    """Per frame: T = t sqrt(2g/a), front Z = x/a, column height / H, energy / its first, density error. The end:
    positions (n, 3) [m]. The spacing of particles [m]."""

    rows: np.ndarray
    points: np.ndarray
    spacing: float


def measured(t, dam, x, now):
    """One row of `Result`. The front is the farthest column of cells with two particles: spray does not count."""
    column = np.bincount(np.floor(np.clip(x[:, 0], 0.0, TANK) / dam.dx).astype(int))
    front = (np.flatnonzero(column >= 2).max() + 1) * dam.dx
    high = now.level((-1.0, -1.0, -1.0), (2.0 * dam.dx, 2.0 * HEIGHT, 1.0))
    energy = now.kinetic_energy + now.potential_energy
    scale = math.sqrt(-2.0 * GRAVITY / WIDTH)
    return t * scale, front / WIDTH, high / HEIGHT, energy, np.abs(now.compression).mean()


def draw(path, moments, dx):
    """Pressure at several moments (caption, points, pressures)."""
    figure = Figure(figsize=(6.0 * len(moments) / 2, 5.4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    most = max(np.quantile(p, 0.99) for _, _, p in moments) / 1000.0
    for axes, (caption, x, p) in zip(figure.subplots(2, -(-len(moments) // 2)).ravel(), moments, strict=False):
        inch = figure.get_size_inches()[0] / -(-len(moments) // 2) / (TANK + 0.6)
        image = axes.scatter(x[:, 0], x[:, 1], s=(75.0 * inch * dx) ** 2, c=p / 1000.0, vmin=0.0, vmax=most)
        axes.plot([0.0, 0.0, TANK, TANK], [TOP, 0.0, 0.0, TOP], color="black")
        axes.set(aspect="equal", xlim=(-0.1, TANK + 0.1), ylim=(-0.1, HEIGHT + 0.3), title=caption)
        axes.set(xlabel="x [m]", ylabel="y [m]")
    figure.colorbar(image, ax=figure.axes, label="pressure [kPa]", shrink=0.6)
    figure.savefig(path)


def run(args):
    """Simulate, write the animation and the picture; returns a Result."""
    dam, dt = Dam(args.cells, args.device), 1.0 / args.fps
    frames = max(1, round(args.seconds * args.fps))
    shown = {round(part * frames) for part in (0.15, 0.4, 0.65, 1.0)}
    scene = Scene(solver=dam.solver, state=dam.now, rows=[], moments=[], spent=0.0)
    saves, about = Saves(args, scene), {"solver": "WCSPH", "version": wp.__version__}
    with saves.watch(UsdWriter(args.output, fps=args.fps, metadata=about)) as usd:
        tank = tube([(0.0, TOP, 0.0), (0.0, 0.0, 0.0), (TANK, 0.0, 0.0), (TANK, TOP, 0.0)], 0.2 * dam.dx)
        usd.mesh("tank", tank.points, tank.triangles)
        for frame in saves.frames(range(frames + 1)):
            if frame:
                begin = time.perf_counter()
                dam.step(dt)
                scene.spent += time.perf_counter() - begin
            x, v, now = dam.state()
            usd.frame()
            fast = np.clip(np.linalg.norm(v, axis=1) / 6.0, 0.0, 1.0)[:, None]
            color = (1.0 - fast) * (0.01, 0.08, 0.25) + fast * (0.7, 0.85, 0.95)
            usd.points("water", x, 0.5 * dam.dx, color=color, velocities=v)
            scene.rows.append(measured(frame * dt, dam, x, now))
            if frame in shown:
                scene.moments.append((f"t = {frame * dt:.2f} s", x, now.pressure))
    draw(args.picture, scene.moments, dam.dx)
    rows = np.array(scene.rows)
    rows[:, 3] /= rows[0, 3]
    print(f"{args.output}: {len(x)} particles of water, {frames} frames, {frames / scene.spent:.1f} a second")
    return Result(rows, x.astype(np.float64), dam.dx)


def check(result):
    """Raise AssertionError unless the front runs as in the experiment and energy and density behave."""
    x, (time, front, _, energy, error) = result.points, result.rows.T
    assert np.isfinite(x).all(), "not finite"
    beyond = max(-x[:, :2].min(), (x[:, 0] - TANK).max()) / result.spacing
    assert beyond < 1.0, f"water is {beyond:.1f} spacings inside a wall"
    assert energy.max() < 1.002, f"energy grew to {energy.max():.4f} of what there was"
    assert error.max() < 0.01, f"density is off by {error.max():.2%} on average"
    told = (time >= 1.43) & (time <= 3.33) & (front < TANK / WIDTH - 0.1)
    if told.sum() > 5:
        speed = np.polyfit(time[told], front[told], 1)[0]
        assert abs(speed / 1.32 - 1.0) < 0.08, f"the front runs at {speed:.3f}, in the experiment at 1.32"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--cells", type=int, above=3, default=40, help="particles across the column")
    parser.add_argument("--seconds", type=float, above=0, default=1.0)
    parser.add_argument("--fps", type=int, above=0, default=50)
    parser.add_argument("--output", type=Path, default=Path("sph_dam.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("sph_dam.png"))
    parser.add_argument("--device", default="cpu")
    add_save_options(parser, "sph_dam")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
