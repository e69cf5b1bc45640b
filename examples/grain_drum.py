"""Grains of two colors mix in a rotating drum with lifters: `SolverDEM`, with a triangle mesh as the wall.

The wall is a closed mesh that grains are inside of. It feels their weight: the torque that turns the drum is the weight
of the bed times how far its centre of mass is carried off the vertical, which is checked.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, sphere
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Material, ModelBuilder, Scene, ShapeConfig, SolverDEM

RADIUS, DENSITY = 0.004, 2500.0  # of a grain [m], [kg/m^3]
DRUM, LENGTH, LIFTERS, LIFT = 0.1, 0.05, 12, 0.006  # inner radius, length, number and height of lifters [m]
SPIN, GRAVITY = -3.0, 9.81  # of the drum about z [rad/s], [m/s^2]
STEP = 1.0e-4  # [s], a seventh of what stress needs over a grain
SAND = Material(youngs_modulus=2.0e6, restitution=0.4, friction=0.5, rolling_friction=0.1)
COLORS = ((0.55, 0.16, 0.08), (0.20, 0.32, 0.45))  # linear RGB; one half of each ball is light, to see it turn
HEIGHT = 1.15 * DRUM  # of the axis above the ground


def drum(sides=240):
    """Points (n, 3) and triangles of the closed wall about z, and how many of the triangles are no caps."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    bump = np.clip(3.0 * np.cos(LIFTERS * angle) - 2.0, 0.0, 1.0)
    ring = (DRUM - LIFT * bump)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = np.zeros((2 * sides + 2, 3))
    points[:sides, :2] = points[sides:-2, :2] = ring
    points[:sides, 2], points[sides:-2, 2] = -0.5 * LENGTH, 0.5 * LENGTH
    points[-2:, 2] = -0.5 * LENGTH, 0.5 * LENGTH
    a, b = np.arange(sides), (np.arange(sides) + 1) % sides
    wall = [np.stack([a, b, b + sides], 1), np.stack([a, b + sides, a + sides], 1)]
    middle = np.full(sides, 2 * sides)
    caps = [np.stack([b, a, middle], 1), np.stack([a + sides, b + sides, middle + 1], 1)]
    return points, np.concatenate([*wall, *caps]), 2 * sides


def bed(grains):
    """Where grains start (n, 3) [m], with the axis at the origin: a lattice, from the lower wall upwards."""
    pitch = 2.1 * RADIUS
    across = pitch * np.arange(-20, 21)
    points = np.stack(np.meshgrid(across, across, across, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = np.hypot(points[:, 0], points[:, 1]) < DRUM - LIFT - 1.2 * RADIUS
    points = points[inside & (np.abs(points[:, 2]) < 0.5 * LENGTH - 1.1 * RADIUS)]
    points = points[np.argsort(points[:, 1], kind="stable")][:grains]
    return points + np.random.default_rng(0).uniform(-0.02, 0.02, points.shape) * RADIUS


def ball(color):
    """A small ball with one light half."""
    shape = sphere((0.0, 0.0, 0.0), 1.0, rings=4)
    light = np.where(shape.points[:, :1] > 0.0, 0.75 + 0.25 * np.array(color), color)
    return Surface(shape.points, shape.triangles, light)


@dataclass
class Result:
    """torque: that the drum feels about its axis, and that of the weight of the grains about it, (frames, 2) [N m];
    slope: of the bed at the end [deg]; outside: grains that left the drum; mixed: 0 while colors are apart, 1 when a
    grain's neighbours are of both colors alike."""

    torque: np.ndarray
    slope: float
    outside: int
    mixed: float


def mixing(points, kinds):
    """How well two kinds are mixed, from the kinds of the eight nearest of each grain."""
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    near = np.argpartition(apart, 9, axis=1)[:, :9]
    others = (kinds[near] != kinds[:, None]).sum(axis=1) / 8.0
    share = np.array([(kinds != k).mean() for k in (0, 1)])[kinds]
    return float(np.mean(others / share))


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    wall, faces, open_faces = drum()
    start = bed(args.grains) + np.array([0.0, HEIGHT, 0.0])
    kinds = (start[:, 0] > 0.0).astype(int)
    builder = ModelBuilder(gravity=-GRAVITY)
    mass = DENSITY * 4.0 / 3.0 * np.pi * RADIUS**3
    builder.add_particles(start, 0.0, mass, RADIUS)
    corners = wp.array(wall, dtype=wp.vec3, device=args.device)
    mesh = wp.Mesh(corners, wp.array(faces.ravel(), dtype=int, device=args.device))
    pose = [0.0, HEIGHT, 0.0, 0.0, 0.0, 0.0, 1.0]
    shape = builder.add_shape_mesh(pose, mesh, cfg=ShapeConfig(mu=0.6, restitution=0.4), hollow=True)
    model = builder.finalize(args.device)
    steps = max(1, round(1.0 / (args.fps * STEP)))
    solver, state, control = SolverDEM(model, SAND, substeps=steps, rolling="spring"), model.state(), model.control()
    control.set_shape(shape, angular_velocity=(0.0, 0.0, SPIN))
    scene = Scene(solver=solver, state=state, control=control, torque=[])
    shapes, about = [ball(c) for c in COLORS], {"solver": "DEM", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "ground": 2.0, "moments": (0.0, 0.3, 1.0)}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, azimuth=12.0, elevation=12.0, **files) as film:
        for t in film.frames(Saves(args, scene)):
            if t:
                solver.step(state, state, control, dt=film.dt)
                control.advance(film.dt)
            q = state.particle_q.numpy().astype(float)
            motion = {"velocities": state.particle_qd.numpy(), "spins": state.particle_w.numpy()}
            film.show_copies("grains", shapes, q, state.particle_rotation.numpy(), RADIUS, kinds, **motion)
            c, s = np.cos(SPIN * t), np.sin(SPIN * t)
            turned = wall @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) + pose[:3]
            film.show("drum", Surface(turned, faces[:open_faces], (0.30, 0.33, 0.38)))
            scene.torque.append((float(solver.shape_force.numpy()[shape, 2]), -mass * GRAVITY * q[:, 0].sum()))
    off = q[:, :2].mean(axis=0) - pose[:2]
    slope = float(np.degrees(np.arctan2(off[0] * np.sign(SPIN), -off[1])))
    outside = int((np.hypot(q[:, 0], q[:, 1] - HEIGHT) > DRUM).sum() + (np.abs(q[:, 2]) > 0.5 * LENGTH).sum())
    mixed = mixing(q, kinds)
    print(f"{args.output}: {len(q)} grains, bed at {slope:.0f} degrees, {mixed:.0%} mixed")
    return Result(np.array(scene.torque), slope, outside, mixed)


def check(result):
    """Raise AssertionError unless the drum carries the bed up, feels its weight, keeps the grains and mixes them."""
    assert result.outside == 0, f"{result.outside} grains left the drum"
    assert 10.0 < result.slope < 60.0, f"the bed stands at {result.slope:.0f} degrees"
    felt, weight = result.torque[len(result.torque) // 3 :].mean(axis=0)
    assert abs(felt / weight - 1.0) < 0.1, f"the drum feels {felt:.4g} N m of {weight:.4g}"
    assert result.mixed > 0.3, f"colors are mixed to {result.mixed:.0%} only"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "grain_drum", seconds=3.0, fps=50)
    add_save_options(parser, "grain_drum")
    parser.add_argument("--grains", type=int, above=0, default=1200, help="how many")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
