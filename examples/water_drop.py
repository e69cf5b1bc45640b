"""A cube of water without weight becomes a ball: surface tension of `SolverSPH`, by cohesion between particles.

Corners are pulled in, the drop swings about the shape of a ball, and viscosity ends that. A swing takes about the time
of Lord Rayleigh (1879), 2 pi sqrt(density R^3 / (8 tension)).
"""

import math
from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Balls, Surface
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Fluid, ModelBuilder, Scene, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box
from warpsim.solvers.sph.surface import Surface as WaterSurface

SIDE, TENSION, DENSITY = 0.01, 0.072, 1000.0  # of the cube [m], of water [N/m], [kg/m^3]
SOUND = 60.0 * math.sqrt(TENSION / (DENSITY * SIDE))  # bears cohesion [m/s]
WATER = Fluid(density=DENSITY, sound=SOUND, alpha=0.15, tension=TENSION)
LIFT = np.array([0.0, 0.9 * SIDE, 0.0])  # of the picture's drop above the floor [m]
BLUE = (0.08, 0.30, 0.50)


def build(cells, device):
    """The solver, and a state with the pressure that bears cohesion."""
    builder, half = ModelBuilder(gravity=0.0), 0.5 * SIDE
    add_fluid_box(builder, (-half, -half, -half), (half, half, half), SIDE / cells, DENSITY)
    model = builder.finalize(device)
    solver = SolverSPH(model, WATER, smoothing=2.0)
    state = model.state()
    state.particle_rho.fill_(float(WATER.density_at(solver.cohesion_pressure)))
    return solver, state


@dataclass
class Result:
    """Per frame: time [s], how much farther than a ball's the farthest particles are from the middle, 1 for a ball;
    speed of all together [m/s]; kinetic energy by that of the tension of a ball's surface."""

    rows: np.ndarray


def roughness(points):
    """The farthest one per cent of distances from the middle, by the radius of a ball with as much room."""
    away = np.linalg.norm(points - points.mean(axis=0), axis=1)
    return np.quantile(away, 0.99) / (math.sqrt(5.0 / 3.0) * math.sqrt((away**2).mean()))


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    solver, state = build(args.cells, args.device)
    surface = WaterSurface(solver, cell=0.4 * solver.spacing, blur=1.8)
    scene = Scene(solver=solver, state=state, rows=[])
    radius = SIDE * (3.0 / (4.0 * math.pi)) ** (1.0 / 3.0)
    about = {"solver": "WCSPH", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "ground": 20.0 * SIDE, "moments": (0.0, 0.15, 0.4, 1.0)}
    with Film(seconds=args.seconds, fps=args.fps, metadata=about, azimuth=30.0, elevation=20.0, **files) as film:
        for t in film.frames(Saves(args, scene)):
            if t:
                solver.step(state, state, dt=film.dt)
            q, v = state.particle_q.numpy().astype(float), state.particle_qd.numpy()

            def drawn():
                points, triangles = surface.extract(state)
                return Surface(points + LIFT, triangles, BLUE)

            film.show_balls("drop", Balls(q + LIFT, 0.5 * solver.spacing, BLUE), v, drawn=drawn)
            energy = solver.statistics(state).kinetic_energy / (4.0 * math.pi * radius**2 * TENSION)
            scene.rows.append((t, roughness(q), float(np.linalg.norm(v.mean(axis=0))), energy))
    rows = np.array(scene.rows)
    period = 2.0 * math.pi * math.sqrt(DENSITY * radius**3 / (8.0 * TENSION))
    swings = args.seconds / period
    print(f"{args.output}: {len(q)} particles, {swings:.2f} swings, corners {rows[-1, 1]:.3f} of a ball's")
    return Result(rows)


def check(result):
    """Raise AssertionError unless the cube became a ball, by its own forces alone."""
    time, corners, drift, energy = result.rows.T
    assert np.isfinite(result.rows).all(), "not finite"
    assert drift.max() < 1.0e-3, f"the drop drifts at {drift.max():.2g} m/s"
    assert energy.max() < 0.3, f"kinetic energy is {energy.max():.2f} of the surface's"
    if time[-1] > 0.06:
        assert corners[-1] < 1.06 < corners[0], f"corners stand out by {corners[0]:.2f} first, {corners[-1]:.2f} then"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "water_drop", seconds=0.1, fps=500)
    add_save_options(parser, "water_drop")
    parser.add_argument("--cells", type=int, above=3, default=11, help="particles along a side")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
