"""A dam breaks: weakly compressible smoothed particle hydrodynamics in a plane, on a hash grid.

Density follows the continuity equation with the diffusion of Molteni and Colagrossi (2009), pressure
Tait's law, forces the symmetric form of Monaghan with his artificial viscosity; the kernel is that of
Wendland (C2). Walls are rows of fixed particles that take the pressure of the water near them (Adami et
al. 2012): a query of one group of the grid finds water only. Velocities and positions leapfrog, and density
changes by the rate half-way, as the scheme of Adami et al. has it.

`check` compares the front with the experiment of Martin and Moyce (1952): in units of the width a of the
column and of sqrt(a / 2g) it runs at 1.32, read from their table between T = 1.43 and 3.33.
"""

import argparse
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from tqdm import tqdm

import warpsim as wp
from warpsim.usd import UsdWriter

WIDTH, HEIGHT, TANK, TOP = 1.0, 2.0, 4.4, 3.0  # column, tank, and how high its walls are [m]
RHO, GRAVITY = 1000.0, -9.81  # [kg/m^3], [m/s^2]
SOUND = 10.0 * math.sqrt(2.0 * 9.81 * HEIGHT)  # ten times the fastest water: 0.5 % of compression [m/s]
STIFF = RHO * SOUND * SOUND / 7.0  # of Tait's law [Pa]
ALPHA, DELTA = 0.03, 0.1  # artificial viscosity, diffusion of density [-]
SMOOTH, ROWS = 1.3, 3  # smoothing length in spacings, rows of wall particles
COURANT, THINNEST = 0.25, 0.998  # of the time step; the least density, in that of water
WATER, WALL = 0, 1  # groups

Vec3s, Floats = wp.array(dtype=wp.vec3), wp.array(dtype=float)


@wp.func
def kernel_value(r: float, h: float):
    """Wendland C2 in a plane, which ends at 2 h [1/m^2]."""
    q = wp.min(0.5 * r / h, 1.0)
    s = 1.0 - q
    return 7.0 / (4.0 * wp.pi * h * h) * s * s * s * s * (4.0 * q + 1.0)


@wp.func
def kernel_slope(r: float, h: float):
    """Its derivative by r, divided by r [1/m^4]."""
    s = 1.0 - wp.min(0.5 * r / h, 1.0)
    return -35.0 / (4.0 * wp.pi * h * h * h * h) * s * s * s


@wp.kernel
def kick_and_drift(a: Vec3s, dt: float, v: Vec3s, x: Vec3s):
    """Half a step of velocity, then half a step of position."""
    i = wp.tid()
    v[i] = v[i] + a[i] * (0.5 * dt)
    x[i] = x[i] + v[i] * (0.5 * dt)


@wp.kernel
def change_density(
    grid: wp.uint64, x: Vec3s, v: Vec3s, rho: Floats, water: int, h: float, m: float, dt: float, new: Floats
):
    """A step of the continuity equation; density diffuses between particles of water."""
    i = wp.tid()
    flow = float(0.0)
    diffusion = float(0.0)
    for j in wp.hash_grid_neighbors(grid, x[i], 2.0 * h):
        d = x[i] - x[j]
        slope = kernel_slope(wp.length(d), h)
        flow += m * slope * wp.dot(v[i] - v[j], d)
        if j < water:
            diffusion += m / rho[j] * slope * (rho[i] - rho[j])
    # Spray that flies apart would forget its volume, and burst where it falls back into the water.
    new[i] = wp.max(rho[i] + dt * (flow + 2.0 * DELTA * h * SOUND * diffusion), THINNEST * RHO)


@wp.kernel
def drift(v: Vec3s, new: Floats, dt: float, x: Vec3s, rho: Floats, p: Floats):
    """The other half step of position; density and pressure are those of its end."""
    i = wp.tid()
    x[i] = x[i] + v[i] * (0.5 * dt)
    rho[i] = new[i]
    p[i] = wp.max(STIFF * (wp.pow(new[i] / RHO, 7.0) - 1.0), 0.0)  # Tait's law without tension


