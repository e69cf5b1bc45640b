"""A square of cloth falls over a closed triangle mesh from any file and drapes.

XPBD with small steps: springs along both sides and diagonals of every cell, bending over every edge, friction with mesh
and floor, and particles that keep off each other. The mesh is scaled to 0.6 m in height and stands on the floor.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.gallery import asset
from warpsim.plot import Surface
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Contacts, ModelBuilder, Scene, ShapeConfig, SolverXPBD

MESH = asset("ring.usda")
HEIGHT, SIDE, ABOVE = 0.6, 1.0, 0.1  # of the mesh, of the cloth, between them at the start [m]
DENSITY, STRETCH, BENDING, DAMPING = 0.2, 5.0e3, 1.0e-5, 0.5  # [kg/m^2], [N/m], [N m], [1/s]
THICKNESS, FRICTION = 0.006, 0.5  # kept between cloth and obstacles [m]; Coulomb coefficient [-]
BLUE, GREY = (0.06, 0.16, 0.42), (0.40, 0.38, 0.34)  # linear RGB


def load(path, prim, device):
    """The mesh, `HEIGHT` high on the floor, with its points (n, 3) [m] and triangles (m, 3)."""
    points, indices = wp.load_mesh(path, prim)
    low, high = points.min(axis=0), points.max(axis=0)
    points = (points - [0.5, 0.0, 0.5] * (low + high) - [0.0, low[1], 0.0]) * (HEIGHT / (high[1] - low[1]))
    arrays = wp.array(points, dtype=wp.vec3, device=device), wp.array(indices, dtype=int, device=device)
    return wp.Mesh(*arrays), points, indices.reshape(-1, 3)


def build(cells, mesh):
    """The builder of the scene."""
    builder, lying = ModelBuilder(), (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
    corner, mass = (-SIDE / 2, HEIGHT + ABOVE, -SIDE / 2), DENSITY * SIDE**2 / (cells + 1) ** 2
    builder.add_cloth_grid(
        corner, lying, 0.0, cells, cells, SIDE / cells, SIDE / cells, mass, spring_ke=STRETCH, edge_ke=BENDING,
        particle_radius=THICKNESS,
    )  # fmt: skip
    surface = ShapeConfig(mu=FRICTION)
    builder.add_ground_plane(cfg=surface)
    builder.add_shape_mesh(mesh=mesh, cfg=surface)
    return builder


@wp.kernel
def measure(mesh: wp.uint64, x: wp.array[wp.vec3], gap: wp.array[float]):
    """Distances of points from mesh and floor [m], negative inside."""
    i = wp.tid()
    query = wp.mesh_query_point_sign_normal(mesh, x[i], 1.0e3)
    away = wp.length(x[i] - wp.mesh_eval_position(mesh, query.face, query.u, query.v))
    gap[i] = wp.min(query.sign * away, x[i][1])


@dataclass
class Result:
    """The end: points (n, 3) [m], speeds (n,) [m/s], strains of springs [-]. Per frame: how close the points came to
    mesh and floor [m], (frames,)."""

    points: np.ndarray
    speed: np.ndarray
    strain: np.ndarray
    gap: np.ndarray


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    mesh, obstacle, faces = load(args.mesh, args.prim, args.device)
    builder = build(args.vertices - 1, mesh)
    model, triangles = builder.finalize(args.device), builder.triangles["indices"]
    solver, state = SolverXPBD(model, args.substeps, damping=DAMPING), model.state()
    contacts, distance = Contacts(model, friction=FRICTION), wp.zeros(model.particle_count, float, args.device)
    about = {"solver": "XPBD", "version": wp.__version__}
    scene = Scene(solver=solver, state=state, contacts=contacts, gap=[], busy=0.0)
    files = {"output": args.output, "picture": args.picture, "moments": (0.0, 0.15, 0.3, 1.0)}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, **files) as film:
        film.stand("obstacle", Surface(obstacle, faces, GREY))
        for t in film.frames(Saves(args, scene)):
            if t:
                begin = time.perf_counter()
                solver.step(state, state, None, contacts, film.dt)
                scene.busy += time.perf_counter() - begin
            x, v = state.particle_q.numpy().copy(), state.particle_qd.numpy().copy()
            wp.launch(measure, len(x), [mesh.id, state.particle_q, distance], device=args.device)
            scene.gap.append(distance.numpy().min())
            film.show("cloth", Surface(x, triangles, BLUE), v)
    rate, gap = film.count * args.substeps / scene.busy, np.array(scene.gap)
    print(
        f"{args.output}: {len(faces)} faces, {len(x)} vertices, {rate:.0f} substeps/s, {gap.min():.4f} m off the mesh"
    )
    return Result(x, np.linalg.norm(v, axis=1), solver.statistics(state).spring_strain, gap)


def check(result):
    """Raise AssertionError unless the cloth behaved like one."""
    assert np.isfinite(result.points).all() and np.isfinite(result.speed).all(), "not finite"
    assert result.gap.min() >= 0.0, f"{-result.gap.min():g} m inside of the mesh or the floor"
    assert np.abs(result.strain).mean() < 0.02, f"the mean strain reached {np.abs(result.strain).mean():.1%}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "cloth_on_mesh", seconds=2.0)
    add_save_options(parser, "cloth_on_mesh")
    parser.add_argument("--mesh", type=Path, default=MESH, help="any file that wp.load_mesh reads")
    parser.add_argument("--prim", help="which mesh of a USD file, if it has several")
    parser.add_argument("--vertices", type=int, above=1, default=80, help="along each side of the cloth")
    parser.add_argument("--substeps", type=int, above=0, default=20, help="per frame")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
