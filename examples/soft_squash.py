"""A soft body of tetrahedra is squashed by a falling plate and let go: stable Neo-Hookean elasticity by XPBD.

The body is a ball of five tetrahedra for each cell of a bent grid. The plate is a box that `Control` moves down and up
again; the volume is watched in every frame.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, box
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import ModelBuilder, Scene, ShapeConfig, SolverXPBD, soft

RADIUS, DENSITY, YOUNG, POISSON = 0.25, 1000.0, 1.0e5, 0.45  # [m], [kg/m^3], [Pa], [-]
HALF, CLEAR, DEEP = 0.35, 0.56, 0.28  # half side of the plate; its lower face at the top and at the bottom [m]
DOWN, HOLD, UP = 0.5, 0.3, 0.25  # seconds of moving down, of waiting, of moving up
THICK = 0.05  # of the plate [m]
GREEN, GREY = (0.10, 0.42, 0.22), (0.35, 0.37, 0.40)  # linear RGB


def ball(cells):
    """Points (n, 3) [m] and tetrahedra (t, 4): a block of cells whose surface is bent to a sphere.

    The square of each coordinate in [-1, 1] is reduced by halves of the others': x sqrt(1 - y^2/2 - z^2/2 + y^2 z^2/3).
    """
    points, tets = soft.block((cells,) * 3, (2.0 / cells,) * 3)
    x, y, z = (points - 1.0).T ** 2
    shrink = np.sqrt(1.0 - np.stack([y + z, z + x, x + y]) / 2.0 + np.stack([y * z, z * x, x * y]) / 3.0)
    return RADIUS * (points - 1.0) * shrink.T, tets


def build(cells):
    """The builder, and the number of the plate."""
    builder = ModelBuilder()
    builder.default_particle_radius = 0.002
    points, tets = ball(cells)
    builder.add_soft_mesh(
        (0.0, RADIUS + 0.002, 0.0), (0.0, 0.0, 0.0, 1.0), 1.0, 0.0, points, tets, DENSITY, youngs_modulus=YOUNG,
        poissons_ratio=POISSON, k_damp=0.005,
    )  # fmt: skip
    builder.add_ground_plane(cfg=ShapeConfig(mu=0.6))
    pose = (0.0, CLEAR + THICK / 2, 0.0, 0.0, 0.0, 0.0, 1.0)
    return builder, builder.add_shape_box(pose, HALF, THICK / 2, HALF, ShapeConfig(mu=0.6))


def speed_at(t):
    """Velocity of the plate [m/s]."""
    if t < DOWN:
        return (DEEP - CLEAR) / DOWN
    return (CLEAR - DEEP) / UP if DOWN + HOLD <= t < DOWN + HOLD + UP else 0.0


@dataclass
class Result:
    """Height of the body [m] and its volume per rest volume in each frame; the worst tetrahedron in the end."""

    height: np.ndarray
    volume: np.ndarray
    worst: float


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    builder, plate = build(args.cells)
    model, faces = builder.finalize(args.device), builder.triangles["indices"]
    solver, state, control = SolverXPBD(model, args.substeps, damping=0.2), model.state(), model.control()
    scene = Scene(solver=solver, state=state, control=control, heights=[], volumes=[])
    about = {"solver": "XPBD", "version": wp.__version__}
    moments = np.minimum([0.0, DOWN / args.seconds, (DOWN + HOLD + UP) / args.seconds, 1.0], 1.0)
    files = {"output": args.output, "picture": args.picture, "moments": moments, "ground": 4.0}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, elevation=8.0, **files) as film:
        for t in film.frames(Saves(args, scene)):
            if t:
                control.set_shape(plate, velocity=(0.0, speed_at(t - film.dt), 0.0))
                solver.step(state, state, control, None, film.dt)
                control.advance(film.dt)
            q = state.particle_q.numpy().copy()
            low = float(control.shape_transform.numpy()[plate, 1]) - THICK / 2
            film.show("ball", Surface(q, faces, GREEN), state.particle_qd.numpy().copy())
            film.show("plate", box((-HALF, low, -HALF), (HALF, low + THICK, HALF), GREY))
            scene.heights.append(np.ptp(q[:, 1]))
            scene.volumes.append(solver.statistics(state).total_volume_ratio)
    worst = float(solver.statistics(state).volume_ratio.min())
    heights = np.array(scene.heights)
    print(f"{args.output}: {film.count + 1} frames, {model.tet_count} tetrahedra, squashed to {heights.min():.3f} m")
    return Result(heights, np.array(scene.volumes), worst)


def check(result):
    """Raise AssertionError unless the body gave way, kept its volume and came back."""
    before, after = result.height[0], result.height[-1]
    assert result.height.min() < 0.7 * before, f"only squashed to {result.height.min():.3f} m"
    assert abs(after - before) < 0.1 * before, f"{after:.3f} m high in the end, {before:.3f} m before"
    assert np.abs(result.volume - 1.0).max() < 0.15, f"volume off by {np.abs(result.volume - 1.0).max():.1%}"
    assert result.worst > 0.5, f"a tetrahedron has {result.worst:.2f} of its volume"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "soft_squash", seconds=2.5)
    add_save_options(parser, "soft_squash")
    parser.add_argument("--cells", type=int, above=0, default=10, help="across the ball")
    parser.add_argument("--substeps", type=int, above=0, default=20, help="per frame")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
