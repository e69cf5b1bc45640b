"""Misfits, by launches that tapes record: the sum of squared differences, and the differences as residuals."""

from __future__ import annotations

from typing import Any

from ...core.language import array, atomic_add, kernel, launch, length_sq, tid
from ...core.types import compounds
from ...core.types.arrays import type_name
from ..vectors import check_floats
from .error import ProblemError


@kernel
def _add_of_numbers(a: array(dtype=Any), b: array(dtype=Any), weight: Any, loss: array(dtype=Any)):
    d = a[tid()] - b[tid()]
    atomic_add(loss, 0, weight * d * d)


@kernel
def _add_of_vectors(a: array(dtype=Any), b: array(dtype=Any), weight: Any, loss: array(dtype=Any)):
    atomic_add(loss, 0, weight * length_sq(a[tid()] - b[tid()]))


@kernel
def _subtract(a: array(dtype=Any), b: array(dtype=Any), weight: Any, r: array(dtype=Any)):
    r[tid()] = weight * (a[tid()] - b[tid()])


def add_squares(loss: array, values: Any, targets: Any, weight: float = 1.0) -> None:
    """Add weight * sum |values - targets|^2 to `loss[0]`.

    loss: (1,), of the scalar type of the values. values: floats or vectors of them, such as a solver's state or a grid;
    or a list of such, a trajectory. targets: an array like the values; (frames, ...) for a list. With the weight
    1 / (components * frames * n * noise^2) the loss of measurements is about 1 where only noise is left.

    Raises `ProblemError` for arrays that do not go together.
    """
    for value, target in pairs(values, targets):
        scalar = compounds.scalar_of(value.dtype)
        if loss.shape != (1,) or loss.dtype is not scalar:
            raise ProblemError(
                f"loss is {loss.shape} of {type_name(loss.dtype)}\n"
                f"expected: (1,) of {type_name(scalar)}, as the values are"
            )
        job = _add_of_numbers if value.dtype is scalar else _add_of_vectors
        flat = [value.flatten(), target.flatten()] if value.ndim > 1 else [value, target]
        launch(job, value.size, [*flat, scalar(weight), loss], device=value.device)


def set_residuals(residuals: array, values: Any, targets: Any, weight: float = 1.0) -> None:
    """Set residuals = weight * (values - targets), for method "gauss-newton".

    residuals: an array like the targets, with a gradient. values, targets: as of `add_squares`. With the weight
    1 / noise the squares are about 1 each where only noise is left.

    Raises `ProblemError` for arrays that do not go together.
    """
    if not isinstance(targets, array) or (residuals.shape, residuals.dtype) != (targets.shape, targets.dtype):
        raise ProblemError(
            f"residuals are {residuals.shape} of {type_name(residuals.dtype)}\nexpected: an array like the targets"
        )
    rows = residuals if isinstance(values, list | tuple) else [residuals]
    for k, (value, target) in enumerate(pairs(values, targets)):
        scalar = compounds.scalar_of(value.dtype)
        launch(_subtract, value.shape, [value, target, scalar(weight), rows[k]], device=value.device)


def pairs(values: Any, targets: Any) -> list[tuple[array, array]]:
    """Arrays of values with those of targets. Raises `ProblemError` unless they are alike."""
    several = isinstance(values, list | tuple)
    if several and len(values) != len(targets):
        raise ProblemError(f"{len(values)} arrays of values, {len(targets)} of targets\nexpected: as many")
    result = [(value, targets[k]) for k, value in enumerate(values)] if several else [(values, targets)]
    for value, target in result:
        check_floats(value, "values")
        if not isinstance(target, array) or (target.shape, target.dtype) != (value.shape, value.dtype):
            kind = type_name(target.dtype) if isinstance(target, array) else type(target).__name__
            raise ProblemError(
                f"targets are {kind}{getattr(target, 'shape', '')}\n"
                f"expected: an array like the values, {value.shape} of {type_name(value.dtype)}"
            )
    return result
