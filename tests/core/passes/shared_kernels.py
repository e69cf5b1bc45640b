"""A function that is large enough to be shared, what it computes in NumPy, and what tests ask of programs."""

from __future__ import annotations

from typing import Any

import numpy as np

import warpsim as wp
from warpsim.core.ir.nodes import Function, callees

TABLE = np.linspace(-1.0, 1.0, 9, dtype=np.float32)
X = np.linspace(-2.0, 2.0, 7, dtype=np.float32)


@wp.func
def bend(x: float):
    return 0.99 * x + 0.01 * wp.abs(x) - 0.004 * x * x * x


@wp.func
def bend_eight_times(x: float):
    return bend(bend(bend(bend(bend(bend(bend(bend(x))))))))


@wp.func
def bend_long(x: float):
    return bend_eight_times(bend_eight_times(bend_eight_times(bend_eight_times(x))))


def bent(x):
    for _ in range(32):
        x = 0.99 * x + 0.01 * np.abs(x) - 0.004 * x * x * x
    return x


def program(kernel: Any) -> Any:
    return kernel.program(tuple(kernel.patterns.values()))


def functions(kernel: Any) -> list[Function]:
    """The functions that a kernel shares."""
    return callees(program(kernel).fn.body)


def arrays(device, requires_grad=False):
    values = (TABLE, X, 0.0 * X)
    return [wp.array(v, dtype=float, device=device, requires_grad=requires_grad) for v in values]
