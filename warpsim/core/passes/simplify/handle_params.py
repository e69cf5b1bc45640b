"""Handle parameters: the structures that a kernel reaches by ids become parameters.

Guarantees: `with_handle_params` gives a program that means the same and takes the structs behind ids as further
parameters, as long as it is called with the structs that the ids stand for. So all that is known about arrays in
struct parameters (which are read, which have gradients, which were overwritten) holds for structures too, and a derived
program works on a structure as it was at its launch, whatever became of it. Known are ids that come from
parameters, or fields of struct parameters, through whatever structs, branches and loops; those out of
memory stay with `resolve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

from ...ir.nodes import Call, Constant, Function, Node, Region, Value, walk
from ...ir.rewrite import Rewriter
from ...types import structs
from ...types.scalars import uint64
from ..analysis.dataflow import Dataflow

Fields = tuple[str, ...]
Origin = tuple[int, Fields]
"""The position of a parameter, and the fields that lead to an id in it."""
Ids = dict[Fields, Origin | None]
"""The ids in a value, by the fields that lead to them; None for what comes from elsewhere."""


class HandleParam(NamedTuple):
    """An id among the arguments of a kernel, and the type of the struct it stands for."""

    position: int
    path: Fields
    type: Any


def handle_params(fn: Function) -> tuple[HandleParam, ...]:
    """The structures that a kernel reaches by ids known from its parameters, in order."""
    ids = _Ids(fn).ids
    handles = {r for call in resolving_calls(fn) if (r := _handle_param(call, ids)) is not None}
    return tuple(sorted(handles, key=lambda r: (r.position, r.path, r.type.key)))


def resolving_calls(fn: Function) -> list[Call]:
    """The calls in a function that resolve ids."""
    return [node for node in walk(fn.body) if isinstance(node, Call) and node.op.name == "resolve"]


def with_handle_params(fn: Function, known: Sequence[HandleParam]) -> Function:
    """`fn` with a parameter behind its own for each of the known structures."""
    if not known:
        return fn
    params = fn.params
    values = {r: Value(r.type, ".".join((params[r.position].hint, *r.path))) for r in known}
    body = _ByValue(_Ids(fn).ids, values).region(fn.body)
    return replace(fn, body=Region((*params, *values.values()), body.nodes, body.yields))


def _handle_param(call: Call, ids: dict[Value, Ids]) -> HandleParam | None:
    origin = ids.get(call.args[0], {}).get(())
    return None if origin is None else HandleParam(*origin, call.results[0].type)


class _ByValue(Rewriter):
    def __init__(self, ids: dict[Value, Ids], values: dict[HandleParam, Value]):
        super().__init__()
        self.ids, self.made = ids, values

    def nodes(self, nodes: list[Node]) -> list[Node]:
        rest = []
        for node in nodes:
            if isinstance(node, Call) and node.op.name == "resolve":
                param = _handle_param(node, self.ids)
                if param in self.made:
                    self.rename(node.results, (self.made[param],))
                    continue
            rest.append(self.node(node))
        return rest


class _Ids(Dataflow):
    """Follows ids from the parameters of a function, until nothing changes: `ids` has them by value."""

    def __init__(self, fn: Function):
        self.ids: dict[Value, Ids] = {p: {path: (k, path) for path in _places(p.type)} for k, p in enumerate(fn.params)}
        self.region(fn.body)

    def fact(self, value: Value) -> Ids:
        if isinstance(value, Constant):
            return dict.fromkeys(_places(value.type))
        return self.ids.get(value, {})

    def call(self, call: Call) -> None:
        for result in call.results:
            places = _places(result.type)
            if places:
                self.ids[result] = self.ids_in(call, places)

    def ids_in(self, call: Call, places: tuple[Fields, ...]) -> Ids:
        """What the result of a call holds."""
        name, field = call.op.name, str(call.attributes.get("name"))
        if name == "field":
            return {path[1:]: origin for path, origin in self.fact(call.args[0]).items() if path[0] == field}
        if name == "with_field":
            others = {path: origin for path, origin in self.fact(call.args[0]).items() if path[0] != field}
            return others | {(field, *path): origin for path, origin in self.fact(call.args[1]).items()}
        if name == "construct" and structs.is_struct(call.results[0].type):
            fields = zip(call.results[0].type.fields, call.args, strict=True)
            return {(f, *path): origin for f, part in fields for path, origin in self.fact(part).items()}
        if name == "where":
            return _common(self.fact(call.args[1]), self.fact(call.args[2]))
        return dict.fromkeys(places)

    def join(self, targets: tuple[Value, ...], *sources: tuple[Value, ...]) -> None:
        for target, *values in zip(targets, *sources, strict=True):
            if _places(target.type):
                self.ids[target] = reduce(_common, map(self.fact, values))


def _common(a: Ids, b: Ids) -> Ids:
    return {path: origin if b.get(path) == origin else None for path, origin in a.items()}


def _places(t: Any) -> tuple[Fields, ...]:
    """Where ids can be in a value of a type."""
    return tuple(_walk_places(t))


def _walk_places(t: Any) -> Iterator[Fields]:
    if t is uint64:
        yield ()
    elif structs.is_struct(t):
        for name, field in t.fields.items():
            yield from ((name, *rest) for rest in _walk_places(field))
