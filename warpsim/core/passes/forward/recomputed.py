"""Forward mode of a launch that has been run: only tangents change, values are those of the launch.

Guarantees: the program changes no array of the kernel. It finds what the kernel read where the adjoint finds it:
in the arrays as they are after the launch, in copies from before it, or in what atomics returned (see
`primal_reads`). So whatever a tape keeps for the adjoint is enough to carry tangents through the launch, in
the same order as the launch, at any later time.
"""

from __future__ import annotations

from ...ir.nodes import Call, Function, Value
from ...ops.registry import ATOMIC, OUTPUT, PURE, READ
from ...ops.tangents import Tangent, TangentList, outcome_tangent, slots
from ...types.arrays import ArrayType
from ..analysis.alias import UNKNOWN
from ..reverse.extra_params import Extras, TangentOf
from ..reverse.primal_reads import PrimalReads
from ..reverse.recompute import UNRECOVERABLE, Recompute
from .tangent import Floats, Tangents, start


def recomputed_tangent(fn: Function, chosen: Floats, ndim: int) -> tuple[Function, Extras]:
    """Forward mode of a kernel that was launched, along what is chosen of its parameters.

    The result takes the parameters of `fn`, then contents that the launch must have kept (as for the
    adjoint), then a tangent for each. ndim: the indices of a thread.
    """
    pass_ = _Replayed(fn, ndim)
    tangents = start(pass_, fn.params, chosen)
    tangent = pass_.rewrite(fn, ())
    contents = pass_.contents.params
    tangent.body.params = (*fn.params, *contents.values(), *tangents)
    return tangent, (*contents, *(TangentOf(ref.position) for ref in chosen))


class _Replayed(Tangents):
    def __init__(self, fn: Function, ndim: int):
        super().__init__()
        self.contents = PrimalReads(fn, ndim)
        self.primals = Recompute({}, self.contents, self.builder)
        self.params = set(fn.params)
        self.local: set[Value] = set()
        """Arrays that the thread makes itself, inside functions as well."""

    def row(self, node: Call) -> None:
        arrays = [a for a in node.args if isinstance(a.type, ArrayType)]
        made_here = bool(arrays) or node.op.name == "local_array"  # else it may take an array out of a struct
        own = made_here and all(self.is_local(a) for a in arrays)
        if own and node.op.effect != OUTPUT:
            super().row(node)
            self.local.update(r for r in node.results if isinstance(r.type, ArrayType))
        elif node.op.effect == PURE:
            super().row(node)
        elif node.op.effect != OUTPUT:
            self.access(node)

    def is_local(self, array: Value) -> bool:
        """Whether an array can only be one that the thread made itself."""
        if array in self.local:
            return True
        sources = self.contents.dependences.points_to.get(array, UNKNOWN)
        return all(base is not None and base.holder not in self.params for base in sources)

    def access(self, node: Call) -> None:
        """Carry tangents through a read, write or atomic of memory, without doing it again."""
        if node.op.effect == READ:
            self.read(node)
        elif node.results:
            self.append_result(node)
        args, results = self.uses(node.args), self.uses(node.results)
        call = Call(node.op, args, node.attributes, results=results, location=node.location)
        arriving = self.of(node.args)
        if node.op.effect == ATOMIC:
            tangents = [self.unknown(t, node) for t in outcome_tangent(call, arriving)]
        else:
            tangents = self.tangents(call, arriving)
        self.duals.update(zip(node.results, tangents, strict=True))

    def unknown(self, tangent: Tangent, node: Call) -> Tangent:
        """The tangent of what an atomic returned depends on the order of threads: it cannot be known again."""
        result = Value(node.results[0].type)
        what = f"the derivative of what {node.op.name} returned"
        self.append(Call(UNRECOVERABLE, (), {"what": what}, results=(result,)))
        return dict.fromkeys(tangent, result)

    def read(self, node: Call) -> None:
        """Append what gives the element that was read in the launch."""
        array = self.contents.array(node, self.primals)
        if array is None or (node.row.opaque and not self.contents.holds(node)):
            self.unrecoverable(node, "an element that the kernel overwrote after reading it")
            return
        args = self.uses(node.args) if node.row.opaque else (self.use(array), *self.uses(node.args[1:]))
        self.append(Call(node.op, args, node.attributes, results=node.results, location=node.location))

    def append_result(self, node: Call) -> None:
        """Append what gives what an atomic returned in the launch."""
        known = self.contents.returned_value(node, self.primals) if node.op.effect == ATOMIC else None
        if known is None:
            self.unrecoverable(node, f"what {node.op.name} returned")
        else:
            self.rename(node.results, (known,))

    def unrecoverable(self, node: Call, what: str) -> None:
        self.append(Call(UNRECOVERABLE, (), {"what": what}, results=node.results, location=node.location))

    def function(self, call: Call, tangents: TangentList) -> None:
        """A function with a replay of its own uses it where no tangent passes through."""
        if call.op.nondiff:
            for node in self.primals.function(call, call.callee):
                self.append(node)
            self.rename(call.results, self.primals.uses(call.results))
            return
        moves = any(tangents) or any(slots(v.type) for v in (*call.args, *call.results))
        if call.callee.replay is None or moves:
            super().function(call, tangents)
        else:
            self.append(Call(call.callee.replay, call.args, {}, results=call.results, location=call.location))
