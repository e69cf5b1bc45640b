"""Gradient seeds: what a user wrote to gradient arrays, told apart from results of a backward pass.

What a user writes to `a.grad` is where a backward pass starts from; what the last one left in gradients of arrays
that its tape wrote must not count again. Gradient arrays that nobody asked for hold no seeds. Of those that a user
knows, a copy of what was left is kept, and what differs from it are seeds.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import GradientError
from ...types.scalars import holds_floats
from ..devices.capture import current_graph
from ..devices.device_memory import on_host
from ..steps.move import Move, Piece, bookkeeping
from .foreign import ArrayLayout, memory_at
from .host_memory import allocate_like

if TYPE_CHECKING:
    from .allocation import Allocation
    from .array import array


class Left:
    """What backward passes left in the memory of gradients; memory that neither user nor pass has met has none.

    shown: a user got hold of the gradients. written: a user wrote to them through methods, or may have, so that
    everything counts. copy: what was left where they are shown, in memory that lies as all the gradients do.
    """

    __slots__ = ("copy", "refusal", "shown", "written")

    def __init__(self, shown: bool):
        self.shown = self.written = shown
        self.copy: Any = None
        self.refusal = ""  # why the gradients mean nothing

    def show(self, grad: array) -> None:
        """A user gets hold of what passes left in a gradient array."""
        whole = _whole(grad)
        self.shown, self.copy = True, allocate_like(whole._data)
        self.copy[...] = whole._data

    def keep(self, grad: array) -> None:
        """A pass left what a gradient array holds."""
        if self.copy is not None and grad._owner is None and current_graph() is None:  # at half the price
            self.written = False
            np.copyto(self.copy, grad._data)
            return
        whole = _whole(grad)
        if self.copy is None:
            self.copy = allocate_like(whole._data)
        if self.written and grad is not whole:
            _spoil(self.copy)
        self.written = False
        if grad.size:
            copy = partial(_copy, self.copy, _part(self.copy, grad, whole), grad._data)
            bookkeeping(copy, grad.device).submit()


def show(grad: array) -> None:
    """A user gets hold of a gradient array."""
    left = grad._memory.left
    if left is None:
        grad._memory.left = Left(shown=True)
    elif left.refusal:
        raise GradientError(left.refusal)
    elif not left.shown:
        left.show(grad)


def refuse(grad: array, why: str) -> None:
    """Let nobody have what a backward pass left in a gradient array. Raises `GradientError` if somebody has it."""
    left = grad._memory.left
    if left is not None and left.shown:
        raise GradientError(why)
    grad._memory.left = left or Left(shown=False)
    grad._memory.left.refusal = why


def allow(grad: array) -> None:
    """A gradient array holds zeros: what refused it is over."""
    if grad._memory.left is not None:
        grad._memory.left.refusal = ""


def is_refused(grad: array) -> bool:
    """Whether nobody may have what a gradient array holds."""
    return grad._memory.left is not None and bool(grad._memory.left.refusal)


def keep_left(grad: array) -> None:
    """Note that a backward pass left what a gradient array holds."""
    left = grad._memory.left
    if left is None:
        grad._memory.left = Left(shown=False)
    elif left.shown:
        left.keep(grad)


def clearing(grad: array) -> Move:
    """The step that zeroes a gradient array at the start of a backward pass."""
    zero = np.zeros((), grad._data.dtype)
    return Move(partial(clear, grad), lambda: [Piece(grad._data, zero)], "zero gradients", grad.device)


def clear(grad: array) -> None:
    """Zero a gradient array at the start of a backward pass: no user writes here."""
    left = grad._memory.left
    written = left is not None and left.written
    grad.zero_()
    if left is not None:
        left.written = written


def may_be_seeded(grad: array) -> bool:
    """Whether a gradient array may hold seeds."""
    left = grad._memory.left
    if left is None or not left.shown or not grad.size:
        return False
    return left.written or not _equal(on_host(_part(left.copy, grad, _whole(grad))), grad._contents())


def holds_seeds(grad: array) -> bool:
    """Whether a gradient array may hold seeds that are not zero."""
    return may_be_seeded(grad) and not _is_zero(grad._contents())


def forget_left(memory: Allocation) -> None:
    """Memory is written through methods of an array: what it holds are seeds, even if they are what was there."""
    if memory.left is not None and memory.left.shown:
        memory.left.written = True


def refuse_seeds(grads: Iterable[Any]) -> None:
    """Raise for seeds: a graph could not tell them from what its last run left."""
    for g in grads:
        if holds_seeds(g):
            raise GradientError(
                f"the gradient of {g!r} holds seeds while a graph captures backward\n"
                "expected: seeds that the graph reads in every run: tape.backward(loss, grads={array: gradient}), or "
                "tape.backward() of what all gradient arrays hold"
            )


def _whole(grad: array) -> Any:
    """The gradient array that a view of gradients is a part of."""
    while grad._owner is not None and grad._owner._memory is grad._memory:
        grad = grad._owner
    return grad


def _spoil(copy: np.ndarray) -> None:
    """Fill with NaNs of bits that no computation gives: nothing is known of what was left here."""
    copy[...] = np.frombuffer(b"\xff" * copy.nbytes, copy.dtype).reshape(copy.shape)


def _copy(owner: np.ndarray, part: np.ndarray, values: np.ndarray) -> None:
    """Copy into a part; `owner` keeps its memory alive in graphs."""
    np.copyto(part, values)


def _part(copy: np.ndarray, grad: array, whole: array) -> np.ndarray:
    """The part of the copy that lies as a view of gradients lies in them all."""
    if grad is whole:
        return copy
    place = copy.ctypes.data + (grad._address - whole._address)
    return memory_at(place, ArrayLayout(grad.dtype, grad.shape, grad.strides), grad.device)


def _is_zero(a: np.ndarray) -> bool:
    """Whether all floats of an array are zero."""
    if a.dtype.names is not None:
        return all(_is_zero(a[name]) for name in a.dtype.names)
    return not holds_floats(a.dtype) or not a.any()


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the floats of two arrays have equal bits."""
    if a.dtype.names is not None:
        return all(_equal(a[name], b[name]) for name in a.dtype.names)
    word = f"u{a.dtype.itemsize}"
    return not holds_floats(a.dtype) or bool((a.view(word) == b.view(word)).all())
