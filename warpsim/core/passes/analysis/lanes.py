"""Lanes: whether neighbouring threads may run as the lanes of vectors, and whether that pays.

A strip of threads runs statement by statement instead of thread by thread. What a strip does to memory is put off to
its end and done there thread by thread, in order, so that memory sees what it saw before. That is sound where no
thread of a strip reads what another one writes, which is what `lane_plan` looks for. Sums in loops cannot wait: where
all threads of a strip add to the same element, they are added up first, and to the element at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

from ...ir.nodes import Call, For, Function, Region, Value, While, callees, walk
from ...ops.memory import PRIVATE_ATOMICS
from ...ops.registry import ATOMIC, PURE, READ, WRITE
from ...types import scalars, structs
from ...types.arrays import ArrayType
from ...types.compounds import scalar_of
from ...types.structs import holds_arrays
from .affine import AffineForms, Atom
from .alias import BaseArray, PointsTo, points_to
from .atomics import AtomicPlan
from .divergence import state_arrays, varying
from .lane_cost import gains_from_lanes
from .large_compounds import large_types
from .stack import MOST_BYTES

Pair = tuple[BaseArray, BaseArray]


@dataclass(frozen=True)
class LanePlan:
    """How the threads of a strip run together."""

    varying: frozenset[Value]
    """The values that differ between the threads of a strip; all others are computed once."""
    put_off: frozenset[Call]
    """Stores and atomics, done at the end of a strip."""
    joint: frozenset[Call]
    """Sums in loops to elements that are the same for all threads of a strip, done at once for all of them."""
    private: frozenset[Value]
    """Local arrays of states that differ between threads: each lane has its own."""
    neighbours: frozenset[Call]
    """Loads of an array's last dimension from neighbouring elements."""
    pays: bool
    """Whether that is faster: LLVM would not vectorise over threads, and lanes are worth it (see `lane_cost`)."""
    apart: tuple[Pair, ...]
    """Arrays that may not overlap: what is written, and what other threads may read."""


class OneByOne(Exception):
    """Why the threads of a kernel must run one by one."""


def lane_plan(fn: Function, plan: AtomicPlan, width: int) -> LanePlan | None:
    """The plan of an inlined kernel for strips of `width` threads; None where its threads must run one by one."""
    try:
        return checked_plan(fn, plan, width)
    except OneByOne:
        return None


def checked_plan(fn: Function, plan: AtomicPlan, width: int) -> LanePlan:
    """The same plan. Raises `OneByOne` with the reason where there is none."""
    calls = [node for node in walk(fn.body) if isinstance(node, Call)]
    differs, states = varying(fn), state_arrays(fn)
    unknown = next((call for call in calls if not _is_known(call, differs, states)), None)
    if unknown is not None:
        raise OneByOne(f"it calls {unknown.op.name}, which has no form for lanes")
    if width * _bytes_of(states) > MOST_BYTES or large_types(fn):
        raise OneByOne("its local arrays or matrices are too large for lanes")
    bases = points_to(fn)
    calls = [call for call in calls if not (call.op.effect and states & {*call.args, *call.results})]
    accesses = {call: _only(bases[call.args[0]]) for call in calls if call.op.effect}
    if None in accesses.values() or any(base.holder not in fn.params for base in accesses.values() if base):
        raise OneByOne("it reaches arrays that are no parameters")
    writes = [call for call in calls if call.op.effect in (WRITE, ATOMIC)]
    if any(result in plan.used for call in writes for result in call.results):
        raise OneByOne("it uses what an atomic returns")
    looped = _in_loops(fn.body, {*writes})
    if not all(_is_joint(call, differs) for call in looped):
        raise OneByOne("it writes in a loop")
    return _with_order(fn, plan, differs, {c: b for c, b in accesses.items() if b}, writes, looped, width)


def is_regular(fn: Function, plan: AtomicPlan) -> bool:
    """Whether LLVM could vectorise over the threads: no loop, no atomic, and every element follows from the index."""
    nodes, differs = list(walk(fn.body)), varying(fn)
    accesses = [node for node in nodes if isinstance(node, Call) and node.op.effect]
    if callees(fn.body) or any(isinstance(node, For | While) for node in nodes):
        return False
    if not plan.injective.issuperset(plan.atomics()):
        return False
    forms = AffineForms(plan.definitions, exact=True)
    return not any(_is_scattered(call, forms, differs) for call in accesses if isinstance(call.args[0].type, ArrayType))


