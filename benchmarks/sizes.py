"""One launch of 250 to a million elements, under warpsim and Warp: `python -m benchmarks.sizes`.

For each workload and size: the time of a launch under warpsim, and Warp's divided by it (above 1, warpsim is faster),
and that of the loop in C++ where there is one (`--frameworks warpsim,warp,cpp`).
All run in one process, in turn, and of each the fastest round counts: what a quiet moment of the machine allows.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.backward import Stage
from benchmarks.frameworks import MODULES
from benchmarks.kernels import integrate, springs

SIZES = (250, 1_000, 4_000, 16_000, 65_000, 260_000, 1_000_000)
SPACING, REACH = 0.1, 0.2
STIFFNESS = 0.01

Run = Callable[[], object]


def sheet_side(springs_count: int) -> int:
    """The side of the cloth that has about so many springs, five for each vertex."""
    return max(4, round((springs_count / 5) ** 0.5))


def springs_run(wp: Any, n: int) -> Run:
    """Forces of springs, summed by scattered atomics."""
    return springs.warp_run(wp, {"side": sheet_side(n)})[0]


def springs_backward(wp: Any, n: int) -> Run:
    """The reverse of a tape that recorded the launch, without its forward."""
    stage = Stage(wp)
    run, f = springs.warp_run(stage, {"side": sheet_side(n)})
    tape = wp.Tape()
    with tape:
        run()
    ones = wp.array(np.ones((len(f), 3), np.float32), dtype=wp.vec3)

    def backward() -> None:
        tape.zero()
        tape.backward(grads={f: ones})

    return backward


def integrate_run(wp: Any, n: int) -> Run:
    """A step of free particles."""
    return integrate.warp_case(wp, {"n": n}).timed["time"].run


def gather_run(wp: Any, n: int) -> Run:
    """The mean of four vectors at indices of their own."""

    @wp.kernel
    def gather(x: wp.array(dtype=wp.vec3), at: wp.array(dtype=int), out: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        out[i] = (x[at[4 * i]] + x[at[4 * i + 1]] + x[at[4 * i + 2]] + x[at[4 * i + 3]]) * 0.25

    rng = np.random.default_rng(5)
    x = wp.array(rng.random((n, 3), dtype=np.float32), dtype=wp.vec3)
    at = wp.array(rng.integers(0, n, 4 * n).astype(np.int32), dtype=int)
    out = wp.zeros(n, dtype=wp.vec3)
    return lambda: wp.launch(gather, dim=n, inputs=[x, at], outputs=[out])


def bending_run(wp: Any, n: int) -> Run:
    """Forces of dihedral springs between triangles: much arithmetic, four scattered sums."""

    @wp.kernel
    def bending(x: wp.array(dtype=wp.vec3), edges: wp.array2d(dtype=int), f: wp.array(dtype=wp.vec3)):
        e = wp.tid()
        i, j, k, m = edges[e, 0], edges[e, 1], edges[e, 2], edges[e, 3]
        x1, x2, x3, x4 = x[i], x[j], x[k], x[m]
        n1 = wp.cross(x3 - x1, x4 - x1)
        n2 = wp.cross(x4 - x2, x3 - x2)
        edge = x4 - x3
        a, b, length = wp.dot(n1, n1), wp.dot(n2, n2), wp.length(edge)
        u, v = n1 / wp.sqrt(a), n2 / wp.sqrt(b)
        angle = wp.atan2(wp.dot(wp.cross(u, v), edge / length), wp.dot(u, v))
        size = STIFFNESS * angle * length * length / (wp.sqrt(a) + wp.sqrt(b))
        d1, d2 = n1 * (length / a), n2 * (length / b)
        d3 = n1 * (wp.dot(x1 - x4, edge) / (a * length)) + n2 * (wp.dot(x2 - x4, edge) / (b * length))
        d4 = n1 * (wp.dot(x3 - x1, edge) / (a * length)) + n2 * (wp.dot(x3 - x2, edge) / (b * length))
        wp.atomic_add(f, i, d1 * -size)
        wp.atomic_add(f, j, d2 * -size)
        wp.atomic_add(f, k, d3 * -size)
        wp.atomic_add(f, m, d4 * -size)

    side = max(4, round((n / 2) ** 0.5))
    rng = np.random.default_rng(7)
    ground = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), -1).reshape(-1, 2) / side
    height = 0.2 / side * rng.random(side * side)
    x = wp.array(np.column_stack([ground[:, 0], height, ground[:, 1]]).astype(np.float32), dtype=wp.vec3)
    vertex = np.arange(side * side, dtype=np.int32).reshape(side, side)
    diagonal = [vertex[:-1, :-1], vertex[1:, 1:], vertex[:-1, 1:], vertex[1:, :-1]]
    along = [vertex[:-2, 1:-1], vertex[2:, :-2], vertex[1:-1, :-2], vertex[1:-1, 1:-1]]
    stacked = [np.stack([p.ravel() for p in part], 1) for part in (diagonal, along)]
    edges = np.ascontiguousarray(np.concatenate(stacked))
    given = wp.array(edges, dtype=int)
    f = wp.zeros(side * side, dtype=wp.vec3)
    return lambda: wp.launch(bending, dim=len(edges), inputs=[x, given], outputs=[f])


def pairs_run(wp: Any, n: int) -> Run:
    """Neighbours of each point in a hash grid, which is built once."""

    @wp.kernel
    def count(grid: wp.uint64, points: wp.array(dtype=wp.vec3), reach: float, found: wp.array(dtype=int)):
        i = wp.hash_grid_point_id(grid, wp.tid())
        total = int(0)
        for j in wp.hash_grid_query(grid, points[i], reach):
            if wp.length(points[j] - points[i]) <= reach:
                total += 1
        found[i] = total

    side = max(4, round(n ** (1 / 3)))
    axis = np.arange(side, dtype=np.float32) * np.float32(SPACING)
    block = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    points = wp.array(block, dtype=wp.vec3)
    found, grid = wp.zeros(len(block), dtype=int), wp.HashGrid(64, 64, 64)
    grid.build(points, REACH)
    return lambda: wp.launch(count, dim=len(block), inputs=[grid.id, points, REACH], outputs=[found])


WORKLOADS = {
    "springs": springs_run,
    "bending": bending_run,
    "gather": gather_run,
    "integrate": integrate_run,
    "pairs": pairs_run,
    "springs, tape backward": springs_backward,
}


NATIVE: dict[str, Callable[[Any, int], Run]] = {
    "springs": lambda cpp, n: springs.cpp_case(cpp, {"side": sheet_side(n)}).timed["time"].run,
    "integrate": lambda cpp, n: integrate.cpp_case(cpp, {"n": n}).timed["time"].run,
}
"""The workloads as hand-written loops."""


_REST = 30.0e-3  # [s] between sides: threads of OpenMP turn on the cores for some 15 ms after a loop


def time_of(run: Run, calls: int) -> float:
    """Seconds of one of `calls` calls in a row."""
    begin = time.perf_counter()
    for _ in itertools.repeat(None, calls):
        run()
    return (time.perf_counter() - begin) / calls


def measure(runs: Sequence[Run], seconds: float) -> list[float]:
    """The best time of each [s], in rounds that take about `seconds` altogether."""
    for run in runs:
        run()  # compiles
    calls = [max(1, min(200, int(2e-3 / max(time_of(run, 3), 1e-7)))) for run in runs]
    best = [np.inf] * len(runs)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for k, run in enumerate(runs):
            time.sleep(_REST)
            time_of(run, max(1, calls[k] // 4))  # the state that calls in a row find
            best[k] = min(best[k], time_of(run, calls[k]))
    return best


def present(names: Sequence[str]) -> dict[str, Any]:
    """The frameworks that are installed, by name."""
    modules = {}
    for name in names:
        try:
            modules[name] = importlib.import_module(MODULES[name])
        except ImportError as problem:
            print(f"{name} is left out: {problem}")
    return modules


def cell(workload: str, modules: dict[str, Any], size: int, seconds: float) -> str:
    """The time under the first framework, and of the others divided by it."""
    makers = {name: NATIVE.get(workload) if name == "cpp" else WORKLOADS[workload] for name in modules}
    runs = {name: make(modules[name], size) for name, make in makers.items() if make is not None}
    best = measure(list(runs.values()), seconds)
    ratios = "".join(f" ({other / best[0]:.2f})" for other in best[1:])
    return f"{best[0] * 1e6:,.1f} us{ratios}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=__doc__)
    options.add_argument("--sizes", default=",".join(map(str, SIZES)), help="elements (default: %(default)s)")
    options.add_argument("--only", default="", help="a word in the names of the workloads (default: all)")
    options.add_argument("--seconds", type=float, default=1.0, help="of a cell (default: %(default)s)")
    options.add_argument("--frameworks", default="warpsim,warp", help="which (default: %(default)s)")
    chosen = options.parse_args(arguments)
    frameworks = present(chosen.frameworks.split(","))
    for wp in frameworks.values():
        getattr(wp, "init", lambda: None)()
    sizes = [int(size) for size in chosen.sizes.split(",")]
    print(f"{'':>24}" + "".join(f"{size:>25,}" for size in sizes))
    for name in WORKLOADS:
        if chosen.only in name:
            cells = (cell(name, frameworks, size, chosen.seconds) for size in sizes)
            print(f"{name:>24}" + "".join(f"{text:>25}" for text in cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
