"""How costs grow from ten thousand elements to ten million: ``python -m benchmarks.geometry.scaling``.

Nanoseconds per point, triangle or sample of the workloads beside this file, and the exponent p of time ~ n^p between
the smallest and the largest size. Guarantees: up to 100,000 elements the values are checked before anything is
timed, and a wrong one ends the run; with all sizes it takes a few minutes and a few GB.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import frameworks, machine
from benchmarks.case import Case, Timed
from benchmarks.check import difference, digest
from benchmarks.document import digits
from benchmarks.geometry import closest_point, density, hash_grid, mesh, rays, volume

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
CHECKED = 100_000
"""The largest size whose values are compared: NumPy needs minutes for more."""

_ENOUGH = 0.5  # seconds of timings of one size; at least one is taken, and at most `_MOST`
_MOST = 15
_LONG = 3.0


@dataclass(frozen=True)
class Line:
    """Lines of the table: metrics of a workload, each with its title, at the size that holds about n elements."""

    titles: tuple[str, ...]
    workload: ModuleType
    size: Callable[[int], dict[str, int]]
    elements: Callable[[dict[str, int]], int]
    metrics: tuple[str, ...] = ("time",)
    tolerance: float = 1.0e-4


def _block(n: int) -> dict[str, int]:
    return {"side": round(n ** (1.0 / 3.0))}


def _torus(n: int) -> dict[str, int]:
    return {"side": round(math.sqrt(n / 2.0))}


def _asked(side: int) -> Callable[[int], dict[str, int]]:
    return lambda n: {"side": side, "n": n}


def _queries(size: dict[str, int]) -> int:
    return size["n"]


def _points(size: dict[str, int]) -> int:
    return size["side"] ** 3


def _triangles(size: dict[str, int]) -> int:
    return 2 * size["side"] * (size["side"] + 1)


LINES = (
    Line(("hash grid build",), hash_grid, _block, _points),
    Line(("SPH density, thirty neighbours",), density, _block, _points),
    Line(("mesh build", "mesh refit"), mesh, _torus, _triangles, ("time", "refit")),
    Line(("signed closest point, 199 k triangles",), closest_point, _asked(315), _queries),
    Line(("ray, first hit, 199 k triangles",), rays, _asked(315), _queries),
    Line(("volume sample, 128^3 voxels",), volume, _asked(128), _queries),
)


def measure(wp: Any, line: Line, sizes: Sequence[int]) -> dict[str, list[tuple[int, float]]]:
    """For each metric the numbers of elements and the best seconds for all of them.

    Raises ``ValueError`` for wrong values.
    """
    found: dict[str, list[tuple[int, float]]] = {metric: [] for metric in line.metrics}
    for n in sizes:
        size = line.size(n)
        case = line.workload.warp_case(wp, size)
        begun = {metric: _once(case.timed[metric])
                 for metric in (case.timed if n <= CHECKED else line.metrics)}
        if n <= CHECKED:
            _check(line, size, case)
        for metric in line.metrics:
            found[metric].append((line.elements(size), _best(case.timed[metric], begun[metric])))
        del case
        gc.collect()
    return found


def _check(line: Line, size: dict[str, int], case: Case) -> None:
    message = difference(digest(case.values()), digest(line.workload.expected(size)), line.tolerance)
    if message:
        raise ValueError(f"{line.titles[0]} with {size}: {message}")


def _best(timed: Timed, begun: float) -> float:
    # a first run compiles and allocates, which does not count in one of seconds
    taken = [begun] if begun > _LONG else []
    while not taken or (sum(taken) < _ENOUGH and len(taken) < _MOST):
        taken.append(_once(timed))
    return min(taken)


def _once(timed: Timed) -> float:
    if timed.before is not None:
        timed.before()
    start = time.perf_counter()
    timed.run()
    return time.perf_counter() - start


def cells(title: str, measured: list[tuple[int, float]]) -> list[str]:
    """A line of the table: nanoseconds per element of each size, and the exponent of growth."""
    (small, quick), (large, slow) = measured[0], measured[-1]
    growth = f"{math.log(slow / quick) / math.log(large / small):.2f}" if large > small else ""
    return [title, *(f"{digits(1.0e9 * seconds / n)}" for n, seconds in measured), growth]


def markdown(wp: Any, name: str, sizes: Sequence[int]) -> str:
    """The whole table, measured now."""
    facts, here = frameworks.describe(name, wp), machine.describe()
    rows = [["ns per element", *(f"{n:,}" for n in sizes), "p"], ["---", *["---:"] * (len(sizes) + 1)]]
    for line in LINES:
        begin = time.perf_counter()
        measured = measure(wp, line, sizes)
        made = [cells(title, measured[metric]) for title, metric in zip(line.titles, line.metrics, strict=True)]
        for row in made:
            print(*row, f"({time.perf_counter() - begin:.1f} s)", sep="  ", file=sys.stderr, flush=True)
        rows += made
    plural = "" if facts["threads"] == 1 else "s"
    return "\n".join([*("| " + " | ".join(row) + " |" for row in rows), "",
                      f"- {name} {facts['version']}, {facts['threads']} thread{plural}, on {here['processor']}, "
                      f"{here['cores']} cores, {here['memory_gib']} GiB, {here['date']}",
                      "- Best of several timings; time grows as n^p between the first and the last column."])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.geometry.scaling", description=__doc__)
    options.add_argument("--largest", type=int, default=SIZES[-1], metavar="N", help="leave out sizes above N")
    options.add_argument("--framework", choices=("warpsim", "warp"), default="warpsim", help="who is timed")
    options.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there as well")
    chosen = options.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="warpsim-bench-") as cache:
        os.environ.update(frameworks.environment(cache, None))
        wp = frameworks.load(chosen.framework)
        frameworks.prepare(chosen.framework, wp)
        table = markdown(wp, chosen.framework, [n for n in SIZES if n <= chosen.largest] or SIZES[:1])
    print(table)
    if chosen.markdown is not None:
        chosen.markdown.write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
