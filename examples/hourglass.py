"""Sand runs through an hourglass, at the same rate however much of it is left: `SolverDEM`, with glass as a mesh.

W. Beverloo, H. Leniger and J. van de Velde (1961): a round outlet of diameter D lets 0.58 rho sqrt(g) (D - 1.4 d)^(5/2)
kilograms of grains of diameter d through each second, where rho is their density in bulk. That is of flat floors; a
funnel lets up to half more through.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, sphere
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options, progress
from warpsim.solvers import Material, ModelBuilder, Scene, ShapeConfig, SolverDEM

RADIUS, DENSITY, GRAVITY = 0.002, 2500.0, 9.81  # of a grain [m], [kg/m^3], [m/s^2]
NECK, BULB, CURVE, HALF = 6.0 * RADIUS, 0.036, 0.036, 0.075  # radii, height of the curved part and of a bulb [m]
STEP, SETTLE = 1.0e-4, 0.35  # a fifth of what stress needs over a grain, time with the neck closed [s]
SAND = Material(youngs_modulus=9.0e5, restitution=0.4, friction=0.5, rolling_friction=0.05)
GLASS = ShapeConfig(mu=0.3, restitution=0.4)
BANDS = ((0.55, 0.16, 0.08), (0.86, 0.62, 0.25), (0.20, 0.32, 0.45))  # linear RGB by height; half of a ball is light
HEIGHT = HALF + 0.005  # of the neck above the ground
FILLED = 0.58  # part of a bed that is grains


def glass(sides=48, rings=16):
    """Points (n, 3) and triangles of the closed glass, the neck at the origin; also the triangles of its back."""
    y = np.concatenate([np.linspace(0.0, CURVE, rings), [HALF]])
    r = NECK + (BULB - NECK) * 0.5 * (1.0 - np.cos(np.pi * np.minimum(y / CURVE, 1.0)))
    y, r = np.concatenate([-y[:0:-1], y]), np.concatenate([r[:0:-1], r])
    angle = 2.0 * np.pi * np.arange(sides) / sides
    circle = np.stack([np.sin(angle), np.zeros(sides), np.cos(angle)], axis=1)
    points = [radius * circle + [0.0, height, 0.0] for height, radius in zip(y, r, strict=True)]
    k, after = np.arange(sides), (np.arange(sides) + 1) % sides
    strip = np.concatenate([np.stack([k, after, after + sides], 1), np.stack([k, after + sides, k + sides], 1)])
    wall = np.concatenate([strip + ring * sides for ring in range(len(y) - 1)])
    low, high = len(y) * sides, len(y) * sides + 1
    top = (len(y) - 1) * sides
    caps = [np.stack([after, k, np.full(sides, low)], 1), np.stack([top + k, top + after, np.full(sides, high)], 1)]
    points = np.concatenate([*points, [(0.0, -HALF, 0.0), (0.0, HALF, 0.0)]])
    return points, np.concatenate([wall, *caps]), wall[points[wall, 2].mean(axis=1) < 0.0]


def filling(grains):
    """Where grains start (n, 3) [m]: a lattice in the upper bulb, from the neck upwards."""
    pitch = 2.1 * RADIUS
    across = pitch * np.arange(-20, 21)
    points = np.stack(np.meshgrid(pitch * (np.arange(40) + 0.6), across, across, indexing="ij"), axis=-1).reshape(-1, 3)
    room = NECK + (BULB - NECK) * 0.5 * (1.0 - np.cos(np.pi * np.minimum(points[:, 0] / CURVE, 1.0)))
    points = points[(np.hypot(points[:, 1], points[:, 2]) < room - 1.6 * RADIUS) & (points[:, 0] < HALF - RADIUS)]
    points = points[:grains, [1, 0, 2]]
    return points + np.random.default_rng(0).uniform(-0.02, 0.02, points.shape) * RADIUS


def ball(color):
    """A small ball with one light half."""
    shape = sphere((0.0, 0.0, 0.0), 1.0, rings=4)
    light = np.where(shape.points[:, :1] > 0.0, 0.75 + 0.25 * np.array(color), color)
    return Surface(shape.points, shape.triangles, light)


@dataclass
class Result:
    """times (frames,) [s], below: grains that are under the neck by then, outside: of the glass; expected: by the law
    [1/s]."""

    times: np.ndarray
    below: np.ndarray
    outside: int
    expected: float


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    points, faces, back = glass()
    up = np.array([0.0, HEIGHT, 0.0])
    start = filling(args.grains) + up
    builder = ModelBuilder(gravity=-GRAVITY)
    mass = DENSITY * 4.0 / 3.0 * np.pi * RADIUS**3
    builder.add_particles(start, 0.0, mass, RADIUS)
    corners = wp.array(points, dtype=wp.vec3, device=args.device)
    mesh = wp.Mesh(corners, wp.array(faces.ravel(), dtype=int, device=args.device))
    builder.add_shape_mesh([*up, 0.0, 0.0, 0.0, 1.0], mesh, cfg=GLASS, hollow=True)
    plug = builder.add_shape_box([0.0, HEIGHT - RADIUS, 0.0, 0.0, 0.0, 0.0, 1.0], 2.0 * NECK, RADIUS, 2.0 * NECK)
    model = builder.finalize(args.device)
    steps = max(1, round(1.0 / (args.fps * STEP)))
    solver, state, control = SolverDEM(model, SAND, substeps=steps, rolling="spring"), model.state(), model.control()
    if args.resume is None:
        for _ in progress(range(round(SETTLE * args.fps)), "settling frame"):
            solver.step(state, state, control, dt=1.0 / args.fps)
    control.set_shape(plug, position=(0.0, -1.0, 0.0))
    kinds = np.minimum((state.particle_q.numpy()[:, 1] - HEIGHT) // 0.008, 99).astype(int) % len(BANDS)
    scene = Scene(solver=solver, state=state, control=control, kinds=kinds, below=[])
    shapes, about = [ball(c) for c in BANDS], {"solver": "DEM", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "ground": 1.0, "moments": (0.0, 0.3, 1.0)}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, azimuth=0.0, elevation=8.0, **files) as film:
        film.stand("glass", Surface(points + up, back, (0.55, 0.62, 0.66)))
        for t in film.frames(Saves(args, scene)):
            if t:
                solver.step(state, state, control, dt=film.dt)
            q = state.particle_q.numpy().astype(float)
            motion = {"velocities": state.particle_qd.numpy(), "spins": state.particle_w.numpy()}
            film.show_copies("grains", shapes, q, state.particle_rotation.numpy(), RADIUS, kinds, **motion)
            scene.below.append(int((q[:, 1] < HEIGHT).sum()))
    outside = int((np.hypot(q[:, 0], q[:, 2]) > BULB).sum() + (np.abs(q[:, 1] - HEIGHT) > HALF).sum())
    flow = 0.58 * FILLED * DENSITY * GRAVITY**0.5 * (2.0 * NECK - 2.8 * RADIUS) ** 2.5
    result = Result(film.dt * np.arange(len(scene.below)), np.array(scene.below), outside, flow / mass)
    early, late = rates(result)
    print(f"{args.output}: {len(q)} grains, {early:.0f}, then {late:.0f} a second; by the law {result.expected:.0f}")
    return result


def rates(result):
    """Grains a second through the neck while the first and the second half of most of them run."""
    most = 0.85 * max(result.below[-1], 1)
    at = np.interp(most * np.array([0.1, 0.5, 0.9]), result.below, result.times)
    return 0.4 * most / np.maximum(np.diff(at), 1.0e-9)


def check(result):
    """Raise AssertionError unless the glass holds the grains, and they run steadily and as fast as they should."""
    assert result.outside == 0, f"{result.outside} grains left the glass"
    early, late = rates(result)
    assert abs(late / early - 1.0) < 0.25, f"the flow changed from {early:.0f} to {late:.0f} grains a second"
    flow = 0.5 * (early + late)
    assert 0.9 < flow / result.expected < 1.6, f"{flow:.0f} grains a second, by the law {result.expected:.0f}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "hourglass", seconds=1.2, fps=50)
    add_save_options(parser, "hourglass")
    parser.add_argument("--grains", type=int, above=0, default=1600, help="how many")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
