"""Grains pour onto a wheel with paddles and turn it: `SolverDEM` and `SolverBodies` in a `Coupling`.

A hinge holds the wheel, with a brake: a damper whose torque grows with the speed. In the end the weight of the grains
on the paddles turns it as fast as the brake lets it, and the torque that grains have on it is that of the brake.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, box, sphere
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Coupling, GrainStream, Material, ModelBuilder, Scene, ShapeConfig, SolverBodies, SolverDEM
from warpsim.solvers.scene.rotations import rotate

RADIUS, DENSITY, RATE = 0.006, 2500.0, 450.0  # of grains [m], [kg/m^3], how many come [1/s]
WHEEL, HUB, WIDTH, PADDLES = 0.16, 0.05, 0.06, 10  # radii, half the width [m], their number
HEIGHT, TROUGH, BRAKE = 0.24, 0.22, 0.06  # of the axle, half its length [m], of the brake [N m s]
SAND = Material(youngs_modulus=1.0e6, restitution=0.3, friction=0.4, rolling_friction=0.05)
WOOD = ShapeConfig(mu=0.3, restitution=0.2, density=500.0)
BROWN = (0.42, 0.25, 0.10)
COLORS = ((0.75, 0.48, 0.16), (0.62, 0.30, 0.10))
STEP = 8.0e-4  # of hand-overs [s]


def parts():
    """Poses and half extents of the pieces of the wheel: paddles, and boxes that make its hub."""
    paddle = np.array([0.5 * (WHEEL - HUB), 0.004, WIDTH])
    slab = HUB * np.array([1.0, np.tan(np.pi / PADDLES), WIDTH / HUB])
    for k in range(PADDLES):
        a = 2.0 * np.pi * k / PADDLES
        turn, out = (0.0, 0.0, np.sin(0.5 * a), np.cos(0.5 * a)), np.array([np.cos(a), np.sin(a), 0.0])
        yield (*(0.5 * (WHEEL + HUB) * out), *turn), paddle
        if k < PADDLES // 2:
            yield (0.0, 0.0, 0.0, *turn), slab


def build(grains, device):
    """Both solvers."""
    builder = ModelBuilder()
    wheel = builder.add_body((0.0, HEIGHT, 0.0, 0.0, 0.0, 0.0, 1.0))
    for pose, half in parts():
        builder.add_shape_box(pose, *half, cfg=WOOD, body=wheel)
    builder.add_joint_revolute(-1, wheel, target_kd=BRAKE)
    mass = DENSITY * 4.0 / 3.0 * np.pi * RADIUS**3
    sand = builder.add_particles(np.zeros((grains, 3)), 0.0, mass, RADIUS)
    builder.add_ground_plane(cfg=WOOD)
    for side in (1.0, -1.0):
        builder.add_shape_plane((0.0, 0.0, -side), (0.0, 0.0, side * (WIDTH + 0.002)), ShapeConfig(mu=0.05))
        builder.add_shape_plane((-side, 0.0, 0.0), (side * TROUGH, 0.0, 0.0), WOOD)
    model = builder.finalize(device)
    stream = GrainStream(sand, (0.1, HEIGHT + 0.22, 0.0), (0.0, -1.0, 0.0), 0.03, RATE, exhausted="stop")
    solver = SolverDEM(model, SAND, substeps=4, rolling="spring", streams=[stream])
    return Coupling(SolverBodies(model, substeps=1, iterations=1), [solver])


def ball(color):
    """A small ball with one light half."""
    shape = sphere((0.0, 0.0, 0.0), 1.0, rings=4)
    light = np.where(shape.points[:, :1] > 0.0, 0.7 + 0.3 * np.array(color), color)
    return Surface(shape.points, shape.triangles, light)


def whole_wheel():
    """All pieces as one surface, around the axle."""
    pieces = [(pose, box(-half, half, BROWN)) for pose, half in parts()]
    points = [rotate(pose[3:], piece.points) + pose[:3] for pose, piece in pieces]
    first = np.cumsum([0, *map(len, points)])
    faces = [piece.triangles + n for n, (_, piece) in zip(first, pieces, strict=False)]
    return Surface(np.concatenate(points), np.concatenate(faces), BROWN)


@dataclass
class Result:
    """rows: per frame, time [s], speed of the wheel [rad/s], torque of grains on it about its axle and that which the
    brake takes [N m]; outside: grains that are not where grains may be."""

    rows: np.ndarray
    outside: int


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    coupling = build(args.grains, args.device)
    solver, states = coupling.matter[0], coupling.states()
    state = states[0]
    scene = Scene(coupling=coupling, state=state, rows=[])
    steps = max(1, round(1.0 / (args.fps * STEP)))
    shapes, kinds = [ball(c) for c in COLORS], np.arange(args.grains) % len(COLORS)
    wheel = whole_wheel()
    about = {"solver": "DEM", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "ground": 1.2, "moments": (0.15, 0.35, 0.6, 1.0)}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, azimuth=12.0, elevation=10.0, **files) as film:
        for t in film.frames(Saves(args, scene)):
            torques = []
            for _ in range(steps if t else 0):
                coupling.step(states, states, dt=film.dt / steps)
                torques.append(coupling.force.numpy()[0, 2])
            there = solver.present(state)
            q, pose = state.particle_q.numpy().astype(float)[there], state.body_q.numpy()[0].astype(float)
            turned = state.particle_rotation.numpy()[there]
            motion = {"velocities": state.particle_qd.numpy()[there], "ids": np.flatnonzero(there)}
            film.show_copies("grains", shapes, q, turned, RADIUS, kinds[there], **motion)
            film.show("wheel", Surface(rotate(pose[3:], wheel.points) + pose[:3], wheel.triangles, BROWN))
            speed = float(state.body_qd.numpy()[0, 2])
            scene.rows.append((t, speed, float(np.mean(torques or [0.0])), BRAKE * speed))
    low, high = (-2.0, -RADIUS, -WIDTH - RADIUS), (2.0, 2.0, WIDTH + RADIUS)
    outside = solver.statistics(state).outside(low, high)
    rows = np.array(scene.rows)
    late = rows[-max(1, len(rows) // 3) :].mean(axis=0)
    come = int(there.sum())
    print(f"{args.output}: {come} grains, the wheel turns at {late[1]:.2f} rad/s, moved by {-late[2]:.3f} N m")
    return Result(rows, outside)


def check(result):
    """Raise AssertionError unless the wheel turns steadily, and the brake takes what grains give."""
    assert result.outside == 0, f"{result.outside} grains left"
    late = result.rows[-max(1, len(result.rows) // 3) :]
    speed, torque, brake = late[:, 1:].mean(axis=0)
    assert speed < -1.0, f"the wheel turns at {speed:.2f} rad/s"
    assert abs(torque / brake - 1.0) < 0.1, f"grains turn it by {-torque:.3f} N m, the brake holds {-brake:.3f}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "grain_wheel", seconds=2.0, fps=50)
    add_save_options(parser, "grain_wheel")
    parser.add_argument("--grains", type=int, above=0, default=1000, help="how many there are")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
