"""Buoys and a barge ride the waves: buoyancy, drag and added mass of closed hulls on a moving sea.

Every triangle of a hull is cut at the surface over it, which is found by inverting the choppy map of the waves;
pressure and drag on the wetted part move the body (`warpsim.solvers.ocean.buoyancy`). A row of spar buoys and a barge
go through a sea of given height and period. `check` holds them afloat, and their heave to the waves.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.plot import Surface
from warpsim.plot.sea import render_sea
from warpsim.render import Saves, SimulationParser, add_save_options
from warpsim.solvers import Scene
from warpsim.solvers.ocean import Floats, Ocean, Sea, SeaState, query_heights
from warpsim.usd import UsdWriter

SIZE = 120.0  # of the tile [m]
WATER, BUOY, HULL = (0.05, 0.20, 0.26), (0.85, 0.35, 0.05), (0.45, 0.09, 0.06)  # linear RGB


def prism(outline, heights):
    """A closed mesh over a convex outline (n, 2), with a ring of points at each of some heights."""
    n, top = len(outline), len(outline) * (len(heights) - 1)
    rings = [np.column_stack([outline, np.full(n, z)]) for z in heights]
    i, j, fan = np.arange(n), (np.arange(n) + 1) % n, np.arange(1, n - 1)
    sides = [k + np.concatenate([np.stack(c, 1) for c in ((i, j, j + n), (i, j + n, i + n))]) for k in range(0, top, n)]
    caps = [np.stack([0 * fan, fan + 1, fan], 1), top + np.stack([0 * fan, fan, fan + 1], 1)]
    return np.concatenate(rings), np.concatenate([*sides, *caps])


def buoy():
    """A spar: long, and heavy at its foot."""
    angle = 2.0 * np.pi * np.arange(12) / 12
    return prism(0.4 * np.stack([np.cos(angle), np.sin(angle)], 1), np.linspace(-2.4, 1.2, 7))


def barge():
    """A box with a bow."""
    return prism(np.array([[-5.0, -1.8], [3.0, -1.8], [5.5, 0.0], [3.0, 1.8], [-5.0, 1.8]]), (-0.9, 0.0, 0.9))


def draw(args, sea, time, bodies):
    """The picture: the same waves on more cells, with ripples that move nobody."""
    fine = Ocean(sea, SIZE, 4 * args.cells, seed=2, shortest=3.0).evaluate(time)
    ripples = Ocean(sea, SIZE / 8, 256, longest=3.0).evaluate(time).normals.numpy()
    fields = [a.numpy() for a in (fine.displacement, fine.height, fine.normals)]
    render_sea(args.picture, SIZE, *fields, ripples=(SIZE / 8, ripples), bodies=bodies, viewer=(36.0, 55.0, 3.5))


def turned(points, state, k):
    """Points of a body in space."""
    x, y, z, w = state.orientation.numpy()[k]
    q = np.array([x, y, z])
    return points + 2.0 * np.cross(q, np.cross(q, points) + w * points) + state.position.numpy()[k]


@dataclass
class Result:
    """Per frame: heights [m] of the buoys and of the water over them; angle [deg] of the barge's deck."""

    buoys: np.ndarray
    water: np.ndarray
    tilt: np.ndarray


def run(args):
    """Move the floats, write the animation and the picture; returns a Result."""
    sea = Sea(SeaState(args.height, args.period), direction=0.3)
    ocean = Ocean(sea, SIZE, args.cells, seed=2, shortest=3.0)
    kinds = [Floats(*buoy(), density=680.0, drag=1.2, center_of_mass=(0.0, 0.0, -1.6)), Floats(*barge(), density=420.0)]
    states = [kinds[0].state([[50.0, y, -1.6] for y in (43.0, 50.0, 57.0, 64.0)]), kinds[1].state([[62.0, 55.0, 0.0]])]
    dt, scene = 1.0 / (args.fps * args.steps), Scene(states=states, rows=[])
    saves = Saves(args, scene)
    field, frames = None, round(args.seconds * args.fps)
    corner = (np.arange(args.cells - 1)[:, None] * args.cells + np.arange(args.cells - 1)).ravel()
    quads = np.stack([corner, corner + args.cells, corner + args.cells + 1, corner + 1], axis=1)
    about = {"solver": "ocean", "version": wp.__version__}
    with saves.watch(UsdWriter(args.output, fps=args.fps, up_axis="Z", metadata=about)) as usd:
        for frame in saves.frames(range(frames)):
            for step in range(args.steps):
                field = ocean.evaluate((frame * args.steps + step) * dt, velocity=True, out=field)
                for floats, state in zip(kinds, states, strict=True):
                    floats.step(state, state, field.surface, dt)
            usd.frame()
            usd.mesh("sea", field.points().numpy().reshape(-1, 3), quads, color=WATER)
            bodies = [(f"buoy_{k}", 0, k, BUOY) for k in range(4)] + [("barge", 1, 0, HULL)]
            shapes = []
            for name, kind, k, color in bodies:
                points, faces = turned(kinds[kind].points.numpy(), states[kind], k), kinds[kind].triangles.numpy()
                usd.mesh(name, points, faces, color=color)
                shapes.append(Surface(points, faces, color))
            x, y, z = states[0].position.numpy().copy().T
            up = 1.0 - 2.0 * (states[1].orientation.numpy()[0, :2] ** 2).sum()
            scene.rows.append((z, query_heights(field, x, y), np.degrees(np.arccos(np.clip(up, -1.0, 1.0)))))
    draw(args, sea, field.time, shapes)
    print(f"{args.output}: {frames} frames, waves of {ocean.significant_height:.2f} m")
    return Result(*(np.array(column) for column in zip(*scene.rows, strict=True)))


def check(result):
    """Raise AssertionError unless all float upright, and the buoys go up and down with the water."""
    assert np.isfinite(result.buoys).all(), "not finite"
    assert result.tilt.max() < 35.0, f"the barge heels by {result.tilt.max():.0f} degrees"
    late = slice(len(result.buoys) // 3, None)
    follow = np.corrcoef(result.buoys[late].ravel(), result.water[late].ravel())[0, 1]
    assert follow > 0.7, f"the buoys follow the water by {follow:.2f}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--height", type=float, above=0, default=1.2, help="significant, of the waves [m]")
    parser.add_argument("--period", type=float, above=0, default=5.0, help="of the peak [s]")
    parser.add_argument("--seconds", type=float, above=0, default=20.0)
    parser.add_argument("--fps", type=int, above=0, default=12)
    parser.add_argument("--steps", type=int, above=0, default=4, help="per frame")
    parser.add_argument("--cells", type=int, default=96, help="along each side")
    parser.add_argument("--output", type=Path, default=Path("ocean_float.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("ocean_float.png"))
    add_save_options(parser, "ocean_float")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
