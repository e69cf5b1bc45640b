"""Alias checks among launch arguments, for sums in registers and private copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...emit.program import Form, FormKind
from ...types.array_ref import ArrayRef
from ...types.arrays import ArrayType
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..devices.memory_range import any_meet, range_of


def alias_test(
    form: Form, summed: Sequence[ArrayRef], types: Sequence[Any], lone: Sequence[ArrayRef] = ()
) -> Callable[[Sequence[Any]], bool]:
    """Whether sums may be kept neither in registers nor in private copies: another name would not see them.

    So it is for arguments where an array that is only summed into shares memory with one that is used otherwise, or a
    lone one with any. Called for every launch, in 0.3 us for each pair of arrays.
    """
    if form.kind is FormKind.ADJOINT:
        return gradients_meet
    pairs = _pairs_apart(summed, types, lone)

    def meets_others(args: Sequence[Any]) -> bool:
        for k, other in pairs:
            a, b = args[k], args[other]
            if a.__class__ is indexedarray:
                a = a.data
            if b.__class__ is indexedarray:
                b = b.data
            here, there = a._range or range_of(a), b._range or range_of(b)
            if here[0] < there[1] and there[0] < here[1] and here.meets(there):  # most are apart, and cost no call
                return True
        return False

    return meets_others


def _pairs_apart(summed: Sequence[ArrayRef], types: Sequence[Any], lone: Sequence[ArrayRef]) -> list[tuple[int, int]]:
    """Positions of arrays that must not share memory."""
    arrays = [k for k, t in enumerate(types) if isinstance(t, ArrayType)]
    sums, alone = ([ref.position for ref in refs if not ref.is_grad] for refs in (summed, lone))
    pairs = [(k, other) for k in sums for other in arrays if other not in sums]
    return pairs + [(k, other) for k in alone for other in arrays if other != k]


def gradients_meet(args: Sequence[Any]) -> bool:
    """Whether two arguments share gradients."""
    gradients = []
    for a in args:
        if a.__class__ is indexedarray:
            a = a.data
        if a.__class__ is array and a._grad is not None:
            gradients.append(a._grad)
    if len({id(g._memory) for g in gradients}) == len(gradients):
        return False
    return any_meet(map(range_of, gradients))
