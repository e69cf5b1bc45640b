"""A column of a hundred thousand grains collapses and spreads: the discrete element method on a hash grid.

Grains are balls with a linear spring and a dashpot across every contact and Coulomb friction along it
(Cundall and Strack 1979). They do not spin: friction has no memory, and stands for rolling resistance too. Radii
differ by 10 %, or the heap would stay a crystal. The grid is built anew in every step, which is replayed as a graph.

The grains settle in a pipe, which then is gone, as in the experiments of Lube et al. (2004, J. Fluid Mech. 508): a
column of aspect ratio a = height / radius below 1.7 spreads by 1.24 a of its radius, a taller one by 1.6 sqrt(a).
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

import warpsim as wp
from warpsim.usd import UsdWriter

RADIUS, SPREAD, DENSITY = 0.005, 0.1, 2500.0  # mean radius [m], part by which radii differ, [kg/m^3]
LARGEST = RADIUS * (1.0 + SPREAD)
STIFFNESS, DAMPING, SLIDING = 4000.0, 1.4, 1.4  # [N/m], dashpots across and along contacts [N s/m]
FRICTION, GRAVITY = 0.25, -9.81  # Coulomb coefficient [-], [m/s^2]
GAP, JITTER = 1.15, 0.065  # of the loose lattice to start from, in largest diameters and in pitches
STEP, SETTLE = 1.0e-4, 0.4  # a twelfth of a contact, time in the pipe [s]
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
def add_forces(grid: wp.uint64, x: Vec3s, v: Vec3s, radius: Floats, pipe: Floats, f: Vec3s):
    """Contacts with floor, pipe and all grains that touch; threads take grains in the order of the grid."""
    i = wp.hash_grid_point_id(grid, wp.tid())
    p = x[i]
    u = v[i]
    r = radius[i]
    total = wp.vec3()
    if p[1] < r:
        total += contact(wp.vec3(0.0, 1.0, 0.0), r - p[1], u)
    away = wp.length(wp.vec2(p[0], p[2]))
    if away + r > pipe[0]:
        total += contact(wp.vec3(-p[0] / away, 0.0, -p[2] / away), away + r - pipe[0], u)
    for j in wp.hash_grid_neighbors(grid, p, r + LARGEST):
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
    pitch = 2.0 * LARGEST * GAP
    radius = pitch * (grains / (np.pi * aspect)) ** (1.0 / 3.0)
    across = np.arange(-int(radius / pitch) - 1, int(radius / pitch) + 2)
    up = np.arange(round(aspect * radius / pitch) or 1) + 0.5
    points = pitch * np.stack(np.meshgrid(across, up, across), axis=-1).reshape(-1, 3)
    points = points[np.hypot(points[:, 0], points[:, 2]) < radius]
    return points + pitch * np.random.default_rng(0).uniform(-JITTER, JITTER, points.shape)


class Grains:
    """The arrays of n grains on one device, and one time step of them as a graph."""

    def __init__(self, points, device):
        def array(values, dtype):
            return wp.array(values.astype(np.float32), dtype=dtype, device=device)

        n = len(points)
        sizes = RADIUS * np.random.default_rng(1).uniform(1.0 - SPREAD, 1.0 + SPREAD, n)
        self.x, self.radius = array(points, wp.vec3), array(sizes, float)
        self.v, self.f = (wp.zeros(n, dtype=wp.vec3, device=device) for _ in range(2))
        self.pipe = array(np.hypot(points[:, 0], points[:, 2]).max(keepdims=True) + LARGEST, float)
        self.grid = wp.HashGrid(128, 128, 128, device=device)
        with wp.ScopedCapture(device=device) as self.capture:
            self.grid.build(self.x, 2.0 * LARGEST)
            given = [self.grid.id, self.x, self.v, self.radius, self.pipe]
            wp.launch(add_forces, n, given, [self.f], device=device)
            wp.launch(move, n, [self.f, self.radius, STEP], [self.x, self.v], device=device)

    def step(self):
        wp.capture_launch(self.capture.graph)


@dataclass
class Result:
    """The end: points (n, 3), radii (n,) [m]. Per frame: time [s], height and reach of 99 % [m], energy [J]."""

    points: np.ndarray
    radii: np.ndarray
    rows: np.ndarray


def draw(path, moments, radii, color):
    """Each moment (caption, points) from the side, slightly from above, far grains first."""
    wide, tall = (1.05 * max(np.abs(points[:, axis]).max() for _, points in moments) for axis in (0, 1))
    low, high = -0.55 * wide, 0.94 * tall + 0.2 * wide
    figure = Figure(figsize=(4.4 * len(moments), 2.2 * (high - low) / wide), dpi=120, layout="constrained")
    for axes, (caption, points) in zip(figure.subplots(1, len(moments), squeeze=False)[0], moments, strict=True):
        depth = 0.94 * points[:, 2] + 0.34 * points[:, 1]
        order = np.argsort(depth)
        lit = (color * (0.55 + 0.45 * (depth - depth.min()) / np.ptp(depth))[:, None]) ** (1.0 / 2.2)
        place = np.stack([points[:, 0], 0.94 * points[:, 1] - 0.34 * points[:, 2]])[:, order]
        size = (144.0 * 2.1 / wide * radii[order]) ** 2
        axes.scatter(*place, s=size, c=lit[order], edgecolors="black", linewidths=0.1)
        axes.text(0.0, 0.9 * low, caption, ha="center")
        axes.set(xlim=(-wide, wide), ylim=(low, high), aspect="equal")
        axes.axis("off")
    figure.savefig(path)


def run(args):
    """Simulate, write the animation and the picture; returns a Result."""
    points = column(args.grains, args.aspect)
    grains = Grains(points, args.device)
    radii = grains.radius.numpy().astype(np.float64)
    mass = DENSITY * 4.0 / 3.0 * np.pi * radii**3
    color = BANDS[(6 * points[:, 1] / (points[:, 1].max() + RADIUS)).astype(int) % len(BANDS)]
    frames, steps = round(args.seconds * args.fps) or 1, round(1.0 / (args.fps * STEP)) or 1
    shown, rows, moments, spent = {0, round(0.3 * frames), frames}, [], [], 0.0
    for _ in range(round(SETTLE / STEP)):
        grains.step()
    grains.pipe.fill_(np.inf)
    with UsdWriter(args.output, fps=args.fps, metadata={"solver": "DEM", "version": wp.__version__}) as usd:
        for frame in tqdm(range(frames + 1), unit="frame", disable=None):
            usd.frame()
            begin = time.perf_counter()
            for _ in range(steps if frame else 0):
                grains.step()
            spent += time.perf_counter() - begin
            x, v = (a.numpy().astype(np.float64) for a in (grains.x, grains.v))
            usd.points("grains", x, radii, color=color)
            energy = (mass * (0.5 * (v**2).sum(axis=1) - GRAVITY * x[:, 1])).sum()
            most = (np.quantile(a, 0.99) for a in (x[:, 1], np.hypot(x[:, 0], x[:, 2])))
            rows.append((frame * steps * STEP, *most, energy))
            if frame in shown:
                moments.append((f"t = {rows[-1][0]:.2f} s", x))
    draw(args.picture, moments, radii, color)
    print(f"{args.output}: {len(points)} grains, {frames * steps} steps, {frames * steps / spent:.0f} steps/s")
    return Result(x, radii, np.array(rows))


def check(result):
    """Raise AssertionError unless the heap is made of whole grains, lost energy, and spread as columns do."""
    _, height, reach, energy = result.rows.T
    assert np.isfinite(result.points).all(), "not finite"
    sunk = (result.radii - result.points[:, 1]).max() / RADIUS
    assert sunk < 0.2, f"a grain sank into the floor by {sunk:.0%} of a radius"
    gain = np.diff(energy).max() / energy[0]
    assert gain < 1.0e-4, f"energy grew by {gain:g} in a frame"
    aspect = height[0] / reach[0]
    expected = 1.24 * aspect if aspect < 1.7 else 1.6 * aspect**0.5
    spread = reach[-1] / reach[0] - 1.0
    assert 0.6 * expected < spread < 1.4 * expected, f"spread by {spread:.2f} radii instead of about {expected:.2f}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grains", type=int, default=100_000, help="about how many")
    parser.add_argument("--aspect", type=float, default=3.0, help="height of the loose column by its radius")
    parser.add_argument("--seconds", type=float, default=0.8)
    parser.add_argument("--fps", type=int, default=25)
    for name, ending in (("--output", "usdc"), ("--picture", "png")):
        parser.add_argument(name, type=Path, default=Path(f"dem_grains.{ending}"))
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    if min(args.grains, args.aspect, args.seconds, args.fps) <= 0:
        parser.error("--grains, --aspect, --seconds and --fps must be above zero")
    return run(args)


if __name__ == "__main__":
    main()
