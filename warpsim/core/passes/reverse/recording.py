"""Recording form of a kernel: it notes for its adjoint what atomics returned.

Guarantees: the kernel does what it did, and stores the results that `primal_reads.recorded_atomics` lists in
arrays with an element per thread, which are parameters after its own.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.builder import Builder
from ...ir.nodes import Call, Function, Node, Region, Value
from ...ir.rewrite import Rewriter
from ...ops import memory
from ...types.arrays import array_type
from .extra_params import Extras, Returned
from .primal_reads import recorded_atomics, thread_index


def recording(fn: Function, ndim: int) -> tuple[Function, Extras]:
    """The kernel with its notes, and what its further parameters are. ndim: the indices of a thread."""
    rank = max(1, ndim)
    arrays = {c: Value(array_type(c.results[0].type, rank), "returned") for c in recorded_atomics(fn)}
    body = _Recorder(arrays, rank).region(fn.body)
    extras = tuple(Returned(k) for k in range(len(arrays)))
    whole = Region((*fn.params, *arrays.values()), body.nodes, body.yields)
    return replace(fn, name=f"rec_{fn.name}", body=whole), extras


class _Recorder(Rewriter):
    def __init__(self, arrays: dict[Call, Value], rank: int):
        super().__init__()
        self.arrays, self.rank = arrays, rank

    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            rewritten.append(self.node(node))
            if isinstance(node, Call) and node in self.arrays:
                rewritten.extend(self.note(node))
        return rewritten

    def note(self, call: Call) -> list[Node]:
        builder = Builder(Region(), call.location)
        with builder.active():
            index = thread_index(builder, self.rank)
            memory.store(self.arrays[call], *index, call.results[0])
        return builder.region.nodes