def _is_known(call: Call, differs: set[Value], states: set[Value]) -> bool:
    """Whether lanes know what to do with a call."""
    if isinstance(call.op, Function) or call.op.opaque or call.op.effect not in (PURE, READ, WRITE, ATOMIC):
        return False
    values = (*call.args, *call.results)
    if states & {*values}:
        return not any(holds_arrays(v.type.dtype) or _is_rounded(v.type) for v in states & {*values})
    if call.op.effect and (not call.args or call.args[0].type.indexed):
        return False
    return not any((v in differs and holds_arrays(v.type)) or _is_rounded(v.type) for v in values)


def _bytes_of(states: set[Value]) -> int:
    """What local arrays take of the stack of a thread."""
    return sum(math.prod(v.type.local_shape) * structs.numpy_dtype(v.type.dtype).itemsize for v in states)


def _is_rounded(t: Any) -> bool:
    """Whether there are numbers in a type that registers hold otherwise than memory does."""
    t = t.dtype if isinstance(t, ArrayType) else t
    return any(scalars.is_bfloat16(leaf) for leaf, _ in structs.leaves(t))


def _only(bases: PointsTo) -> BaseArray | None:
    """The array that an access goes to, where there is one alone."""
    return next(iter(bases)) if len(bases) == 1 else None


def _in_loops(region: Region, calls: set[Call]) -> set[Call]:
    """Those of the calls that stand in loops."""
    loops = (node for node in walk(region) if isinstance(node, For | While))
    return {inner for loop in loops for part in loop.regions() for inner in walk(part) if inner in calls}


def _is_joint(call: Call, differs: set[Value]) -> bool:
    """Whether a write is a sum of floats, and all threads of a strip add to the same element."""
    kind = call.args[0].type
    place = call.args[: 1 + kind.ndim]
    floating = not structs.is_struct(kind.dtype) and scalars.is_float(scalar_of(kind.dtype))
    return call.op.name in PRIVATE_ATOMICS and floating and not any(v in differs for v in place)


def _with_order(
    fn: Function,
    plan: AtomicPlan,
    differs: set[Value],
    accesses: dict[Call, BaseArray],
    writes: list[Call],
    joint: set[Call],
    width: int,
) -> LanePlan:
    """The plan, if no thread reads what another one writes as long as certain arrays lie apart."""
    order = {node: k for k, node in enumerate(walk(fn.body))}
    written = {accesses[call]: order[call] for call in reversed(writes)}  # of several, when the first one happens
    read = {base: order[call] for call, base in accesses.items() if call.op.effect == READ}
    forms = AffineForms(plan.definitions, exact=True)
    for base in written.keys() & read.keys():
        own = _are_own([call for call, other in accesses.items() if other == base], plan, forms, differs)
        if not own or read[base] > written[base]:
            raise OneByOne("a thread may read what another one writes")
    summed = {accesses[call] for call in joint}
    if any(call not in joint and call.op.name not in PRIVATE_ATOMICS for call in writes if accesses[call] in summed):
        raise OneByOne("it writes to an array that it sums into in a loop")
    apart = tuple((w, r) for w, r in product(written, read) if w != r)
    neighbours = {c for c in accesses if c.op.effect == READ and _steps_by_one(c, forms, differs)}
    scalar = any(_is_scattered(c, forms, differs) for c in accesses) or any(isinstance(n, For | While) for n in order)
    pays = scalar and gains_from_lanes(fn, width, differs, neighbours, joint)
    put_off = frozenset(call for call in writes if call not in joint)
    private = frozenset(differs & state_arrays(fn))
    return LanePlan(frozenset(differs), put_off, frozenset(joint), private, frozenset(neighbours), pays, apart)


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


def _are_own(calls: list[Call], plan: AtomicPlan, forms: AffineForms, differs: set[Value]) -> bool:
    """Whether accesses to a parameter or its gradient go to one element, which no other thread of a strip reaches."""
    if not all(_is_whole(plan, call.args[0]) for call in calls):
        return False
    places = {call.args[1 : 1 + call.args[0].type.ndim] for call in calls}
    if len(places) > 1:
        return False
    thread = plan.definitions.get(calls[0].args[1])
    is_tid = thread is not None and thread.op.name == "tid" and (thread.results,) == tuple(places)
    last = calls[0].args[0].type.ndim
    from_the_start = not any(plan.ranges.may_count_back(call, last) for call in calls)
    return is_tid or (from_the_start and _steps_by_one(calls[0], forms, differs))


def _is_whole(plan: AtomicPlan, array: Value) -> bool:
    """Whether an array is a parameter, a field of one, or the gradient of such an array, and no part of them."""
    maker = plan.definitions.get(array)
    if maker is not None and maker.op.name == "gradient":
        maker = plan.definitions.get(maker.args[0])
    while maker is not None and maker.op.name == "field":
        maker = plan.definitions.get(maker.args[0])
    return maker is None
