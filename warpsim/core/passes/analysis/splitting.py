"""Index-set splitting: for which threads of a row no index counts from the end, and tests for borders say nothing new.

`u[i - 1]` counts from the end for thread 0 alone. Told apart from the others, those threads that count forwards
read neighbouring elements, so their loop can be vectorised. And where an adjoint stencil asks at every offset whether a
thread is there and what its guards say, the answers are the same for all threads but those near the border.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.nodes import Call, For, Function, Value, While, count, walk
from ...types import scalars
from .affine import Affine, AffineForms, Atom
from .atomics import AtomicPlan
from .effects import is_access

_LARGEST = 300  # nodes of a kernel that is emitted for both sets of threads
_FEWEST = 3  # tests along the row: fewer are no matter beside the memory that a thread reads
_NEAR = 16  # how far a border may be from the end of the row, or of an array


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
        if is_access(node):
            for k in range(1, min(1 + node.args[0].type.ndim, len(node.args))):
                if scalars.is_integer(node.args[k].type) and plan.ranges.may_count_back(node, k):
                    index = _along_row(forms.of(node.args[k]), known)
                    if index is not None:
                        rows[node, k] = index
    return rows


class RowTest(NamedTuple):
    """A comparison that says `likely` where `room` is not negative, and the other thing elsewhere."""

    likely: bool
    room: RowIndex


_BELOW = {"lt": (0, 1, 1), "le": (0, 1, 0), "gt": (1, 0, 1), "ge": (1, 0, 0)}
"""Of a comparison: which operand is the lower one, which the upper, and by how much it is below at least."""


def row_tests(fn: Function, plan: AtomicPlan) -> dict[Call, RowTest]:
    """Comparisons of a thread's indices with borders, of kernels that make many of them and may be vectorised.

    A border is a small number, the extent of an array, or a parameter that may be one.
    """
    if count(fn.body) > _LARGEST or any(isinstance(n, For | While) for n in walk(fn.body)):
        return {}
    forms, known = AffineForms(plan.definitions, exact=True), _known_before(fn)
    calls = [node for node in walk(fn.body) if isinstance(node, Call) and node.op.name in _BELOW]
    tests = {call: test for call in calls if (test := _row_test(call, forms, known)) is not None}
    return tests if sum(test.room.factor != 0 for test in tests.values()) >= _FEWEST else {}


def _row_test(call: Call, forms: AffineForms, known: dict[Atom, Value | None]) -> RowTest | None:
    lower, upper, distance = _BELOW[call.op.name]
    if any(a.type is not scalars.int32 for a in call.args):
        return None
    low, high = forms.of(call.args[lower]), forms.of(call.args[upper])
    if _is_own(low) and _is_border(high, known):
        likely = bool(high.terms)  # below an extent most are, below a number few
    elif _is_own(high) and _is_border(low, known):
        likely = not low.terms
    else:
        return None
    room = high.plus(low, -1).plus(Affine(constant=distance), -1)
    along = _along_row(room if likely else Affine(constant=-1).plus(room, -1), known)
    return None if along is None else RowTest(likely, along)


def _is_own(form: Affine) -> bool:
    """Whether it is one of the thread's indices, or near it: sums that far from the limits do not overflow."""
    [(atom, factor)] = form.terms if len(form.terms) == 1 else [(None, 0)]
    return isinstance(atom, tuple) and atom[0] == "tid" and factor == 1 and abs(form.constant) <= _NEAR


def _is_border(form: Affine, known: dict[Atom, Value | None]) -> bool:
    if not form.terms:
        return abs(form.constant) <= _NEAR
    [(atom, factor)] = form.terms if len(form.terms) == 1 else [(None, 0)]
    extent = known.get(atom) is atom and atom is not None  # above a parameter the next numbers may overflow
    return extent and factor == 1 and -_NEAR <= form.constant <= 0


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
