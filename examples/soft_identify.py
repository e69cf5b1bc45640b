"""What is this beam made of? Its stiffness is found from a film of how it swings, by the method of Gauss and Newton.

A clamped beam falls into swinging, of which a noisy film is known. Lame's parameters are sought by their logarithms.
"""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem, Unknown, set_residuals
from warpsim.plot import Curves, Surface, tube
from warpsim.render import Film, View, film_options
from warpsim.solvers import ModelBuilder, SolverXPBD, soft

CELLS, CELL, CLEAR, ASIDE = (8, 2, 2), 0.05, 0.45, (0.0, 0.0, 0.25)  # of the beam; [m]; its height; apart in films
CLAMPED = {"density": 1000.0, "k_damp": 0.02, "fix": lambda p: p[:, 0] < 1.0e-6}  # [kg/m^3], [s], one end
TRUE, GUESS, NOISE = (1.2e5, 0.38), (4.0e4, 0.20), 1.0e-3  # Young's modulus [Pa] and Poisson's ratio; of positions [m]
BLUE, ORANGE, GREY = (0.10, 0.24, 0.44), (0.70, 0.25, 0.04), (0.42, 0.44, 0.47)  # linear RGB


def main(argv=None):
    options = {"substeps": (10, "per frame"), "iterations": (20, "at most")}
    args = film_options(argv, __doc__, "soft_identify", seconds=0.6, **options)
    builder, beam = ModelBuilder(), {"youngs_modulus": TRUE[0], "poissons_ratio": TRUE[1], **CLAMPED}
    builder.add_soft_grid((0.0, CLEAR, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, *CELLS, CELL, CELL, CELL, **beam)
    faces, model = builder.triangles["indices"], builder.finalize(requires_grad=True)
    solver, mu, lam = SolverXPBD(model, args.substeps), model.tet_mu, model.tet_lambda
    states = [model.state() for _ in range(max(1, round(args.seconds * args.fps)) + 1)]
    path = [state.particle_q for state in states]
    measured, misses = (wp.zeros((len(path) - 1, len(path[0])), dtype=wp.vec3, requires_grad=True) for _ in range(2))

    def rollout():
        for k in range(len(path) - 1):
            solver.step(states[k], states[k + 1], dt=1.0 / args.fps)
        set_residuals(misses, path[1:], measured, 1.0 / (NOISE * np.sqrt(3.0 * measured.size)))

    unknowns = {"mu": Unknown(mu, knots=1, log=True), "lambda": Unknown(lam, knots=1, log=True)}
    problem = Problem(rollout, unknowns, residuals=misses)
    problem.run()
    true = np.array([q.numpy() for q in path])
    measured.assign(true[1:] + NOISE * np.random.default_rng(1).normal(size=true[1:].shape))
    for parameter, value in zip((mu, lam), soft.lame(*GUESS), strict=True):
        parameter.fill_(value)
    options = {"damping": 1.0, "tolerance": 1.0e-4, "record": {"mu": mu, "lambda": lam, "path": path}}
    solution = problem.minimize("gauss-newton", args.iterations, **options)
    young, poisson = soft.elastic_constants(*(np.array(solution.recorded[name])[:, 0] for name in unknowns))
    paths = np.stack([true, solution.recorded["path"][-1], solution.recorded["path"][0]], axis=1)
    middle = np.isclose(true[0][:, 1:], [CLEAR + CELL, CELL]).all(axis=1)
    charts = Curves(young, "Young's modulus [Pa], right: 1.2e5"), Curves(poisson, "Poisson's ratio, right: 0.38")
    view: View = {"azimuth": 12.0, "elevation": 10.0, "ground": 3.0, "charts": charts, "solver": "XPBD"}
    with Film(args.output, args.picture, args.seconds, args.fps, **view) as film:
        for measured_q, found, guess in film.along(paths):
            film.show("measured", Surface(measured_q, faces, BLUE))
            film.show("found", Surface(found - ASIDE, faces, ORANGE))
            film.show("guess", tube(guess[middle] + ASIDE, 0.012, GREY))
    print(f"{solution}\nE = {young[-1]:.0f} Pa, nu = {poisson[-1]:.3f}; right: {TRUE}")
    return solution


if __name__ == "__main__":
    main()
