"""Buoys and a barge ride the waves: rigid bodies in a `Coupling` with `SolverOcean`.

Hulls are cut at the surface over them, which is found by inverting the choppy map of the waves; pressure, drag and
added mass of the wetted part move the body. A row of spar buoys, heavy at their feet, and a barge with a wheelhouse go
through a sea of given height and period. `check` holds them afloat, and their heave to the waves.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpsim.plot import Surface, box
from warpsim.plot.sea import render_sea
from warpsim.plot.turned import capsule_outline, revolve
from warpsim.render import Saves, SimulationParser, add_save_options
from warpsim.solvers import Coupling, ModelBuilder, Scene, ShapeConfig, SolverBodies
from warpsim.solvers.ocean import Ocean, Sea, SeaState, SolverOcean, query_heights
from warpsim.solvers.scene.rotations import rotate
from warpsim.usd import UsdWriter

SIZE = 120.0  # of the tile [m]
WATER, BUOY, HULL, WHITE = (0.05, 0.20, 0.26), (0.85, 0.35, 0.05), (0.45, 0.09, 0.06), (0.75, 0.73, 0.68)  # linear RGB
REST = (0.0, 0.0, 0.0, 1.0)
PARTS = (
    ((5.0, 1.8, 0.9), (0.0, 0.0, 0.0), 420.0, HULL),  # half extents [m], where [m], density [kg/m^3], color
    ((0.9, 1.1, 0.6), (-3.2, 0.0, 1.5), 100.0, WHITE),
)


def build(ocean):
    """The coupling, and the surfaces of all bodies in their frames."""
    builder, looks = ModelBuilder(up_axis="Z"), []
    for y in (43.0, 50.0, 57.0, 64.0):
        body = builder.add_body((50.0, y, -0.6, *REST), com=(0.0, 0.0, -1.0))
        builder.add_shape_capsule(None, 0.4, 1.4, ShapeConfig(density=680.0), body=body)
        looks.append([revolve(capsule_outline(0.4, 1.4), 2, BUOY)])
    barge = builder.add_body((62.0, 55.0, 0.0, *REST))
    for half, middle, density, _color in PARTS:
        builder.add_shape_box((*middle, *REST), *half, ShapeConfig(density=density), body=barge)
    looks.append([box(np.subtract(middle, half), np.add(middle, half), color) for half, middle, _, color in PARTS])
    model = builder.finalize()
    return Coupling(SolverBodies(model, substeps=1), [SolverOcean(model, ocean)]), looks


def draw(args, sea, time, bodies):
    """The picture: the same waves on more cells, with ripples that move nobody."""
    fine = Ocean(sea, SIZE, 4 * args.cells, seed=2, shortest=3.0).evaluate(time)
    ripples = Ocean(sea, SIZE / 8, 256, longest=3.0).evaluate(time).normals.numpy()
    fields = [a.numpy() for a in (fine.displacement, fine.height, fine.normals)]
    render_sea(args.picture, SIZE, *fields, ripples=(SIZE / 8, ripples), bodies=bodies, viewer=(36.0, 55.0, 3.5))


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
    coupling, looks = build(ocean)
    state, frames = coupling.states()[0], round(args.seconds * args.fps)
    scene = Scene(coupling=coupling, state=state, rows=[])
    saves, dt = Saves(args, scene), 1.0 / (args.fps * args.steps)
    with saves.watch(UsdWriter(args.output, fps=args.fps, up_axis="Z", metadata={"solver": "bodies, ocean"})) as usd:
        for frame in saves.frames(range(frames)):
            for _ in range(args.steps):
                coupling.step((state, state), (state, state), dt=dt)
            field, poses = ocean.evaluate((frame + 1) / args.fps), state.body_q.numpy().astype(float)
            usd.frame()
            usd.mesh("sea", field.points().numpy().reshape(-1, 3), field.quads(), color=WATER)
            shapes = []
            for body, (q, parts) in enumerate(zip(poses, looks, strict=True)):
                for k, part in enumerate(parts):
                    points = rotate(q[3:], part.points) + q[:3]
                    shapes.append(Surface(points, part.triangles, part.color))
                    name = f"buoy_{body}" if body < 4 else ("barge", "house")[k]
                    usd.mesh(name, points, part.triangles, color=part.color[0])
            x, y, z = poses[:4, :3].T
            deck = rotate(poses[4, 3:], np.array([[0.0, 0.0, 1.0]]))[0, 2]
            scene.rows.append((z, query_heights(field, x, y), np.degrees(np.arccos(min(deck, 1.0)))))
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
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    main()
