"""Forward mode of rows whose tangents are not those of a pure function of numbers: memory, choice, structs.

A tangent is the derivative of a value along one direction of the inputs. What goes along with a value is
a `Tangent`: for each float in it the derivative, and for each array of floats the array that holds the
derivatives of its elements, by the path of fields that leads there. What is missing is zero, and an array
that is missing holds constants.

A rule gets the call and a Tangent per operand, and returns one per result. Rows without a rule here get
theirs from their adjoint, by `passes.transpose`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import NotDifferentiableError
from ..ir.builder import OPERATORS, Builder, active_builder
from ..ir.nodes import Call, Region, Value
from ..types import scalars, structs
from ..types.answers import per_type
from ..types.array_ref import Fields
from ..types.arrays import ArrayType, ValueType, type_name
from ..types.compounds import is_compound, scalar_of
from . import memory
from .choice import where
from .construct import construct, extract, field, member, rebuild, with_field, zero
from .registry import ATOMIC

Tangent = dict[Fields, Value]
TangentList = list[Tangent]


# ----- values and their tangents --------------------------------------------------------------


@per_type
def has_floats(t: ValueType) -> bool:
    """Whether values of the type have a tangent of their own; arrays in them do not count."""
    if structs.is_struct(t):
        return any(has_floats(f) for f in t.fields.values())
    return not isinstance(t, ArrayType) and scalars.is_float(scalar_of(t))


@per_type
def slots(t: ValueType) -> tuple[tuple[Fields, Any], ...]:
    """Where values of a type can have tangents: (path, type) of every float and every array of floats."""
    if structs.is_struct(t):
        return tuple(((name, *path), leaf) for name, f in t.fields.items() for path, leaf in slots(f))
    return (((), t),) if has_floats(t.dtype if isinstance(t, ArrayType) else t) else ()


def parts(value: Value) -> Tangent:
    """A tangent that is one value, as one entry per float in it."""
    return {path: member(value, path) for path, t in slots(value.type) if not isinstance(t, ArrayType)}


def whole(t: ValueType, tangent: Tangent) -> Value:
    """A tangent as one value of type `t`, which holds zeros and empty arrays where there is none."""
    total: Value = zero(Value(t))
    if not structs.is_struct(t):
        return tangent.get((), total)
    for name, f in t.fields.items():
        inner = {path[1:]: v for path, v in tangent.items() if path[0] == name}
        if has_floats(f) and inner:
            total = with_field(total, whole(f, inner), name=name)
    return total


def tangent_at(t: ValueType, path: Fields, tangent: Tangent) -> Value:
    """The tangent at a path; zero where it is missing. Raises where that would have to be an array."""
    part = tangent.get(path)
    if part is not None:
        return part
    leaf = dict(slots(t))[path]
    if isinstance(leaf, ArrayType):
        raise NotDifferentiableError(
            "an array with a tangent and one without are chosen between here",
            _builder().location,
            expected="a tangent for both, or for none",
            help="give the other array a tangent of zeros",
        )
    return zero(Value(leaf))


def union_of_paths(t: ValueType, tangents: TangentList) -> list[Fields]:
    """Where at least one of some values of one type has a tangent."""
    return [path for path, _ in slots(t) if any(path in tangent for tangent in tangents)]


def _builder() -> Builder:
    builder = active_builder()
    assert builder is not None, "rules are traced"
    return builder


# ----- choice and structs ---------------------------------------------------------------------


@where.tangent
def _(call: Call, tangents: TangentList) -> TangentList:
    condition, yes, no = call.args
    paths = union_of_paths(yes.type, tangents[1:])
    sides = [[tangent_at(yes.type, path, tangent) for path in paths] for tangent in tangents[1:]]
    return [{path: where(condition, a, b) for path, a, b in zip(paths, *sides, strict=True)}]


@construct.tangent
def _(call: Call, tangents: TangentList) -> TangentList:
    to = call.results[0].type
    if structs.is_struct(to):
        return [{(name, *path): v for name, part in zip(to.fields, tangents, strict=True) for path, v in part.items()}]
    if not any(tangents):
        return [{}]
    return [{(): construct(*map(whole, (a.type for a in call.args), tangents), to=to)}]


@field.tangent
def _(call: Call, tangents: TangentList) -> TangentList:
    return [{path[1:]: v for path, v in tangents[0].items() if path[0] == call.attributes["name"]}]


@with_field.tangent
def _(call: Call, tangents: TangentList) -> TangentList:
    name = call.attributes["name"]
    others = {path: v for path, v in tangents[0].items() if path[0] != name}
    return [{**others, **{(name, *path): v for path, v in tangents[1].items()}}]


# ----- arrays ---------------------------------------------------------------------------------


def _view_tangents(call: Call, tangents: TangentList) -> TangentList:
    """A view of an array of tangents is taken as the view of the array is."""
    result = call.results[0]
    if not tangents[0] or not slots(result.type):
        return [{}]
    return [{(): _builder().call(call.op, (tangents[0][()], *call.args[1:]), (result.type,), call.attributes)}]


for _view in (memory.view, memory.field_view, memory.component_view):
    _view.tangent(_view_tangents)


@memory.local_array.tangent
def _(call: Call, tangents: TangentList) -> TangentList:
    """A local array has its tangents in a second one."""
    t = call.results[0].type
    return [{(): _builder().call(call.op, (), (t,), call.attributes)}] if slots(t) else [{}]


@memory.gradient.tangent
def _(call: Call, tangents: TangentList) -> TangentList:
    raise NotDifferentiableError(
        "the tangent of a gradient is not known: its array came out of memory",
        _builder().location,
        help="pass the array as a parameter of the kernel, or as a field of a struct parameter",
    )


@memory.load.tangent
def _(call: Call, tangents: TangentList) -> TangentList:
    array, *indices = call.args
    element = parts(memory.load(tangents[0][()], *indices)) if tangents[0] else {}
    for path, t in slots(call.results[0].type):
        if isinstance(t, ArrayType):  # as in reverse mode, what goes with it is where its descriptor says
            element[path] = memory.gradient(member(call.results[0], path))
    return [element]


@memory.store.tangent
def _(call: Call, tangents: TangentList) -> TangentList:
    array, *indices, value = call.args
    if tangents[0]:
        memory.store(tangents[0][()], *indices, whole(value.type, tangents[-1]))
    return []


# ----- atomics --------------------------------------------------------------------------------
#
# The value and the tangent of an element change one after the other, so an atomic whose outcome depends on
# the order of threads has the right tangent only when threads run one after the other.


def needs_order(call: Call, used: set[Value]) -> bool:
    """Whether the tangents of a call are right only when threads run one after the other."""
    if call.op.effect != ATOMIC or not has_floats(call.args[0].type.dtype):
        return False
    return call.op.name not in memory.PRIVATE_ATOMICS or call.results[0] in used


def _sum_tangents(call: Call, tangents: TangentList) -> TangentList:
    """A sum of tangents; what comes back is the tangent of the value before."""
    array, *indices, value = call.args
    if not tangents[0]:
        return [{}]
    if not tangents[-1]:
        return [{(): memory.load(tangents[0][()], *indices)}]
    operands = (tangents[0][()], *indices, tangents[-1][()])
    return [{(): _builder().call(call.op, operands, (value.type,), call.attributes)}]


memory.atomic_add.tangent(_sum_tangents)
memory.atomic_sub.tangent(_sum_tangents)


def _extreme(symbol: str) -> Any:
    """The tangent of the value that wins replaces that of the element; of equal values the first wins."""

    def rule(call: Call, tangents: TangentList) -> TangentList:
        array, *indices, value = call.args
        if not tangents[0]:
            return [{}]
        old, shadow, contribution = call.results[0], tangents[0][()], whole(value.type, tangents[-1])
        if not is_compound(value.type):
            return [{(): _exchanged_if(_wins(symbol, value, old), shadow, indices, contribution)}]
        before = []
        for k in np.ndindex(value.type.shape):
            wins = _wins(symbol, extract(value, *k), extract(old, *k))
            before.append(_exchanged_if(wins, memory.component_view(shadow, *k), indices, extract(contribution, *k)))
        return [{(): rebuild(value, before)}]

    return rule


def _wins(symbol: str, value: Value, old: Value) -> Value:
    wins: Value = OPERATORS["|"](OPERATORS[symbol](value, old), OPERATORS["!="](old, old))
    return wins


def _exchanged_if(wins: Value, shadow: Value, indices: list[Value], contribution: Value) -> Value:
    """Replace a tangent if the value won; gives the tangent before."""
    builder, then, orelse = _builder(), Region(), Region()
    with builder.inside(then):
        then.yields = (memory.atomic_exch(shadow, *indices, contribution),)
    with builder.inside(orelse):
        orelse.yields = (memory.load(shadow, *indices),)
    return builder.branch(wins, then, orelse)[0]


memory.atomic_min.tangent(_extreme("<"))
memory.atomic_max.tangent(_extreme(">"))


def outcome_tangent(call: Call, tangents: TangentList) -> TangentList:
    """The tangent of an atomic when memory already holds the outcome of the launch.

    The thread whose value is the final one has won, as in the adjoint; of equal values one wins.
    """
    if not tangents[0]:
        return [{}]
    if call.op.name in memory.PRIVATE_ATOMICS:
        rule = call.row.tangent_rule
        assert rule is not None
        return list(rule(call, tangents))
    if call.op.name not in ("atomic_min", "atomic_max"):
        raise NotDifferentiableError(
            f"{call.op.name} has no tangent after the launch: {call.op.nondiff}",
            call.location,
            help="differentiate the launch itself, or keep it out of what is differentiated",
        )
    array, *indices, value = call.args
    shadow, final, contribution = tangents[0][()], memory.load(array, *indices), whole(value.type, tangents[-1])
    if not is_compound(value.type):
        return [{(): _exchanged_if(OPERATORS["=="](value, final), shadow, indices, contribution)}]
    before = []
    for k in np.ndindex(value.type.shape):
        wins = OPERATORS["=="](extract(value, *k), extract(final, *k))
        before.append(_exchanged_if(wins, memory.component_view(shadow, *k), indices, extract(contribution, *k)))
    return [{(): rebuild(value, before)}]


@memory.atomic_exch.tangent
def _(call: Call, tangents: TangentList) -> TangentList:
    array, *indices, value = call.args
    if not tangents[0]:
        return [{}]
    return [{(): memory.atomic_exch(tangents[0][()], *indices, whole(value.type, tangents[-1]))}]


@memory.atomic_cas.tangent
def _(call: Call, tangents: TangentList) -> TangentList:
    if not tangents[0]:
        return [{}]
    raise NotDifferentiableError(
        "atomic_cas on floats has no tangent",
        _builder().location,
        found=type_name(call.args[0].type),
        help="use atomic_add, atomic_min or atomic_max, or give the array no tangent",
    )
