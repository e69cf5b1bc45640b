"""Scans, sums and inner products of whole arrays by NumPy, with their tangents and transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...types.scalars import holds_floats
from ..arrays.array import array
from ..devices.device import Device
from ..steps.operation import ArrayOperation, Contents
from ..tape.host_gradients import add_gradient, add_to, take_gradient
from .operands import flat, inner

_FEW = 16  # components that are worth a pass over memory each


class Scan(ArrayOperation):
    """Running sums of all elements in order."""

    name = "array_scan"
    settings = ("inclusive",)

    def __init__(self, results: Sequence[array], operands: Sequence[Any], inclusive: bool, device: Device | None):
        super().__init__(results, operands, device)
        self.inclusive = inclusive

    def run(self) -> None:
        (source,), (target,) = map(flat, self.operands), self.results
        sums = np.cumsum(source, axis=0, dtype=source.dtype)
        if not self.inclusive:
            sums[1:] = sums[:-1]
            sums[:1] = 0
        target._data[...] = sums.reshape(target._data.shape)

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        (source,), (target,) = self.operands, self.results
        later = np.cumsum(take_gradient(results[0]).reshape((target.size, *inner(target)))[::-1], axis=0)[::-1]
        if not self.inclusive:
            later = np.concatenate([later[1:], np.zeros_like(later[:1])])
        add_gradient(operands[0], later.reshape((*source.shape, *inner(source))))


class Reduction(ArrayOperation):
    """What the first `count` elements along an axis (None: of all in order) are reduced to."""

    settings = ("axis", "count")

    def __init__(
        self, results: Sequence[array], operands: Sequence[Any], axis: int | None, count: int, device: Device | None
    ):
        super().__init__(results, operands, device)
        self.axis, self.count = axis, count

    @property
    def leading(self) -> tuple[slice, ...]:
        return (*[slice(None)] * (self.axis or 0), slice(self.count))

    def run(self) -> None:
        (target,), first = self.results, self.operands[0]
        parts = [(flat(a) if self.axis is None else a._contents())[self.leading] for a in self.operands]
        ndim = 1 if self.axis is None else first.ndim
        target._data[...] = self.reduce(self.axis or 0, ndim, *parts).reshape(target._data.shape)

    def reduce(self, axis: int, ndim: int, *parts: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def spread(self, k: int, grad: Any, factors: Any) -> None:
        """Add factors, which are broadcast over the reduced elements, to the gradient of an operand."""
        if grad is not None:
            a = self.operands[k]
            contribution = np.zeros((*a.shape, *inner(a)), grad._array._data.dtype)
            (contribution.reshape((a.size, *inner(a))) if self.axis is None else contribution)[self.leading] = factors
            add_gradient(grad, contribution)


class Sum(Reduction):
    name = "array_sum"

    def reduce(self, axis: int, ndim: int, *parts: np.ndarray) -> np.ndarray:
        (values,) = parts
        kind = _accumulator(values)
        with np.errstate(over="ignore", invalid="ignore"):
            if 1 < math.prod(values.shape[ndim:]) <= _FEW:
                # Component by component: ten times as fast as NumPy's sum over the first of two axes.
                parts = values.reshape((*values.shape[:ndim], math.prod(values.shape[ndim:])))
                sums = np.stack([parts[..., k].sum(axis, kind) for k in range(parts.shape[-1])], axis=-1)
            else:
                sums = values.sum(axis, kind)
            return sums.astype(values.dtype)

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        self.spread(0, operands[0], take_gradient(results[0]))


class Inner(Reduction):
    """Products of all components of two arrays, summed."""

    name = "array_inner"
    looks = bilinear = True

    def reduce(self, axis: int, ndim: int, *parts: np.ndarray) -> np.ndarray:
        # einsum, not dot: BLAS may split the sum by the number of threads.
        a, b = parts
        free = [k for k in range(ndim) if k != axis]
        every = list(range(a.ndim))
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.einsum(a, every, b, every, free, dtype=_accumulator(a), casting="same_kind")
            return np.asarray(sums).astype(a.dtype)

    def push(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        """Leibniz' rule."""
        wrapped = [array._wrap(c, a.dtype, a.device) for a, c in zip(self.operands, contents, strict=True)]
        other = array._wrap(np.zeros_like(results[0]._data), results[0].dtype, results[0].device)
        self.on([other], [wrapped[0], operands[1]]).ready().run()
        self.on(results, [operands[0], wrapped[1]]).ready().run()
        add_to(results[0]._data, other._data)

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        grad = take_gradient(results[0])
        grad = grad.reshape(grad.shape + (1,) * len(inner(self.operands[0])))
        for k, factor in enumerate(contents[::-1]):
            if self.axis is None:
                factor = factor.reshape((-1, *inner(self.operands[k])))
            self.spread(k, operands[k], grad * factor[self.leading])


def _accumulator(values: np.ndarray) -> Any:
    return np.float64 if holds_floats(values.dtype) else values.dtype
