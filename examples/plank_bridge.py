"""A ball rolls over a hanging bridge: planks on hinges by `SolverBodies`, which tells the pull at every hinge.

Under each hinge stands a bar as high as its pull, 1.5 mm for a newton. A bridge that sags little pulls at its banks
with more than all that it bears weighs.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, box, sphere
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import ModelBuilder, Scene, ShapeConfig, SolverBodies
from warpsim.solvers.scene.rotations import rotate

PLANKS, PITCH, BEND, TOP = 12, 0.2, 0.4, 1.1  # their number, hinge to hinge [m], half the arc [rad], of banks [m]
HALF, LAND = np.array([0.095, 0.015, 0.25]), np.array([0.6, 0.04, 0.35])  # half extents of planks and banks [m]
BALL, SPEED = 0.13, 2.0  # its radius [m], how fast it comes [m/s]
WOOD, LEAD = ShapeConfig(mu=0.6, density=600.0), ShapeConfig(mu=0.6, density=900.0)
BROWN, GRAY, STONE, RED = (0.50, 0.28, 0.10), (0.12, 0.13, 0.15), (0.30, 0.31, 0.33), (0.65, 0.10, 0.05)  # linear RGB
NEWTON, REST = 1.5e-3, (0.0, 0.0, 0.0, 1.0)  # of a bar per pull [m/N]


def arc():
    """Hinges from bank to bank, on an arc (PLANKS + 1, 3) [m]."""
    radius, angle = 0.5 * PITCH / np.sin(BEND / PLANKS), np.linspace(-BEND, BEND, PLANKS + 1)
    return np.stack([radius * np.sin(angle), TOP + radius * (np.cos(BEND) - np.cos(angle)), 0.0 * angle], axis=1)


def build(device):
    """The solver; the ball is the last body."""
    builder, hinges, parent = ModelBuilder(), arc(), -1
    for near, far in pairwise(hinges):
        half_angle = 0.5 * np.arctan2(far[1] - near[1], far[0] - near[0])
        plank = builder.add_body((*(0.5 * (near + far)), 0.0, 0.0, np.sin(half_angle), np.cos(half_angle)))
        builder.add_shape_box(None, *HALF, cfg=WOOD, body=plank)
        builder.add_joint_revolute(parent, plank, None, (-0.5 * PITCH, 0.0, 0.0, *REST), target_kd=0.2)
        parent = plank
    builder.add_joint_revolute(-1, parent, None, (0.5 * PITCH, 0.0, 0.0, *REST), target_kd=0.2)
    for land in banks():
        builder.add_shape_box((*land, *REST), *LAND, cfg=WOOD)
    start = banks()[0] + [0.3, LAND[1] + BALL, 0.0]
    ball = builder.add_body((*start, *REST), (0.0, 0.0, -SPEED / BALL, SPEED, 0.0, 0.0))
    builder.add_shape_sphere(radius=BALL, cfg=LEAD, body=ball)
    return SolverBodies(builder.finalize(device), substeps=20)


def banks():
    """The middles of both banks [m]."""
    ends = arc()[[0, -1]]
    return ends + np.array([[-LAND[0] - 0.01, HALF[1] - LAND[1], 0.0], [LAND[0] + 0.01, HALF[1] - LAND[1], 0.0]])


def bars(places, pulls):
    """Pulls [N] as bars that stand on the floor, one surface."""
    pieces = [
        box((x - 0.03, 0.0, -0.03), (x + 0.03, NEWTON * pull, 0.03)) for x, pull in zip(places, pulls, strict=True)
    ]
    faces = np.concatenate([piece.triangles + len(piece.points) * k for k, piece in enumerate(pieces)])
    return Surface(np.concatenate([piece.points for piece in pieces]), faces, RED)


@dataclass
class Result:
    """pulls: at all hinges in each frame [N]; weight: of bridge and ball [N]; x: of the ball [m]; gap: of ball and
    planks, the least [m]."""

    pulls: np.ndarray
    weight: float
    x: np.ndarray
    gap: float


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    solver = build(args.device)
    state = solver.model.state()
    plank, ball = box(-HALF, HALF, BROWN), sphere((0.0, 0.0, 0.0), BALL, GRAY)
    scene = Scene(solver=solver, state=state, pulls=[], x=[], gaps=[])
    about = {"solver": "bodies", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "ground": 6.0, "moments": (0.1, 0.4, 0.7, 1.0)}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, azimuth=12.0, elevation=10.0, **files) as film:
        for name, land in zip(("west", "east"), banks(), strict=True):
            film.stand(name, box(land - LAND, land + LAND, STONE))
        for t in film.frames(Saves(args, scene)):
            if t:
                solver.step(state, state, dt=film.dt)
            q, qd = state.body_q.numpy().astype(float), state.body_qd.numpy()
            pulls = np.linalg.norm(state.joint_f.numpy()[:, 3:], axis=1)
            ends = [rotate(p[3:], np.array([[-0.5 * PITCH, 0.0, 0.0]]))[0] + p[:3] for p in q[:-1]]
            film.show_copies("planks", [plank], q[:-1, :3], q[:-1, 3:], velocities=qd[:-1, 3:], spins=qd[:-1, :3])
            film.show_copies("ball", [ball], q[-1:, :3], q[-1:, 3:], velocities=qd[-1:, 3:])
            film.show("pulls", bars([*(end[0] for end in ends), arc()[-1, 0]], pulls))
            own = [rotate(p[3:] * [-1, -1, -1, 1], (q[-1, :3] - p[:3])[None])[0] for p in q[:-1]]
            scene.gaps.append(min(np.linalg.norm(x - np.clip(x, -HALF, HALF)) for x in own) - BALL)
            scene.pulls.append(pulls)
            scene.x.append(q[-1, 0])
    weight = 9.81 * float(solver.model.body_mass.numpy().sum())
    pulls = np.array(scene.pulls)
    print(f"{args.output}: {weight:.0f} N on {PLANKS} planks, a hinge pulls with {pulls.max():.0f} N at most")
    return Result(pulls, weight, np.array(scene.x), float(min(scene.gaps)))


def check(result):
    """Raise AssertionError unless the ball crosses on the planks, and hinges bear what hangs on them."""
    assert result.x[-1] > arc()[-1, 0], f"the ball ends at {result.x[-1]:.2f} m"
    assert result.gap > -0.005, f"the ball is {-result.gap:.3f} m in a plank"
    assert result.pulls.max() > 0.5 * result.weight, f"hinges pull with {result.pulls.max():.0f} N at most"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "plank_bridge", seconds=1.8, fps=50)
    add_save_options(parser, "plank_bridge")
    parser.add_argument("--device", default="cpu")
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    main()
