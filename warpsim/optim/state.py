"""Common state of SGD and Adam: checked parameters and gradients, and the precision of their state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from ..core.language import array, float16, float32, zeros
from ..core.types.arrays import type_name
from ..errors import ArgumentCountError, ArrayError, ArrayTypeError, counted, instance
from .vectors import as_list, check_alike, check_floats, components


def split_parameters(params: Sequence[array] | None) -> tuple[list[array] | None, list[array]]:
    """The checked parameters, and their flat views; None stays None."""
    parameters = None if params is None else as_list(params, "params")
    return parameters, [components(x) for x in parameters or ()]


def moments(flat: list[array], before: Sequence[array] = ()) -> tuple[array, ...]:
    """A zeroed array beside every flat parameter; one that was there before and fits stays, with what it holds."""
    stays = compare_moments(flat, before)
    return tuple(
        before[k].to(x.device) if stays[k] else zeros(x.size, master_dtype(x.dtype), x.device)
        for k, x in enumerate(flat)
    )


def compare_moments(flat: list[array], before: Sequence[array]) -> list[bool]:
    """Which parameters have the size and precision of the moments that are in their place."""
    return [
        k < len(before) and before[k].size == x.size and before[k].dtype is master_dtype(x.dtype)
        for k, x in enumerate(flat)
    ]


def checked_grads(grad: Any, params: list[array] | None) -> list[array]:
    """One gradient for every parameter, alike in shape, dtype and device."""
    if params is None:
        raise ArgumentCountError("a step without parameters\nexpected: set_params(arrays) before, or params=arrays")
    grads = as_list(grad, "grad")
    if len(grads) != len(params):
        raise ArgumentCountError(f"{len(grads)} gradients\nexpected: {len(params)}, one for every parameter, in order")
    for k, (g, x) in enumerate(zip(grads, params, strict=True)):
        check_alike(g, x, f"grad[{k}]", f"params[{k}]")
    return grads


def checked_moment(moment: Any, flat: array, name: str) -> array:
    """Numbers of a moment that somebody else keeps, as many as a flat parameter has, in the precision of its state."""
    check_floats(moment, name)
    numbers, dtype = components(moment), master_dtype(flat.dtype)
    if numbers.size != flat.size or numbers.dtype is not dtype:
        raise (ArrayError if numbers.dtype is dtype else ArrayTypeError)(
            f"{name} has {counted(numbers.size, 'number')} of {type_name(numbers.dtype)}\n"
            f"expected: {flat.size} of {type_name(dtype)}, as params"
        )
    return numbers


def master_dtype(dtype: type) -> type:
    """float32 for float16, whose squares and small changes would vanish; else the dtype itself."""
    return float32 if dtype is float16 else dtype


def in_range(value: Any, name: str, below: float = math.inf) -> float:
    """The value. Raises `ValueError` unless 0 <= value < below, `ArgumentTypeError` for what is no number."""
    if not 0.0 <= instance(value, Real, name) < below:
        limit = "finite and not negative" if below == math.inf else f"at least 0 and below {below:g}"
        raise ValueError(f"{name} is {value!r}\nexpected: {limit}")
    number: float = value
    return number


def below_one(value: Any, name: str) -> float:
    """The value, as by `in_range`, below 1."""
    return in_range(value, name, below=1.0)
