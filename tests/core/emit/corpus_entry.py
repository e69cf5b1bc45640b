"""What a corpus kernel is: a kernel, how to launch it, and fresh arguments for each run.

Everything that a kernel writes is one of its arguments, so two runs compare by comparing arguments.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import warpsim as wp

N = 23  # threads: no multiple of any block or grid


@dataclass(frozen=True)
class Entry:
    """A kernel, its launch dimensions, and a function that makes fresh arguments of a random generator."""

    kernel: Any
    dim: int | tuple[int, ...]
    arguments: Callable[[np.random.Generator], list[Any]]
    rtol: float = 2e-6  # libm and its vector version differ by up to 4 units in the last place
    ordered: bool = False  # the results depend on the order of the threads


CORPUS: dict[str, Entry] = {}


def add(kernel: Any, dim: int | tuple[int, ...], arguments: Callable, **facts: Any) -> None:
    """Put a kernel into the corpus under its own name."""
    CORPUS[kernel.key] = Entry(kernel, dim, arguments, **facts)


def numbers(rng: np.random.Generator, shape: Any, dtype: Any = wp.float32, low: float = -2.0, high: float = 2.0) -> Any:
    """An array of numbers or compounds, uniform in [low, high)."""
    extents = (shape,) if isinstance(shape, int) else shape
    is_compound = hasattr(dtype, "kind")
    inner = dtype.shape if is_compound else ()
    values = rng.uniform(low, high, (*extents, *inner)).astype(dtype.dtype if is_compound else dtype)
    return wp.array(values, dtype=dtype)
