"""Reverse mode, IR to IR: the adjoint of a kernel is a kernel.

Guarantees: for a kernel whose calls are inlined (but those of functions with gradients of their own), the
result takes the same parameters and more (see `Adjoint`), and run over the same threads adds to the
gradient arrays what the chain rule says, exactly, for any nesting of branches and loops, `break`,
`continue`, early return, element updates and overwritten elements. What cannot be reversed exactly is an
error. It writes gradient arrays alone, so running it changes no data.

How a region is reversed: its primal values are recomputed (`recompute`), then visited
backwards; the rule of each row gives cotangents of its operands. A branch recomputes and reverses the side
that was taken. Loops are reversed iteration by iteration, see `adjoint_loops`. Recomputation writes nothing:
what it reads is in the arrays after the launch, or in copies from before it, as `primal_reads` finds out.

Cotangents of values from outside a branch or loop leave it through its results, so the adjoint is in
single assignment like every program, and can be differentiated again.
"""

from __future__ import annotations

from dataclasses import replace

from ....errors import NotDifferentiableError
from ...ir.builder import Builder, constant
from ...ir.def_use import captured_values
from ...ir.nodes import Call, For, Function, If, Node, Region, Value, While
from ...ops import memory
from ...ops.debug import print_adjoints
from ...ops.registry import ATOMIC, READ, WRITE
from ...types.array_ref import array_refs
from ...types.arrays import array_type
from ...types.cotangents import has_cotangent
from ...types.scalars import int32
from ..analysis.activity import MAYBE, NO, Activity, is_blind, is_nondiff_function, replayed_body
from ..analysis.alias import BaseArray
from ..simplify.dce import dce
from ..simplify.inline import inline
from .adjoint_loops import Loops
from .checkpoints import BYTES_TO_CARRY, budget_of
from .cotangents import Cotangents
from .extra_params import Extras, GradientSum
from .invariant_reads import InvariantReads
from .primal_reads import PrimalReads
from .promote_memory import promote_memory
from .recompute import PrimalSource, Recompute, refuse_unrecoverable


