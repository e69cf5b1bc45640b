"""Many small scenes at once: worlds of one model beside as many models in turn, and beside one large scene.

    python -m benchmarks.worlds [cloths|pools [worlds [cells]]]    # default: 256 cloths of 16 x 16; a minute

All have as many particles, the large one about as many. Pools are sheets of water beside a wall. Sides take turns;
medians of the time by the clock and of all threads together, which says more on a busy machine.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cloth import DT, SUBSTEPS, sheet
from benchmarks.turns import turns
from warpsim.solvers import Fluid, Model, ModelBuilder, SolverSPH, SolverXPBD
from warpsim.solvers.sph.filling import add_fluid_box

SPACING = 1.0 / 16.0  # of particles of water [m]


class Kind(NamedTuple):
    """A scene by its cells along a side; the solver of a model of it; how many cells a side has for some particles."""

    scene: Callable[[int], ModelBuilder]
    solver: Callable[[Model], Any]
    side: Callable[[int], int]
    dt: float


def pool(cells: int) -> ModelBuilder:
    """A square of water in a corner."""
    builder, side = ModelBuilder(), cells * SPACING
    add_fluid_box(builder, (0.0, 0.0, 0.0), (side, side, 0.0), SPACING)
    builder.add_ground_plane()
    builder.add_shape_plane((1.0, 0.0, 0.0))
    return builder


def water(model: Model) -> SolverSPH:
    """A basin twice as wide and high as the fluid in it."""
    side = 2.0 * float(model.particle_q.numpy().max())
    bounds = ((0.0, 0.0, 0.0), (side, side, 0.0))
    return SolverSPH(model, Fluid(sound=60.0), 2, substeps=SUBSTEPS, bounds=bounds)


KINDS = {
    "cloths": Kind(sheet, lambda model: SolverXPBD(model, SUBSTEPS), lambda count: math.isqrt(count) - 1, DT),
    "pools": Kind(pool, water, math.isqrt, 2.0e-3),
}


def stepper(kind: Kind, builder: ModelBuilder) -> tuple[int, Callable[[], Any]]:
    """How many particles a scene has, and a function that advances it by a frame."""
    model = builder.finalize("cpu")
    solver, state = kind.solver(model), model.state()
    return model.particle_count, lambda: solver.step(state, state, None, None, kind.dt)


def table(name: str, worlds: int, cells: int, rounds: int = 9) -> list[list[str]]:
    """Median time of a frame of each, by the clock and of all threads, and per particle and substep."""
    kind = KINDS[name]
    builder, one = ModelBuilder(), kind.scene(cells)
    begin = time.process_time()
    builder.add_world(one, worlds)
    count, together = stepper(kind, builder)
    making = time.process_time() - begin
    alone = [stepper(kind, one)[1] for _ in range(worlds)]
    large, whole = stepper(kind, kind.scene(kind.side(count)))

    def in_turn() -> None:
        for step in alone:
            step()

    for step in (in_turn, together, whole):
        step()  # steps are captured the second time
    samples = turns({"worlds of one model": together, "models in turn": in_turn, "one large scene": whole}, rounds)
    sizes = {"worlds of one model": count, "models in turn": count, "one large scene": large}
    medians = {side: np.median(seconds, axis=0) for side, seconds in samples.items()}
    each = {side: 1.0e9 * s / (sizes[side] * SUBSTEPS) for side, s in medians.items()}
    first = each["worlds of one model"]
    title = f"{worlds} {name} of {cells} x {cells}, a frame of {SUBSTEPS} substeps"
    rows = []
    for side, seconds in medians.items():
        parts = zip(seconds, each[side], each[side] / first, strict=True)
        columns = ((f"{1.0e3 * s:.1f} ms", f"{ns:.1f} ns", f"{ratio:.2f}") for s, ns, ratio in parts)
        rows.append([title, side, *(text for column in columns for text in column)])
    return [*rows, [title, "to make the model", "", "", "", f"{making:.2f} s", "", ""]]


def main(arguments: list[str]) -> None:
    """Print the table."""
    name, *sizes = arguments or ["cloths"]
    worlds, cells = (int(text) for text in [*sizes, "256", "16"][:2]) if sizes else (256, 16)
    print("| | | a frame | a particle and substep | | all threads | a particle and substep | |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for row in table(name, worlds, cells):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
