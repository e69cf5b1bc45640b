"""Waves on a square pool: a drop falls in, its rings run to the walls and come back.

The wave equation u_tt = c^2 (u_xx + u_yy) on a grid, with central differences in space and leapfrog
in time (Courant, Friedrichs and Lewy 1928). Walls reflect: the surface meets them level. The scheme
keeps the mean height, and a discrete energy, to rounding; `check` holds it to both, and to the wave
speed.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, box
from warpsim.render import Film, Saves, SimulationParser, add_save_options
from warpsim.solvers import Scene

SIDE, SPEED = 4.0, 1.5  # pool [m], wave speed c [m/s]
DROP, WIDTH, HEIGHT = (0.8, 0.5), 0.15, 0.30  # where the hump is, its radius and height [m]
DEPTH, RIM = 0.35, 0.08  # of the water at rest, thickness of the walls of the pool [m]
DEEP, CREST = np.array([0.01, 0.09, 0.20]), np.array([0.60, 0.85, 0.90])  # linear RGB


@wp.kernel
def leapfrog(before: wp.array2d[float], now: wp.array2d[float], courant: float):
    """Replace the heights of the last step by those of the next; courant = (c dt / dx)^2."""
    i, j = wp.tid()
    n = now.shape[0] - 1
    here = now[i, j]
    across = now[wp.max(i - 1, 0), j] + now[wp.min(i + 1, n), j]
    along = now[i, wp.max(j - 1, 0)] + now[i, wp.min(j + 1, n)]
    before[i, j] = 2.0 * here - before[i, j] + courant * (across + along - 4.0 * here)


def grid(cells):
    """Cell centres x, z (n, n) [m] and the triangles (m, 3) between them, facing up."""
    along = (np.arange(cells) + 0.5) * SIDE / cells - 0.5 * SIDE
    z, x = np.meshgrid(along, along, indexing="ij")
    row, column = np.divmod(np.arange((cells - 1) ** 2), cells - 1)
    a = row * cells + column
    d, b = a + cells, a + 1
    c = d + 1
    return x, z, np.concatenate([np.stack([a, d, c], 1), np.stack([a, c, b], 1)])


def pool():
    """Its four walls as surfaces."""
    half, out = 0.5 * SIDE, 0.5 * SIDE + RIM
    sides = [(-out, -half, -out, out), (half, out, -out, out), (-half, half, -out, -half), (-half, half, half, out)]
    return [box((a, 0.0, c), (b, DEPTH + 0.25, d), (0.62, 0.60, 0.55)) for a, b, c, d in sides]


def energy(before, now, cfl):
    """The discrete energy that leapfrog keeps, for cells of unit mass, times dt^2 [m^2]."""
    before, now = before.astype(np.float64), now.astype(np.float64)
    slopes = sum((np.diff(before, axis=k) * np.diff(now, axis=k)).sum() for k in (0, 1))
    return 0.5 * ((now - before) ** 2).sum() + 0.5 * cfl**2 * slopes


@dataclass
class Result:
    """Per frame: time [s], mean height [m], energy, and how far from the drop water moves [m]."""

    time: np.ndarray
    mean: np.ndarray
    energy: np.ndarray
    reach: np.ndarray


def advance(before, now, steps, cfl):
    """The heights of the last two steps after some more of them."""
    for _ in range(steps):
        wp.launch(leapfrog, dim=now.shape, inputs=[before, now, cfl * cfl], device=now.device)
        before, now = now, before
    return before, now


def run(args, cfl):
    """Simulate, write the animation and the picture; returns a Result."""
    x, z, triangles = grid(args.cells)
    distance = np.hypot(x - DROP[0], z - DROP[1])
    hump = HEIGHT * np.exp(-0.5 * (distance / WIDTH) ** 2)
    start = wp.array(hump.astype(np.float32), dtype=float, device=args.device)
    scene = Scene(heights=(start, wp.clone(start)), rows=[])
    about = {"solver": "leapfrog", "version": wp.__version__, "cfl": cfl}
    files = {"output": args.output, "picture": args.picture, "moments": (0.0, 0.15, 0.4, 1.0)}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, elevation=34.0, panel=(480, 330), **files) as film:
        for number, wall in enumerate(pool()):
            film.stand(f"wall{number}", wall)
        for time in film.frames(Saves(args, scene)):
            old, new = scene.heights
            scene.heights = advance(old, new, args.steps if time else 0, cfl)
            before, now = (heights.numpy() for heights in scene.heights)
            points = np.stack([x, DEPTH + now, z], axis=-1).reshape(-1, 3)
            light = np.clip(0.25 + 2.5 * now.reshape(-1, 1) / HEIGHT, 0.0, 1.0)
            film.show("water", Surface(points, triangles, DEEP + light * (CREST - DEEP)))
            reach = distance[np.abs(now) > 0.01 * HEIGHT].max(initial=0.0)
            scene.rows.append((time, now.mean(dtype=float), energy(before, now, cfl), reach))
    print(f"{args.output}: {film.count + 1} frames of {args.cells} x {args.cells} cells, cfl {cfl:.2f}")
    return Result(*np.array(scene.rows).T)


def check(result):
    """Raise AssertionError unless mean height and energy stay and the front runs at wave speed."""
    drift = np.abs(result.mean - result.mean[0]).max() / HEIGHT
    assert drift < 1.0e-4, f"the mean height drifted by {drift:g} of the drop"
    loss = np.abs(result.energy / result.energy[0] - 1.0).max()
    assert loss < 1.0e-3, f"the energy changed by {loss:.2%}"
    front = SPEED * result.time + 3.03 * WIDTH  # where the hump starts with 1 % of its height
    corner = np.hypot(0.5 * SIDE + DROP[0], 0.5 * SIDE + DROP[1])
    free = front < corner
    miss = np.abs(result.reach[free] - front[free]).max()
    assert miss < WIDTH, f"the front is {miss:.3f} m from where it should be"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--seconds", type=float, above=0, default=3.0)
    parser.add_argument("--fps", type=int, above=0, default=30)
    parser.add_argument("--cells", type=int, above=1, default=96, help="along each side")
    parser.add_argument("--steps", type=int, above=0, default=3, help="per frame")
    parser.add_argument("--output", type=Path, default=Path("wave.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("wave.png"))
    parser.add_argument("--device", default="cpu")
    add_save_options(parser, "wave")
    args = parser.parse_args(argv)
    cfl = SPEED * args.cells / (SIDE * args.fps * args.steps)  # c dt / dx
    if cfl > 0.5**0.5:
        parser.error(f"unstable: c dt / dx = {cfl:.2f} is above 0.71; give more --steps")
    return run(args, cfl)


if __name__ == "__main__":
    main()
