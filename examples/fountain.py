"""A fountain: jets of water rise from nozzles in a ring and fall back into their basin, `SolverSPH` with streams.

Particles that are to come wait behind their nozzle, and are let go layer by layer. A jet in free flight rises by
v^2 / 2g above its nozzle, whatever a fluid is made of, which is checked.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np

import warpsim as wp
from warpsim.plot import Balls, Surface, box, tube
from warpsim.render import Film, Saves, SimulationParser, add_film_options, add_save_options
from warpsim.solvers import Fluid, FluidStream, LeakWarning, ModelBuilder, Scene, SolverSPH
from warpsim.solvers.sph.filling import add_fluid_box
from warpsim.solvers.sph.surface import Surface as WaterSurface

GRAVITY, LEVEL, RIM, MOUTH = 9.81, 0.045, 0.12, 0.12  # [m/s^2], heights of water, basin, and nozzles [m]
SIDE, RING = 0.8, 0.05  # of the basin, radius of the ring of nozzles [m]
SPEED, TILT = 1.6, math.radians(8.0)  # of the jets [m/s], off the vertical
WATER = Fluid(sound=20.0, alpha=0.1)
BLUE, STONE, BRASS = (0.10, 0.32, 0.50), (0.42, 0.40, 0.37), (0.45, 0.30, 0.08)


def jets(count):
    """Where nozzles are, and the velocities of what they emit, (count, 3) each."""
    angle = 2.0 * np.pi * np.arange(count) / count
    out = np.stack([np.cos(angle), np.zeros(count), np.sin(angle)], axis=1)
    up = np.array([0.0, 1.0, 0.0])
    return RING * out + MOUTH * up, SPEED * (math.sin(TILT) * out + math.cos(TILT) * up)


def build(args):
    """The solver: a little water in the basin, and enough for the jets."""
    dx, half = args.spacing, 0.5 * SIDE
    builder = ModelBuilder(gravity=-GRAVITY)
    add_fluid_box(builder, (-half, 0.0, -half), (half, LEVEL, half), dx)  # below what waits in the pipes
    streams = []
    for position, velocity in zip(*jets(args.jets), strict=True):
        layers = math.ceil(SPEED * args.seconds / dx) + 4
        spare = builder.add_particles(np.zeros((4 * layers, 3)), 0.0, WATER.density * dx**3)
        streams.append(FluidStream(spare, position, velocity, radius=dx, exhausted="error"))
    builder.add_ground_plane()
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1)):
        builder.add_shape_plane(normal, -half * np.array(normal))
    model = builder.finalize(args.device)
    return SolverSPH(model, WATER, bounds=((-half, 0.0, -half), (half, RIM, half)), spacing=dx, streams=streams)


def basin(dx):
    """What stands: the floor and walls of the basin, and pipes."""
    half, wall = 0.5 * SIDE, 0.02
    parts = [box((-half, -wall, -half), (half, 0.0, half), STONE)]
    for side in (-1.0, 1.0):
        inner, outer = sorted((side * half, side * (half + wall)))
        parts.append(box((inner, -wall, -half - wall), (outer, RIM, half + wall), STONE))
        parts.append(box((-half, -wall, inner), (half, RIM, outer), STONE))
    points = np.concatenate([part.points for part in parts])
    first = np.cumsum([0, *(len(part.points) for part in parts[:-1])])
    return Surface(points, np.concatenate([f + p.triangles for f, p in zip(first, parts, strict=True)]), STONE)


@dataclass
class Result:
    """released: particles that have come by each frame; top: the highest of them at the end [m]; expected: by the law
    [m]; outside: how many left the basin; compression: the mean at the end."""

    released: np.ndarray
    top: float
    expected: float
    outside: int
    compression: float


def run(args):
    """Simulate, write the animation and the picture, print a summary; returns a Result."""
    solver, dx = build(args), args.spacing
    state, surface = solver.model.state(), WaterSurface(solver, blur=1.3)
    scene = Scene(solver=solver, state=state, released=[])
    about = {"solver": "WCSPH", "version": wp.__version__}
    files = {"output": args.output, "picture": args.picture, "ground": None, "moments": (0.25, 0.5, 1.0)}
    view = {"azimuth": 25.0, "elevation": 18.0}
    with warnings.catch_warnings(), Film(seconds=args.seconds, fps=args.fps, metadata=about, **view, **files) as film:
        warnings.simplefilter("ignore", LeakWarning)  # drops fly over the rim: they are counted below
        film.stand("basin", basin(dx))
        for k, (end, flow) in enumerate(zip(*jets(args.jets), strict=True)):
            bend = end - 0.035 * flow / SPEED
            film.stand(f"pipe_{k}", tube([bend * [1.0, 0.0, 1.0], bend, end], 1.3 * dx, BRASS))
        for t in film.frames(Saves(args, scene)):
            if t:
                solver.step(state, state, dt=film.dt)
            there = solver.present(state)
            q, v = state.particle_q.numpy(), state.particle_qd.numpy()
            balls, ids = Balls(q[there], 0.5 * dx, BLUE), np.flatnonzero(there)
            film.show_balls("water", balls, v[there], ids, lambda: Surface(*surface.extract(state), BLUE))
            scene.released.append(sum(nozzle.released(state) for nozzle in solver.streams))
    now = q[there]
    outside = int(((np.abs(now[:, [0, 2]]).max(axis=1) > 0.5 * SIDE + dx) | (now[:, 1] < -0.5 * dx)).sum())
    expected = MOUTH + (SPEED * math.cos(TILT)) ** 2 / (2.0 * GRAVITY)
    error = float(np.abs(solver.statistics(state).compression[there]).mean())
    result = Result(np.array(scene.released), float(np.quantile(now[:, 1], 0.999)), expected, outside, error)
    print(f"{args.output}: {scene.released[-1]} particles came, up to {result.top:.3f} m; by the law {expected:.3f} m")
    return result


def check(result):
    """Raise AssertionError unless water comes steadily, rises as high as it should, and stays in the basin."""
    assert result.outside == 0, f"{result.outside} particles left the basin"
    assert result.compression < 0.02, f"density is off by {result.compression:.1%} on average"
    came = np.diff(result.released)
    assert came.max() - came.min() <= 0.2 * came.mean() + 24, f"{came.min()} to {came.max()} particles came in a frame"
    assert abs(result.top / result.expected - 1.0) < 0.1, f"jets rise to {result.top:.3f} m, not {result.expected:.3f}"


def main(argv=None):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "fountain", seconds=0.8, fps=50)
    add_save_options(parser, "fountain")
    parser.add_argument("--spacing", type=float, above=0, most=0.02, default=0.015, help="of particles [m]")
    parser.add_argument("--jets", type=int, above=0, default=6, help="of the fountain")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    return run(args)


if __name__ == "__main__":
    main()