@wp.kernel
def press_walls(grid: wp.uint64, x: Vec3s, water: int, h: float, rho: Floats, p: Floats):
    """Pressure of wall particles: that of the water near them, as it would be there at rest."""
    i = water + wp.tid()
    total = float(0.0)
    weight = float(0.0)
    for j in wp.hash_grid_neighbors(grid, x[i], 2.0 * h, WATER):
        d = x[i] - x[j]
        w = kernel_value(wp.length(d), h)
        total += w * (p[j] + rho[j] * GRAVITY * d[1])
        weight += w
    p[i] = wp.max(total / wp.max(weight, 1.0e-12), 0.0)
    rho[i] = RHO * wp.pow(p[i] / STIFF + 1.0, 1.0 / 7.0)


@wp.kernel
def accelerate(grid: wp.uint64, x: Vec3s, rho: Floats, p: Floats, water: int, h: float, m: float, v: Vec3s, a: Vec3s):
    """Pressure, viscosity and gravity."""
    i = wp.tid()
    total = wp.vec3(0.0, GRAVITY, 0.0)
    own = p[i] / (rho[i] * rho[i])
    for j in wp.hash_grid_neighbors(grid, x[i], 2.0 * h):
        d = x[i] - x[j]
        push = own + p[j] / (rho[j] * rho[j])
        closing = wp.dot(v[i] - v[j], d)
        if closing < 0.0 and j < water:
            push -= 2.0 * ALPHA * SOUND * h * closing / ((rho[i] + rho[j]) * (wp.dot(d, d) + 0.01 * h * h))
        total -= d * (m * push * kernel_slope(wp.length(d), h))
    a[i] = total


@wp.kernel
def kick(a: Vec3s, dt: float, v: Vec3s):
    i = wp.tid()
    v[i] = v[i] + a[i] * (0.5 * dt)


def block(low, high, dx):
    """Points (n, 3) [m] in a plane, one in the middle of each cell of side dx from `low` to `high` (2,)."""
    x, y = (low[k] + (np.arange(round((high[k] - low[k]) / dx)) + 0.5) * dx for k in range(2))
    x, y = (a.ravel() for a in np.meshgrid(x, y))
    return np.stack([x, y, np.zeros_like(x)], axis=1)


class Dam:
    """The particles of water and wall on one device, and one time step of them as a graph."""

    def __init__(self, cells, device):
        self.dx = dx = WIDTH / cells
        rim = ROWS * dx
        inside = block((0.0, 0.0), (WIDTH, HEIGHT), dx)
        sides = [block((low, -rim), (low + rim, TOP), dx) for low in (-rim, TANK)]
        walls = np.concatenate([block((0.0, -rim), (TANK, 0.0), dx), *sides])
        points = np.concatenate([inside, walls])
        self.water, count, h = len(inside), len(points), SMOOTH * dx
        self.mass, self.step_size = RHO * dx * dx, COURANT * h / (1.1 * SOUND)
        depth = np.clip(HEIGHT - points[:, 1], 0.0, None) * (np.arange(count) < self.water)
        still = RHO * (1.0 - RHO * GRAVITY * depth / STIFF) ** (1.0 / 7.0)  # under its own weight

        def array(values, dtype):
            return wp.array(values.astype(np.float32), dtype=dtype, device=device)

        self.x, self.rho, self.new = array(points, wp.vec3), array(still, float), array(still, float)
        self.v, self.a = (wp.zeros(count, dtype=wp.vec3, device=device) for _ in range(2))
        self.p = wp.zeros(count, dtype=float, device=device)
        kinds = np.where(np.arange(count) < self.water, WATER, WALL).astype(np.int32)
        self.kinds = wp.array(kinds, dtype=int, device=device)
        self.grid = wp.HashGrid(1024, 1024, 1, device=device)
        self.grid.reserve(count, with_groups=True)
        with wp.ScopedCapture(device=device) as self.capture:
            self.record(count, h, device)

    def record(self, count, h, device):
        def launch(kernel, dim, *inputs):
            wp.launch(kernel, dim, inputs, device=device)

        n, m, dt, grid = self.water, self.mass, self.step_size, self.grid
        x, v, a, rho, p = self.x, self.v, self.a, self.rho, self.p
        launch(kick_and_drift, n, a, dt, v, x)
        grid.build(x, 2.0 * h, self.kinds)
        launch(change_density, n, grid.id, x, v, rho, n, h, m, dt, self.new)
        launch(drift, n, v, self.new, dt, x, rho, p)
        grid.build(x, 2.0 * h, self.kinds)
        launch(press_walls, count - n, grid.id, x, n, h, rho, p)
        launch(accelerate, n, grid.id, x, rho, p, n, h, m, v, a)
        launch(kick, n, a, dt, v)

    def step(self):
        wp.capture_launch(self.capture.graph)

    def state(self):
        """Positions, velocities (n, 3), densities and pressures (n,) of the water."""
        return [array.numpy()[: self.water].astype(np.float64) for array in (self.x, self.v, self.rho, self.p)]


