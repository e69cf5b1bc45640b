"""A tower of blocks is hit by a ball: `SolverBodies`, with contact and friction.

Layers of three planks lie across each other. They stand until a heavy ball comes; what it throws down lies on the floor
in the end, and nothing is inside of anything else.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import box, sphere
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import ModelBuilder, Scene, ShapeConfig, SolverBodies
from warpsim.solvers.scene.rotations import rotate

HALF = np.array([0.15, 0.03, 0.048])  # half extents of a plank [m]
BALL, SPEED = 0.13, 4.0  # its radius [m], how fast it comes [m/s]
WOOD, IRON = ShapeConfig(mu=0.6, restitution=0.1, density=600.0), ShapeConfig(mu=0.6, restitution=0.1, density=2500.0)
REST, ACROSS = (0.0, 0.0, 0.0, 1.0), (0.0, 0.5**0.5, 0.0, 0.5**0.5)
COLORS = ((0.62, 0.42, 0.20), (0.50, 0.28, 0.10), (0.72, 0.55, 0.32))  # linear RGB
GRAY = (0.12, 0.13, 0.15)


def build(layers, device):
    """The solver; the ball is the last body."""
    builder = ModelBuilder()
    builder.add_ground_plane(cfg=WOOD)
    for layer in range(layers):
        for k in (-1, 0, 1):
            aside = 2.08 * HALF[2] * k
            place = (0.0, aside) if layer % 2 == 0 else (aside, 0.0)
            pose = (place[0], (2 * layer + 1) * HALF[1], place[1], *(REST if layer % 2 == 0 else ACROSS))
            builder.add_shape_box(None, *HALF, cfg=WOOD, body=builder.add_body(pose))
    height = max(1.3 * layers * HALF[1], BALL + 0.01)
    ball = builder.add_body((-0.7, height, 0.03, *REST), (0.0, 0.0, 0.0, SPEED, 0.6, 0.0))
    builder.add_shape_sphere(radius=BALL, cfg=IRON, body=ball)
    return SolverBodies(builder.finalize(device), substeps=24, iterations=4)


CORNERS = HALF * np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def lowest_corner(poses):
    """The height of the lowest corner of planks [m]."""
    return min(float((rotate(q[3:], CORNERS) + q[:3])[:, 1].min()) for q in poses)


@dataclass
class Result:
    """height: of the highest plank at the start, before the hit and at the end [m]; lowest: of any corner, ever [m];
    speed: of the fastest plank at the end [m/s]."""

    height: tuple[float, float, float]
    lowest: float
    speed: float


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    solver = build(args.layers, args.device)
    state = solver.model.state()
    planks, ball = [box(-HALF, HALF, color) for color in COLORS], sphere((0.0, 0.0, 0.0), BALL, GRAY)
    kinds = np.arange(3 * args.layers) % len(planks)
    scene = Scene(solver=solver, state=state, heights=[], lows=[])
    about = {"solver": "bodies", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "ground": 4.0, "moments": (0.0, 0.15, 0.35, 1.0)}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, azimuth=30.0, elevation=14.0, **files) as film:
        for t in film.frames(Saves(args, scene)):
            if t:
                solver.step(state, state, dt=film.dt)
            q, qd = state.body_q.numpy().astype(float), state.body_qd.numpy()
            motion = {"velocities": qd[:-1, 3:], "spins": qd[:-1, :3]}
            film.show_copies("tower", planks, q[:-1, :3], q[:-1, 3:], 1.0, kinds, **motion)
            film.show_copies("ball", [ball], q[-1:, :3], q[-1:, 3:], velocities=qd[-1:, 3:])
            scene.heights.append(float(q[:-1, 1].max()))
            scene.lows.append(lowest_corner(q[:-1]))
    hit = max(1, round(0.1 * args.fps))
    height = scene.heights[0], scene.heights[min(hit, len(scene.heights) - 1)], scene.heights[-1]
    speed = float(np.linalg.norm(state.body_qd.numpy()[:-1, 3:], axis=1).max())
    print(f"{args.output}: {3 * args.layers} planks, the highest at {height[0]:.2f} m, in the end at {height[2]:.2f} m")
    return Result(height, min(scene.lows), speed)


def check(result):
    """Raise AssertionError unless the tower stood, fell, and no plank went into the floor."""
    start, before, end = result.height
    assert abs(before - start) < 0.002, f"the tower sank by {start - before:.4f} m before it was hit"
    assert end < 0.8 * start, f"the tower still stands: {end:.2f} of {start:.2f} m"
    assert result.lowest > -0.01, f"a plank is {-result.lowest:.3f} m in the floor"
    assert result.speed < 3.0, f"a plank moves at {result.speed:.1f} m/s"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "block_tower", seconds=1.5, fps=60)
    add_save_options(parser, "block_tower")
    parser.add_argument("--layers", type=int, above=0, default=14, help="of three planks each")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
