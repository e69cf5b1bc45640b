"""A dam breaks in a tank with a box in its way: `SolverSPH` in space, and the water's surface as triangles.

The tank is that of K. Kleefsman et al. (2005, J. Comput. Phys. 206) at a third of its size: water stands behind a gate
at one end, runs along the floor, meets the box, and rises over it. The box feels the water, and the example reports how
hard.
"""

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import warpsim as wp
from warpsim.plot import Surface, box, box_edges, render_meshes
from warpsim.render import Saves, SimulationParser, add_save_options
from warpsim.solvers import Fluid, ModelBuilder, Scene, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box
from warpsim.solvers.sph.surface import Surface as WaterSurface
from warpsim.usd import UsdWriter

LENGTH, DEPTH, TOP = 1.08, 0.36, 0.8  # inside of the tank along x and z, and how high its walls are [m]
COLUMN, HEIGHT = 0.42, 0.2  # of water along x and y [m]
BOX = np.array([0.72, 0.054, 0.18])  # middle of the obstacle [m]
HALF = np.array([0.027, 0.054, 0.07])  # its half extents [m]
GRAVITY = -9.81
WATER = Fluid(density=1000.0, sound=10.0 * math.sqrt(2.0 * 9.81 * HEIGHT), alpha=0.03)
RIM = 0.3  # as high as the tank is drawn, by its edges: walls would hide the water [m]
BLUE, WOOD = (0.05, 0.22, 0.42), (0.55, 0.38, 0.18)
STEEL = 0.004, (0.20, 0.22, 0.25)  # radius of the tank's edges [m], and their color


def build(spacing, device):
    """The solver, and a state of water at rest."""
    builder = ModelBuilder(gravity=GRAVITY)
    add_fluid_box(builder, (0.0, 0.0, 0.0), (COLUMN, HEIGHT, DEPTH), spacing)
    obstacle = builder.add_shape_box([*BOX, 0.0, 0.0, 0.0, 1.0], *HALF)
    builder.add_ground_plane()
    for normal, point in (((1, 0, 0), (0, 0, 0)), ((-1, 0, 0), (LENGTH, 0, 0)),
                          ((0, 0, 1), (0, 0, 0)), ((0, 0, -1), (0, 0, DEPTH))):  # fmt: skip
        builder.add_shape_plane(normal, point)
    model = builder.finalize(device=device)
    solver = SolverSPH(model, WATER, bounds=((0.0, 0.0, 0.0), (LENGTH, TOP, DEPTH)))
    state = model.state()
    depth = HEIGHT - state.particle_q.numpy()[:, 1]
    state.particle_rho.assign(WATER.density_at(-WATER.density * GRAVITY * depth))
    return solver, state, obstacle


@dataclass
class Result:
    """Per frame: time [s], front [m], force on the box along x [N], energy by the first, mean compression. The end:
    how many particles left the tank, and the surface's vertices."""

    rows: np.ndarray
    lost: int
    vertices: np.ndarray


def run(args):
    """Simulate, write the animation and the picture; returns a Result."""
    solver, state, obstacle = build(args.spacing, args.device)
    surface = WaterSurface(solver, anisotropic=True)  # which fills the corners of the tank, and draws spray
    still = {"box": box(BOX - HALF, BOX + HALF, WOOD), "tank": box_edges((0.0, 0.0, 0.0), (LENGTH, RIM, DEPTH), *STEEL)}
    frames = max(1, round(args.seconds * args.fps))
    scene = Scene(solver=solver, state=state, rows=[], views={}, spent=0.0)
    saves = Saves(args, scene)
    shown = {round(part * frames) for part in (0.0, 0.4, 0.7, 1.0)}
    about = {"solver": "WCSPH", "version": wp.__version__}
    with saves.watch(UsdWriter(args.output, fps=args.fps, metadata=about)) as usd:
        for name, thing in still.items():
            usd.mesh(name, thing.points, thing.triangles, color=thing.color)
        for frame in saves.frames(range(frames + 1)):
            if frame:
                begin = time.perf_counter()
                solver.step(state, state, dt=1.0 / args.fps)
                scene.spent += time.perf_counter() - begin
            now = solver.statistics(state)
            usd.frame()
            vertices, triangles = surface.extract(state)
            usd.mesh("water", vertices, triangles, color=BLUE, varying=True)
            force = solver.shape_force.numpy()[obstacle, 3]
            energy = now.kinetic_energy + now.potential_energy
            scene.rows.append((frame / args.fps, now.front(), force, energy, np.abs(now.compression).mean()))
            if frame in shown:
                water = Surface(vertices, triangles, BLUE)
                scene.views[f"t = {frame / args.fps:.2f} s"] = [water, *still.values()]
    views, view = scene.views, {"azimuth": 25.0, "elevation": 25.0, "columns": 2}
    render_meshes(args.picture, list(views.values()), captions=list(views), **view)
    rows, edge = np.array(scene.rows), solver.spacing
    rows[:, 3] /= rows[0, 3]
    lost = now.outside((-edge, -edge, -edge), (LENGTH + edge, 10.0, DEPTH + edge))
    counts = f"{state.particle_q.shape[0]} particles of water, {solver.wall_count} of walls"
    print(f"{args.output}: {counts}, {frames / scene.spent:.1f} frames/s")
    return Result(rows, lost, vertices)


def check(result):
    """Raise AssertionError unless the water ran, kept its volume, and pushed the box."""
    t, front, force, energy, compression = result.rows.T
    assert result.lost == 0, f"{result.lost} particles left the tank"
    assert energy.max() < 1.005, f"energy grew to {energy.max():.3f} of what there was"
    assert compression.max() < 0.02, f"density is off by {compression.max():.1%} on average"
    fastest = (np.diff(front) / np.diff(t)).max()
    assert fastest < 2.2 * math.sqrt(9.81 * HEIGHT), f"the front runs at {fastest:.2f} m/s"  # 2 sqrt(g H) is the most
    if front.max() > BOX[0] + HALF[0]:
        assert force.max() > 1.0, f"the box feels {force.max():.2f} N at most"


def main(argv=None):
    parser = SimulationParser(__doc__)
    parser.add_argument(
        "--spacing", type=float, above=0, most=0.05, default=0.015, help="of particles, a divisor of 1.08 and 0.36 [m]"
    )
    parser.add_argument("--seconds", type=float, above=0, default=0.8)
    parser.add_argument("--fps", type=int, above=0, default=50)
    parser.add_argument("--output", type=Path, default=Path("dam_obstacle.usdc"))
    parser.add_argument("--picture", type=Path, default=Path("dam_obstacle.png"))
    parser.add_argument("--device", default="cpu")
    add_save_options(parser, "dam_obstacle")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
