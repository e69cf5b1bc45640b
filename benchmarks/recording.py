"""What a frame costs that is recorded or saved, beside the step before it: every format, and the whole scene.

    python -m benchmarks.recording [grains] [cloth]    # some of the tables; default: both, half a minute

Sides take turns. Medians of the time by the clock and of all threads, which says more on a busy machine; means too, for
formats that write now and then. Films, whose images take seconds, have two of them. A save that is not waited for has
the clock alone: the time until the program goes on to its next step, beside which the rest is written. Threads work as
long for it as for one that is waited for.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cloth import DT, SUBSTEPS, sheet
from benchmarks.grains import Bed
from benchmarks.turns import turns
from warpsim.record import CsvTable, FilmFile, Hdf5Table, PlySequence, Recorder, UsdFile, VtkSeries
from warpsim.solvers import Scene, SolverXPBD

GRAINS, CELLS, ROUNDS, IMAGES = 21_952, 127, 15, 2
FORMATS = {"VtkSeries": VtkSeries, "PlySequence": PlySequence, "CsvTable": CsvTable, "Hdf5Table": Hdf5Table,
           "UsdFile": UsdFile, "FilmFile": lambda: FilmFile(fps=1.0 / DT)}  # fmt: skip
BEHIND = "Scene.save(wait=False)"
Built = tuple[str, Any, Any, Callable[[], None]]
"""What a scene is, its solver, its state, and a step."""


def falling_cloth() -> Built:
    """A cloth above a ball."""
    model = sheet(CELLS).finalize("cpu")
    solver, state = SolverXPBD(model, SUBSTEPS), model.state()
    title = f"a cloth of {CELLS + 1} x {CELLS + 1}, {SUBSTEPS} substeps"
    return title, solver, state, lambda: solver.step(state, state, None, None, DT)


def bed_of_grains() -> Built:
    """Grains that fall together."""
    bed, substeps = Bed(GRAINS), 20
    bed.run(10 * substeps)
    title = f"{bed.state.model.particle_count:,} grains, {substeps} substeps"
    return title, bed.solver, bed.state, lambda: bed.run(substeps)


def record_frame(record: Recorder, solver: Any, state: Any) -> None:
    """Record the next frame; tables have the statistics of the solver."""
    is_table = any(isinstance(form, CsvTable | Hdf5Table) for form in record.formats)
    record.frame(state, record.next_frame * DT, numbers=solver.statistics(state) if is_table else None)


def table(build: Callable[[], Built], rounds: int = ROUNDS, images: int = IMAGES) -> list[list[str]]:
    """Of the step and each way to keep a frame: the median, and that and the mean as parts of the step, twice: by the
    clock and of all threads."""
    title, solver, state, step = build()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, whole = Path(name), Scene(solver=solver, state=state)
        sides: dict[str, Callable[[], Any]] = {"the step": step}
        for form, make in FORMATS.items():
            record = stack.enter_context(Recorder(folder / form, [make()]))
            sides[form] = partial(record_frame, record, solver, state)
        sides["Scene.save"] = lambda: whole.save(folder / "run.scene")
        film = {"FilmFile": sides.pop("FilmFile")}
        samples = turns(sides, rounds)
        samples[BEHIND] = calls(step, partial(whole.save, folder / "run.scene", wait=False), rounds)
        samples |= turns(film, images)
    medians = {side: np.median(seconds, axis=0) for side, seconds in samples.items()}
    base = medians["the step"]
    rows = []
    for side, seconds in samples.items():
        times = zip(medians[side], medians[side] / base, seconds.mean(axis=0) / base, strict=True)
        columns = (
            (f"{1.0e3 * s:.2f} ms", f"{part:.1%}", f"{mean:.1%}") if np.isfinite(s) else ("",) * 3
            for s, part, mean in times
        )
        rows.append([title, side, *(text for column in columns for text in column)])
    return rows


def calls(step: Callable[[], None], save: Callable[[], None], rounds: int) -> np.ndarray:
    """Seconds of a save between steps, by the clock, (rounds, 2); those of all threads are not known."""
    seconds = np.full((rounds + 1, 2), np.nan)
    for k in range(rounds + 1):
        step()
        begin = time.perf_counter()
        save()
        seconds[k, 0] = time.perf_counter() - begin
    Scene.finish_save()
    return seconds[1:]


TABLES = {"grains": bed_of_grains, "cloth": falling_cloth}


def main(arguments: list[str]) -> None:
    """Print the tables that are asked for."""
    wrong = sorted(set(arguments) - set(TABLES))
    if wrong:
        sys.exit(f"no table is named {', '.join(wrong)}; there are {', '.join(TABLES)}")
    print(
        "| | | a frame | of a step | mean | all threads | of a step | mean |\n|---|---|---:|---:|---:|---:|---:|---:|"
    )
    for name in arguments or TABLES:
        for row in table(TABLES[name]):
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
