"""The grammar of the intermediate representation: typed, structured, single assignment.

    Function  ::= name(params) -> result types, body: Region
    Region    ::= (params) { Node* ; yields }
    Node      ::= results = Call(op, args, attributes)
               |  results = If(condition, then: Region, orelse: Region)
               |  results = For(start, stop, step, init, body: Region(index, *carried))
               |  results = While(init, before: Region(*carried) yields (go_on, *passed),
                                         body: Region(*passed) yields (*carried))
    Value     ::= a result or a region parameter, with a type;  Constant is a Value with a literal

There is no other control flow: the front end turns `break`, `continue` and early `return` into
flags and guarded regions. A region sees the values of the regions around it. What leaves a region
leaves through `yields`, so reverse passes need no search for assignments. `While` hands the values
that its test computed on to the body, and when the test fails they are its results.

Every node keeps the place in the user's source that it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import Location
from ..types.arrays import type_name


class Operation(Protocol):
    """What passes ask of an op: a row of the registry (`ops.registry.Row` says what each part means)."""

    @property
    def name(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def effect(self) -> str: ...
    @property
    def value(self) -> Callable[..., Any] | None: ...
    @property
    def numpy(self) -> Callable[..., Any] | None: ...
    @property
    def expansion(self) -> Callable[..., Any] | None: ...
    @property
    def adjoint_rule(self) -> Callable[..., Any] | None: ...
    @property
    def tangent_rule(self) -> Callable[..., Any] | None: ...
    @property
    def nondiff(self) -> str: ...
    @property
    def jumps(self) -> bool: ...
    @property
    def opaque(self) -> bool: ...
    @property
    def reads(self) -> frozenset[int]: ...
    @property
    def writes(self) -> frozenset[int]: ...
    @property
    def contends(self) -> bool: ...
    @property
    def ulps(self) -> int: ...
    @property
    def signature(self) -> Callable[[], str]: ...
    @property
    def evaluate(self) -> Callable[..., Any]: ...
    @property
    def cotangents(self) -> Callable[..., tuple[Value | None, ...]]: ...


if TYPE_CHECKING:
    Operator = Callable[["Value", Any], "Value"]


class Value:
    """A typed result or parameter; `hint` is a readable name for dumps."""

    __slots__ = ("hint", "type")

    if TYPE_CHECKING:  # `builder` installs these; what they mean is the business of `ops`
        __add__: Operator
        __radd__: Operator
        __sub__: Operator
        __rsub__: Operator
        __mul__: Operator
        __rmul__: Operator
        __truediv__: Operator
        __rtruediv__: Operator
        __floordiv__: Operator
        __mod__: Operator
        __lt__: Operator
        __le__: Operator
        __gt__: Operator
        __ge__: Operator
        __getitem__: Operator
        __neg__: Callable[[Value], Value]

    def __init__(self, type: Any, hint: str = ""):
        self.type, self.hint = type, hint

    def __repr__(self) -> str:
        return f"<{self.hint or 'value'}: {type_name(self.type)}>"


class Constant(Value):
    """A literal of a scalar, compound or struct type; `value` is a host value of that type."""

    __slots__ = ("value",)

    def __init__(self, type: Any, value: Any):
        super().__init__(type)
        self.value = value

    def __repr__(self) -> str:
        return f"{self.value}: {type_name(self.type)}"


@dataclass(eq=False)
class Region:
    """A list of nodes with parameters on entry and yields on exit."""

    params: tuple[Value, ...] = ()
    nodes: list[Node] = field(default_factory=list)
    yields: tuple[Value, ...] = ()


@dataclass(eq=False, kw_only=True)
class Node:
    """Base of the four statements."""

    results: tuple[Value, ...] = ()
    location: Location | None = None
    trips: float | None = None
    """How often a loop is expected to run, where the pass that made it knows: for estimates alone."""

    def operands(self) -> tuple[Value, ...]:
        raise NotImplementedError

    def regions(self) -> tuple[Region, ...]:
        return ()


@dataclass(eq=False)
class Call(Node):
    """Apply an op (or call a Function); `attributes` are compile-time facts such as a field name."""

    op: Operation | Function
    args: tuple[Value, ...]
    attributes: dict[str, Any] = field(default_factory=dict)

    def operands(self) -> tuple[Value, ...]:
        return self.args

    @property
    def row(self) -> Operation:
        """The op, where this is known to call no function."""
        assert not isinstance(self.op, Function)
        return self.op

    @property
    def callee(self) -> Function:
        """The function, where this is known to call one."""
        assert isinstance(self.op, Function)
        return self.op


@dataclass(eq=False)
class If(Node):
    condition: Value
    then: Region
    orelse: Region

    def operands(self) -> tuple[Value, ...]:
        return (self.condition,)

    def regions(self) -> tuple[Region, ...]:
        return (self.then, self.orelse)


@dataclass(eq=False)
class For(Node):
    """Count from `start` towards `stop` by `step` (never zero), carrying values round."""

    start: Value
    stop: Value
    step: Value
    init: tuple[Value, ...]
    body: Region

    @property
    def index(self) -> Value:
        return self.body.params[0]

    @property
    def carried(self) -> tuple[Value, ...]:
        """The loop-carried values at the start of an iteration."""
        return self.body.params[1:]

    def operands(self) -> tuple[Value, ...]:
        return (self.start, self.stop, self.step, *self.init)

    def regions(self) -> tuple[Region, ...]:
        return (self.body,)


@dataclass(eq=False)
class While(Node):
    init: tuple[Value, ...]
    before: Region
    body: Region

    @property
    def carried(self) -> tuple[Value, ...]:
        """The loop-carried values at the start of an iteration."""
        return self.before.params

    @property
    def test(self) -> Value:
        """Whether the body runs once more."""
        return self.before.yields[0]

    @property
    def passed(self) -> tuple[Value, ...]:
        """What the test hands on to the body, and to the results."""
        return self.before.yields[1:]

    def operands(self) -> tuple[Value, ...]:
        return self.init

    def regions(self) -> tuple[Region, ...]:
        return (self.before, self.body)


@dataclass(eq=False)
class Function:
    """A kernel (no results; one run per thread) or a user function at given argument types."""

    name: str
    body: Region
    location: Location | None = None
    effect: str = "call"
    """Callers treat a call as having any effect until it is inlined; of a shared function, that it reads."""
    grad: Function | None = None
    """The user's adjoint: from parameters and a cotangent per result to one per parameter that has one."""
    replay: Function | None = None
    """What computes the results again in reverse; of the same signature."""
    nondiff: str = ""
    """Why its results have no derivative, as rows say it; empty if they have one."""
    flat: Function | None = field(default=None, init=False, repr=False)
    """The same with its own calls expanded, once a pass made it."""

    @property
    def is_custom(self) -> bool:
        """Whether its reverse is not derived from its body alone."""
        return self.grad is not None or self.replay is not None

    @property
    def is_pure(self) -> bool:
        """Whether it reads and changes no memory, nor does what it calls."""
        calls = [node.op for node in walk(self.body) if isinstance(node, Call)]
        return all(op.is_pure if isinstance(op, Function) else not op.effect for op in calls)

    @property
    def params(self) -> tuple[Value, ...]:
        return self.body.params

    @property
    def result_types(self) -> tuple[Any, ...]:
        return tuple(v.type for v in self.body.yields)


def walk(region: Region) -> Iterator[Node]:
    """Every node of a region, outer nodes before the nodes inside them."""
    ahead = [iter(region.nodes)]  # no recursion: a node deep inside would go through a generator for each level
    while ahead:
        for node in ahead[-1]:
            yield node
            inside = node.regions()
            if inside:
                ahead.extend(iter(inner.nodes) for inner in reversed(inside))
                break
        else:
            ahead.pop()


def callees(region: Region) -> list[Function]:
    """The functions that a region calls, each once, in the order of their first calls."""
    return list(dict.fromkeys(n.op for n in walk(region) if isinstance(n, Call) and isinstance(n.op, Function)))


def walk_all(fn: Function) -> Iterator[Node]:
    """Every node of a program, and of its shared functions, each once."""
    for part in (fn, *callees(fn.body)):
        yield from walk(part.body)


def count(region: Region) -> int:
    """The number of nodes, nested ones included."""
    return sum(1 for _ in walk(region))
