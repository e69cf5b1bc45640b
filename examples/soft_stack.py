"""Soft blocks fall on each other and stay as a stack: tetrahedra that touch, by XPBD.

Blocks touch by the corners and edges of their surfaces, and rub against each other.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Surface
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import ModelBuilder, Scene, ShapeConfig, SolverXPBD, SurfaceContacts

SIDE, BETWEEN, DENSITY, POISSON = 0.24, 0.02, 800.0, 0.42  # side of a block [m], air below it [m], [kg/m^3], [-]
YOUNG = (3.0e5, 2.0e5, 1.2e5)  # from the lowest block to the highest [Pa]
TURN = (0.0, 0.3, -0.2)  # about the vertical [rad]
FRICTION, THICKNESS = 0.6, 0.003  # Coulomb coefficient [-]; kept around surfaces [m]
COLORS = ((0.09, 0.25, 0.42), (0.62, 0.42, 0.06), (0.60, 0.14, 0.08))  # linear RGB


def build(cells):
    """The builder, the particles of each block, and the triangles of each block."""
    builder, blocks, faces = ModelBuilder(), [], []
    step, builder.default_particle_radius = SIDE / cells, THICKNESS
    builder.add_ground_plane(cfg=ShapeConfig(mu=FRICTION))
    for level, (young, turn) in enumerate(zip(YOUNG, TURN, strict=True)):
        first, half = builder.triangles.count, 0.5 * SIDE
        rotation = np.array([0.0, np.sin(turn / 2), 0.0, np.cos(turn / 2)])
        across = np.array([np.cos(turn) + np.sin(turn), 0.0, np.cos(turn) - np.sin(turn)]) * half
        foot = np.array([0.0, BETWEEN + level * (SIDE + BETWEEN), 0.0]) - across
        block = builder.add_soft_grid(
            foot, rotation, 0.0, cells, cells, cells, step, step, step, DENSITY, youngs_modulus=young,
            poissons_ratio=POISSON, k_damp=0.01,
        )  # fmt: skip
        blocks.append(block)
        faces.append(builder.triangles["indices"][first:] - block.start)
    return builder, blocks, faces


@dataclass
class Result:
    """The end: heights of the middles of blocks [m], their horizontal offset from the first [m], (blocks,); the
    fastest particle [m/s]. Over all frames: worst volume of a tetrahedron per its volume at rest, and of all, [-]."""

    height: np.ndarray
    offset: np.ndarray
    speed: float
    worst: float
    volume: np.ndarray


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    builder, blocks, faces = build(args.cells)
    model = builder.finalize(args.device)
    solver, state = SolverXPBD(model, args.substeps, damping=0.3), model.state()
    contacts = SurfaceContacts(model, friction=FRICTION)
    scene = Scene(solver=solver, state=state, contacts=contacts, worst=1.0, volume=[])
    about = {"solver": "XPBD", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "moments": (0.0, 0.08, 0.16, 1.0), "ground": 4.0}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, elevation=10.0, **files) as film:
        for t in film.frames(Saves(args, scene)):
            if t:
                solver.step(state, state, None, contacts, film.dt)
            q, qd = state.particle_q.numpy().astype(float), state.particle_qd.numpy().copy()
            found = solver.statistics(state)
            scene.worst = min(scene.worst, float(found.volume_ratio.min()))
            scene.volume.append(found.total_volume_ratio)
            for k, block in enumerate(blocks):
                film.show(f"block_{k}", Surface(q[block], faces[k], COLORS[k]), qd[block])
    middle = np.array([q[block].mean(axis=0) for block in blocks])
    speed = float(np.linalg.norm(qd, axis=1).max())
    print(f"{args.output}: {model.particle_count} particles, {model.tet_count} tetrahedra, {middle[-1, 1]:.3f} m")
    offset = np.linalg.norm((middle - middle[0])[:, [0, 2]], axis=1)
    return Result(middle[:, 1], offset, speed, scene.worst, np.array(scene.volume))


def check(result):
    """Raise AssertionError unless the stack stands, at rest, of blocks that kept their volume."""
    steps = np.diff(result.height)
    assert steps.min() > 0.6 * SIDE, f"a block is only {steps.min():.3f} m above the one below"
    assert steps.max() < 1.1 * SIDE, f"a block floats {steps.max():.3f} m above the one below"
    assert result.offset.max() < 0.25 * SIDE, f"a block has slid by {result.offset.max():.3f} m"
    assert result.speed < 0.2, f"a particle still moves at {result.speed:.2f} m/s"
    assert result.worst > 0.3, f"a tetrahedron had {result.worst:.2f} of its volume"
    assert np.abs(result.volume - 1.0).max() < 0.1, f"volume off by {np.abs(result.volume - 1.0).max():.1%}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "soft_stack", seconds=2.0)
    add_save_options(parser, "soft_stack")
    parser.add_argument("--cells", type=int, above=0, default=4, help="along each side of a block")
    parser.add_argument("--substeps", type=int, above=0, default=20, help="per frame")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
