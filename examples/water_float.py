"""A block of wood falls into a tank, bobs, and floats: `SolverSPH` and `SolverBodies` in a `Coupling`.

In the end it stands as deep as Archimedes has it: its draught by its height is its density by the water's. So coarse a
fluid bears it a few millimetres too high.
"""

import math
from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Balls, Surface, box, box_edges
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Coupling, Fluid, ModelBuilder, Scene, ShapeConfig, SolverBodies, SolverSPH
from warpsim.solvers.scene.rotations import rotate
from warpsim.solvers.sph.filling import add_fluid_box
from warpsim.solvers.sph.surface import Surface as WaterSurface

SIDE, DEPTH, TOP, GRAVITY = 0.4, 0.144, 0.3, 9.81  # of the tank, of the water, of walls [m], [m/s^2]
HALF = np.array([0.08, 0.04, 0.08])  # half extents of the block [m]
DENSITY = 500.0  # of wood [kg/m^3]
WATER = Fluid(density=1000.0, sound=14.0, alpha=0.1)
RIM = 0.22  # as high as the tank is drawn, by its edges [m]
BLUE, WOOD, STEEL = (0.10, 0.32, 0.50), (0.50, 0.30, 0.12), (0.20, 0.22, 0.25)


def build(spacing, tilt, device):
    """Both solvers, and a state of water at rest under a block."""
    builder, half = ModelBuilder(gravity=-GRAVITY), 0.5 * SIDE
    add_fluid_box(builder, (-half, 0.0, -half), (half, DEPTH, half), spacing)
    axis = math.sin(0.5 * tilt) * np.array([0.6, 0.0, 0.8])
    block = builder.add_body([0.0, DEPTH + 0.08, 0.0, *axis, math.cos(0.5 * tilt)])
    builder.add_shape_box(None, *HALF, ShapeConfig(density=DENSITY), body=block)
    builder.add_ground_plane()
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1)):
        builder.add_shape_plane(normal, -half * np.array(normal))
    model = builder.finalize(device)
    water = SolverSPH(model, WATER, bounds=((-half, 0.0, -half), (half, TOP, half)))
    coupling = Coupling(SolverBodies(model, substeps=1), [water])
    state = coupling.states()[0]
    state.particle_rho.assign(WATER.density_at(WATER.density * GRAVITY * (DEPTH - state.particle_q.numpy()[:, 1])))
    return coupling, state


@dataclass
class Result:
    """Per frame: time [s], height of the block's middle [m], its tilt [deg]; expected: its height at rest by
    Archimedes [m]; lost: particles more than half a spacing outside of the tank; spacing [m]."""

    rows: np.ndarray
    expected: float
    lost: int
    spacing: float


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    coupling, state = build(args.spacing, math.radians(args.tilt), args.device)
    solver = coupling.matter[0]
    surface = WaterSurface(solver, anisotropic=True)
    scene = Scene(coupling=coupling, state=state, rows=[])
    steps = math.ceil(1.0 / (args.fps * 0.25 * solver.smoothing / (WATER.sound + 1.5)))
    about = {"solver": "WCSPH", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "ground": None, "moments": (0.0, 0.15, 0.3, 1.0)}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, azimuth=25.0, elevation=22.0, **files) as film:
        film.stand("tank", box_edges((-0.5 * SIDE, 0.0, -0.5 * SIDE), (0.5 * SIDE, RIM, 0.5 * SIDE), 0.003, STEEL))
        for t in film.frames(Saves(args, scene)):
            for _ in range(steps if t else 0):
                coupling.step((state, state), (state, state), dt=film.dt / steps)
            q, v = state.particle_q.numpy(), state.particle_qd.numpy()
            water = Balls(q, 0.5 * solver.spacing, BLUE)
            film.show_balls("water", water, v, drawn=lambda: Surface(*surface.extract(state), BLUE))
            pose = state.body_q.numpy()[0].astype(float)
            shape = box(-HALF, HALF, WOOD)
            film.show("block", Surface(rotate(pose[3:], shape.points) + pose[:3], shape.triangles, WOOD))
            up = rotate(pose[3:], np.array([[0.0, 1.0, 0.0]]))[0, 1]
            scene.rows.append((t, pose[1], math.degrees(math.acos(min(up, 1.0)))))
    under = DENSITY / WATER.density * 8.0 * HALF.prod()
    expected = DEPTH + under / SIDE**2 + HALF[1] - under / (4.0 * HALF[0] * HALF[2])
    reach = 0.5 * (SIDE + solver.spacing)  # who is pressed half a spacing into a wall comes back
    lost = solver.statistics(state).outside((-reach, -0.5 * solver.spacing, -reach), (reach, 10.0, reach))
    result = Result(np.array(scene.rows), expected, lost, solver.spacing)
    print(f"{args.output}: {len(q)} particles, the block is at {late(result):.3f} m; by Archimedes {expected:.3f} m")
    return result


def late(result):
    """Mean height of the block in the last two fifths of the time, about one swing [m]."""
    return float(result.rows[-max(2 * len(result.rows) // 5, 1) :, 1].mean())


def check(result):
    """Raise AssertionError unless the block floats upright, as deep as it should."""
    assert result.lost == 0, f"{result.lost} particles left the tank"
    assert result.rows[-1, 2] < 12.0, f"the block is tilted by {result.rows[-1, 2]:.0f} degrees"
    off = late(result) - result.expected
    assert abs(off) < 0.75 * result.spacing, f"the block floats {off * 1000.0:.1f} mm above where it should"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "water_float", seconds=1.2, fps=50)
    add_save_options(parser, "water_float")
    parser.add_argument("--spacing", type=float, above=0, most=0.03, default=0.016, help="of particles [m]")
    parser.add_argument("--tilt", type=float, default=25.0, help="of the block that falls [deg]")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
