"""Many small cloths at once: worlds of one model beside as many models in turn, and beside one large cloth.

    python -m benchmarks.worlds [worlds [cells]]    # default: 256 of 16 x 16; a minute

All have as many particles, the large cloth about as many. Sides take turns and minima are reported.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.cloth import DT, SUBSTEPS, sheet, timed
from warpsim.solvers import ModelBuilder, SolverXPBD


def stepper(builder: ModelBuilder) -> tuple[int, Callable[[], Any]]:
    """How many particles a scene has, and a function that advances it by a frame."""
    model = builder.finalize("cpu")
    solver, state = SolverXPBD(model, SUBSTEPS), model.state()
    return model.particle_count, lambda: solver.step(state, state, None, None, DT)


def table(worlds: int, cells: int, rounds: int = 9) -> list[list[str]]:
    """Seconds of a frame of each, and per particle and substep."""
    builder, one = ModelBuilder(), sheet(cells)
    begin = time.perf_counter()
    builder.add_world(one, worlds)
    count, together = stepper(builder)
    making = time.perf_counter() - begin
    alone = [stepper(one)[1] for _ in range(worlds)]
    large, whole = stepper(sheet(math.isqrt(count) - 1))

    def in_turn() -> None:
        for step in alone:
            step()

    for step in (in_turn, together, whole):
        step()  # steps are captured the second time
    best = timed({"worlds of one model": together, "models in turn": in_turn, "one large cloth": whole}, rounds)
    sizes = {"worlds of one model": count, "models in turn": count, "one large cloth": large}
    each = {name: 1.0e9 * s / (sizes[name] * SUBSTEPS) for name, s in best.items()}
    first = each["worlds of one model"]
    title = f"{worlds} cloths of {cells} x {cells}, a frame of {SUBSTEPS} substeps"
    rows = [
        [title, name, f"{1.0e3 * s:.1f} ms", f"{each[name]:.1f} ns", f"{each[name] / first:.2f}"]
        for name, s in best.items()
    ]
    return [*rows, [title, "to make the model", f"{making:.2f} s", "", ""]]


def main(arguments: list[str]) -> None:
    """Print the table."""
    worlds, cells = (int(text) for text in [*arguments, "256", "16"][:2]) if arguments else (256, 16)
    print("| | | time | a particle and substep | |\n|---|---|---:|---:|---:|")
    for row in table(worlds, cells):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
