"""A mat of cloth floats on the waves: `SolverOcean` tells the particles of `SolverXPBD` what the sea does to them.

Every particle has the buoyancy of its share of a thin mat of foam rubber, and is dragged along by the water under it.
`check` holds the mat to the surface, and its threads to their length.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpsim.plot import Surface
from warpsim.plot.sea import render_sea
from warpsim.render import Saves, SimulationParser, add_save_options
from warpsim.solvers import ModelBuilder, Scene, SolverXPBD
from warpsim.solvers.ocean import GRAVITY, Ocean, Sea, SeaState, SolverOcean, query_heights
from warpsim.usd import UsdWriter

SIZE, SIDE, MIDDLE = 60.0, 12.0, (30.0, 30.0)  # of the tile and of the mat, where the mat starts [m]
THICKNESS, DENSITY = 0.06, 120.0  # of the mat [m], [kg/m^3]
DRAG, STRETCH, BENDING = 120.0, 4.0e3, 2.0  # [N s/m^3], [N/m], [N m]
BLUE, STRIPES = (0.05, 0.20, 0.26), ((0.80, 0.33, 0.03), (0.85, 0.82, 0.75))  # linear RGB
TOP = np.array([0.0, 0.0, THICKNESS])  # of the mat over its particles [m]


def build(cells):
    """The builder of the mat, flat on calm water, and which of its triangles are orange."""
    builder, count = ModelBuilder(up_axis="Z", gravity=-GRAVITY), (cells + 1) ** 2
    builder.default_particle_radius = 0.0
    corner = (MIDDLE[0] - 0.5 * SIDE, MIDDLE[1] - 0.5 * SIDE, 0.0)
    mass, step = DENSITY * THICKNESS * SIDE * SIDE / count, SIDE / cells
    builder.add_cloth_grid(
        corner, (0.0, 0.0, 0.0, 1.0), 0.0, cells, cells, step, step, mass, spring_ke=STRETCH, edge_ke=BENDING
    )
    row = builder.triangles["indices"].min(axis=1) // (cells + 1)
    return builder, row * 6 // cells % 2 == 0


@dataclass
class Result:
    """Per frame: distance [m] of particles from the surface, on average, and their heights; strain at the end."""

    miss: np.ndarray
    heights: np.ndarray
    strain: np.ndarray


def draw(args, sea, time, bodies):
    """The picture: the same waves on more cells, with ripples that move nobody."""
    fine = Ocean(sea, SIZE, 4 * args.waves, seed=5, shortest=2.0).evaluate(time)
    ripples = Ocean(sea, SIZE / 6, 256, longest=2.0).evaluate(time).normals.numpy()
    fields = [a.numpy() for a in (fine.displacement, fine.height, fine.normals)]
    render_sea(args.picture, SIZE, *fields, ripples=(SIZE / 6, ripples), bodies=bodies, viewer=(9.0, 30.0, 4.5))


def run(args):
    """Move the mat, write the animation and the picture; returns a Result."""
    sea = Sea(SeaState(args.height, args.period), direction=0.4)
    ocean = Ocean(sea, SIZE, args.waves, seed=5, shortest=2.0)
    builder, orange = build(args.cells)
    model, faces = builder.finalize(), builder.triangles["indices"]
    solver, state = SolverXPBD(model, substeps=4, damping=0.02), model.state()
    water = SolverOcean(model, ocean, sheet=(THICKNESS, DRAG))
    frames, dt = round(args.seconds * args.fps), 1.0 / (args.fps * args.steps)
    scene = Scene(solver=solver, water=water, state=state, miss=[], heights=[])
    saves = Saves(args, scene)
    with saves.watch(UsdWriter(args.output, fps=args.fps, up_axis="Z", metadata={"solver": "XPBD, ocean"})) as usd:
        for frame in saves.frames(range(frames)):
            for _ in range(args.steps):
                water.step(state, state, dt=dt)
                state.particle_f = water.particle_force
                solver.step(state, state, dt=dt)
            field = ocean.evaluate((frame + 1) / args.fps)
            q, qd = state.particle_q.numpy().copy(), state.particle_qd.numpy().copy()
            usd.frame()
            usd.mesh("sea", field.points().numpy().reshape(-1, 3), field.quads(), color=BLUE)
            usd.mesh("mat", q + TOP, faces, color=STRIPES[0], velocities=qd)
            scene.miss.append(np.nanmean(np.abs(q[:, 2] - query_heights(field, q[:, 0], q[:, 1]))))
            scene.heights.append(q[:, 2])
    mat = [Surface(q + TOP, faces[part], color) for part, color in zip((orange, ~orange), STRIPES, strict=True)]
    draw(args, sea, field.time, mat)
    miss = np.array(scene.miss)
    waves = ocean.significant_height
    print(f"{args.output}: {frames} frames, waves of {waves:.2f} m, mat up to {miss.max():.3f} m off")
    return Result(miss, np.array(scene.heights), solver.statistics(state).spring_strain)


def check(result):
    """Raise AssertionError unless the mat lies on the water, moves with it, and keeps its size."""
    assert np.isfinite(result.heights).all(), "not finite"
    assert result.miss.max() < 0.15, f"the mat is {result.miss.max():.2f} m off the water"
    assert result.heights.std() > 0.05, "the mat does not move"
    assert np.abs(result.strain).mean() < 0.05, f"mean strain {np.abs(result.strain).mean():.1%}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument("--height", type=float, above=0, default=0.8, help="significant, of the waves [m]")
    parser.add_argument("--period", type=float, above=0, default=4.0, help="of the peak [s]")
    parser.add_argument("--cells", type=int, above=0, default=24, help="of the mat, along each side")
    parser.add_argument("--waves", type=int, default=64, help="cells of the sea, along each side")
    parser.add_argument("--seconds", type=float, above=0, default=10.0)
    parser.add_argument("--fps", type=int, above=0, default=12)
    parser.add_argument("--steps", type=int, above=0, default=6, help="per frame")
    parser.add_argument("--output", type=Path, default=Path("ocean_cloth.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("ocean_cloth.png"))
    add_save_options(parser, "ocean_cloth")
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    main()
