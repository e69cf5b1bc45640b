"""Did two frameworks compute the same thing? A digest small enough for a pipe, and its comparison.

Guarantees: a NaN, a wrong shape, a missing output or one deviating sample is a difference. It does
not prove equality of every element: the digest keeps the size, two means and evenly spread samples.
"""

from __future__ import annotations

import math

import numpy as np

SAMPLES = 64

Digest = dict[str, dict[str, list[float]]]


def digest(arrays: dict[str, np.ndarray]) -> Digest:
    """Reduce each array to its shape, mean, mean magnitude and ``SAMPLES`` spread elements."""
    return {name: _reduce(np.asarray(array)) for name, array in arrays.items()}


def _reduce(array: np.ndarray) -> dict[str, list[float]]:
    flat = array.reshape(-1)
    picks = np.unique(np.linspace(0, max(flat.size - 1, 0), SAMPLES).astype(np.int64))
    means = [float(flat.mean(dtype=np.float64)), float(np.abs(flat).mean(dtype=np.float64))]
    return {
        "shape": [float(extent) for extent in array.shape],
        "means": means if flat.size else [0.0, 0.0],
        "samples": [float(value) for value in flat[picks]] if flat.size else [],
    }


def difference(found: Digest, wanted: Digest, tolerance: float) -> str:
    """Say where ``found`` departs from ``wanted``; empty when they agree.

    ``tolerance`` is relative; near zero it is taken of the mean magnitude of the array.
    """
    if set(found) != set(wanted):
        return f"outputs {sorted(found)} where {sorted(wanted)} were expected"
    for name, right in wanted.items():
        message = _array_difference(name, found[name], right, tolerance)
        if message:
            return message
    return ""


def _array_difference(
    name: str, found: dict[str, list[float]], wanted: dict[str, list[float]], tolerance: float
) -> str:
    if found["shape"] != wanted["shape"]:
        return f"{name}: shape {_extents(found)} where {_extents(wanted)} was expected"
    scale = wanted["means"][1]
    for kind in ("means", "samples"):
        for position, (a, b) in enumerate(zip(found[kind], wanted[kind], strict=True)):
            # written so that a NaN on either side fails the comparison
            if not abs(a - b) <= tolerance * max(abs(b), scale) and not _same_infinity(a, b):
                return f"{name}: {kind}[{position}] is {a:.7g} where {b:.7g} was expected"
    return ""


def _extents(entry: dict[str, list[float]]) -> tuple[int, ...]:
    return tuple(int(extent) for extent in entry["shape"])


def _same_infinity(a: float, b: float) -> bool:
    return math.isinf(a) and a == b
