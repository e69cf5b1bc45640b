"""Conversion of whole arrays by NumPy, as kernels convert numbers, with its tangent and transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...types.scalars import holds_floats
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..devices.device import Device
from ..steps.operation import ArrayOperation, Contents
from ..tape.host_gradients import add_gradient, take_gradient
from .operands import inner


class Cast(ArrayOperation):
    """Convert the first `count` elements, or of arrays with other elements (not `same`) numbers."""

    name = "array_cast"
    settings = ("count", "same", "whole")

    def __init__(self, source: array | indexedarray, target: array, count: int, same: bool, device: Device | None):
        super().__init__([target], [source], device)
        self.count, self.same = count, same
        self.whole = same and source.ndim > 1

    def prefix(self, memory: np.ndarray) -> np.ndarray:
        """The part of memory, which lies like an array, that is converted."""
        if self.whole:
            return memory
        return (memory if self.same else memory.reshape(-1))[: self.count]

    def run(self) -> None:
        (source,), (target,) = self.operands, self.results
        self.set(target, convert(self.prefix(source._contents()), target._data.dtype))

    def set(self, target: array, values: Any) -> None:
        """Write what was converted."""
        if self.same:
            self.prefix(target._data)[...] = values
        else:
            target._data.flat[: self.count] = values

    def push(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        if operands[0] is None:  # integers
            self.set(results[0], 0)
        else:
            super().push(results, operands, contents)

    def spend(self, grad: array) -> np.ndarray:
        """Take the gradient of what was written away."""
        return take_gradient(grad, None if self.whole else self.count, flat=not self.same)

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        grad = self.spend(results[0])
        if operands[0] is not None:
            a = self.operands[0]
            contribution = np.zeros((*a.shape, *inner(a)), operands[0]._array._data.dtype)
            self.prefix(contribution)[...] = grad
            add_gradient(operands[0], contribution)


def convert(x: np.ndarray, base: np.dtype) -> np.ndarray:
    """Numbers converted as kernels convert them."""
    with np.errstate(over="ignore", invalid="ignore"):
        if base.kind == "b":
            return x != 0
        if not holds_floats(x.dtype) or holds_floats(base):
            return x.astype(base)
        limits = np.iinfo(base)
        wide = np.trunc(x.astype(np.float64))
        above, below = wide >= 2.0 ** (limits.bits - (base.kind == "i")), wide < float(limits.min)
        whole = np.where(above | below | np.isnan(wide), 0.0, wide).astype(base)
        return np.where(above, limits.max, np.where(below, limits.min, whole)).astype(base)
