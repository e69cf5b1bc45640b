"""A jet of water is steered at a target by gradients: `SolverSPH` with a stream, and the adjoint of its nozzle.

The nozzle's velocity is sought with which the middle of a slug of water flies through a target at a given time, by the
method of Gauss and Newton. The answer is close to the parabola of a stone; on its way the water spreads.
"""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem, Unknown
from warpsim.plot import Balls, Curves, sphere
from warpsim.render import Film, SimulationParser, View, add_film_options
from warpsim.solvers import Fluid, FluidStream, ModelBuilder, SolverSPH

SPACING, MOUTH, SLUG = 0.02, 0.04, 40  # of particles, half of the slot [m], particles that shall hit
GRAVITY, STEP, SUBSTEPS = -9.81, 2.0e-3, 4  # [m/s^2], [s]
WATER = Fluid(sound=25.0, alpha=0.05)
BLUE, DARK, RED = (0.10, 0.35, 0.55), (0.04, 0.12, 0.25), (0.60, 0.08, 0.05)  # linear RGB


@wp.kernel
def measure(q: wp.array[wp.vec3d], target: wp.vec3d, miss: wp.array[wp.vec3d]):
    """How far the middle of the first particles is from the target."""
    wp.atomic_add(miss, 0, (q[wp.tid()] - target) / wp.float64(SLUG))


def build(velocity):
    """A nozzle at the origin, and the water that it emits in a time."""
    builder = ModelBuilder(gravity=GRAVITY)
    spare = builder.add_particles(np.zeros((6 * SLUG, 3)), 0.0, WATER.density * SPACING**2)
    stream = FluidStream(spare, (0.0, 0.0, 0.0), (*velocity, 0.0), MOUTH, exhausted="stop")
    model = builder.finalize(dtype=wp.float64, requires_grad=True)
    return model, SolverSPH(model, WATER, dim=2, substeps=SUBSTEPS, streams=[stream])


def parse(argv):
    parser = SimulationParser(__doc__)
    add_film_options(parser, "steer_jet", seconds=0.4, fps=50)
    parser.add_argument("--target", type=float, nargs=2, default=(0.8, 0.25), metavar=("X", "Y"), help="[m]")
    parser.add_argument("--velocity", type=float, nargs=2, default=(2.0, 2.0), metavar=("X", "Y"), help="[m/s]")
    parser.add_argument("--iterations", type=int, above=0, default=8, help="at most")
    parser.add_argument("--device", default="cpu")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    wp.set_device(args.device)
    (model, solver), target, steps = build(args.velocity), (*args.target, 0.0), round(args.seconds / STEP)
    start, state, velocity = model.state(), model.state(), solver.streams[0].velocity
    miss = wp.zeros(1, dtype=wp.vec3d, requires_grad=True)

    def rollout():
        state.assign(start)
        for _ in range(steps):
            solver.step(state, state, dt=STEP)
        wp.launch(measure, SLUG, [state.particle_q, wp.vec3d(*target), miss])

    problem = Problem(rollout, {"velocity": Unknown(velocity, free=(True, True, False))}, residuals=miss)
    record = {"velocity": velocity, "miss": miss}
    solution = problem.minimize("gauss-newton", args.iterations, target=1.0e-12, damping=1.0e-9, record=record)
    misses = np.linalg.norm(solution.recorded["miss"], axis=2)[:, 0]
    jets = {"first": (args.velocity, DARK), "last": (velocity.numpy()[0, :2], BLUE)}
    jets = {name: (*build(v), color) for name, (v, color) in jets.items()}
    states, frame = {name: jet[0].state() for name, jet in jets.items()}, max(1, round(1.0 / (args.fps * STEP)))
    view: View = {"ground": None, "moments": (0.35, 1.0), "azimuth": 0.0, "elevation": 3.0, "panel": (640, 400)}
    view |= {"standing": {"target": sphere(target, 0.03, RED, rings=16)}, "solver": "WCSPH"}
    seconds, charts = steps / frame / args.fps, [Curves(misses, "miss [m]", log=True)]
    with Film(args.output, args.picture, seconds, args.fps, charts=charts, **view) as film:
        for t in film.frames():
            for name, (_, jet, color) in jets.items():
                now = states[name]
                for _ in range(frame if t else 0):
                    jet.step(now, now, dt=STEP)
                there = np.flatnonzero(jet.present(now)) if t else np.arange(1)
                balls = Balls(now.particle_q.numpy()[there], 0.6 * SPACING, color)
                film.show_balls(name, balls, now.particle_qd.numpy()[there], there)
    print(f"{solution}\nmisses of {', '.join(f'{m * 1000.0:.3g}' for m in misses)} mm")
    return solution, misses


if __name__ == "__main__":
    main()
