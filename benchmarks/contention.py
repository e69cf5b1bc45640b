"""Small launches from several processes at once: `python -m benchmarks.contention`.

For each threading layer and number of processes: launches a second of all processes together, divided by those of
as many serial ones. Below 1 means that threads of processes stand in each other's way.
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

LAYERS = ("tbb", "omp", "workqueue")
SERIAL = "serial"


def work(threads: int) -> None:
    """One process: say that it is ready, and launch for as long as it is told."""
    wp = importlib.import_module("warpsim")  # the processes that only count do not need it

    @wp.kernel
    def step(x: wp.array(dtype=float), v: wp.array(dtype=float)) -> None:
        i = wp.tid()
        v[i] = v[i] * 0.999 - x[i] * 0.01
        x[i] = x[i] + v[i] * 0.01

    x, v = wp.ones(threads, dtype=float), wp.zeros(threads, dtype=float)
    for _ in range(200):
        wp.launch(step, dim=threads, inputs=[x, v])
    print("ready", flush=True)
    for line in sys.stdin:
        start, seconds = map(float, line.split())
        while time.time() < start:
            time.sleep(1e-4)
        count = 0
        while time.time() < start + seconds:
            for _ in range(10):
                wp.launch(step, dim=threads, inputs=[x, v])
            count += 10
        print(count / (time.time() - start), flush=True)


class Crowd:
    """Processes of one layer that launch side by side."""

    def __init__(self, layer: str, count: int, threads: int):
        environment = {**os.environ, "WARPSIM_THREADING_LAYER": layer}
        command = [sys.executable, "-m", "benchmarks.contention", "--work", str(threads)]
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


def measured(layers: Sequence[str], count: int, threads: int, seconds: float, rounds: int) -> dict[str, float]:
    """The median rate of each layer, in turn, so that a slow moment of the machine falls on all of them."""
    crowds = {layer: Crowd(layer, count, threads) for layer in layers}
    rates: dict[str, list[float]] = {layer: [] for layer in layers}
    for _ in range(rounds):
        for layer, crowd in crowds.items():
            rates[layer].append(crowd.rate(seconds))
    for crowd in crowds.values():
        crowd.close()
    return {layer: statistics.median(found) for layer, found in rates.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.contention", description=__doc__)
    options.add_argument("--processes", default="1,2,4", help="numbers of processes (default: %(default)s)")
    options.add_argument("--layers", default=",".join(LAYERS), help="threading layers (default: %(default)s)")
    options.add_argument("--sizes", default="20000,100000", help="threads of a launch (default: %(default)s)")
    options.add_argument("--seconds", type=float, default=1.0, help="of a timing (default: %(default)s)")
    options.add_argument("--rounds", type=int, default=5, help="timings of each (default: %(default)s)")
    options.add_argument("--work", type=int, help=argparse.SUPPRESS)
    chosen = options.parse_args(arguments)
    if chosen.work:
        work(chosen.work)
        return 0
    layers = (SERIAL, *chosen.layers.split(","))
    print(f"{'threads':>8} {'processes':>9} {'serial/s':>10}" + "".join(f"{layer:>11}" for layer in layers[1:]))
    for threads in map(int, chosen.sizes.split(",")):
        for count in map(int, chosen.processes.split(",")):
            rates = measured(layers, count, threads, chosen.seconds, chosen.rounds)
            shares = "".join(f"{rates[layer] / rates[SERIAL]:>11.2f}" for layer in layers[1:])
            print(f"{threads:>8} {count:>9} {rates[SERIAL]:>10.0f}{shares}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