@dataclass
class Result:
    """Per frame: T = t sqrt(2g/a), front Z = x/a, column height / H, energy / its first, density error. The end:
    positions (n, 3) [m]. The spacing of particles [m]."""

    rows: np.ndarray
    points: np.ndarray
    spacing: float


def measured(t, dam, x, v, rho):
    """One row of `Result`. The front is the farthest column of cells with two particles: spray does not count."""
    column = np.bincount(np.floor(np.clip(x[:, 0], 0.0, TANK) / dam.dx).astype(int))
    front = (np.flatnonzero(column >= 2).max() + 1) * dam.dx
    high = x[x[:, 0] < 2.0 * dam.dx, 1].max(initial=0.0) + 0.5 * dam.dx
    energy = dam.mass * (0.5 * (v**2).sum() - GRAVITY * x[:, 1].sum())
    scale = math.sqrt(-2.0 * GRAVITY / WIDTH)
    return t * scale, front / WIDTH, high / HEIGHT, energy, np.abs(rho / RHO - 1.0).mean()


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
    figure.colorbar(image, ax=figure.axes, label="pressure [kPa]", shrink=0.6)
    figure.savefig(path)


def run(args):
    """Simulate, write the animation and the picture; returns a Result."""
    dam = Dam(args.cells, args.device)
    frames = max(1, round(args.seconds * args.fps))
    steps = math.ceil(1.0 / (args.fps * dam.step_size))
    frame_time = steps * dam.step_size
    shown = {round(part * frames) for part in (0.15, 0.4, 0.65, 1.0)}
    rows, moments, spent = [], [], 0.0
    about = {"solver": "WCSPH", "version": wp.__version__, "steps per frame": steps}
    with UsdWriter(args.output, fps=1.0 / frame_time, metadata=about) as usd:
        for frame in tqdm(range(frames + 1), unit="frame", disable=None):
            begin = time.perf_counter()
            for _ in range(steps if frame else 0):
                dam.step()
            spent += time.perf_counter() - begin
            x, v, rho, p = dam.state()
            usd.frame()
            fast = np.clip(np.linalg.norm(v, axis=1) / 6.0, 0.0, 1.0)[:, None]
            usd.points("water", x, 0.5 * dam.dx, color=(1.0 - fast) * (0.01, 0.08, 0.25) + fast * (0.7, 0.85, 0.95))
            rows.append(measured(frame * frame_time, dam, x, v, rho))
            if frame in shown:
                moments.append((f"t = {frame * frame_time:.2f} s", x, p))
    draw(args.picture, moments, dam.dx)
    rows = np.array(rows)
    rows[:, 3] /= rows[0, 3]
    rate = frames * steps / spent
    print(f"{args.output}: {dam.water} particles of water, {frames * steps} steps, {rate:.0f} steps/s")
    return Result(rows, x, dam.dx)


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=40, help="particles across the column")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--fps", type=int, default=50)
    parser.add_argument("--output", type=Path, default=Path("sph_dam.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("sph_dam.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    if min(args.cells - 3, args.seconds, args.fps) <= 0:
        parser.error("--seconds and --fps must be above zero, --cells above three")
    return run(args)


if __name__ == "__main__":
    main()
