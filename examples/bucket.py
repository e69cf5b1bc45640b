"""A bucket digs into a bed of grains, fills, curls and lifts: `SolverDEM` and `SolverBodies` in a `Coupling`.

A D6 joint leaves the bucket three axes, whose drives follow a path of key frames. The joint tells the force and the
torque that the drives give; held still at the end, they bear the bucket and what is in it.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Curves, Surface, box, sphere
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Coupling, JointAxis, Material, ModelBuilder, Scene, ShapeConfig, SolverBodies, SolverDEM
from warpsim.solvers.dem.packing import add_grain_pack
from warpsim.solvers.scene.rotations import rotate

RADIUS, DENSITY = 0.008, 2500.0  # of grains [m], [kg/m^3]
LONG, WIDE = 0.3, 0.06  # half the length and width of the bed [m]
SAND = Material(youngs_modulus=1.0e6, restitution=0.2, friction=0.6, rolling_friction=0.1)
STEEL = ShapeConfig(mu=0.4, restitution=0.1, density=7800.0)
PLATES = {  # of the bucket, around its hinge: lower and upper corners [m]
    "floor": ((0.0, -0.004, -0.054), (0.11, 0.0, 0.054)),
    "back": ((-0.004, -0.004, -0.054), (0.0, 0.08, 0.054)),
    "left": ((-0.004, -0.004, -0.058), (0.11, 0.08, -0.054)),
    "right": ((-0.004, -0.004, 0.054), (0.11, 0.08, 0.058)),
}
PATH = np.array([  # time [s], x and y [m], angle [rad]
    (0.0, -0.22, 0.20, -0.5), (0.2, -0.22, 0.20, -0.5), (0.6, -0.2, 0.07, -0.5), (1.0, 0.0, 0.02, -0.05),
    (1.3, 0.07, 0.03, 0.35), (1.6, 0.08, 0.09, 0.7), (2.1, 0.08, 0.24, 0.7), (9.9, 0.08, 0.24, 0.7),
])  # fmt: skip
YELLOW, COLORS = (0.75, 0.42, 0.03), ((0.46, 0.33, 0.20), (0.33, 0.22, 0.13))
STEP, REST = 1.2e-3, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)  # of hand-overs [s], a pose


def build(depth, device):
    """Both solvers."""
    builder = ModelBuilder()
    bucket = builder.add_body((*PATH[0, 1:3], 0.0, 0.0, 0.0, *half_angle(PATH[0, 3])))
    for low, high in map(np.array, PLATES.values()):
        builder.add_shape_box((*(0.5 * (low + high)), 0.0, 0.0, 0.0, 1.0), *(0.5 * (high - low)), STEEL, bucket)
    drive, turn = (JointAxis(target_ke=k, target_kd=c) for k, c in ((4.0e4, 400.0), (400.0, 4.0)))
    builder.add_joint_d6(-1, bucket, REST, REST, linear_axes={"x": drive, "y": drive}, angular_axes={"z": turn})
    add_grain_pack(builder, (-LONG, 0.0, -WIDE), (LONG, depth, WIDE), RADIUS, DENSITY, fraction=0.5)
    builder.add_ground_plane(cfg=STEEL)
    for axis, reach, cfg in (((1.0, 0.0, 0.0), LONG, STEEL), ((0.0, 0.0, 1.0), WIDE, ShapeConfig(mu=0.05))):
        for side in (1.0, -1.0):
            builder.add_shape_plane(-side * np.array(axis), side * reach * np.array(axis), cfg)
    model = builder.finalize(device)
    return Coupling(SolverBodies(model, substeps=1), [SolverDEM(model, SAND, substeps=4, rolling="spring")])


def half_angle(angle):
    return np.sin(0.5 * angle), np.cos(0.5 * angle)


def inside(q, pose):
    """Which grains are in the bucket."""
    own = rotate(pose[3:] * [-1.0, -1.0, -1.0, 1.0], q - pose[:3])
    return ((own > [0.0, 0.0, -0.054]) & (own < [0.11, 0.12, 0.054])).all(axis=1)


def whole_bucket():
    """All plates as one surface, around the hinge."""
    plates = [box(np.array(low), np.array(high), YELLOW) for low, high in PLATES.values()]
    faces = [plate.triangles + len(plate.points) * k for k, plate in enumerate(plates)]
    return Surface(np.concatenate([plate.points for plate in plates]), np.concatenate(faces), YELLOW)


@dataclass
class Result:
    """rows: per frame, time [s], force along x and y [N] and torque [N m] of the drives; weight: of the bucket and the
    grains in it at the end [N]; carried: how many these are; outside: grains that are not in the box."""

    rows: np.ndarray
    weight: float
    carried: int
    outside: int


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    coupling = build(args.depth, args.device)
    states, controls = coupling.states(), coupling.controls()
    state, model, plates = states[0], coupling.bodies.model, whole_bucket()
    scene, steps = Scene(coupling=coupling, state=state, rows=[]), max(1, round(1.0 / (args.fps * STEP)))
    shapes, kinds = [sphere((0.0, 0.0, 0.0), 1.0, c, rings=4) for c in COLORS], np.arange(model.particle_count) % 2
    files = {"output": args.output, "picture": args.picture, "ground": 1.0, "moments": (0.2, 0.45, 0.65, 1.0)}
    files |= {"metadata": {"solver": "DEM", "version": wp.__version__}, "azimuth": 20.0, "elevation": 18.0}
    with Film(seconds=args.seconds, fps=args.fps, **files) as film:
        for t in film.frames(Saves(args, scene)):
            felt = []
            for k in range(steps if t else 0):
                now = t + (k + 1 - steps) * film.dt / steps
                x, y, angle = (np.interp(now, PATH[:, 0], column) for column in PATH.T[1:])
                controls[0].joint_target.assign(np.array([[0.0, 0.0, angle, x, y, 0.0]]))
                coupling.step(states, states, controls, dt=film.dt / steps)
                felt.append(state.joint_f.numpy()[0, [3, 4, 2]])
            q, pose = state.particle_q.numpy().astype(float), state.body_q.numpy()[0].astype(float)
            film.show_copies("grains", shapes, q, state.particle_rotation.numpy(), RADIUS, kinds)
            film.show("bucket", Surface(rotate(pose[3:], plates.points) + pose[:3], plates.triangles, YELLOW))
            scene.rows.append((t, *np.mean(felt or [[0.0] * 3], axis=0)))
        rows, within = np.array(scene.rows), inside(q, pose)
        torque = Curves(-rows[:, 3], "torque of the drive [N m]", "time [s]", x=rows[:, 0])
        film.charts += [Curves(rows[:, 2], "force upwards [N]", "time [s]", x=rows[:, 0]), torque]
    weight = 9.81 * float(model.body_mass.numpy()[0] + model.particle_mass.numpy()[within].sum())
    outside = coupling.matter[0].statistics(state).outside((-LONG, -RADIUS, -WIDE), (LONG, 1.0, WIDE))
    words = f"{within.sum()} of {len(q)} grains lifted, {weight:.1f} N with the bucket"
    print(f"{args.output}: {words}; the drive bears {rows[-1, 2]:.1f} N")
    return Result(rows, weight, int(within.sum()), outside)


def check(result):
    """Raise AssertionError unless the bucket is full, and its drive bears it and the grains in it."""
    assert result.outside == 0, f"{result.outside} grains left the box"
    assert result.carried > 100, f"{result.carried} grains are in the bucket"
    borne = result.rows[-5:, 2].mean()
    assert abs(borne / result.weight - 1.0) < 0.05, f"the drive bears {borne:.1f} N of {result.weight:.1f}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "bucket", seconds=2.5, fps=50)
    add_save_options(parser, "bucket")
    parser.add_argument("--depth", type=float, above=0, default=0.13, help="of the bed [m]")
    parser.add_argument("--device", default="cpu")
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    main()
