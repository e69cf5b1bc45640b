"""Marking form of a kernel: it notes in the gradients of its arrays which elements it writes.

Guarantees: the kernel does what it did. Where the gradient of an array holds ones beforehand, it holds zeros afterwards
where the kernel stored last, more than one where it updated by an atomic what it had not stored, and ones elsewhere.
An array without a gradient is left alone.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.builder import Builder
from ...ir.nodes import Call, Function, If, Node, Region, walk
from ...ir.rewrite import Rewriter
from ...ops import arith, memory
from ...ops.construct import zero
from ...ops.registry import ATOMIC, WRITE
from ...types.arrays import ArrayType
from ...types.cotangents import has_cotangent

_STORING = ("atomic_exch",)
"""Atomics whose result does not depend on what was there."""


def marking(fn: Function) -> Function:
    """The kernel with its marks."""
    return replace(fn, name=f"mark_{fn.name}", body=_Marker().region(fn.body))


def is_opaque(fn: Function) -> bool:
    """Whether a kernel writes where no pass can see it: in native code."""
    ops = [node.op for node in walk(fn.body) if isinstance(node, Call)]
    return any(op.opaque and op.writes for op in ops if not isinstance(op, Function))


class _Marker(Rewriter):
    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            rewritten.append(self.node(node))
            if isinstance(node, Call) and is_write(node):
                rewritten.extend(marks(node))
        return rewritten


def is_write(call: Call) -> bool:
    """Whether a call changes elements of an array in memory that may have a gradient."""
    if isinstance(call.op, Function) or call.op.opaque or call.op.effect not in (WRITE, ATOMIC):
        return False
    t = call.args[0].type if call.args else None
    return isinstance(t, ArrayType) and t.local_shape is None and has_cotangent(t.dtype)


def marks(call: Call) -> list[Node]:
    """What stands behind a write."""
    array, indices = call.args[0], call.args[1 : 1 + call.args[0].type.ndim]
    builder, arm = Builder(Region(), call.location), Region()
    with builder.active():
        present = memory.has_gradient(array)
        with builder.inside(arm):
            grads = memory.gradient(array)
            if call.op.effect == WRITE or call.op.name in _STORING:
                memory.store(grads, *indices, zero(call.args[-1]))
            else:
                mark = memory.load(grads, *indices)
                memory.store(grads, *indices, arith.add(mark, mark))
        builder.region.nodes.append(If(present, arm, Region(), location=call.location))
    return builder.region.nodes
