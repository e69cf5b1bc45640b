"""Whether arguments of a launch share memory in a way that forbids sums in registers and private copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...emit.program import Form
from ...passes.analysis.atomics import Part
from ...types.arrays import ArrayType
from ..arrays.array import array, overlap
from ..arrays.indexed import indexedarray


def is_aliased(
    form: Form, args: Sequence[Any], summed: Sequence[Part], types: Sequence[Any], lone: Sequence[Part] = ()
) -> bool:
    """Whether sums may be kept neither in registers nor in private copies: another name would not see them."""
    return gradients_meet(args) if form.kind == "adjoint" else meets_others(args, summed, types, lone)


def meets_others(
    args: Sequence[Any], summed: Sequence[Part], types: Sequence[Any], lone: Sequence[Part] = ()
) -> bool:
    """Whether an array that is only summed into shares memory with one that is used otherwise, a lone one with any."""
    arrays = [k for k, t in enumerate(types) if isinstance(t, ArrayType)]
    others = [k for k in arrays if (k, False) not in summed]
    if any(overlap(args[k], args[other]) for k, gradient in summed if not gradient for other in others):
        return True
    return any(overlap(args[k], args[other]) for k, gradient in lone if not gradient for other in arrays if other != k)


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
    return any(overlap(a, b) for k, a in enumerate(gradients) for b in gradients[:k])
