"""What a profile costs: launches with `wp.profile` and without, in turn, by the time of this thread.

    python -m benchmarks.profiles    # half a minute; one thread, so that other programs disturb it less
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import warpsim as wp

ROUNDS = 25


@wp.kernel
def nothing(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 1.0


@wp.kernel
def springs(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    f[i] = -10.0 * x[i] - 0.1 * v[i]


@wp.kernel
def sines(x: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for k in range(64):
        s += wp.sin(float(k) + x[i])
    x[i] = s


def cases() -> dict[str, tuple[Callable[[], object], int]]:
    """Launches by name, each with how many of them are timed together."""
    few = wp.zeros(8, dtype=float)
    recorded = wp.launch(nothing, 8, inputs=[few], record_cmd=True)
    with wp.ScopedCapture() as capture:
        for _ in range(3):
            wp.launch(nothing, 8, inputs=[few])
    timed = {
        "empty": (lambda: wp.launch(nothing, 8, inputs=[few]), 4000),
        "recorded, empty": (recorded.launch, 4000),
        "graph of three, empty": (lambda: wp.capture_launch(capture.graph), 2000),
    }
    for n, count in ((30_000, 400), (300_000, 40), (3_000_000, 4)):
        arrays = [wp.array(np.random.default_rng(k).random((n, 3), dtype=np.float32), dtype=wp.vec3) for k in range(3)]
        timed[f"springs, {n:,}"] = (lambda arrays=arrays, n=n: wp.launch(springs, n, inputs=arrays), count)
    for n, count in ((2_000, 300), (20_000, 30)):
        x = wp.zeros(n, dtype=float)
        timed[f"sines, {n:,}"] = (lambda x=x, n=n: wp.launch(sines, n, inputs=[x]), count)
    return timed


def time_one(run: Callable[[], object], count: int) -> float:
    """The time of one run [us]."""
    start = time.thread_time()
    for _ in range(count):
        run()
    return (time.thread_time() - start) / count * 1e6


def main(rounds: int = ROUNDS) -> None:
    wp.set_num_threads(1)
    gc.disable()
    print("| launch | without | with a profile | more | |\n| --- | ---: | ---: | ---: | ---: |")
    for name, (run, count) in cases().items():
        run()
        pairs = []
        for _ in range(rounds):
            without = time_one(run, count)
            with wp.profile(print=False):
                run()
                pairs.append((without, time_one(run, count)))
        without, within = (statistics.median(times) for times in zip(*pairs, strict=True))
        more = statistics.median(b - a for a, b in pairs)
        print(f"| {name} | {without:.2f} us | {within:.2f} us | {more:.2f} us | {100.0 * more / without:.1f} % |")


if __name__ == "__main__":
    sys.exit(main())
