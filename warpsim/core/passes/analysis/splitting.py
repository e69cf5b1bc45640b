"""Index-set splitting: for which threads of a row no index counts from the end. An analysis: it changes nothing.

`u[i - 1]` counts from the end for thread 0 alone. Told apart from the others, those threads that count forwards
read neighbouring elements, so their loop can be vectorised.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.nodes import Call, Constant, For, Function, Value, While, count, walk
from ...types import scalars
from ...types.arrays import ArrayType
from .atomics import AtomicPlan

_LARGEST = 300  # nodes of a kernel that is emitted for both sets of threads
_DEEPEST = 8  # calls in an index


class Affine(NamedTuple):
    """An index as `factor` times the thread's last index, plus what all threads of a row agree on."""

    factor: int
    terms: tuple[tuple[Value, int], ...]
    constant: int

    def plus(self, other: Affine, times: int) -> Affine:
        more = tuple((value, times * factor) for value, factor in other.terms)
        return Affine(self.factor + times * other.factor, self.terms + more, self.constant + times * other.constant)


def affine_indices(fn: Function, plan: AtomicPlan) -> dict[tuple[Call, int], Affine]:
    """The indices that may be negative and follow from the thread's, by access and operand.

    Of kernels that LLVM may vectorise across threads: others gain nothing.
    """
    if count(fn.body) > _LARGEST or any(isinstance(n, For | While) for n in walk(fn.body)):
        return {}
    found: dict[tuple[Call, int], Affine] = {}
    for node in walk(fn.body):
        if isinstance(node, Call) and node.args and isinstance(node.args[0].type, ArrayType):
            for k in range(1, min(1 + node.args[0].type.ndim, len(node.args))):
                if scalars.is_integer(node.args[k].type) and plan.ranges.may_count_back(node, k):
                    affine = _affine(node.args[k], fn, plan, _DEEPEST)
                    if affine is not None:
                        found[node, k] = affine
    return found


def _affine(value: Value, fn: Function, plan: AtomicPlan, depth: int) -> Affine | None:
    if not scalars.is_integer(value.type):
        return None
    if isinstance(value, Constant):
        return Affine(0, (), int(value.value))
    maker = plan.definitions.get(value)
    if value in fn.params or (maker is not None and maker.op.name == "shape" and maker.args[0] in fn.params):
        return Affine(0, ((value, 1),), 0)
    if maker is None or not depth:
        return None
    if maker.op.name == "tid":
        last = value is maker.results[-1]
        return Affine(1, (), 0) if last else Affine(0, ((value, 1),), 0)
    return _arithmetic(maker, [_affine(a, fn, plan, depth - 1) for a in maker.args])


def _arithmetic(call: Call, parts: list[Affine | None]) -> Affine | None:
    if None in parts or call.op.name not in ("add", "sub", "mul", "neg", "cast"):
        return None
    nothing = Affine(0, (), 0)
    a, b = [p or nothing for p in parts] if len(parts) == 2 else (parts[0] or nothing, nothing)
    if call.op.name in ("add", "sub"):
        return a.plus(b, 1 if call.op.name == "add" else -1)
    if call.op.name in ("neg", "cast"):
        keeps = call.op.name == "neg" or scalars.bits(call.results[0].type) >= scalars.bits(call.args[0].type)
        return nothing.plus(a, -1 if call.op.name == "neg" else 1) if keeps else None
    a, b = (b, a) if not a.factor and not a.terms else (a, b)
    return None if b.factor or b.terms else nothing.plus(a, b.constant)
