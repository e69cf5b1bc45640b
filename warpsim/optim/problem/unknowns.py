"""`Unknown`: an array, or a part of one, whose numbers a problem seeks; `Space`: all unknowns as one vector.

Guarantees: what is fixed keeps its bits; the gradient in the vector is the exact transpose of how it sets the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...arguments import numbers
from ...core.language import array, float32, float64
from ...core.types import compounds, scalars
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError
from ..vectors import gradient_of
from .bases import DEGREES, basis_matrix
from .error import ProblemError


class Unknown:
    """An array whose numbers a `Problem` seeks, beginning with those that it holds.

    array: floats, vectors or matrices of floats with `requires_grad=True`; a view or a field of a struct will do.
    lower, upper: bounds [units of the array], numbers or arrays that broadcast to its numbers. scale: the size of a
    usual change [units of the array]: methods see numbers divided by it. log: seek the logarithm, for positive
    numbers of unknown size such as stiffness; scale is one of the logarithm then. free: booleans that broadcast to
    the numbers; the others stay. knots: seek so many values over the first axis, which is time, and interpolate by
    `basis`: "constant", "linear" or "cubic" (B-splines, within the bounds where the values are). `knots=1` seeks one
    value for all. bounds, scale and free are those of the values then.

    Raises `ArgumentTypeError`, `GradientError` or `ProblemError` for what does not fit.
    """

    def __init__(
        self, array: Any, lower: Any = None, upper: Any = None, *, scale: Any = 1.0, log: bool = False,
        free: Any = True, knots: int | None = None, basis: str = "cubic",
    ):  # fmt: skip
        self.array, self.log, self.name = array, log, "an unknown"
        self._lower, self._upper, self._scale, self._free = lower, upper, scale, free
        self.knots, self.basis = knots, basis

    def prepare(self, name: str) -> None:
        """Check everything, under the name that messages use."""
        self.name = name
        self.gradient = check_array(self.array, name)
        values = host_copy(self.array)
        self.shape = values.shape
        self.weights = self._choose_basis(values)
        shape = self.shape if self.weights is None else (self.weights.shape[1], *self.shape[1:])
        self.free = np.array(np.broadcast_to(self._sized(self._free, "free", shape), shape), dtype=bool)
        self.scale = self._sized(self._scale, "scale", shape)[self.free]
        if not (np.isfinite(self.scale).all() and (self.scale > 0.0).all()):
            raise ProblemError(f"scale of {name} is {self._scale!r}\nexpected: finite numbers above zero")
        if self.log and values.size and not values.min() > 0.0:
            raise ProblemError(f"{name} starts at {values.min():g} with log=True\nexpected: numbers above zero")
        self.size = int(self.free.sum())
        self.lower = self._bound(self._lower, "lower", -np.inf, shape)
        self.upper = self._bound(self._upper, "upper", np.inf, shape)
        self.begin, self.values = (
            values,
            self._fit(values),
        )  # of all, free or not, in the units of the search but for scale
        self._check_bounds()

    def refresh(self) -> None:
        """Begin from what the array holds now."""
        values = host_copy(self.array)
        if not np.array_equal(values, self.begin):
            if self.log and values.size and not values.min() > 0.0:
                raise ProblemError(f"{self.name} holds {values.min():g} with log=True\nexpected: numbers above zero")
            self.begin, self.values = values, self._fit(values)

    def _choose_basis(self, values: np.ndarray) -> np.ndarray | None:
        if self.knots is None:
            return None
        if self.basis not in DEGREES:
            raise ProblemError(f"basis of {self.name} is {self.basis!r}\nexpected: one of {', '.join(DEGREES)}")
        if not 1 <= self.knots <= max(1, len(values)):
            raise ProblemError(
                f"knots of {self.name} is {self.knots}\nexpected: from 1 to {len(values)}, the extent of its first axis"
            )
        return basis_matrix(len(values), self.knots, self.basis)

    def _sized(self, value: Any, what: str, shape: tuple[int, ...]) -> np.ndarray:
        """A number for each value. An array of elements may have one number for each component, or one for all."""
        result = numbers(value, f"{what} of {self.name}")
        for candidate in (result, result[..., None]):
            try:
                return np.array(np.broadcast_to(candidate, shape))
            except ValueError:
                continue
        raise ProblemError(
            f"{what} of {self.name} has shape {result.shape}\nexpected: a shape that broadcasts to {shape}"
        )

    def _bound(self, value: Any, what: str, default: float, shape: tuple[int, ...]) -> np.ndarray:
        bound = self._sized(default if value is None else value, what, shape)[self.free]
        if np.isnan(bound).any():
            raise ProblemError(f"{what} of {self.name} holds NaN\nexpected: numbers, or infinity for no bound")
        if self.log:
            bound = np.log(np.maximum(bound, 0.0), out=np.full_like(bound, -np.inf), where=bound > 0.0)
        return bound / self.scale

    def _fit(self, values: np.ndarray) -> np.ndarray:
        """The values behind what the array holds: with a basis, those of the nearest control."""
        values = np.log(values) if self.log else values
        if self.weights is None or not values.size:
            return values if self.weights is None else np.zeros(self.free.shape)
        flat = np.linalg.lstsq(self.weights, values.reshape(len(values), -1), rcond=None)[0]
        return flat.reshape(self.free.shape)

    def _check_bounds(self) -> None:
        crossed = np.flatnonzero(self.lower > self.upper)
        if crossed.size:
            k = crossed[0]
            low, high = (self._as_shown(b, k) for b in (self.lower, self.upper))
            raise ProblemError(
                f"bounds of {self.name} cross: number {k} has lower {low:g} and upper {high:g}\n"
                "expected: lower at most upper"
            )
        start = self.start()
        room = 1e-6 * (1.0 + np.abs(start))  # of float32, and of a fit
        outside = np.flatnonzero((start < self.lower - room) | (start > self.upper + room))
        if outside.size:
            k = outside[0]
            low, high, here = (self._as_shown(b, k) for b in (self.lower, self.upper, start))
            raise ProblemError(
                f"{self.name} starts outside its bounds: number {k} is {here:g}, of {low:g} to {high:g}\n"
                "expected: a start inside\nhelp: assign to the array before the problem is made"
            )

    def _as_shown(self, vector: np.ndarray, k: int) -> float:
        value = float(vector[k] * self.scale[k])
        return float(np.exp(value)) if self.log else value

    # ----- between the array and the vector -------------------------------------------------------

    def start(self) -> np.ndarray:
        """The free numbers as a method sees them: scaled."""
        return self.values[self.free] / self.scale

    def expand(self, z: np.ndarray) -> np.ndarray:
        """The numbers of the array for scaled free numbers."""
        if self.weights is not None:
            values = self.values.copy()
            values[self.free] = z * self.scale
            values = np.tensordot(self.weights, values, axes=1)
            return np.exp(values) if self.log else values
        values = self.begin.copy()
        values[self.free] = np.exp(z * self.scale) if self.log else z * self.scale
        return values

    def put(self, z: np.ndarray) -> None:
        """Set the array."""
        if self.size:
            self.array.assign(self.expand(z))

    def pull(self, gradient: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The gradient by scaled free numbers, for one by the numbers of the array."""
        if self.log:
            gradient = gradient * self.expand(z)
        if self.weights is not None:
            gradient = np.tensordot(self.weights, gradient, axes=(0, 0))
        return gradient[self.free] * self.scale

    def push(self, direction: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The tangent of the array, for one of the scaled free numbers."""
        tangent = np.zeros(self.free.shape)
        tangent[self.free] = direction * self.scale
        if self.weights is not None:
            tangent = np.tensordot(self.weights, tangent, axes=1)
        return tangent * self.expand(z) if self.log else tangent


class Space:
    """All unknowns as one vector of scaled free numbers, in float64."""

    def __init__(self, unknowns: Any):
        self.unknowns = [u for u in named(unknowns) if u.size]
        if not self.unknowns:
            raise ProblemError("nothing is unknown\nexpected: an array with a free number, or several by name")
        ends = np.cumsum([u.size for u in self.unknowns]).tolist()
        self.slices = [slice(end - u.size, end) for u, end in zip(self.unknowns, ends, strict=True)]
        self.size = ends[-1]
        self.lower = np.concatenate([u.lower for u in self.unknowns])
        self.upper = np.concatenate([u.upper for u in self.unknowns])
        wide = any(compounds.scalar_of(u.array.dtype) is float64 for u in self.unknowns)
        self.dtype = float64 if wide else float32
        self.rounding = float(np.finfo(np.float64 if wide else np.float32).eps)

    @property
    def bounded(self) -> bool:
        """Whether there is a bound."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    def refresh(self) -> None:
        """Begin from what the arrays hold now."""
        for u in self.unknowns:
            u.refresh()

    def clip(self, z: np.ndarray) -> np.ndarray:
        """The nearest point within the bounds."""
        return np.clip(z, self.lower, self.upper)

    def start(self) -> np.ndarray:
        """The vector of what the arrays held when the problem was made."""
        z = np.concatenate([u.start() for u in self.unknowns])
        return self.clip(z.astype(np.float64 if self.dtype is float64 else np.float32).astype(np.float64))

    def put(self, z: np.ndarray) -> None:
        """Set all arrays."""
        for u, part in zip(self.unknowns, self.slices, strict=True):
            u.put(z[part])

    def pull(self, z: np.ndarray) -> np.ndarray:
        """The gradient by the vector, of what now stands in the gradients of the arrays."""
        pairs = zip(self.unknowns, self.slices, strict=True)
        return np.concatenate([u.pull(host_copy(u.gradient), z[part]) for u, part in pairs])

    def tangents(self, direction: np.ndarray, z: np.ndarray) -> dict[array, np.ndarray]:
        """The tangent of each array, for one of the vector."""
        pairs = zip(self.unknowns, self.slices, strict=True)
        return {u.array: u.push(direction[part], z[part]) for u, part in pairs}

    def by_name(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """The numbers of each array."""
        return {u.name: u.expand(z[part]) for u, part in zip(self.unknowns, self.slices, strict=True)}


def host_copy(a: array) -> np.ndarray:
    """The numbers of an array in float64, (elements..., components...)."""
    return np.array(a.numpy(), dtype=np.float64)


def named(unknowns: Any) -> list[Unknown]:
    """Checked unknowns; None for one that a scene lacks is left out."""
    if isinstance(unknowns, Mapping):
        pairs = list(unknowns.items())
    else:
        items = list(unknowns) if isinstance(unknowns, list | tuple) else [unknowns]
        pairs = [(f"unknown {k}" if len(items) > 1 else "the unknown", item) for k, item in enumerate(items)]
    result = []
    for name, item in pairs:
        if item is None or (isinstance(item, Unknown) and item.array is None):
            continue
        unknown = item if isinstance(item, Unknown) else Unknown(item)
        unknown.prepare(str(name))
        result.append(unknown)
    for k, u in enumerate(result):
        for other in result[:k]:
            if u.size and other.size and u.array is other.array:
                raise ProblemError(f"{u.name} and {other.name} are the same array\nexpected: every array once")
    return result


def check_array(a: Any, name: str) -> array:
    """The gradient of an array. Raises for what is no array of floats with one."""
    if not isinstance(a, array):
        raise ArgumentTypeError(
            f"{name} is {type(a).__name__}\nexpected: an array, an Unknown, or a dict of them by name"
        )
    if not scalars.is_float(compounds.scalar_of(a.dtype)):
        raise ArgumentTypeError(
            f"{name} has dtype {type_name(a.dtype)}\nexpected: floats, or vectors or matrices of them"
        )
    return gradient_of(a)
