"""Forward mode, IR to IR: a program that computes the derivative along one direction beside the values.

Guarantees: the result does all that the program does, and each float carries its tangent along: exact for
branches, loops, element updates, local arrays, structs and views, by the same rules as reverse mode. It
keeps nothing and recomputes nothing, so it costs about as much again as the program. Tangents of an array
lie in a second array, a parameter behind the parameters of the program.

A function whose gradient the user wrote gets the transpose of that gradient, if the gradient has no effects
(see `transpose`); else its body is differentiated. Atomics whose outcome depends on the order of
threads (`min`, `max`, an exchange, a sum whose old value is used) have the right tangents only when threads
run one after the other: `needs_one_thread` tells. What has no tangent raises `NotDifferentiableError`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....errors import NotDifferentiableError
from ...ir.def_use import used_values
from ...ir.nodes import Call, Function, Value, walk
from ...ir.rewrite import Cloner
from ...ops import construct
from ...ops.registry import PURE, TABLE
from ...ops.tangents import TangentList, has_floats, needs_order, slots
from ...types.array_ref import ArrayRef
from ...types.arrays import ArrayType
from ..simplify.inline import inline
from .duals import Duals
from .transpose import pushed_forward

Floats = dict[ArrayRef, Any]
"""What can have tangents, arrays of floats and floats, in parameters and in structs among them, with their types."""


def float_params(params: tuple[Value, ...]) -> Floats:
    """What can have tangents in a program's parameters."""
    return {ArrayRef(k, path): t for k, p in enumerate(params) for path, t in slots(p.type)}


def chosen_floats(params: tuple[Value, ...], names: Iterable[str]) -> Floats:
    """What the names stand for, in the order of parameters; the name of a struct means its floats."""
    chosen, hints = set(names), [p.hint for p in params]
    return {
        ref: t
        for ref, t in float_params(params).items()
        if ref.name(hints) in chosen or (hints[ref.position] in chosen and not isinstance(t, ArrayType))
    }


def tangent(fn: Function, chosen: Floats) -> Function:
    """Forward mode of a kernel along what is chosen of its parameters; its calls are inlined, but kept ones.

    The result takes the parameters of `fn` and then a tangent for each, of the same type. An array that is not chosen
    holds constants: what is stored there has no tangent afterwards.
    """
    pass_ = Tangents()
    return inline(pass_.rewrite(fn, start(pass_, fn.params, chosen)))


def start(pass_: Duals, params: tuple[Value, ...], chosen: Floats, word: str = "tangent") -> tuple[Value, ...]:
    """Give what is chosen of parameters tangents, which are further parameters."""
    hints = [p.hint for p in params]
    tangents = tuple(Value(t, f"{ref.name(hints)}.{word}") for ref, t in chosen.items())
    for ref, value in zip(chosen, tangents, strict=True):
        pass_.duals.setdefault(params[ref.position], {})[ref.path] = value
    return tangents


def needs_one_thread(fn: Function) -> bool:
    """Whether the tangents that a program computes are right only when its threads run in order."""
    used = used_values(fn.body)
    return any(isinstance(n, Call) and needs_order(n, used) for n in walk(fn.body))


class Tangents(Duals):
    """Appends, after each call, what computes the tangents of its results."""

    def call(self, node: Call) -> None:
        if isinstance(node.op, Function):
            self.function(self.rename_operands(node), self.of(node.args))
        elif node.op.name == "arrived":
            self.arrived(node)
        else:
            self.row(node)

    def row(self, node: Call) -> None:
        """Append a row and its tangents."""
        call = self.rename_operands(node)
        self.append(call)
        for result, tangent in zip(call.results, self.tangents(call, self.of(node.args)), strict=True):
            if tangent:
                self.duals[result] = tangent

    def arrived(self, node: Call) -> None:
        """Append the test whether a sum of cotangents is to be added: its tangent may be all that there is to add."""
        call = self.rename_operands(node)
        self.append(call)
        [outcome] = call.results
        for tangent in self.of(node.args[:1])[0].values():
            outcome = TABLE["bit_or"](outcome, TABLE["arrived"](tangent, construct.zero(tangent)))
        self.rename(node.results, (outcome,))

    def tangents(self, call: Call, tangents: TangentList) -> TangentList:
        """Tangents of the results of a row."""
        row = call.row
        nothing: TangentList = [{} for _ in call.results]
        if row.opaque and row.tangent_rule is None and any(tangents):
            raise NotDifferentiableError(
                f"native code has no tangent: {row.doc or row.name}",
                call.location,
                help="write it in the kernel language, or keep it out of what is differentiated",
            )
        if row.tangent_rule is not None:
            return list(row.tangent_rule(call, tangents))
        if not any(tangents) or not any(has_floats(r.type) for r in call.results):
            return nothing
        if row.nondiff and row.effect == PURE:
            return nothing  # piecewise constant
        if row.adjoint_rule is None or row.effect != PURE:
            raise NotDifferentiableError(
                f"{row.name} has no tangent: {row.nondiff or 'none is declared'}",
                call.location,
                help="keep it out of what is differentiated",
            )
        pushed = pushed_forward(self.builder, call, tangents)
        assert pushed is not None, "rows raise"
        return pushed

    def function(self, call: Call, tangents: TangentList) -> None:
        """A function that was kept for its gradient, or because it has none; others have been inlined."""
        if call.op.nondiff:
            self.append(call)
            return
        pure = not any(isinstance(a.type, ArrayType) for a in call.args)
        if call.callee.grad is not None and pure:
            self.append(call)
            pushed = pushed_forward(self.builder, call, tangents)
            if pushed is not None:
                for result, tangent in zip(call.results, pushed, strict=True):
                    self.duals[result] = tangent
                return
            self.builder.region.nodes.pop()
        self.body(call, tangents)

    def body(self, call: Call, tangents: TangentList) -> None:
        """Differentiate the body of a function in the place of a call."""
        inlined = inline(call.callee, keep_gradients=True).body
        copy = Cloner(dict(zip(inlined.params, call.args, strict=True)))
        nodes = copy.nodes(inlined.nodes)
        ends = copy.uses(inlined.yields)
        self.duals.update(zip(call.args, tangents, strict=True))
        for node in nodes:
            self.visit(node)
        self.rename(call.results, self.uses(ends))
        self.duals.update(zip(call.results, self.of(ends), strict=True))
