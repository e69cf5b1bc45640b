"""One launch prepared once with ``record_cmd=True`` and repeated ``calls`` times."""

from typing import Any

import numpy as np

from benchmarks.case import Case, single
from benchmarks.kernels.launch import N, inputs, repeated

SKIPPED = {
    "taichi": "Taichi has no single recorded launch: see the captured list",
    "numba": "Numba has no recorded launch: see the rows on launch cost",
}


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The increments of one launch, ``calls`` times."""
    return {"out": size["calls"] * 2.0 * inputs()[0]}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """``launch()`` of the command object; its arguments stay as recorded."""
    @wp.kernel
    def three(x: wp.array(dtype=float), out: wp.array(dtype=float), a: float):
        i = wp.tid()
        out[i] = out[i] + a * x[i]

    x, out = wp.array(inputs()[0], dtype=float), wp.zeros(N, dtype=float)
    command = wp.launch(three, dim=N, inputs=[x, out, 2.0], record_cmd=True)
    return single(repeated(command.launch, size["calls"]), lambda: {"out": out.numpy()},
                  units=size["calls"], host=True)
