"""A ball is thrown so that a net catches it in the middle: the throw is found through flight and catch by L-BFGS.

`SolverBodies` and `SolverXPBD` in a `Coupling`. The loss looks at the ball when the net has stopped it: the gradient
goes back through all knots that pulled at it, to the throw. The first one misses the net.
"""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem
from warpsim.plot import sphere, tube, tubes
from warpsim.render import Film, View, film_options
from warpsim.solvers import Coupling, ModelBuilder, ShapeConfig, SolverBodies, SolverXPBD
from warpsim.solvers.scene.rotations import rotate

START, GUESS, BALL = (0.0, 1.4, 0.0), (1.6, 3.4, 0.8), 0.14  # where it leaves [m], how [m/s], its radius [m]
MIDDLE, SIDE, CELLS = np.array([2.2, 1.3, 0.0]), 1.15, 16  # of the net [m], and along each side
SLOPE = np.array([0.0, 0.0, np.sin(0.25), np.cos(0.25)])  # of its rim, by half a radian
KNOT, CORD, SLACK, DRAG = 0.006, 0.012, 1.7, 10.0  # mass [kg], radius [m], length per distance [-], of the air [1/s]
CATCH, POCKET, NEAR = 1.02, (2.23, 0.48, 0.0), 0.03  # when [s] and where [m] to be caught, how well [m]
RED, IRON, HEMP = (0.65, 0.10, 0.05), (0.10, 0.11, 0.13), (0.60, 0.50, 0.33)  # linear RGB


@wp.kernel
def release(throw: wp.array[wp.vec3], qd: wp.array[wp.spatial_vector]):
    qd[0] = wp.spatial_vector(wp.vec3(0.0, 0.0, -3.0), throw[0])


@wp.kernel
def measure(q: wp.array[wp.transform], pocket: wp.vec3, miss: wp.array[wp.vec3]):
    miss[0] = wp.transform_get_translation(q[0]) - pocket


def main(argv=None):
    args = film_options(argv, __doc__, "net_catch", seconds=3.0, fps=50, iterations=(15, "at most"))
    builder, n = ModelBuilder(), np.arange((CELLS + 1) ** 2).reshape(CELLS + 1, -1)
    ball = builder.add_body((*START, 0.0, 0.0, 0.0, 1.0))
    builder.add_shape_sphere(radius=BALL, cfg=ShapeConfig(mu=0.4, density=60.0), body=ball)
    i, j = np.divmod(n.ravel(), CELLS + 1)
    knots = MIDDLE + rotate(SLOPE, SIDE * (np.stack([i, 0 * i, j], axis=1) / CELLS - [0.5, 0.0, 0.5]))
    builder.add_particles(knots, mass=np.where((i % CELLS == 0) | (j % CELLS == 0), 0.0, KNOT), radius=CORD)
    for ends in ((n[:-1], n[1:]), (n[:, :-1], n[:, 1:])):
        builder.add_springs(np.stack(ends, axis=-1).reshape(-1, 2), 1000.0, 3.0, rest_length=SLACK * SIDE / CELLS)
    model = builder.finalize(requires_grad=True)
    solvers = SolverBodies(model, substeps=1, iterations=1), [SolverXPBD(model, substeps=3, damping=DRAG)]
    both, steps = Coupling(*solvers, substeps=3), round(CATCH * args.fps)
    states = [both.states() for _ in range(steps + 1)]
    throw, miss = (wp.array([v], dtype=wp.vec3, requires_grad=True) for v in (GUESS, (0.0, 0.0, 0.0)))

    def rollout():
        wp.launch(release, 1, [throw, states[0][0].body_qd])
        for k in range(steps):
            both.step(states[k], states[k + 1], dt=1.0 / args.fps)
        wp.launch(measure, 1, [states[steps][0].body_q, POCKET, miss])

    problem = Problem(rollout, {"throw": throw}, residuals=miss)
    solution = problem.minimize("lbfgs", args.iterations, first_step=0.5, target=NEAR**2)
    wp.launch(release, 1, [throw, states[0][0].body_qd])
    rim = tube(knots[[0, CELLS, -1, -CELLS - 1, 0]], 0.02, IRON)
    view: View = {"azimuth": -30.0, "elevation": 14.0, "ground": 4.0, "moments": (0.25, 0.34, 0.5, 1.0)}
    view |= {"standing": {"rim": rim}, "solver": "bodies and XPBD"}
    with Film(args.output, args.picture, args.seconds, args.fps, **view) as film:
        for t in film.frames():
            if t:
                both.step(states[0], states[0], dt=film.dt)
            pose, net = states[0][0].body_q.numpy()[0], states[0][1].particle_q.numpy().reshape(CELLS + 1, -1, 3)
            film.show("net", tubes([*net[1:-1], *net.swapaxes(0, 1)[1:-1]], CORD, HEMP, sides=6))
            film.show_copies("ball", [sphere((0.0, 0.0, 0.0), BALL, RED)], pose[None, :3], pose[None, 3:])
    print(solution)
    return solution, pose[:3], net


if __name__ == "__main__":
    main()
