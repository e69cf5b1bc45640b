"""How the wave that MPI processes share scales: `python -m benchmarks.ranks`.

Strong scaling: one grid, time of one rank divided by that of several. Weak: as many cells for each rank, same ratio.
Runs take turns and the least time counts; each rank uses one thread. More ranks than cores cannot gain.
"""

import argparse
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "wave_mpi.py"


def seconds(ranks: int, size: int, steps: int) -> float:
    """The time that forward and backward take on so many ranks. Raises `RuntimeError` where MPI fails."""
    run = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if run is None:
        raise RuntimeError("no mpiexec\nhelp: pip install mpi4py mpich")
    command = [run, "-n", str(ranks), sys.executable, str(EXAMPLE), "--size", str(size), "--steps", str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"^([\d.]+) s, alone", done.stdout, re.MULTILINE)
    if done.returncode or found is None:
        raise RuntimeError(f"{' '.join(command)} failed\n{done.stderr}")
    return float(found[1])


def main(argv: list[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--size", type=int, default=1024, help="rows and columns of the grid of one rank")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4], help="the first of them is 1")
    args = parser.parse_args(argv)
    grids = {n: {"strong": args.size, "weak": round(args.size * math.sqrt(n))} for n in args.ranks}
    runs = {(n, size): math.inf for n in args.ranks for size in grids[n].values()}
    for _ in range(args.rounds):
        for ranks, size in runs:
            runs[ranks, size] = min(runs[ranks, size], seconds(ranks, size, args.steps))
    first = runs[args.ranks[0], args.size]
    print("| ranks | strong: grid | time | ratio | weak: grid | time | ratio |\n|---:|---:|---:|---:|---:|---:|---:|")
    for n in args.ranks:
        cells = [f"{size}^2 | {runs[n, size]:.2f} s | {first / runs[n, size]:.2f}" for size in grids[n].values()]
        print(f"| {n} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
