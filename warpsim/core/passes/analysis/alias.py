"""Points-to analysis: the arrays that each value may alias.

Guarantees: for every value that is or holds arrays, the set of arrays it may be or hold: parameters,
arrays in struct parameters, local arrays, and the gradient arrays of all these (`BaseArray`). It follows views,
choices, loops, and structs made in the kernel. What comes out of memory may be anything: `None` stands for
memory unknown here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...ir.nodes import Call, Function, Value
from ...types.array_ref import Fields, array_fields
from ...types.arrays import ArrayType
from ...types.structs import holds_arrays
from .dataflow import Dataflow

VIEWS = ("view", "field_view", "component_view")
TO_ARRAY = (*VIEWS, "gradient")
"""What leads from an access to the array that it goes to, or whose gradient."""
_STRUCTS = ("construct", "with_field", "where")


class BaseArray(NamedTuple):
    """The object that a reference to an array is based on, where the kernel knows it: a parameter, or a local array."""

    holder: Value
    """A parameter, or the result of `local_array`."""
    path: Fields = ()
    """The fields that lead from a struct parameter to the array."""
    is_grad: bool = False
    """Whether its gradient array is meant."""

    @property
    def type(self) -> ArrayType:
        member = self.holder.type
        for name in self.path:
            member = member.fields[name]
        assert isinstance(member, ArrayType)
        return member


PointsTo = frozenset[BaseArray | None]
Definitions = Mapping[Value, Call]
UNKNOWN: PointsTo = frozenset({None})


def views_of(array: Value, definitions: Definitions, through: Sequence[str] = VIEWS) -> tuple[Value, list[Call]]:
    """The array that an array is a view of, and the views, the last one first."""
    views: list[Call] = []
    while (maker := definitions.get(array)) is not None and maker.op.name in through:
        views.append(maker)
        array = maker.args[0]
    return array, views


def points_to(fn: Function) -> dict[Value, PointsTo]:
    """The points-to set of every value of a kernel that is or holds arrays; its calls are inlined."""
    return _Analysis(fn).points_to


class _Analysis(Dataflow):
    def __init__(self, fn: Function):
        self.points_to: dict[Value, PointsTo] = {}
        self.parts: dict[Value, tuple[Value, Fields]] = {}
        """Struct parameters and structs in them: the parameter and the path to the part."""
        for p in fn.params:
            if isinstance(p.type, ArrayType):
                self.points_to[p] = frozenset({BaseArray(p)})
            elif holds_arrays(p.type):
                self.points_to[p] = frozenset(BaseArray(p, path) for path, _ in array_fields(p.type))
                self.parts[p] = (p, ())
        self.region(fn.body)

    def join(self, targets: tuple[Value, ...], *sources: tuple[Value, ...]) -> None:
        for target, *values in zip(targets, *sources, strict=True):
            if holds_arrays(target.type):
                self.points_to[target] = self.union(tuple(values))

    def fact(self, value: Value) -> PointsTo | None:
        return self.points_to.get(value)

    def union(self, values: tuple[Value, ...]) -> PointsTo:
        """Where the arrays in some values come from; constants hold none."""
        return frozenset().union(*(self.points_to.get(v, frozenset()) for v in values))

    def call(self, call: Call) -> None:
        if isinstance(call.op, Function):
            self.enter(call, call.op)
        for result in call.results:
            if holds_arrays(result.type):
                self.points_to[result] = self.pointees(call, result)

    def enter(self, call: Call, fn: Function) -> None:
        """A function that stayed a call: its parameters may be what any of its calls passes."""
        self.join(fn.params, fn.params, call.args)
        self.region(fn.body)

    def pointees(self, call: Call, result: Value) -> PointsTo:
        """The arrays that a result of a call may alias."""
        name = call.op.name
        if name == "with_field" and call.args[0] in self.parts and not holds_arrays(call.args[1].type):
            self.parts[result] = self.parts[call.args[0]]
        if name == "local_array":
            return frozenset({BaseArray(result)})
        if name == "field":
            return self.field(call, result)
        if name == "gradient":
            arrays = self.points_to[call.args[0]]
            return frozenset(None if r is None else r._replace(is_grad=True) for r in arrays)
        if name in VIEWS or name in _STRUCTS:
            return self.union(call.args)
        return UNKNOWN

    def field(self, call: Call, result: Value) -> PointsTo:
        """One field of a struct: known exactly in a parameter, else any array of the struct."""
        struct = call.args[0]
        if struct not in self.parts:
            return self.union((struct,))
        param, path = self.parts[struct]
        at = (*path, call.attributes["name"])
        if isinstance(result.type, ArrayType):
            return frozenset({BaseArray(param, at)})
        self.parts[result] = (param, at)
        return frozenset(r for r in self.points_to[struct] if r is not None and r.path[: len(at)] == at)
