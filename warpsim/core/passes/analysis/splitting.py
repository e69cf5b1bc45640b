"""Index-set splitting: for which threads of a row no index counts from the end.

`u[i - 1]` counts from the end for thread 0 alone. Told apart from the others, those threads that count forwards
read neighbouring elements, so their loop can be vectorised.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.nodes import Call, For, Function, Value, While, count, walk
from ...types import scalars
from ...types.arrays import ArrayType
from .affine import Affine, AffineForms, Atom
from .atomics import AtomicPlan

_LARGEST = 300  # nodes of a kernel that is emitted for both sets of threads


class RowIndex(NamedTuple):
    """An index as `factor` times the thread's last index, plus what all threads of a row agree on."""

    factor: int
    terms: tuple[tuple[Value, int], ...]
    constant: int


def affine_indices(fn: Function, plan: AtomicPlan) -> dict[tuple[Call, int], RowIndex]:
    """The indices that may be negative and follow from the thread's, by access and operand.

    Of kernels that LLVM may vectorise across threads: others gain nothing.
    """
    if count(fn.body) > _LARGEST or any(isinstance(n, For | While) for n in walk(fn.body)):
        return {}
    forms, known = AffineForms(plan.definitions, exact=True), _known_before(fn)
    rows: dict[tuple[Call, int], RowIndex] = {}
    for node in walk(fn.body):
        if isinstance(node, Call) and node.args and isinstance(node.args[0].type, ArrayType):
            for k in range(1, min(1 + node.args[0].type.ndim, len(node.args))):
                if scalars.is_integer(node.args[k].type) and plan.ranges.may_count_back(node, k):
                    index = _along_row(forms.of(node.args[k]), known)
                    if index is not None:
                        rows[node, k] = index
    return rows


def _known_before(fn: Function) -> dict[Atom, Value | None]:
    """What is known before a row of threads runs, with the value that holds it; None for the thread's last index."""
    known: dict[Atom, Value | None] = {p: p for p in fn.params}
    for node in walk(fn.body):
        if isinstance(node, Call) and node.op.name == "shape" and node.args[0] in known:
            known[node.results[0]] = node.results[0]
        elif isinstance(node, Call) and node.op.name == "tid":
            *others, _ = node.results
            known.update((("tid", axis), value) for axis, value in enumerate(others))
            known["tid", len(others)] = None
    return known


def _along_row(index: Affine, known: dict[Atom, Value | None]) -> RowIndex | None:
    factors = dict(index.terms)
    if not factors.keys() <= known.keys():
        return None
    terms = tuple((value, factors[atom]) for atom, value in known.items() if value is not None and atom in factors)
    own = sum(factors[atom] for atom, value in known.items() if value is None and atom in factors)
    return RowIndex(own, terms, index.constant)
