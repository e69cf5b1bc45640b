"""The reverse of loops by their launches: `python -m benchmarks.loop_gradients`.

For each kernel, number of threads of the launch and cores: the time of `Tape.backward`, divided by that of the launch
without a tape. Times are the least of several rounds; on one core those of the process, which others do not disturb.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import warpsim as wp

Floats = wp.array(dtype=float)


@wp.kernel
def quadratic_map(x: Floats, y: Floats, n: int) -> None:
    i = wp.tid()
    a = x[i]
    for _ in range(n):
        a = a * 0.99 + 0.1 * a * a
    y[i] = a


@wp.kernel
def sines(x: Floats, y: Floats, n: int) -> None:
    i = wp.tid()
    a = x[i]
    for _ in range(n):
        a = wp.sin(a) + x[i]
    y[i] = a


@wp.kernel
def nested(x: Floats, y: Floats, n: int) -> None:
    i = wp.tid()
    a = x[i]
    for _ in range(n):
        for _k in range(n):
            a = a * 0.99 + 0.1 * a * a
        a = a * 0.5
    y[i] = a


@wp.kernel
def matrix_and_vector(x: Floats, y: Floats, n: int) -> None:
    i = wp.tid()
    v = wp.vec3(x[i], 1.0, 0.5)
    m = wp.mat33(0.5, 0.1, x[i], 0.1, 0.4, 0.0, 0.2, 0.1, 0.5)
    for _ in range(n):
        v = m * v + wp.vec3(0.1, x[i], 0.2)
        m = m * 0.9 + wp.outer(v, v) * 0.01
    y[i] = v[0]


@wp.kernel
def newton(x: Floats, y: Floats, n: int) -> None:
    i = wp.tid()
    a, k = float(1.0), int(0)
    while k < n and wp.abs(a * a - x[i]) > -1.0:
        a = 0.5 * (a + x[i] / a) + 0.01 * a
        k += 1
    y[i] = a


@wp.kernel
def local_array(x: Floats, y: Floats, n: int) -> None:
    i = wp.tid()
    a = wp.zeros(shape=64, dtype=float)
    for k in range(64):
        a[k] = x[i] * float(k)
    for _ in range(n):
        for k in range(63):
            a[k + 1] = a[k] * 0.5 * x[i] + a[k + 1] * 0.5
    y[i] = a[63]


@wp.kernel
def gather(x: Floats, y: Floats, n: int) -> None:
    i = wp.tid()
    f = float(0.0)
    for k in range(n):
        d = x[i] - x[(i * 7 + k * 13) % x.shape[0]]
        f += d / (1.0 + d * d)
    y[i] = f


LOOPS = ((quadratic_map, 200), (sines, 200), (nested, 14), (matrix_and_vector, 100), (newton, 100), (local_array, 20),
         (gather, 64))  # fmt: skip


def times(kernel: Any, n: int, size: int, rounds: int, clock: Callable[[], float]) -> tuple[float, float]:
    """The seconds of a launch, and of its reverse."""
    x = wp.array(np.random.default_rng(0).uniform(0.1, 0.3, size), dtype=float, requires_grad=True)
    y, one = wp.zeros(size, dtype=float, requires_grad=True), wp.ones(size, dtype=float)
    least = [np.inf, np.inf]
    for _ in range(rounds):
        start = clock()
        wp.launch(kernel, size, [x, y, n])
        forward = clock() - start
        with wp.Tape() as tape:
            wp.launch(kernel, size, [x, y, n])
        start = clock()
        tape.backward(grads={y: one})
        least = [min(least[0], forward), min(least[1], clock() - start)]
        tape.zero()
    return least[0], least[1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 4000, 64_000], help="threads of a launch")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="cores")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args(arguments)
    print(f"{'loop':18} {'cores':>5} {'threads':>8} {'launch':>10} {'reverse':>10} {'times':>6}")
    for (kernel, n), cores in ((loop, cores) for loop in LOOPS for cores in given.threads):
        wp.set_num_threads(cores)
        for size in given.sizes:
            clock = time.process_time if cores == 1 else time.perf_counter
            forward, reverse = times(kernel, n, size, given.rounds, clock)
            row = f"{kernel.key:18} {cores:5} {size:8} {forward * 1e3:7.3f} ms {reverse * 1e3:7.3f} ms"
            print(row, f"{reverse / forward:6.1f}")


if __name__ == "__main__":
    main()
