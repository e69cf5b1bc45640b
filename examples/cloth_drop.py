"""A triangle mesh from any USD file becomes cloth and falls on a ball and a floor.

XPBD with small steps: springs along all edges, bending over them, friction with ball and floor, and particles that keep
off each other, so that folds lie on folds. The mesh is scaled to 1 m across and hung over the ball.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.gallery import asset
from warpsim.plot import Surface, sphere
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Contacts, ModelBuilder, Scene, ShapeConfig, SolverXPBD
from warpsim.usd import read_mesh
from warpsim.viewer import Slider

MESH = asset("cloth_sheet.usda")
DENSITY, STRETCH, BENDING, DAMPING = 0.2, 2.0e4, 2.0e-5, 0.3  # [kg/m^2], [N/m], [N m], [1/s]
THICKNESS, FRICTION = 0.005, 0.4  # kept between cloth and obstacles [m]; Coulomb coefficient [-]
BALL, RADIUS, ABOVE = (0.0, 0.25, 0.0), 0.25, 0.15  # the ball; how far above it the cloth starts [m]
RED, GREY = (0.55, 0.12, 0.07), (0.30, 0.33, 0.38)  # linear RGB


def load(path, prim):
    """Points (n, 3) [m] of a mesh, 1 m across and above the ball, and its triangles (t, 3)."""
    mesh = read_mesh(path, prim)
    points = mesh.points.astype(np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    points = (points - 0.5 * (low + high)) / (high - low).max()
    points[:, 1] += BALL[1] + RADIUS + ABOVE - points[:, 1].min()
    return points, mesh.triangles


def build(points, triangles):
    """The builder of the scene."""
    builder = ModelBuilder()
    builder.add_cloth_mesh(
        (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 1.0, 0.0, points, triangles, DENSITY, spring_ke=STRETCH,
        edge_ke=BENDING, particle_radius=THICKNESS,
    )  # fmt: skip
    surface = ShapeConfig(mu=FRICTION)
    builder.add_ground_plane(cfg=surface)
    builder.add_shape_sphere((*BALL, 0.0, 0.0, 0.0, 1.0), RADIUS, surface)
    return builder


@dataclass
class Result:
    """The end: points [m] and velocities [m/s], (n, 3). Per frame: largest and mean strain [-], (frames, 2), and how
    close the points came to ball and floor [m], (frames,)."""

    points: np.ndarray
    velocities: np.ndarray
    strain: np.ndarray
    gap: np.ndarray


def clearance(points):
    """The distance of the nearest point to ball and floor [m], negative inside."""
    return min(points[:, 1].min(), np.linalg.norm(points - BALL, axis=1).min() - RADIUS)


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    points, triangles = load(args.mesh, args.prim)
    model = build(points, triangles).finalize(args.device)
    solver = SolverXPBD(model, args.substeps, args.iterations, damping=DAMPING)
    state, control, contacts = model.state(), model.control(), Contacts(model, friction=FRICTION)
    compliance = model.spring_compliance.numpy().copy()
    sliders = [
        Slider("gravity [m/s²]", 9.81, -5.0, 20.0, lambda g: control.gravity.assign([(0.0, -g, 0.0)])),
        Slider("stretch [-]", 1.0, 0.1, 100.0, lambda part: model.spring_compliance.assign(part * compliance)),
    ]
    about = {"solver": "XPBD", "version": wp.__version__, "substeps": args.substeps}
    scene = Scene(solver=solver, state=state, control=control, contacts=contacts, strain=[], gap=[], busy=0.0)
    files = {"output": args.output, "picture": args.picture, "moments": (0.0, 0.13, 0.2, 1.0)}  # most happens early
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, **files) as film:
        film.stand("ball", sphere(BALL, RADIUS, GREY))
        for t in film.frames(Saves(args, scene, sliders)):
            if t:
                begin = time.perf_counter()
                solver.step(state, state, control, contacts, film.dt)
                scene.busy += time.perf_counter() - begin
            x, v = state.particle_q.numpy().copy(), state.particle_qd.numpy().copy()
            found = solver.statistics(state)
            scene.strain.append((found.max_strain, found.mean_strain))
            scene.gap.append(clearance(x))
            film.show("cloth", Surface(x, triangles, RED), v)
    rate = film.count * args.substeps * model.spring_count / scene.busy
    print(f"{args.output}: {len(x)} vertices, {model.spring_count} springs, {rate / 1e6:.0f} M springs/s with all else")
    print(f"strain at the end: largest {scene.strain[-1][0]:.1%}, mean {scene.strain[-1][1]:.2%}")
    return Result(x, v, np.array(scene.strain), np.array(scene.gap))


def check(result):
    """Raise AssertionError unless the cloth behaved like one."""
    assert np.isfinite(result.points).all() and np.isfinite(result.velocities).all(), "not finite"
    assert result.gap.min() >= 0.0, f"{-result.gap.min():g} m inside of the ball or the floor"
    assert result.strain[:, 0].max() < 1.0, f"an edge was strained by {result.strain[:, 0].max():.0%}"
    assert result.strain[:, 1].max() < 0.02, f"the mean strain reached {result.strain[:, 1].max():.1%}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "cloth_drop", seconds=3.0)
    add_save_options(parser, "cloth_drop")
    parser.add_argument("--mesh", type=Path, default=MESH, help="any USD file with a mesh")
    parser.add_argument("--prim", help="which mesh of the file, if it has several")
    parser.add_argument("--substeps", type=int, above=0, default=40, help="per frame")
    parser.add_argument("--iterations", type=int, above=0, default=1, help="per substep")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
