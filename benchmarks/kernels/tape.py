"""What a tape costs: recording a launch of almost no work, and running it backwards.

`calls` launches with three arguments over eight elements are recorded one after the other, each on
arrays of its own, so that nothing is overwritten; `time` is a recorded launch, `launch` the same launch
without a tape, `backward` what a launch costs in `Tape.backward`.
"""

from typing import Any

import numpy as np

from benchmarks.case import Case, Timed

N = 8
SKIPPED = {"taichi": "its tape runs a whole program", "numba": "no gradients"}


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The gradient of the sum of the last array: the product of all factors."""
    return {"gradient": np.full(N, 0.5 ** (size["calls"] % 2))}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """A chain of products by 0.5 and 2."""
    @wp.kernel
    def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
        i = wp.tid()
        y[i] = a * x[i]

    calls = size["calls"]
    links = [wp.zeros(N, dtype=float, requires_grad=True) for _ in range(calls + 1)]
    ones = wp.full(N, 1.0, dtype=float)
    tapes: list[Any] = []

    def launches() -> None:
        for k in range(calls):
            wp.launch(scale, dim=N, inputs=[links[k], links[k + 1], 2.0 if k % 2 else 0.5])

    def fresh() -> None:
        tapes[:] = [wp.Tape()]

    def recorded() -> None:
        with tapes[0]:
            launches()

    def ready() -> None:
        fresh()
        recorded()
        for link in links:
            link.grad.zero_()
        tapes[0].backward(grads={links[-1]: ones})  # finds and compiles what it needs
        for link in links:
            link.grad.zero_()

    def forget() -> None:
        tapes.clear()

    parts = {
        "launch": Timed(launches, calls, forget, host=True), "time": Timed(recorded, calls, fresh, host=True),
        "backward": Timed(lambda: tapes[0].backward(grads={links[-1]: ones}), calls, ready, host=True),
    }
    return Case(parts, lambda: {"gradient": links[0].grad.numpy()})
