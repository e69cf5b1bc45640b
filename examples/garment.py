"""A dress without sleeves hangs on a mannequin that sways and turns: cloth on a moving obstacle, by XPBD.

The garment is a tube of cloth, narrow at the neck and wide at the hem. Nothing holds it but the shoulders and friction;
when the mannequin turns, the hem flies out.
"""

from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Surface
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Contacts, ModelBuilder, Scene, ShapeConfig, SolverXPBD, cloth

RADIUS, HALF, MIDDLE = 0.17, 0.25, 0.75  # of the capsule: radius, half length of its axis, height of its middle [m]
NECK, EASE, LENGTH, HEM = 0.45, 0.012, 0.62, 0.33  # angle of the opening [rad], air, below the shoulder, hem radius [m]
DENSITY, STRETCH, BENDING, FRICTION = 0.18, 4.0e3, 8.0e-6, 0.35  # [kg/m^2], [N/m], [N m], [-]
THICKNESS = 0.004  # kept between cloth and mannequin [m]
SWAY, PERIOD, SPIN = 0.12, 1.6, 7.0  # [m], [s], [rad/s]
TEAL, GREY = (0.03, 0.30, 0.33), (0.42, 0.38, 0.34)  # linear RGB
UPRIGHT = (-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))  # turns the axis of a capsule from z to y


def profile(rings):
    """Radius and height (rings, 2) [m] of the garment from the neck over the shoulder to the hem, evenly spaced."""
    angle = np.linspace(NECK, np.pi / 2, 200)
    shoulder = (RADIUS + EASE) * np.stack([np.sin(angle), np.cos(angle)], axis=1) + [0.0, HALF]
    side = np.stack([np.linspace(RADIUS + EASE, HEM, 200), HALF - np.linspace(0.0, LENGTH, 200)], axis=1)
    curve = np.concatenate([shoulder, side[1:]])
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1)))
    at = np.linspace(0.0, along[-1], rings)
    return np.stack([np.interp(at, along, curve[:, k]) for k in (0, 1)], axis=1)


def revolve(curve, sides):
    """Points (n, 3) [m] and triangles (m, 3) of a profile of radii and heights turned about the y axis."""
    around = 2.0 * np.pi * np.arange(sides) / sides
    radius, height = curve[:, :1], curve[:, 1:]
    points = np.stack([radius * np.cos(around), height + 0.0 * around, radius * np.sin(around)], axis=-1)
    numbers = np.arange(len(curve) * sides).reshape(len(curve), sides)
    return points.reshape(-1, 3), cloth.grid_triangles(np.column_stack([numbers, numbers[:, 0]]))


def build(sides):
    """The builder and the number of the mannequin."""
    builder = ModelBuilder()
    points, triangles = revolve(profile(sides * 2 // 3), sides)
    builder.add_cloth_mesh(
        (0.0, MIDDLE, 0.0), (0.0, 0.0, 0.0, 1.0), 1.0, 0.0, points, triangles, DENSITY, spring_ke=STRETCH,
        edge_ke=BENDING, particle_radius=THICKNESS, tri_drag=0.3,
    )  # fmt: skip
    pose = (0.0, MIDDLE, 0.0, *UPRIGHT)
    return builder, builder.add_shape_capsule(pose, RADIUS, HALF, ShapeConfig(mu=FRICTION))


def motion_at(t):
    """Velocity [m/s] and angular velocity [rad/s] of the mannequin: it sways, then turns one way and the other."""
    sway = SWAY * 2.0 * np.pi / PERIOD * np.sin(2.0 * np.pi * t / PERIOD) * min(1.0, t)
    turn = SPIN * np.sin(np.pi * (t - 1.0) / PERIOD) if t > 1.0 else 0.0
    return (sway, 0.0, 0.0), (0.0, turn, 0.0)


@dataclass
class Result:
    """Per frame: how close points come to the mannequin [m], the height of the neck above its middle [m], the largest
    distance of the hem from its axis [m], (frames,). In the end: strains of springs [-]."""

    gap: np.ndarray
    neck: np.ndarray
    hem: np.ndarray
    strain: np.ndarray


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    builder, body = build(args.sides)
    model, faces = builder.finalize(args.device), builder.triangles["indices"]
    solver, state, control = SolverXPBD(model, args.substeps, damping=0.2), model.state(), model.control()
    contacts, about = Contacts(model, margin=THICKNESS), {"solver": "XPBD", "version": wp.__version__}
    form, form_faces = revolve(capsule_profile(), 64)
    scene = Scene(solver=solver, state=state, control=control, contacts=contacts, rows=[])
    files = {"output": args.output, "picture": args.picture, "moments": (0.0, 0.3, 0.44, 0.72)}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, elevation=10.0, **files) as film:
        for t in film.frames(Saves(args, scene)):
            if t:
                velocity, turning = motion_at(t - film.dt)
                control.set_shape(body, velocity=velocity, angular_velocity=turning)
                solver.step(state, state, control, contacts, film.dt)
                control.advance(film.dt)
            center = control.shape_transform.numpy()[body, :3].astype(float)
            q = state.particle_q.numpy().astype(float)
            film.show("garment", Surface(q, faces, TEAL), state.particle_qd.numpy().copy())
            film.show("mannequin", Surface(form + center, form_faces, GREY))
            away = q - center - np.clip(q - center, [0.0, -HALF, 0.0], [0.0, HALF, 0.0])
            hem = np.linalg.norm((q - center)[-args.sides :, [0, 2]], axis=1).max()
            scene.rows.append((np.linalg.norm(away, axis=1).min() - RADIUS, (q - center)[: args.sides, 1].mean(), hem))
    gap, neck, hem = np.array(scene.rows).T
    print(f"{args.output}: {len(q)} particles, {gap.min():.4f} m off the mannequin, hem out to {hem.max():.2f} m")
    return Result(gap, neck, hem, solver.statistics(state).spring_strain)


def capsule_profile():
    """Radii and heights (n, 2) [m] of the mannequin from its top to its foot."""
    angle = np.linspace(0.0, np.pi, 33)
    return np.stack([RADIUS * np.sin(angle), RADIUS * np.cos(angle) + np.where(angle < np.pi / 2, HALF, -HALF)], axis=1)


def check(result):
    """Raise AssertionError unless the garment stayed on, outside of the mannequin, and flew."""
    assert result.gap.min() >= 0.0, f"{-result.gap.min():g} m inside of the mannequin"
    assert np.abs(result.neck - result.neck[0]).max() < 0.06, "the neck slid off the shoulders"
    assert result.hem.max() > 1.1 * result.hem[0], f"the hem never came farther out than {result.hem.max():.2f} m"
    assert np.abs(result.strain).mean() < 0.03, f"mean strain {np.abs(result.strain).mean():.1%}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "garment", seconds=4.0)
    add_save_options(parser, "garment")
    parser.add_argument("--sides", type=int, above=5, default=84, help="particles around the garment")
    parser.add_argument("--substeps", type=int, above=0, default=20, help="per frame")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
