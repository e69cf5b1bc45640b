"""Small launches from several processes at once: `python -m benchmarks.contention`.

For each number of threads and of processes: launches a second of all processes together, divided by those of as many
serial ones. Below 1 means that threads of processes stand in each other's way.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

SERIAL = "1"  # threads


def work(elements: int) -> None:
    """One process: say that it is ready, and launch for as long as it is told."""
    wp = importlib.import_module("warpsim")  # the processes that only count do not need it

    @wp.kernel
    def step(x: wp.array(dtype=float), v: wp.array(dtype=float)) -> None:
        i = wp.tid()
        v[i] = v[i] * 0.999 - x[i] * 0.01
        x[i] = x[i] + v[i] * 0.01

    x, v = wp.ones(elements, dtype=float), wp.zeros(elements, dtype=float)
    for _ in range(200):
        wp.launch(step, dim=elements, inputs=[x, v])
    print("ready", flush=True)
    for line in sys.stdin:
        start, seconds = map(float, line.split())
        while time.time() < start:
            time.sleep(1e-4)
        count = 0
        while time.time() < start + seconds:
            for _ in range(10):
                wp.launch(step, dim=elements, inputs=[x, v])
            count += 10
        print(count / (time.time() - start), flush=True)


class Crowd:
    """Processes that launch side by side."""

    def __init__(self, threads: str, count: int, elements: int):
        environment = {**os.environ, "WARPSIM_NUM_THREADS": threads}
        command = [sys.executable, "-m", "benchmarks.contention", "--work", str(elements)]
        self.members = [
            subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(count)
        ]
        for member in self.members:
            self._answer(member)

    def _answer(self, member: subprocess.Popen[str]) -> str:
        assert member.stdout is not None
        if not (line := member.stdout.readline()):
            raise RuntimeError(f"a process ended with status {member.wait()}")
        return line

    def rate(self, seconds: float) -> float:
        """Launches a second of all together."""
        for member in self.members:
            assert member.stdin is not None
            member.stdin.write(f"{time.time() + 0.05} {seconds}\n")
            member.stdin.flush()
        return sum(float(self._answer(member)) for member in self.members)

    def close(self) -> None:
        for member in self.members:
            member.communicate()


def measure(teams: Sequence[str], count: int, elements: int, seconds: float, rounds: int) -> dict[str, float]:
    """The median rate with each number of threads, in turn, so that a slow moment of the machine falls on all."""
    crowds = {threads: Crowd(threads, count, elements) for threads in teams}
    rates: dict[str, list[float]] = {threads: [] for threads in teams}
    for _ in range(rounds):
        for threads, crowd in crowds.items():
            rates[threads].append(crowd.rate(seconds))
    for crowd in crowds.values():
        crowd.close()
    return {threads: statistics.median(found) for threads, found in rates.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.contention", description=__doc__)
    options.add_argument("--processes", default="1,2,4", help="numbers of processes (default: %(default)s)")
    options.add_argument("--threads", default=str(os.cpu_count()), help="of a process (default: %(default)s)")
    options.add_argument("--sizes", default="4000,20000,100000,200000", help="of a launch (default: %(default)s)")
    options.add_argument("--seconds", type=float, default=1.0, help="of a timing (default: %(default)s)")
    options.add_argument("--rounds", type=int, default=5, help="timings of each (default: %(default)s)")
    options.add_argument("--work", type=int, help=argparse.SUPPRESS)
    chosen = options.parse_args(arguments)
    if chosen.work:
        work(chosen.work)
        return 0
    teams = chosen.threads.split(",")
    heads = "".join(f"{threads + ' threads':>11}" for threads in teams)
    print(f"{'elements':>8} {'processes':>9} {'serial/s':>10}{heads}")
    for elements in map(int, chosen.sizes.split(",")):
        for count in map(int, chosen.processes.split(",")):
            rates = measure((SERIAL, *teams), count, elements, chosen.seconds, chosen.rounds)
            shares = "".join(f"{rates[threads] / rates[SERIAL]:>11.2f}" for threads in teams)
            print(f"{elements:>8} {count:>9} {rates[SERIAL]:>10.0f}{shares}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
