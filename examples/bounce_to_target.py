"""A ball is thrown at a wall and the ground so that it ends at a target: the throw is found by L-BFGS.

Every time step is a launch. Within one the motion is a parabola, and the moment of an impact is solved for, so the path
depends on the throw without jumps. The picture has the path of every iteration, from violet to yellow.
"""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem, add_squares
from warpsim.plot import box, sphere, trails
from warpsim.render import Film, View, film_options

START, TARGET, GUESS = (3.0, 0.9, 0.9), np.array([2.5, 1.5, -0.9]), (-4.0, -3.5, 0.2)  # [m], [m], [m/s]
SECONDS, GRAVITY, RADIUS, RESTITUTION = 1.1, (0.0, -9.81, 0.0), 0.08, 0.85  # [s], [m/s^2], of the ball [m], [-]
HALF, SMALL = (0.12, 0.12, 0.02), 1.0e-4  # half of the target [m]; gradient that ends the search [m s], 0.1 mm away
RED, GREY, BLACK = (0.60, 0.10, 0.06), (0.45, 0.47, 0.50), (0.01, 0.01, 0.01)  # linear RGB


@wp.kernel
def fly(x: wp.array2d[float], v: wp.array2d[float], gravity: wp.vec3, k: int, h: float):
    """One time step along one axis, from row k to k + 1: the wall is at x = 0, the ground at y = 0."""
    i = wp.tid()
    before, speed, a = x[k, i], v[k, i], gravity[i]
    x[k + 1, i], v[k + 1, i] = before + speed * h + 0.5 * a * h * h, speed + a * h
    if i < 2 and x[k + 1, i] < RADIUS:
        hit = -wp.sqrt(speed * speed + 2.0 * a * (RADIUS - before))  # velocity at the impact
        left = h - 2.0 * (RADIUS - before) / (speed + hit)  # time after it
        x[k + 1, i] = RADIUS - RESTITUTION * hit * left + 0.5 * a * left * left
        v[k + 1, i] = a * left - RESTITUTION * hit


def main(argv=None):
    options = {"steps": (110, "time steps of a flight"), "iterations": (50, "at most")}
    args = film_options(argv, __doc__, "bounce_to_target", **options)
    x, v = (wp.array(np.tile(row, (args.steps + 1, 1)), dtype=float, requires_grad=True) for row in (START, GUESS))
    target, loss = wp.array(TARGET, dtype=float), wp.zeros(1, dtype=float, requires_grad=True)

    def rollout():
        for k in range(args.steps):
            wp.launch(fly, dim=3, inputs=[x, v, wp.vec3(*GRAVITY), k, SECONDS / args.steps])
        add_squares(loss, x[args.steps], target)

    throw = Problem(rollout, {"velocity": v[0]}, loss)
    solution = throw.minimize("lbfgs", args.iterations, record=x, tolerance_grad=SMALL)
    scene = {"wall": box((-0.06, 0.0, -1.6), (0.0, 2.6, 1.6), GREY)}
    scene["target"] = box(TARGET - HALF, TARGET + HALF, BLACK)
    scene.update((f"path_{k}", trail) for k, trail in enumerate(trails(solution.recorded, 0.008, 0.018)))
    view: View = {"moments": [0.0], "azimuth": 20.0, "elevation": 16.0, "panel": (960, 640), "ground": 8.0}
    with Film(args.output, args.picture, SECONDS, args.fps, solver="ballistic", standing=scene, **view) as film:
        for place in film.along(solution.recorded[-1]):
            film.show("ball", sphere(place, RADIUS, RED))
    print(solution)
    return solution


if __name__ == "__main__":
    main()
