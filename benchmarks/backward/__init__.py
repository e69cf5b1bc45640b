"""The kernels of `benchmarks.kernels` and `benchmarks.geometry`, backwards.

Timed is the adjoint of the launch that the forward row times. The workload is built by the module of the forward
row, with arrays that have gradients; what it launches is noted and launched again as an adjoint. Before each timing
all gradients are one (or those that are asked for, the others zero), so the values to compare are the gradients after
a single backward launch. `forward` is timed beside it. The structs are left out: their kernel overwrites what its
adjoint needs, which takes a tape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.case import Case, Timed

Start = Callable[[tuple[int, ...]], np.ndarray]

# what is said of a peer that is left out of all of these rows
SKIPPED = {"taichi": "no adjoint of a single kernel", "numba": "no gradients"}


class Stage:
    """A framework whose float arrays get gradients and whose last launch is noted."""

    def __init__(self, framework: Any, seeds: tuple[int, ...] | None = None, start: Start = np.ones) -> None:
        self.framework, self.seeds, self.start = framework, seeds, start
        self.arrays: list[Any] = []
        self.launched: dict[str, Any] = {}
        self.case: Case | None = None  # keeps grids and meshes, of which a launch knows the ids only

    def __getattr__(self, name: str) -> Any:
        return getattr(self.framework, name)

    def array(self, *data: Any, dtype: Any = float, **options: Any) -> Any:
        """An array, or without data the type of one."""
        if not data:
            return self.framework.array(dtype=dtype, **options)
        return self._kept(self.framework.array(*data, dtype=dtype, **{"requires_grad": _is_float(dtype), **options}))

    def zeros(self, *shape: Any, dtype: Any = float, **options: Any) -> Any:
        """An array of zeros."""
        return self._kept(self.framework.zeros(*shape, dtype=dtype, requires_grad=_is_float(dtype), **options))

    def _kept(self, made: Any) -> Any:
        self.arrays.append(made)
        return made

    def launch(self, kernel: Any, dim: Any, inputs: Any = (), outputs: Any = (), **options: Any) -> None:
        """Launch and remember."""
        self.launched = {"kernel": kernel, "dim": dim, "inputs": [*inputs, *outputs], **options}
        self.framework.launch(**self.launched)

    def begin(self) -> None:
        """Set gradients to what they start with, or to zero where none is asked for."""
        found = self.gradients()
        for k, memory in enumerate(found.values()):
            memory[...] = self.start(memory.shape) if self.seeds is None or k in self.seeds else 0.0
        for k, a in enumerate(self.arrays):
            if a.requires_grad and a.device.is_cuda:  # what was written to is a copy
                a.grad.assign(found[f"gradient {k}"])

    def backward(self) -> None:
        """The adjoint of what was launched."""
        adjoints = [None] * len(self.launched["inputs"])
        self.framework.launch(**self.launched, adj_inputs=adjoints, adjoint=True)

    def gradients(self) -> dict[str, np.ndarray]:
        """The memory of all gradients, by the order in which the arrays were made, and by field."""
        found = {}
        for k, a in enumerate(self.arrays):
            if a.requires_grad:
                memory = a.grad.numpy()
                for name in memory.dtype.names or ("",):
                    found[f"gradient {k} {name}".strip()] = memory[name] if name else memory
        return found


def _is_float(dtype: Any) -> bool:
    return dtype is not int and "int" not in getattr(dtype, "__name__", "")


def reverse_of(
    make: Callable[[Any, dict[str, int]], Case], seeds: tuple[int, ...] | None = None, start: Start = np.ones
) -> Callable[[Any, dict[str, int]], Case]:
    """The case of the adjoint, from the function that makes the case of a kernel.

    `seeds` are the arrays, by the order in which they are made, whose gradients start at one, or at what `start`
    makes of their shape.
    """

    def backward_case(wp: Any, size: dict[str, int]) -> Case:
        stage = Stage(wp, seeds, start)
        stage.case = make(stage, size)
        stage.case.timed["time"].run()
        forward = Timed(lambda: wp.launch(**stage.launched))
        backward = Timed(stage.backward, before=stage.begin, again=True)
        return Case({"forward": forward, "time": backward}, stage.gradients)

    return backward_case
