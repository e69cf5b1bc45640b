"""Seeds in gradient arrays, told apart from what a backward pass left there.

What a user writes to `a.grad` is where a backward pass starts from; what the last one left in gradients of arrays
that its tape wrote must not count again. Gradient arrays that nobody asked for hold no seeds. Of those that a user
knows, a copy of what was left is kept, and what differs from it are seeds. `Memory.left` of gradients is

- None: nobody asked for the gradients, and no backward pass left anything there;
- True: nobody asked for them, and what they hold was left by a backward pass;
- False: a user wrote to them through methods, or may have: everything counts;
- else memory that lies as all the gradients do: what backward passes left.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from ....errors import GradientError
from ..devices.capture import recorded
from .foreign import memory_at
from .host_memory import allocate_like, on_host


def show(slopes: Any) -> None:
    """A user gets hold of a gradient array."""
    memory = slopes._memory
    if memory.left is None:
        memory.left = False
    elif memory.left is True:
        memory.left = _like(slopes)
        memory.left[...] = _whole(slopes)._data


def keep_left(slopes: Any) -> None:
    """Note that a backward pass left what a gradient array holds."""
    memory = slopes._memory
    if memory.left is None or memory.left is True:
        memory.left = True
        return
    if memory.left is False:
        memory.left = _like(slopes)
    if slopes.size:
        recorded(partial(_copy, memory.left, _part(memory.left, slopes), slopes._data), slopes.device)


def clear(slopes: Any) -> None:
    """Zero a gradient array at the start of a backward pass: no user writes here."""
    left = slopes._memory.left
    slopes.zero_()
    slopes._memory.left = left


def may_be_seeded(slopes: Any) -> bool:
    """Whether a gradient array may hold seeds."""
    left = slopes._memory.left
    if left is None or left is True or not slopes.size:
        return False
    return left is False or not _equal(on_host(_part(left, slopes)), slopes._contents())


def forget_left(memory: Any) -> None:
    """Memory is written through methods of an array: what it holds are seeds, even if they are what was there."""
    if memory.left is not None and memory.left is not True:
        memory.left = False


def refuse_seeds(slopes: Iterable[Any]) -> None:
    """Raise for seeds: a graph could not tell them from what its last run left."""
    for g in slopes:
        if may_be_seeded(g) and not _is_zero(g._contents()):
            raise GradientError(
                f"the gradient of {g!r} holds seeds while a graph captures backward\n"
                "expected: seeds that the graph reads in every run: tape.backward(loss, grads={array: gradient}), or "
                "tape.backward() of what all gradient arrays hold"
            )


def _whole(slopes: Any) -> Any:
    """The gradient array that a view of gradients is a part of."""
    while slopes._owner is not None and slopes._owner._memory is slopes._memory:
        slopes = slopes._owner
    return slopes


def _like(slopes: Any) -> np.ndarray:
    """Memory that lies as all the gradients do, full of NaNs with bits that no computation gives."""
    whole = _whole(slopes)._data
    made = allocate_like(whole)
    made[...] = np.frombuffer(b"\xff" * whole.nbytes, whole.dtype).reshape(whole.shape)
    return made


def _copy(owner: np.ndarray, part: np.ndarray, values: np.ndarray) -> None:
    """Copy into a part; `owner` keeps its memory alive in graphs."""
    np.copyto(part, values)


def _part(left: np.ndarray, slopes: Any) -> np.ndarray:
    """The part of the copy that lies as a view of gradients lies in them all."""
    whole = _whole(slopes)
    place = left.ctypes.data + (slopes.ptr - whole.ptr)
    return memory_at(place, slopes.dtype, slopes.shape, slopes.strides, None, None, slopes.device)


def _is_zero(a: np.ndarray) -> bool:
    """Whether all floats of an array are zero."""
    if a.dtype.names is not None:
        return all(_is_zero(a[name]) for name in a.dtype.names)
    return a.dtype.kind != "f" or not a.any()


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the floats of two arrays have equal bits."""
    if a.dtype.names is not None:
        return all(_equal(a[name], b[name]) for name in a.dtype.names)
    word = f"u{a.dtype.itemsize}"
    return a.dtype.kind != "f" or bool((a.view(word) == b.view(word)).all())
