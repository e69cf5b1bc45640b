"""Sorts and run lengths of whole arrays by NumPy, with their tangents and transposes.

Both move elements: where to follows from what the arrays held before, and derivatives follow the elements. On a CUDA
device the derivatives are done by the host.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import ArrayError
from ...types.cotangents import has_cotangent
from ..arrays.array import array
from ..devices.device import Device
from ..devices.device_memory import on_host
from ..steps.operation import ArrayOperation, Contents
from ..tape.host_gradients import add_gradient
from .operands import flat, inner
from .radix import sort_order


class Movement(ArrayOperation):
    """An operation that moves elements, and with them their gradients and tangents."""

    looks = True

    def needs_contents(self) -> bool:
        return any(a._memory.has_gradient for a in (*self.results, *self.operands) if has_cotangent(a.dtype))


class Sort(Movement):
    """A sort of keys, in place, and of values along with them. operands: keys, values, and what orders them."""

    def run(self) -> None:
        at, order = self.order([a._contents() for a in self.operands])
        for a in self.results:
            a._data[at] = a._data[order]

    @abstractmethod
    def order(self, contents: Contents) -> tuple[Any, np.ndarray]:
        """The positions of sorted elements, and where these come from."""

    def push(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        at, order = self.order(contents)
        for tangents in results:
            if tangents is not None:
                tangents._data[at] = tangents._data[order]

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        at, order = self.order(contents)
        for grad in results:
            if grad is not None:
                grad._data[order] = grad._data[at].copy()


class RadixSort(Sort):
    name = "radix_sort_pairs"
    settings = ("count", "begin", "end")

    def __init__(self, keys: array, values: array, count: int, begin: int, end: int, device: Device | None):
        super().__init__([keys, values], [keys, values], device)
        self.count, self.begin, self.end = count, begin, end

    def order(self, contents: Contents) -> tuple[Any, np.ndarray]:
        return slice(self.count), sort_order(on_host(contents[0][: self.count]), self.begin, self.end)


class SegmentedSort(Sort):
    """A sort within segments. operands: keys, values, starts of segments, and ends if there are such."""

    name = "segmented_sort_pairs"
    settings = ("count",)

    def __init__(self, keys: array, values: array, count: int, bounds: Sequence[array], device: Device | None):
        super().__init__([keys, values], [keys, values, *bounds], device)
        self.count = count

    def segments(self, contents: Contents) -> tuple[np.ndarray, np.ndarray]:
        """Starts and ends of the segments that hold something, in order. Raises `ArrayError`."""
        limits = [on_host(c).astype(np.int64) for c in contents[2:]]
        starts, ends = limits if len(limits) == 2 else (limits[0][:-1], limits[0][1:])
        return _in_order(starts, ends, self.count)

    def order(self, contents: Contents) -> tuple[Any, np.ndarray]:
        starts, ends = self.segments(contents)
        lengths = ends - starts
        first = np.cumsum(lengths) - lengths
        segment = np.repeat(np.arange(lengths.size, dtype=np.uint32), lengths)
        at = np.arange(lengths.sum()) + np.repeat(starts - first, lengths)
        keys = on_host(contents[0])[at]
        order = sort_order(keys, 0, 8 * keys.dtype.itemsize)
        return at, at[order[sort_order(segment[order], 0, 32)]]


def _in_order(starts: np.ndarray, ends: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of the segments that hold something, ordered by start; raises for segments that do not fit."""
    bad = np.flatnonzero((starts < 0) | (ends < starts) | (ends > count))
    if bad.size:
        i = int(bad[0])
        raise ArrayError(f"segment {i} is [{starts[i]}, {ends[i]})\nexpected: 0 <= start <= end <= count = {count}")
    full = np.flatnonzero(ends - starts)
    by_start = full[np.argsort(starts[full], kind="stable")]
    overlapping = np.flatnonzero(ends[by_start[:-1]] > starts[by_start[1:]])
    if overlapping.size:
        i, j = (int(by_start[overlapping[0] + k]) for k in (0, 1))
        raise ArrayError(f"segments {i} and {j} overlap\nexpected: segments that share no element")
    return starts[by_start], ends[by_start]


class RunLengths(Movement):
    """The first `count` elements as runs of equal ones. results: one of each run, lengths, number of runs."""

    name = "runlength_encode"
    settings = ("count",)

    def __init__(self, results: Sequence[array], values: Any, count: int, device: Device | None):
        super().__init__(results, [values], device)
        self.count = count

    def run(self) -> None:
        run_values, run_lengths, total = self.results
        source = flat(self.operands[0])[: self.count]
        starts = _run_starts(source)
        run_values._data[: starts.size] = source[starts]
        run_lengths._data[: starts.size] = np.diff(starts, append=self.count)
        total._data[(0,) * total._data.ndim] = starts.size

    def starts(self, contents: Contents) -> np.ndarray:
        """Where runs start, in a flat list of the elements."""
        values = on_host(contents[0])
        return _run_starts(values.reshape((-1, *inner(self.operands[0])))[: self.count])

    def push(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        starts = self.starts(contents)
        if results[0] is not None:
            results[0]._data[: starts.size] = on_host(flat(operands[0]))[starts]

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        starts, a = self.starts(contents), self.operands[0]
        if results[0] is None:
            return
        taken = results[0]._data[: starts.size]
        contribution = np.zeros((a.size, *inner(a)), taken.dtype)
        contribution[starts] = on_host(taken)
        taken[...] = np.zeros((), taken.dtype)
        add_gradient(operands[0], contribution.reshape((*a.shape, *inner(a))))


def _run_starts(values: np.ndarray) -> np.ndarray:
    """Where an element differs from the one before it; the first one does."""
    differs = values[1:] != values[:-1]
    new = differs.any(axis=tuple(range(1, values.ndim)))
    return np.flatnonzero(np.concatenate([[True], new])[: len(values)])
