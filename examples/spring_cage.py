"""A mass swings in a cage of eight springs: their rest lengths are found so that it comes to rest at a target.

A time step is a launch. Adam walks down the gradient of the squared distance from the target, and from standing still.
"""

import numpy as np

import warpsim as wp
from warpsim.optim import Problem, add_squares
from warpsim.plot import Curves, box_edges, coil, sphere, trails
from warpsim.render import Film, View, film_options

CORNERS = [-1.0, 0.15, -1.0] + 2.0 * np.indices((2, 2, 2)).reshape(3, 8).T  # of the cage [m]
START, PUSH, TARGET = (-0.5, 0.85, -0.2), (0.4, 3.6, 1.2), (0.45, 1.4, 0.4)  # [m], [m/s], [m]
MASS, STIFFNESS, DAMPING, GRAVITY, REST, SECONDS, STILL = 0.5, 12.0, 0.9, -9.81, 1.2, 1.6, 0.1  # SI, at first
Vec3s = wp.array[wp.vec3]
RED, GREY, STEEL, BLACK = (0.60, 0.10, 0.06), (0.40, 0.42, 0.45), (0.30, 0.38, 0.50), (0.01, 0.01, 0.01)  # linear RGB


@wp.kernel
def swing(x: Vec3s, v: Vec3s, corner: Vec3s, rest: wp.array[float], k: int, h: float):
    """One time step: semi-implicit Euler with Hooke's law for every spring."""
    force = wp.vec3(0.0, MASS * GRAVITY, 0.0)
    for s in range(len(rest)):
        force += STIFFNESS * (corner[s] - x[k] - rest[s] * wp.normalize(corner[s] - x[k]))
    v[k + 1] = (v[k] + force * (h / MASS)) * (1.0 - DAMPING * h)
    x[k + 1] = x[k] + v[k + 1] * h


def main(argv=None):
    options = {"steps": (320, "of a swing"), "iterations": (200, "of Adam"), "rate": (0.03, "learning rate [m]")}
    args = film_options(argv, __doc__, "spring_cage", fps=40, **options)
    x, v = (wp.array(np.tile(row, (args.steps + 1, 1)), dtype=wp.vec3, requires_grad=True) for row in (START, PUSH))
    corners, target, still = (wp.array(p, dtype=wp.vec3) for p in (CORNERS, [TARGET], np.zeros((1, 3))))
    rest, loss = wp.full(8, REST, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)

    def rollout():
        for k in range(args.steps):
            wp.launch(swing, dim=1, inputs=[x, v, corners, rest, k, SECONDS / args.steps])
        add_squares(loss, x[args.steps :], target)
        add_squares(loss, v[args.steps :], still, STILL**2)

    solution = Problem(rollout, {"rest": rest}, loss).minimize("adam", args.iterations, lr=args.rate, record=x)
    paths = {"first": solution.recorded[0], "best": solution.recorded[np.argmin(solution.losses)]}
    away = {name: np.linalg.norm(path - TARGET, axis=1) for name, path in paths.items()}
    charts = Curves(away, "distance from the target [m]", "time step"), Curves(solution.losses, "loss [m²]", log=True)
    scene = {"cage": box_edges(CORNERS[0], CORNERS[-1], 0.015, GREY), "target": sphere(TARGET, 0.06, BLACK)}
    scene.update(zip(paths, trails([*paths.values()], 0.008, 0.012), strict=True))
    view: View = {"moments": [0.0], "azimuth": -18.0, "elevation": 16.0, "panel": (728, 620), "ground": 8.0}
    with Film(args.output, args.picture, SECONDS, args.fps, charts=charts, standing=scene, **view) as film:
        for place in film.along(paths["best"]):
            film.show("mass", sphere(place, 0.09, RED))
            for k, corner in enumerate(CORNERS):
                film.show(f"spring_{k}", coil(corner, place, 0.03, 0.006, turns=14, color=STEEL))
    print(solution)
    return solution


if __name__ == "__main__":
    main()
