"""How rough is this floor? Its friction is found from a film of marbles that slide on it: `SolverDEM` and L-BFGS.

Marbles of glass are thrown along a floor; friction brakes and spins them until they roll. Of the floor nothing is known
but noisy positions of the marbles in each frame. A `Problem` seeks the coefficient of friction through all substeps.
"""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem, Unknown, add_squares
from warpsim.plot import Balls, Curves
from warpsim.render import Film, View, film_options
from warpsim.solvers import Material, ModelBuilder, ShapeConfig, SolverDEM

RADIUS, DENSITY, SPEED, LANE = 0.008, 2500.0, 1.0, 0.066  # [m], [kg/m^3], of the fastest throw [m/s], apart [m]
GLASS = Material(youngs_modulus=2.0e6, poissons_ratio=0.25, restitution=0.6)
TRUE, GUESS, NOISE = 0.22, 0.5, 5.0e-4  # coefficients of friction; of measured positions [m]
COLORS = {"measured": (0.10, 0.24, 0.44), "found": (0.70, 0.25, 0.04), "guess": (0.42, 0.44, 0.47)}  # linear RGB


def main(argv=None):
    options = {"marbles": (6, "on the floor"), "substeps": (80, "per frame"), "iterations": (12, "at most")}
    args = film_options(argv, __doc__, "grain_friction", seconds=0.3, fps=50, **options)
    places = [(0.0, RADIUS, LANE * (k - 0.5 * (args.marbles - 1))) for k in range(args.marbles)]
    throws = [(speed, 0.0, 0.0) for speed in SPEED * np.linspace(0.4, 1.0, args.marbles)]
    builder = ModelBuilder()
    builder.add_particles(places, throws, DENSITY * 4.0 / 3.0 * np.pi * RADIUS**3, RADIUS)
    builder.add_ground_plane(cfg=ShapeConfig(mu=TRUE))
    model = builder.finalize(requires_grad=True)
    solver = SolverDEM(model, GLASS, substeps=args.substeps)
    states = [model.state() for _ in range(max(1, round(args.seconds * args.fps)) + 1)]
    path = [state.particle_q for state in states]
    measured, loss = wp.zeros((len(path) - 1, args.marbles), dtype=wp.vec3), wp.zeros(1, float, requires_grad=True)

    def rollout():
        solver.reset()
        for k in range(len(path) - 1):
            solver.step(states[k], states[k + 1], dt=1.0 / args.fps)
        add_squares(loss, path[1:], measured, 1.0 / (3.0 * NOISE**2 * measured.size))  # 1 where only noise is left

    problem = Problem(rollout, {"friction": Unknown(model.shape_mu, log=True)}, loss)
    problem.run()
    true = np.array([q.numpy() for q in path])
    measured.assign(true[1:] + NOISE * np.random.default_rng(1).normal(size=true[1:].shape))
    model.shape_mu.fill_(GUESS)
    record = {"friction": model.shape_mu, "path": path}
    solution = problem.minimize("lbfgs", args.iterations, first_step=0.3, tolerance_loss=1.0e-5, record=record)
    paths = np.stack([true, solution.recorded["path"][-1], solution.recorded["path"][0]], axis=1)
    charts = Curves(solution.recorded["friction"], "friction, right: 0.22"), Curves(solution.losses, "misfit", log=True)
    view: View = {"azimuth": 72.0, "elevation": 33.0, "ground": 0.5, "moments": (0.0, 0.5, 1.0), "charts": charts}
    with Film(args.output, args.picture, args.seconds, args.fps, solver="DEM", **view) as film:
        for frame in film.along(paths):
            for k, (name, color) in enumerate(COLORS.items()):
                film.show_balls(name, Balls(frame[k] + [0.0, 0.0, 0.3 * LANE * (k - 1)], RADIUS, color))
    print(f"{solution}\nfriction {solution.values['friction'][0]:.4f}, right: {TRUE}")
    return solution


if __name__ == "__main__":
    main()
