"""Find the water surface that, let go, runs into a given picture: an inverse problem through a rollout of waves.

The wave equation is stepped by central differences and leapfrog between reflecting walls. The height of every cell at
the start is unknown: L-BFGS finds all, by the gradient of the squared difference from the picture at the end.
"""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem, add_squares
from warpsim.plot import Curves, Field, height_field, render_charts
from warpsim.render import Film, film_options

SIDE, HEIGHT = 4.0, 0.25  # of the pool, of the picture [m]
DEEP, CREST = (0.01, 0.09, 0.20), (0.60, 0.85, 0.90)  # linear RGB


@wp.kernel
def leapfrog(before: wp.array2d[float], now: wp.array2d[float], courant: float, after: wp.array2d[float]):
    i, j = wp.tid()
    n = now.shape[0] - 1  # courant = (c dt / dx)^2
    across = now[wp.max(i - 1, 0), j] + now[wp.min(i + 1, n), j]
    along = now[i, wp.max(j - 1, 0)] + now[i, wp.min(j + 1, n)]
    after[i, j] = 2.0 * now[i, j] - before[i, j] + courant * (across + along - 4.0 * now[i, j])


def target(cells):
    """The picture (cells, cells) [m]: a ring with a five-pointed star in it, its edges soft."""
    x, y = np.meshgrid(*2 * [(np.arange(cells) + 0.5) / cells * 2.0 - 1.0])
    radius, angle = np.hypot(x, y), np.arctan2(x, -y)
    star = radius - 0.5 * np.cos(0.4 * np.pi) / np.cos(0.2 * np.arcsin(np.cos(5.0 * angle)) + 0.3 * np.pi)
    return HEIGHT / (1.0 + np.exp(np.minimum(star, np.abs(radius - 0.72) - 0.07) / 0.02))


def main(argv=None):
    options = {"cells": (128, "along each side"), "steps": (120, "time steps"), "cfl": (0.5, "c dt / dx [-]", 0.5**0.5)}
    args = film_options(argv, __doc__, "wave_inverse", fps=30, iterations=(80, "at most"), **options)
    shape, n = (args.cells, args.cells), args.steps
    heights = [wp.zeros(shape, dtype=float, requires_grad=True) for _ in range(n + 1)]
    picture, loss = wp.array(target(args.cells), dtype=float), wp.zeros(1, dtype=float, requires_grad=True)

    def rollout():
        for k in range(n):
            wp.launch(leapfrog, shape, [heights[max(k - 1, 0)], heights[k], args.cfl**2], [heights[k + 1]])
        add_squares(loss, heights[n], picture, 1.0 / (HEIGHT**2 * picture.size))

    problem = Problem(rollout, {"heights": heights[0]}, loss)
    solution = problem.minimize("lbfgs", args.iterations)
    problem.run()
    fields = {"the picture to make": picture, "the water at the start": heights[0], "what it runs into": heights[n]}
    look = {"label": "height [m]", "extent": [-SIDE / 2, SIDE / 2, -SIDE / 2, SIDE / 2]}
    panels = [Field(field.numpy(), title, **look) for title, field in fields.items()]
    panels += [Curves(solution.losses, "loss", "iteration of L-BFGS", log=True)]
    render_charts(args.picture, panels, columns=2, panel=(550, 510))
    with Film(args.output, None, n / 2 / args.fps + 1.0, args.fps, ground=None, solver="leapfrog") as film:
        for k, _ in enumerate(film.frames()):
            film.show("water", height_field(heights[min(2 * k, n)].numpy(), SIDE, DEEP, CREST, HEIGHT))
    print(solution)
    return solution, *(field.numpy() for field in fields.values())


if __name__ == "__main__":
    main()
