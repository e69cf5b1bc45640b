"""Sides that take turns on one machine, so that its slow minutes fall on all of them."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np


def turns(sides: dict[str, Callable[[], Any]], rounds: int) -> dict[str, np.ndarray]:
    """Seconds by the clock and of all threads (rounds, 2), of sides that take turns after a run that does not count."""
    for run in sides.values():
        run()
    samples = {name: np.zeros((rounds, 2)) for name in sides}
    for k in range(rounds):
        for name, run in sides.items():
            begin = time.perf_counter(), time.process_time()
            run()
            samples[name][k] = time.perf_counter() - begin[0], time.process_time() - begin[1]
    return samples


def timed(sides: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least seconds of each side by the clock, of `turns`."""
    return {name: float(seconds[:, 0].min()) for name, seconds in turns(sides, rounds).items()}
