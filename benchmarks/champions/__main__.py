"""Scene by scene beside the strongest compiled code that installs by name, on one core and on all.

    python -m benchmarks.champions [rays] [closest_points] [neighbours] [transforms] [cloth]    # default: all

needs `pip install ".[champions]"`. Results are compared before anything is timed; sides take turns, and least times are
shown. Every kind of scene and number of cores has a process of its own, which is bound to its cores.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.champions.duel import ROUNDS, Result, run

KINDS = ("rays", "closest_points", "neighbours", "transforms", "cloth")
HEAD = "| scene | cores | warpsim | peer | | ratio |\n| --- | ---: | ---: | --- | ---: | ---: |"


def processors(count: int) -> list[int]:
    """So many of those that this process may use."""
    return sorted(os.sched_getaffinity(0))[:count]


def rows(kind: str, rounds: int = ROUNDS) -> Iterator[str]:
    """Lines of the table, of the cores that this process has."""
    cores = len(os.sched_getaffinity(0))
    for duel in importlib.import_module(f"benchmarks.champions.{kind}").duels():
        yield line(run(duel, rounds), cores)


def line(result: Result, cores: int) -> str:
    """A line of the table; above 1, warpsim is faster."""
    own, other = (f"{1e3 * seconds:.1f} ms" for seconds in (result.own, result.other))
    return f"| {result.scene} | {cores} | {own} | {result.peer} | {other} | {result.other / result.own:.2f} |"


def run_beside(kind: str, cores: int) -> str:
    """The rows of a kind, from a process that has so many cores: peers ask for all that they see."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(cores), "WARPSIM_NUM_THREADS": str(cores)}
    script = (
        f"import os; os.sched_setaffinity(0, {processors(cores)})\nfrom benchmarks.champions.__main__ import rows\n"
    )
    script += f"for row in rows({kind!r}): print(row, flush=True)"
    ran = subprocess.run([sys.executable, "-c", script], env=environment, text=True, capture_output=True, check=False)
    if ran.returncode:
        reason = (ran.stderr.strip().splitlines() or [f"ended with {ran.returncode}"])[-1]
        return f"| {kind} | {cores} | - | {reason} | - | - |\n"
    return "".join(f"{row}\n" for row in ran.stdout.splitlines() if row.startswith("|"))


def main(arguments: list[str]) -> None:
    """Print the table of the kinds that are asked for."""
    wrong = sorted(set(arguments) - set(KINDS))
    if wrong:
        sys.exit(f"no kind of scene is named {', '.join(wrong)}; there are {', '.join(KINDS)}")
    print(HEAD, flush=True)
    for kind in arguments or KINDS:
        for cores in sorted({1, len(os.sched_getaffinity(0))}):
            print(run_beside(kind, cores), end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