class Reverser(Loops):
    """Emits recomputation and reverse sweeps into the open region of `builder`."""

    def __init__(self, builder: Builder, active: Activity, budget: int, prints: bool = False):
        self.builder, self.active, self.budget, self.prints = builder, active, budget, prints
        self.invariant_reads = InvariantReads(active)

    def both_ways(self, nodes: list[Node], primals: Recompute, cotangents: Cotangents) -> None:
        """Recompute the nodes, then reverse them. `cotangents` holds those of the nodes' results."""
        self.run_again(nodes, primals)
        self.reverse(nodes, primals, cotangents)

    def run_again(self, nodes: list[Node], primals: Recompute) -> None:
        self.builder.region.nodes.extend(primals.nodes(nodes))

    def reverse(self, nodes: list[Node], primals: Recompute, cotangents: Cotangents) -> None:
        """Visit nodes backwards whose primal values are known."""
        for node in reversed(nodes):
            with self.builder.at(node.location):
                if isinstance(node, Call):
                    self.reverse_call(node, primals, cotangents)
                elif isinstance(node, If):
                    self.reverse_branch(node, primals, cotangents)
                else:
                    assert isinstance(node, For | While)
                    self.reverse_loop(node, primals, cotangents)

    # ----- calls ----------------------------------------------------------------------------

    def reverse_call(self, call: Call, primals: Recompute, cotangents: Cotangents) -> None:
        arrived = any(r in cotangents for r in call.results)
        if isinstance(call.op, Function):
            self.reverse_function(call, primals, cotangents, arrived)
            return
        if self.prints and shows_adjoints(call):
            self.print_adjoints(call, cotangents)
            return
        status = self.active.about(call)
        if not self.matters(call, arrived, status):
            return
        self.refuse_unknown(call, arrived, primals)
        if call in self.invariant_reads.elements:
            cotangents.contribute(self.invariant_reads.elements[call], cotangents.take(call.results[0]))
        elif status is MAYBE:
            self.reverse_if_gradient(call, primals, cotangents)
        else:
            self.apply_rule(call, primals, cotangents)

    def print_adjoints(self, call: Call, cotangents: Cotangents) -> None:
        """Print the cotangents that values had where the kernel prints the values themselves."""
        seen = [cotangents.so_far(arg) if arg in self.active else None for arg in call.args]
        if any(cotangent is not None for cotangent in seen):
            print_adjoints(call.attributes["format"], [arg.type for arg in call.args], seen)

    def matters(self, call: Call, arrived: bool, status: str) -> bool:
        """Whether a call moves cotangents: an access does where the array has a gradient."""
        if call.op.effect in (WRITE, ATOMIC, READ):
            return status is not NO and (arrived or call.op.effect != READ)
        return arrived and not is_blind(call)

    def refuse_unknown(self, call: Call, arrived: bool, primals: Recompute) -> None:
        if call.row.adjoint_rule is None:
            raise NotDifferentiableError(
                f"{call.op.name} has no derivative: {call.op.nondiff or 'none is declared'}",
                call.location,
                help="keep it out of what is differentiated, or declare a derivative with @wp.func_grad",
            )
        if call.op.effect in (READ, WRITE, ATOMIC) and self.active.is_local(call.args[0]):
            raise refused_local(call, self.active.is_checkpoint(call.args[0]))
        if call.op.name in ("atomic_min", "atomic_max") and not primals.contents.is_settled(call):
            raise NotDifferentiableError(
                f"the kernel may change an element again after {call.op.name}: who won is not known any more",
                call.location,
                help="change the array in a second launch",
            )
        if arrived and call.op.effect == ATOMIC:
            raise NotDifferentiableError(
                f"the value that {call.op.name} returns depends on the order of threads: its derivative is not known",
                call.location,
                help="do not use the returned value, or take it from an array in a second launch",
            )

    def apply_rule(self, call: Call, primals: Recompute, cotangents: Cotangents) -> None:
        outs = primals.uses(call.results)
        douts = [cotangents.take(r) if r in cotangents else None for r in call.results]
        contributions = call.row.cotangents(primals.uses(call.args), outs, douts, call.attributes)
        for arg, contribution in zip(call.args, contributions, strict=True):
            if arg in self.active:
                cotangents.contribute(arg, contribution)

    def reverse_if_gradient(self, call: Call, primals: Recompute, cotangents: Cotangents) -> None:
        """Only the run can tell whether the array has a gradient."""
        inner = Cotangents({r: cotangents.take(r) for r in call.results if r in cotangents})
        then = Region()
        with self.builder.inside(then):
            self.apply_rule(call, primals, inner)
        reached = [a for a in dict.fromkeys(call.args) if a in inner]
        then.yields = tuple(inner[a] for a in reached)
        nothing = Region(yields=tuple(Cotangents().take(a) for a in reached))
        there = memory.has_gradient(primals.use(call.args[0]))
        for arg, contribution in zip(reached, self.builder.branch(there, then, nothing), strict=True):
            cotangents.contribute(arg, contribution)

    def reverse_function(self, call: Call, primals: Recompute, cotangents: Cotangents, arrived: bool) -> None:
        """A function with a gradient of its own uses it; one that only has a replay is reversed in place."""
        if is_nondiff_function(call):
            return
        if body := replayed_body(call):
            params = dict(zip(body.params, primals.uses(call.args), strict=True))
            inner = Recompute(params, primals.contents, primals.builder)
            contributions = Cotangents()
            for value, result in zip(body.yields, call.results, strict=True):
                if result in cotangents:
                    contributions.contribute(value, cotangents.take(result))
            self.both_ways(body.nodes, inner, contributions)
            for param, arg in zip(body.params, call.args, strict=True):
                if arg in self.active:
                    cotangents.contribute(arg, contributions.pop(param, None))
        elif arrived or self.active.reach(call) != NO:
            self.refuse_stale(call, primals)
            seeds = [cotangents.take(r) for r in call.results]
            grad = call.callee.grad
            assert grad is not None
            answer = self.builder.call(grad, (*primals.uses(call.args), *seeds), grad.result_types)
            grads = answer if isinstance(answer, tuple) else () if answer is None else (answer,)
            differentiable = [a for a, p in zip(call.args, call.callee.params, strict=True) if has_cotangent(p.type)]
            for arg, contribution in zip(differentiable, grads, strict=True):
                if arg in self.active:
                    cotangents.contribute(arg, contribution)

    def refuse_stale(self, call: Call, primals: Recompute) -> None:
        """The user's gradient looks at arrays as the launch left them: that must be what the function saw."""
        base = primals.contents.stale(call)
        if base is not None:
            name = base.holder.hint or "an array"
            raise NotDifferentiableError(
                f"the gradient of {call.op.name!r} looks at {name!r}, which the kernel changes after the call",
                call.location,
                help="write the result to another array",
            )

    # ----- branches -------------------------------------------------------------------------

    def reverse_branch(self, node: If, primals: Recompute, cotangents: Cotangents) -> None:
        seeds = [cotangents.take(r) if r in cotangents else None for r in node.results]
        arms, cotangents_of_arms = [], []
        for region in node.regions():
            arm, inner = Region(), Cotangents(around=cotangents)
            for value, seed in zip(region.yields, seeds, strict=True):
                if value in self.active:
                    inner.contribute(value, seed)
            with self.builder.inside(arm):
                self.both_ways(region.nodes, primals.inner(), inner)
            arms.append(arm)
            cotangents_of_arms.append(inner)
        known = [v for v in captured_values(node) if v in self.active] + self.invariant_reads.within(node)
        outer = [v for v in known if any(v in inner for inner in cotangents_of_arms)]
        for arm, inner in zip(arms, cotangents_of_arms, strict=True):
            arm.yields = tuple(inner.take(v) for v in outer)
        if not any(arm.nodes or arm.yields for arm in arms):
            return
        results = self.builder.branch(primals.use(node.condition), *arms)
        for value, contribution in zip(outer, results, strict=True):
            cotangents.contribute(value, contribution)


