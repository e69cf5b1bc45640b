"""Arguments of `Tape.backward`, checked: a loss, gradients to start from, and gradients to keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ....errors import GradientError
from ...types import scalars
from ...types.arrays import type_name
from ...types.cotangents import has_cotangent
from ..arrays.array import array
from ..devices.device import Device
from ..devices.device_memory import DeviceMemory, on_host
from ..steps.move import Move, Piece, copying

Seeds = list[tuple[array, np.ndarray]]


def given_seeds(loss: Any, grads: Any) -> Seeds:
    """Arrays with the gradients to start from, which are copied where backward changes them."""
    seeds: Seeds = []
    if loss is not None:
        check_loss(loss)
        seeds.append((loss, np.ones_like(loss._data)))
    if grads is not None and not isinstance(grads, dict):
        raise GradientError(f"grads is {type(grads).__name__}\nexpected: a dict of arrays: {{array: gradient}}")
    for a, grad in (grads or {}).items():
        check_seed(a, grad)
        if a._gradient is None:
            a.requires_grad = True
        seeds.append((a, grad._source()))
    return seeds


def refuse_nothing() -> NoReturn:
    """Raise as there is neither a loss nor an array with a gradient."""
    raise GradientError(
        "backward got neither a loss nor gradients\n"
        "expected: tape.backward(loss), tape.backward(grads={array: gradient}), or seeds in .grad of arrays"
    )


def check_loss(loss: object) -> None:
    """Raise `GradientError` unless `loss` is an array of one float with a gradient."""
    cure = "help: sum into an array of one element: wp.atomic_add(loss, 0, value)"
    if not isinstance(loss, array):
        raise GradientError(f"loss is {type(loss).__name__}\nexpected: an array of one float\n{cure}")
    if loss.size != 1:
        raise GradientError(f"loss has shape {loss.shape}\nexpected: an array of one element\n{cure}")
    if not scalars.is_scalar(loss.dtype) or not scalars.is_float(loss.dtype):
        raise GradientError(f"loss has dtype {type_name(loss.dtype)}\nexpected: one float\n{cure}")
    if loss._gradient is None:
        raise GradientError(
            "loss has no gradient\nexpected: requires_grad=True\nhelp: wp.zeros(1, dtype=float, requires_grad=True)"
        )


def check_seed(a: object, grad: object) -> None:
    """Raise `GradientError` unless `grad` can be the gradient of `a`."""
    if not isinstance(a, array):
        raise GradientError(f"grads has a key of type {type(a).__name__}\nexpected: arrays: {{array: gradient}}")
    if not isinstance(grad, array):
        raise GradientError(f"the gradient for {a!r} is {type(grad).__name__}\nexpected: an array")
    if grad.shape != a.shape or grad.dtype is not a.dtype:
        raise GradientError(f"the gradient for {a!r} is {grad!r}\nexpected: the same shape and dtype")
    if not has_cotangent(a.dtype):
        raise GradientError(f"a gradient for {a!r}\nexpected: an array of floats, as others have no derivative")


def snapshot(values: np.ndarray) -> np.ndarray:
    """A copy, taken when the step runs."""
    copy = np.empty_like(values)
    copying(copy, values).submit()
    return copy


def setting(target: np.ndarray, values: np.ndarray, device: Device) -> Move:
    """The step that sets seeds."""
    return Move(partial(set_values, target, values), lambda: [Piece(target, values)], "set gradients", device)


def set_values(target: np.ndarray, values: np.ndarray) -> None:
    target[...] = values if isinstance(target, DeviceMemory) else on_host(values)


def retaining(arrays: Iterable[array]) -> Iterator[array]:
    """The arrays, and those that they are views of, where they have `retain_grad`."""
    for a in arrays:
        view: Any = a
        while isinstance(view, array):
            if view.retain_grad:
                yield view
            view = view._owner
