"""Five launches in a graph as one loop and one by one, of 1,000 to 4 million elements: `python -m benchmarks.fused`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import warpsim as wp
from warpsim.core.runtime.steps.batches import Packed, runs

SIZES = (1_000, 20_000, 200_000, 1_000_000, 4_000_000)


@wp.kernel
def axpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


def chain(n: int) -> Any:
    """A graph of five launches, which take turns in what they read."""
    x, y, z = (wp.array(np.random.default_rng(k).random(n, dtype=np.float32)) for k in range(3))
    with wp.ScopedCapture(device="cpu") as capture:
        for k in range(5):
            wp.launch(axpy, n, inputs=[z if k % 2 else x, y, 0.1], device="cpu")
    return capture.graph


def apart(graph: Any) -> Callable[[], object]:
    """The launches of a graph in one call, none of them fused."""
    return Packed(graph.steps)


def best_times(ways: tuple[Callable[[], object], ...], repeats: int, rounds: int = 12) -> list[float]:
    """The fastest round of each, in turn [us]."""
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for run, spent in zip(ways, times, strict=True):
            start = time.perf_counter()
            for _ in range(repeats):
                run()
            spent.append((time.perf_counter() - start) / repeats * 1e6)
    return [min(spent) for spent in times]


def main(sizes: tuple[int, ...] = SIZES, repeats: int = 2_000_000) -> None:
    print("| elements | one by one | fused | ratio |\n| --- | ---: | ---: | ---: |")
    for n in sizes:
        graph = chain(n)
        (together,) = runs(graph.pieces())
        single, fused = best_times((apart(graph), together), max(1, repeats // n))
        print(f"| {n:,} | {single:.1f} us | {fused:.1f} us | {single / fused:.2f} |")


if __name__ == "__main__":
    sys.exit(main())