def refused_local(call: Call, checkpoint: bool) -> NotDifferentiableError:
    """The error about a local array; `checkpoint`: it holds states of a reversed loop."""
    if checkpoint:
        return NotDifferentiableError(
            "a derivative is taken of wp.grad through a loop that carries more than numbers, vectors and matrices",
            call.location,
            help="carry these, give the loop a constant number of iterations, or declare the derivative "
            "with @wp.func_grad",
        )
    return NotDifferentiableError(
        "a local array that is passed on, chosen, too large, or of structs carries a derivative",
        call.location,
        help="index the array directly, or use an array argument",
    )


def shows_adjoints(node: Node) -> bool:
    """Whether a node is a `print`, which shows the cotangents of its values in the adjoint."""
    return isinstance(node, Call) and bool(node.attributes.get("shows_adjoints"))


def adjoint(fn: Function, gradients: frozenset[str], ndim: int, prints: bool = False) -> tuple[Function, Extras]:
    """The adjoint of a kernel, and its parameters after those of the kernel.

    gradients: names of array parameters that have a gradient, of arrays in struct parameters
    (`"s.x"`), and of other parameters whose gradient is wanted. ndim: the indices of a thread. prints: show the
    cotangents of what the kernel prints.
    """
    with_gradient, sources = choose(fn, gradients)
    active = Activity(fn, with_gradient, sources, ())
    region = Region(tuple(Value(p.type, p.hint) for p in fn.params))
    contents = PrimalReads(fn, ndim)
    builder, cotangents = Builder(region), Cotangents()
    primals = Recompute(dict(zip(fn.params, region.params, strict=True)), contents, builder)
    with builder.active():
        Reverser(builder, active, budget_of(fn.body, active), prints).both_ways(fn.body.nodes, primals, cotangents)
        extras = dict(contents.params)
        for k, p in enumerate(fn.params):
            if p in sources:
                total = extras[GradientSum(k)] = Value(array_type(p.type, 1), f"d_{p.hint}")
                memory.add_into(total, [constant(int32, 0)], cotangents.take(p))
    region.params = (*region.params, *extras.values())
    return replace(fn, name=f"adj_{fn.name}", body=region), tuple(extras)


def choose(fn: Function, gradients: frozenset[str]) -> tuple[frozenset[BaseArray], list[Value]]:
    """The arrays and the other parameters that names mean."""
    names = [p.hint for p in fn.params]
    named = (ref for ref in array_refs([p.type for p in fn.params]) if ref.name(names) in gradients)
    with_gradient = frozenset(BaseArray(fn.params[ref.position], ref.path) for ref in named)
    sources = [p for p in fn.params if p.hint in gradients and has_cotangent(p.type)]
    return with_gradient, sources


def vjp(fn: Function, with_gradient: frozenset[BaseArray] | None = None) -> Function:
    """From the parameters of a function and a cotangent per result that has one to those of the parameters.

    The function changes no memory; the result yields a cotangent per parameter of a type that has one, and adds
    to the gradients of the arrays `with_gradient` (None: of all).
    """
    whole = inline(promote_memory(inline(fn, keep_gradients=True)), keep_gradients=True)
    body = whole.body
    seeded = [v for v in body.yields if has_cotangent(v.type)]
    differentiable = [p for p in body.params if has_cotangent(p.type)]
    active = Activity(whole, with_gradient, differentiable, seeded)
    params, seeds = (tuple(Value(v.type, v.hint) for v in part) for part in (body.params, seeded))
    region, cotangents = Region((*params, *seeds)), Cotangents()
    builder = Builder(region)
    primals = Recompute(dict(zip(body.params, params, strict=True)), PrimalSource(), builder)
    with builder.active():
        for value, seed in zip(seeded, seeds, strict=True):
            cotangents.contribute(value, seed)
        budget = budget_of(body, active, BYTES_TO_CARRY)
        Reverser(builder, active, budget).both_ways(body.nodes, primals, cotangents)
        region.yields = tuple(cotangents.take(p) for p in differentiable)
    return refuse_unrecoverable(dce(Function(f"adj_{fn.name}", region, fn.location), total=True))
