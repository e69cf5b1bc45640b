"""How simulations that MPI processes share scale: `python -m benchmarks.ranks`.

Strong scaling: one size, time of one rank divided by that of several. Weak: as much for each rank, same ratio. Runs
take turns and the least time counts; each rank uses one thread. More ranks than cores cannot gain. `--write` puts the
tables into the page of several processes.
"""

import argparse
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .machine import describe

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "interop" / "processes.md"
BEGIN, END = "<!-- ranks:begin -->", "<!-- ranks:end -->"


@dataclass
class Case:
    """An example, what its `--size` counts, that of one rank, its steps, and how sizes grow with the ranks."""

    example: str
    unit: str
    size: int
    steps: int
    growth: Callable[[int], float]


CASES = (
    Case("wave_mpi", "rows and columns", 1024, 40, math.sqrt),
    Case("grains_mpi", "36 grains", 256, 40, float),
)


def seconds(example: str, ranks: int, size: int, steps: int) -> float:
    """The time that an example takes on so many ranks. Raises `RuntimeError` where MPI fails."""
    run = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if run is None:
        raise RuntimeError("no mpiexec\nhelp: pip install mpi4py mpich")
    program = [sys.executable, str(EXAMPLES / f"{example}.py"), "--size", str(size), "--steps", str(steps)]
    command = [run, "-n", str(ranks), *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = re.search(r"^([\d.]+) s, alone", done.stdout, re.MULTILINE)
    if done.returncode or told is None:
        raise RuntimeError(f"{' '.join(command)} failed\n{done.stderr.strip()}")
    return float(told[1])


def measure(case: Case, ranks: list[int], rounds: int) -> list[str]:
    """The lines of a table: for each number of ranks size, least time and ratio, strong and weak."""
    sizes = {n: (case.size, round(case.size * case.growth(n))) for n in ranks}
    least = {(n, size): math.inf for n in ranks for size in sizes[n]}
    for _ in range(rounds):
        for n, size in least:
            least[n, size] = min(least[n, size], seconds(case.example, n, size, case.steps))
    first = least[ranks[0], case.size]
    header = f"| {case.example}: ranks | {case.unit} | strong | ratio | {case.unit} | weak | ratio |"
    lines = [header, "|---:" * 7 + "|"]
    for n in ranks:
        cells = [f"{size} | {least[n, size]:.2f} s | {first / least[n, size]:.2f}" for size in sizes[n]]
        lines.append(f"| {n} | {' | '.join(cells)} |")
    return lines


def conditions(rounds: int) -> str:
    """The machine and how busy it was, in a sentence."""
    machine = describe()
    cores = f"{machine['processor']}, {machine['cores']} cores of which other programs kept {machine['busy']} busy"
    return f"{cores}; best of {rounds} in turn, {machine['date']}."


def write(lines: list[str]) -> None:
    """Put lines between the marks of the page, instead of those that are there."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text("\n".join([before + BEGIN, *lines, END + after]), encoding="utf-8")


def main(argv: list[str] | None = None) -> None:
    """Measure, and print the machine and a table for each example; exit with a message where MPI fails."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4], help="the first of them is 1")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    args = parser.parse_args(argv)
    try:
        tables = [line for case in CASES for line in ("", *measure(case, args.ranks, args.rounds))]
    except RuntimeError as error:
        sys.exit(str(error))
    lines = [conditions(args.rounds), *tables]
    print("\n".join(lines))
    if args.write:
        write(lines)


if __name__ == "__main__":
    main()
