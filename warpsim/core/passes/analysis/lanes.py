"""Lanes: whether neighbouring threads may run as the lanes of vectors, and whether that pays.

A strip of threads runs statement by statement instead of thread by thread. What a strip does to memory is put off to
its end and done there thread by thread, in order, so that memory sees what it saw before. That is sound where no
thread of a strip reads what another one writes, which is what `lane_plan` looks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from ...ir.nodes import Call, For, Function, Region, Value, While, walk
from ...ops.registry import ATOMIC, PURE, READ, WRITE
from ...types import scalars, structs
from ...types.arrays import ArrayType
from ...types.structs import holds_arrays
from .affine import AffineForms, Atom
from .alias import BaseArray, PointsTo, points_to
from .atomics import AtomicPlan
from .divergence import varying
from .lane_cost import gains_from_lanes

Pair = tuple[BaseArray, BaseArray]


@dataclass(frozen=True)
class LanePlan:
    """How the threads of a strip run together."""

    varying: frozenset[Value]
    """The values that differ between the threads of a strip; all others are computed once."""
    put_off: frozenset[Call]
    """Stores and atomics, done at the end of a strip."""
    neighbours: frozenset[Call]
    """Loads of an array's last dimension from neighbouring elements."""
    pays: bool
    """Whether that is faster: LLVM would not vectorise over threads, and lanes are worth it (see `lane_cost`)."""
    apart: tuple[Pair, ...]
    """Arrays that may not overlap: what is written, and what other threads may read."""


def lane_plan(fn: Function, plan: AtomicPlan, width: int) -> LanePlan | None:
    """The plan of an inlined kernel for strips of `width` threads; None where its threads must run one by one."""
    calls = [node for node in walk(fn.body) if isinstance(node, Call)]
    differs = varying(fn)
    if not all(_is_known(call, differs) for call in calls):
        return None
    bases = points_to(fn)
    accesses = {call: _only(bases[call.args[0]]) for call in calls if call.op.effect}
    if None in accesses.values() or any(base.holder not in fn.params for base in accesses.values() if base):
        return None
    put_off = [call for call in calls if call.op.effect in (WRITE, ATOMIC)]
    if any(result in plan.used for call in put_off for result in call.results) or _in_loops(fn.body, {*put_off}):
        return None
    return _with_order(fn, plan, differs, {c: b for c, b in accesses.items() if b}, put_off, width)


def _is_known(call: Call, differs: set[Value]) -> bool:
    """Whether lanes know what to do with a call."""
    if isinstance(call.op, Function) or call.op.opaque or call.op.effect not in (PURE, READ, WRITE, ATOMIC):
        return False
    if call.op.effect and (not call.args or call.args[0].type.indexed):
        return False
    values = (*call.args, *call.results)
    return not any((v in differs and holds_arrays(v.type)) or _is_rounded(v.type) for v in values)


def _is_rounded(t: Any) -> bool:
    """Whether there are numbers in a type that registers hold otherwise than memory does."""
    t = t.dtype if isinstance(t, ArrayType) else t
    return any(scalars.is_bfloat16(leaf) for leaf, _ in structs.leaves(t))


def _only(bases: PointsTo) -> BaseArray | None:
    """The array that an access goes to, where there is one alone."""
    return next(iter(bases)) if len(bases) == 1 else None


def _in_loops(region: Region, calls: set[Call]) -> bool:
    """Whether some of the calls stand in loops."""
    loops = (node for node in walk(region) if isinstance(node, For | While))
    return any(inner in calls for loop in loops for part in loop.regions() for inner in walk(part))


def _with_order(
    fn: Function, plan: AtomicPlan, differs: set[Value], accesses: dict[Call, BaseArray], put_off: list[Call],
    width: int,
) -> LanePlan | None:  # fmt: skip
    """The plan, if no thread reads what another one writes as long as certain arrays lie apart."""
    order = {node: k for k, node in enumerate(walk(fn.body))}
    written = {accesses[call]: order[call] for call in reversed(put_off)}  # of several, when the first one happens
    read = {base: order[call] for call, base in accesses.items() if call.op.effect == READ}
    for base in written.keys() & read.keys():
        own = all(_is_own(plan, call) for call, other in accesses.items() if other == base)
        if not own or read[base] > written[base]:
            return None
    apart = tuple((w, r) for w, r in product(written, read) if w != r)
    forms = AffineForms(plan.definitions, exact=True)
    neighbours = {c for c in accesses if c.op.effect == READ and _steps_by_one(c, forms, differs)}
    scalar = any(_is_scattered(c, forms, differs) for c in accesses) or any(isinstance(n, For | While) for n in order)
    pays = scalar and gains_from_lanes(fn, width, differs, neighbours)
    return LanePlan(frozenset(differs), frozenset(put_off), frozenset(neighbours), pays, apart)


def _is_scattered(access: Call, forms: AffineForms, differs: set[Value]) -> bool:
    """Whether LLVM cannot vectorise an access over threads: the element does not follow from the thread's index."""
    indices = (v for v in access.args[1 : 1 + access.args[0].type.ndim] if v in differs)
    return any(isinstance(atom, Value) and atom in differs for v in indices for atom, _ in forms.of(v).terms)


def _steps_by_one(load: Call, forms: AffineForms, differs: set[Value]) -> bool:
    """Whether the next thread reads the next element of the last dimension."""
    *others, last = load.args[1 : 1 + load.args[0].type.ndim]
    if any(v in differs for v in others) or last.type not in (scalars.int32, scalars.int64):
        return False
    varying_terms = [(atom, factor) for atom, factor in forms.of(last).terms if _varies(atom, forms, differs)]
    return len(varying_terms) == 1 and varying_terms[0][1] == 1 and isinstance(varying_terms[0][0], tuple)


def _varies(atom: Atom, forms: AffineForms, differs: set[Value]) -> bool:
    """Whether an unknown of an affine form differs between the threads of a strip."""
    if isinstance(atom, Value):
        return atom in differs
    tids = (results for call in forms.definitions.values() if call.op.name == "tid" for results in [call.results])
    return any(atom == ("tid", len(results) - 1) for results in tids)


def _is_own(plan: AtomicPlan, call: Call) -> bool:
    """Whether an access goes to the thread's own element of a parameter or of its gradient."""
    maker = plan.definitions.get(call.args[0])
    whole = maker is None or (maker.op.name == "gradient" and maker.args[0] not in plan.definitions)
    indices = call.args[1 : 1 + call.args[0].type.ndim]
    thread = plan.definitions.get(indices[0])
    return whole and thread is not None and thread.op.name == "tid" and thread.results == tuple(indices)
