"""Recomputation of primal values: the forward half of an adjoint.

Guarantees: the copies compute what the originals computed in the launch, and change no memory. Stores,
atomics and output are left out. A read takes what the array holds now or what a copy from before the
launch holds, as `contents` says. What cannot be known again (the value that an atomic returned, an
element that was overwritten) becomes a call of `UNRECOVERABLE`; when it turns out to be needed, `refuse_unrecoverable`
raises.
"""

from __future__ import annotations

from typing import Any

from ....errors import CompilerError, NotDifferentiableError
from ...ir.builder import Builder
from ...ir.nodes import Call, Function, Node, Region, Value, walk
from ...ir.rewrite import Cloner
from ...ops.registry import ATOMIC, OUTPUT, READ, WRITE, Row
from ...types.arrays import ArrayType
from ..analysis.alias import BaseArray


def _never(target: Any, call: Call, args: list[Any]) -> list[Any]:
    raise CompilerError(f"{call.op.name} was emitted: a note of the reverse is in the program")


UNRECOVERABLE = Row(
    "unrecoverable", (), None, "A value that the reverse cannot know again.", value=_never, nondiff="it is not known"
)
CONSTANT = Row(
    "constant",
    (),
    None,
    "What an array without gradient held: reverse mode stops here, forward mode goes on.",
    value=_never,
    nondiff="an array without gradient holds constants",
)


class PrimalSource:
    """Where recomputed reads find what they read in the launch; this one: in the arrays as they are."""

    def array(self, call: Call, primals: Recompute) -> Value | None:
        """The array that a recomputed read goes to; None where nothing holds the element any more."""
        return primals.use(call.args[0])

    def holds(self, call: Call) -> bool:
        """Whether all arrays that native code, or a function that stayed a call, reads hold what they held."""
        return True

    def stale(self, call: Call) -> BaseArray | None:
        """An array that the gradient of a called function looks at, and that does not hold any more what it held."""
        return None

    def returned_value(self, call: Call, primals: Recompute) -> Value | None:
        """What an atomic returned, traced, or None where it is not known."""
        return None

    def is_settled(self, call: Call) -> bool:
        """Whether what the array holds after the launch tells who won an `atomic_min` or `atomic_max`."""
        return True


class Recompute(Cloner):
    """Copies nodes into the adjoint; `mapping` leads from values of the launch to the recomputed ones."""

    def __init__(self, mapping: dict[Value, Value], contents: PrimalSource, builder: Builder):
        super().__init__(mapping)
        self.contents, self.builder = contents, builder
        self.own: set[Value] | None = None
        """Arrays that a function made for itself, while its body is recomputed: nobody else knows them."""

    def inner(self, more: dict[Value, Value] | None = None) -> Recompute:
        """Recomputation of a region inside: what it defines stays there."""
        inner = Recompute({**self.mapping, **(more or {})}, self.contents, self.builder)
        inner.own = self.own
        return inner

    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            rewritten.extend(self.call(node) if isinstance(node, Call) else [self.node(node)])
        return rewritten

    def call(self, call: Call) -> list[Node]:
        if isinstance(call.op, Function):
            return self.function(call, call.op)
        if call.op.effect == OUTPUT and not call.attributes.get("replayed"):
            return []
        if call.op is CONSTANT:
            self.rename(call.results, self.uses(call.args))
            return []
        if self.own is not None and self.takes_own(call):
            self.own.update(r for r in call.results if isinstance(r.type, ArrayType))
            return [self.node(call)]
        if call.op.effect == ATOMIC:
            return self.atomic(call)
        if call.op.effect == WRITE and call.op.name != "local_array":
            return self.unrecoverable(call, f"what {call.op.name} returned")
        if call.op.opaque and call.op.effect == READ and not self.contents.holds(call):
            return self.unrecoverable(call, "elements that the kernel overwrote after native code had read them")
        if call.op.name == "load":
            return self.load(call)
        return [self.node(call)]

    def takes_own(self, call: Call) -> bool:
        """Whether a call makes an array of the function's own, or works on such arrays only: it runs again as it is."""
        arrays = [a for a in call.args if isinstance(a.type, ArrayType)]
        return call.op.name == "local_array" or (bool(arrays) and all(a in (self.own or ()) for a in arrays))

    def load(self, call: Call) -> list[Node]:
        traced = Region()
        with self.builder.inside(traced):
            array = self.contents.array(call, self)
        if array is None:
            return self.unrecoverable(call, "an element that the kernel overwrote after reading it")
        copy = self.node(call)
        assert isinstance(copy, Call)
        copy.args = (array, *copy.args[1:])
        return [*traced.nodes, copy]

    def atomic(self, call: Call) -> list[Node]:
        traced = Region()
        with self.builder.inside(traced):
            known = self.contents.returned_value(call, self)
        if known is None:
            return self.unrecoverable(call, f"the value that {call.op.name} returned")
        self.rename(call.results, (known,))
        return traced.nodes

    def function(self, call: Call, fn: Function) -> list[Node]:
        """The replay that the user declared, with its effects; else the body with none but on arrays of its own."""
        if fn.replay is not None:
            args = self.uses(call.args)
            return [Call(fn.replay, args, {}, results=self.define(call.results), location=call.location)]
        own = self.contents.holds(call) if fn.nondiff else fn.grad is not None and fn.is_pure
        if own:
            return [self.node(call)]  # as a call, so that a second differentiation finds the declaration too
        inner = Recompute(dict(zip(fn.params, self.uses(call.args), strict=True)), self.contents, self.builder)
        inner.own = set() if self.own is None else self.own
        nodes = inner.nodes(fn.body.nodes)
        self.rename(call.results, inner.uses(fn.body.yields))
        return nodes

    def unrecoverable(self, call: Call, what: str) -> list[Node]:
        if not call.results:
            return []
        return [Call(UNRECOVERABLE, (), {"what": what}, results=self.define(call.results), location=call.location)]


def refuse_unrecoverable(fn: Function) -> Function:
    """Return `fn`, or raise when it needs a value that is unrecoverable. Run it when nothing unneeded is left."""
    for node in walk(fn.body):
        if isinstance(node, Call) and node.op is UNRECOVERABLE:
            raise NotDifferentiableError(
                f"the gradient needs {node.attributes['what']}", node.location, help=_cure(node.attributes["what"])
            )
    return fn


def _cure(what: str) -> str:
    if "overwrote" in what:
        return "write the result to another array"
    if "native function" in what:
        return "give func_native a replay_snippet that finds it in what the launch left in the arrays"
    return "declare how it is found again with @wp.func_replay, or keep it in an array"
