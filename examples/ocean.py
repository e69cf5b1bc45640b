"""A sea under a fresh wind: waves by Fourier transforms, with foam, as an animation that loops.

JONSWAP waves on a tile that repeats itself in space and, as every frequency is a multiple of that of the loop, in time
(Tessendorf 2001). Foam is carried through the loop once before the first frame, so that it joins as well. The picture
looks over the sea from a ship's rail; `check` holds the height of the waves to the spectrum, and the loop to itself.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.plot.sea import render_sea
from warpsim.render import Saves, SimulationParser, add_save_options
from warpsim.solvers import Scene
from warpsim.solvers.ocean import JONSWAP, Foam, Ocean, Sea, write_maps
from warpsim.usd import UsdWriter
from warpsim.viewer import Slider

DEEP, CREST, WHITE = np.array([[0.004, 0.030, 0.050], [0.03, 0.16, 0.16], [0.80, 0.84, 0.86]])  # linear RGB
FOAM = 0.8, 0.25, 3.0  # stretch of the surface where it appears, and until it is complete; how long it lasts [s]


def faces(cells):
    """Quadrilaterals (m, 4) between the cells of a grid, facing up."""
    i, j = np.divmod(np.arange((cells - 1) ** 2), cells - 1)
    a = i * cells + j
    return np.stack([a, a + cells, a + cells + 1, a + 1], axis=1)


@dataclass
class Result:
    """Significant heights [m]: of the frames, and by the spectrum; largest step of a point over the seam and inside."""

    height: float
    expected: float
    seam: float
    step: float
    foam: float


def make(args, cells):
    """The sea; more cells add short waves to the same long ones."""
    sea = Sea(JONSWAP(args.wind, 1000.0 * args.fetch), direction=2.6)
    options = {"loop_period": args.seconds, "choppiness": 1.2, "seed": args.seed, "device": args.device}
    return Ocean(sea, args.size, cells, **options)


def draw(args, time):
    """The picture, of a sea with more cells than the animation has, and with ripples that are shorter yet."""
    ocean, foam, field = make(args, 4 * args.cells), Foam(*FOAM), None
    for n in range(-9, 1):
        field = ocean.evaluate(time + n / 5.0, out=field)
        cover = foam.step(field, 1.0 / 5.0)
    fields = [a.numpy() for a in (field.displacement, field.height, field.normals, cover)]
    shorter = Ocean(ocean.seas, args.size / 16, 256, longest=2.0 * args.size / ocean.cells, device=args.device)
    ripples = (shorter.size, shorter.evaluate(time).normals.numpy())
    render_sea(args.picture, ocean.size, *fields, ripples=ripples)


def run(args):
    """Evaluate the loop, write the animation, the picture and the maps; returns a Result."""
    ocean = make(args, args.cells)
    frames, foam, field = round(args.seconds * args.fps), Foam(*FOAM), None
    scene = Scene(foam=foam, heights=[], steps=[], first=None, before=None)

    def blow(wind):
        nonlocal ocean
        args.wind = wind
        ocean = make(args, args.cells)

    saves = Saves(args, scene, [Slider("wind [m/s]", args.wind, 0.1, 40.0, blow)])
    about = {"solver": "ocean", "version": wp.__version__, "seed": args.seed, "loop": args.seconds}
    with saves.watch(UsdWriter(args.output, fps=args.fps, up_axis="Z", metadata=about)) as usd:
        for n in saves.frames(range(-frames, frames)):
            field = ocean.evaluate((n % frames) / args.fps, velocity=True, out=field)
            cover = foam.step(field, 1.0 / args.fps).numpy()
            if n < 0:
                continue
            points = field.points().numpy().reshape(-1, 3)
            color = DEEP + (CREST - DEEP) * np.clip(0.4 + points[:, 2:], 0.0, 1.0) + WHITE * cover.reshape(-1, 1)
            usd.frame()
            velocities, extra = field.velocity.numpy().reshape(-1, 3), {"foam": cover.reshape(-1)}
            usd.mesh("sea", points, faces(args.cells), color=color.clip(0, 1), velocities=velocities, primvars=extra)
            scene.heights.append(field.height.numpy().var())
            if scene.first is None:
                scene.first = points
            else:
                scene.steps.append(np.abs(points - scene.before).max())
            scene.before = points
    draw(args, (frames - 1) / args.fps)
    for path in args.maps or ():
        write_maps(path, field, foam.coverage)
    print(f"{args.output}: {frames} frames, significant height {ocean.significant_height:.2f} m")
    seam, height = np.abs(scene.first - scene.before).max(), 4.0 * np.sqrt(np.mean(scene.heights))
    return Result(height, ocean.significant_height, seam, max(scene.steps), float(cover.mean()))


def check(result):
    """Raise AssertionError unless the sea is as high as its spectrum says, and the loop closes without a jump."""
    assert abs(result.height / result.expected - 1.0) < 0.15, (
        f"waves of {result.height:.2f} m, not {result.expected:.2f}"
    )
    assert result.seam < 1.5 * result.step, f"the loop jumps by {result.seam:.2f} m, a frame moves {result.step:.2f} m"
    assert 0.0 < result.foam < 0.2, f"foam covers {result.foam:.1%}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--wind", type=float, above=0, default=12.0, help="speed 10 m above the sea [m/s]")
    parser.add_argument("--fetch", type=float, above=0, default=150.0, help="way of the wind over the sea [km]")
    parser.add_argument("--size", type=float, above=0, default=400.0, help="of the tile [m]")
    parser.add_argument("--cells", type=int, default=256, help="along each side")
    parser.add_argument("--seconds", type=float, above=0, default=8.0, help="of the loop [s]")
    parser.add_argument("--fps", type=int, above=0, default=12)
    parser.add_argument("--seed", type=int, default=4, help="of the random waves")
    parser.add_argument("--output", type=Path, default=Path("ocean.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("ocean.png"))
    parser.add_argument("--maps", type=Path, nargs="*", help="files of the last frame: .npy, .exr or .png")
    parser.add_argument("--device", default="cpu")
    add_save_options(parser, "ocean")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
