"""A column of a hundred thousand grains collapses and spreads: the discrete element method on a hash grid.

Grains are balls with a linear spring and a dashpot across every contact and Coulomb friction along it
(Cundall and Strack 1979). They do not spin, so friction has no memory and stands for rolling resistance
too. Radii differ by 10 %, or the heap would stay a crystal. The grid of neighbours is built anew in every
step; one step is captured once and then replayed.

The height and reach of the heap are those of Lube et al. (2004), Axisymmetric collapses of granular
columns, J. Fluid Mech. 508: a column of aspect ratio a = height / radius below 1.7 spreads by about
1.24 a of its radius, a taller one by 1.6 sqrt(a).
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from tqdm import tqdm

import warpsim as wp
from warpsim.usd import UsdWriter

RADIUS, SPREAD, DENSITY = 0.005, 0.1, 2500.0  # mean radius [m], part by which radii differ, [kg/m^3]
STIFFNESS, DAMPING, SLIDING = 4000.0, 1.4, 1.4  # [N/m], dashpots across and along contacts [N s/m]
FRICTION, GRAVITY = 0.25, -9.81  # Coulomb coefficient [-], [m/s^2]
GAP, JITTER = 1.15, 0.065  # of the loose lattice that the column starts as, in largest diameters and in pitches
STEP = 1.0e-4  # a twelfth of a contact [s]
BANDS = np.array([(0.55, 0.16, 0.08), (0.86, 0.62, 0.25), (0.20, 0.32, 0.45)])  # linear RGB by height

Vec3s, Floats = wp.array(dtype=wp.vec3), wp.array(dtype=float)


@wp.func
def contact(n: wp.vec3, overlap: float, u: wp.vec3):
    """The force on a grain that overlaps something in direction -n and moves by u against it [N]."""
    across = wp.dot(n, u)
    press = wp.max(STIFFNESS * overlap - DAMPING * across, 0.0)  # no glue
    along = u - n * across
    speed = wp.length(along)
    drag = wp.min(SLIDING * speed, FRICTION * press)
    return n * press - along * (drag / wp.max(speed, 1.0e-9))


@wp.kernel
def add_forces(grid: wp.uint64, x: Vec3s, v: Vec3s, radius: Floats, reach: float, f: Vec3s):
    """Contacts with the floor y = 0 and with all grains that touch; neighbours in space follow each other."""
    i = wp.hash_grid_point_id(grid, wp.tid())
    p = x[i]
    u = v[i]
    r = radius[i]
    total = wp.vec3()
    if p[1] < r:
        total += contact(wp.vec3(0.0, 1.0, 0.0), r - p[1], u)
    for j in wp.hash_grid_query(grid, p, r + reach):
        if j != i:
            d = p - x[j]
            gap = wp.length(d)
            overlap = r + radius[j] - gap
            if overlap > 0.0 and gap > 0.0:
                total += contact(d / gap, overlap, u - v[j])
    f[i] = total


@wp.kernel
def move(f: Vec3s, radius: Floats, h: float, x: Vec3s, v: Vec3s):
    """Semi-implicit Euler."""
    i = wp.tid()
    mass = DENSITY * (4.0 / 3.0 * wp.pi) * radius[i] * radius[i] * radius[i]
    v[i] = v[i] + (f[i] / mass + wp.vec3(0.0, GRAVITY, 0.0)) * h
    x[i] = x[i] + v[i] * h


def column(grains, aspect):
    """Centres (n, 3) [m] of a cylinder of about `grains` grains, `aspect` times as high as its radius."""
    pitch = 2.0 * RADIUS * (1.0 + SPREAD) * GAP
    radius = pitch * (grains / (np.pi * aspect)) ** (1.0 / 3.0)
    k = np.arange(-int(radius / pitch) - 1, int(radius / pitch) + 2)
    x, z = (a.ravel() * pitch for a in np.meshgrid(k, k))
    disk = np.stack([x, z], axis=1)[np.hypot(x, z) < radius]
    layers = max(1, round(aspect * radius / pitch))
    y = (np.arange(layers) + 0.5) * pitch
    points = np.column_stack([np.tile(disk[:, 0], layers), np.repeat(y, len(disk)), np.tile(disk[:, 1], layers)])
    jitter = np.random.default_rng(0).uniform(-JITTER, JITTER, points.shape)
    return points + jitter * pitch


class Grains:
    """The arrays of n grains on one device, and one time step of them as a graph."""

    def __init__(self, points, device):
        def array(values, dtype):
            return wp.array(values.astype(np.float32), dtype=dtype, device=device)

        n = len(points)
        sizes = RADIUS * np.random.default_rng(1).uniform(1.0 - SPREAD, 1.0 + SPREAD, n)
        reach = RADIUS * (1.0 + SPREAD)  # of the largest grain
        self.x, self.radius = array(points, wp.vec3), array(sizes, float)
        self.v, self.f = (wp.zeros(n, dtype=wp.vec3, device=device) for _ in range(2))
        self.grid = wp.HashGrid(128, 128, 128, device=device)
        self.grid.reserve(n)
        with wp.ScopedCapture(device=device) as self.capture:
            self.grid.build(self.x, 2.0 * reach)
            wp.launch(add_forces, n, [self.grid.id, self.x, self.v, self.radius, reach], [self.f], device=device)
            wp.launch(move, n, [self.f, self.radius, STEP], [self.x, self.v], device=device)

    def step(self):
        wp.capture_launch(self.capture.graph)


@dataclass
class Result:
    """The end: points (n, 3) [m], radii (n,) [m]; per frame time [s], height, reach [m] and energy [J]; steps/s."""

    points: np.ndarray
    radii: np.ndarray
    rows: np.ndarray
    rate: float


def measured(time, x, v, mass):
    """Height and reach of the heap, within which 99 % of the grains are, and its energy."""
    away = np.hypot(x[:, 0], x[:, 2])
    energy = (mass * (0.5 * (v**2).sum(axis=1) - GRAVITY * x[:, 1])).sum()
    return time, np.quantile(x[:, 1], 0.99), np.quantile(away, 0.99), energy


def draw(path, moments, radii, color):
    """Each moment (caption, points) from the side, slightly from above, far grains first."""
    figure = Figure(figsize=(4.4 * len(moments), 3.2), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    wide = max(np.abs(points[:, [0, 2]]).max() for _, points in moments)
    tall = max(points[:, 1].max() for _, points in moments)
    for axes, (caption, points) in zip(figure.subplots(1, len(moments), squeeze=False)[0], moments, strict=True):
        depth = 0.94 * points[:, 2] + 0.34 * points[:, 1]
        order = np.argsort(depth)
        shade = 0.55 + 0.45 * (depth - depth.min()) / np.ptp(depth)
        side, up = points[:, 0], 0.94 * points[:, 1] - 0.34 * points[:, 2]
        axes.set(xlim=(-wide, wide), ylim=(-0.4 * wide, 0.94 * tall + 0.36 * wide), aspect="equal", title=caption)
        inch = figure.get_size_inches()[0] / len(moments) / (2.3 * wide)
        size = (144.0 * inch * radii) ** 2
        lit = (color * shade[:, None]) ** (1.0 / 2.2)
        axes.scatter(side[order], up[order], s=size[order], c=lit[order], edgecolors="black", linewidths=0.1)
        axes.axis("off")
    figure.savefig(path)


def run(args):
    """Simulate, write the animation and the picture; returns a Result."""
    points = column(args.grains, args.aspect)
    grains = Grains(points, args.device)
    radii = grains.radius.numpy().astype(np.float64)
    mass = DENSITY * 4.0 / 3.0 * np.pi * radii**3
    color = BANDS[(6 * points[:, 1] / (points[:, 1].max() + RADIUS)).astype(int) % len(BANDS)]
    frames, steps = max(1, round(args.seconds * args.fps)), max(1, round(1.0 / (args.fps * STEP)))
    shown = {round(part * frames) for part in (0.0, 0.3, 1.0)}
    rows, moments, spent = [], [], 0.0
    about = {"solver": "DEM", "version": wp.__version__, "steps per frame": steps}
    with UsdWriter(args.output, fps=args.fps, metadata=about) as usd:
        for frame in tqdm(range(frames + 1), unit="frame", disable=None):
            begin = time.perf_counter()
            for _ in range(steps if frame else 0):
                grains.step()
            spent += time.perf_counter() - begin
            usd.frame()
            x, v = grains.x.numpy().copy(), grains.v.numpy()
            usd.points("grains", x, radii, color=color)
            rows.append(measured(frame * steps * STEP, x.astype(float), v.astype(float), mass))
            if frame in shown:
                moments.append((f"t = {rows[-1][0]:.2f} s", x))
    draw(args.picture, moments, radii, color)
    rate = frames * steps / spent
    print(f"{args.output}: {len(points)} grains, {rate:.0f} steps/s, {rate * len(points) / 1e6:.2f} million grains/s")
    print("height and reach at the end: {:.3f} m, {:.3f} m".format(*rows[-1][1:3]))
    return Result(x, radii, np.array(rows), rate)


def check(result):
    """Raise AssertionError unless the heap is made of whole grains, lost energy, and spread as columns do."""
    x, (_, height, reach, energy) = result.points.astype(float), result.rows.T
    assert np.isfinite(x).all(), "not finite"
    sunk = (result.radii - x[:, 1]).max() / RADIUS
    assert sunk < 0.2, f"a grain sank into the floor by {sunk:.0%} of a radius"
    gain = np.diff(energy).max() / energy[0]
    assert gain < 1.0e-4, f"energy grew by {gain:g} in a frame"
    aspect = height[0] / reach[0]
    expected = 1.24 * aspect if aspect < 1.7 else 1.6 * aspect**0.5
    spread = reach[-1] / reach[0] - 1.0
    assert 0.4 * expected < spread < 1.3 * expected, f"spread by {spread:.2f} radii instead of about {expected:.2f}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grains", type=int, default=100_000, help="about how many")
    parser.add_argument("--aspect", type=float, default=1.5, help="height of the column by its radius")
    parser.add_argument("--seconds", type=float, default=0.8)
    parser.add_argument("--fps", type=int, default=25)
    parser.add_argument("--output", type=Path, default=Path("dem_grains.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("dem_grains.png"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    if min(args.grains, args.aspect, args.seconds, args.fps) <= 0:
        parser.error("--grains, --aspect, --seconds and --fps must be above zero")
    return run(args)


if __name__ == "__main__":
    main()
