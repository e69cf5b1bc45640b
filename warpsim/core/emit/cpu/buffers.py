"""Large compounds in memory: the lowering of programs that change single components of them at computed places.

Guarantees: every value has the components that it has in registers. A value of a large type lies in a buffer on the
stack; the result of `insert` takes over the buffer of its operand where that is not used again, as carried values and
the results of branches do, and is a copy elsewhere. So a local array that the reverse carries as a variable is changed
in place, one element at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir as ll

from ...ir.nodes import Call, Constant, For, If, Node, Region, Value, While
from ...ops.construct import no_part
from ...ops.memory import element_address
from ...ops.values import llvm_type
from ...passes.analysis.liveness import Liveness
from ...types.arrays import ValueType
from ...types.values import Compound
from ..layout import I64
from ..lower import Lowering

_CHUNK = 16  # components that are moved at once


class BufferedLowering(Lowering):
    """Emits a function body whose values of some large types lie in buffers."""

    def __init__(self, target: Any, body: Region, types: frozenset[Any]):
        super().__init__(target)
        self.types, self.liveness = types, Liveness(body)
        self.rules = {each.__name__: each for each in (self.extract, self.insert, self.add, self.load, self.store)}
        self.buffers: dict[Value, Any] = {}
        """The pointer to the first component of each large value that has a buffer."""
        self.settling: dict[Region, list[tuple[Value, Any]]] = {}
        """What a round of a loop hands on in buffers: values at its end, and where they belong."""

    def get(self, value: Value) -> list[Any]:
        """Nothing for large values: they do not go through phis."""
        return [] if value.type in self.types else super().get(value)

    def flat(self, value: Value) -> list[Any]:
        """The components of a value in registers."""
        if value not in self.buffers:
            return super().get(value)
        b, buffer = self.b, self.buffers[value]
        return [b.load(b.gep(buffer, [I64(k)])) for k in range(value.type.size)]

    def bundle_sizes(self, t: ValueType) -> list[int]:
        return [] if t in self.types else super().bundle_sizes(t)

    # ----- calls ----------------------------------------------------------------------------

    def call(self, node: Call) -> None:
        rule = self.rules.get(node.op.name)
        if rule is None or not rule(node):
            components = self.apply(node, [self.flat(a) for a in node.args])
            self.bind(node.results, [components] if len(node.results) == 1 else components)

    def extract(self, node: Call) -> bool:
        if node.args[0] not in self.buffers:
            return False
        t, b = node.args[0].type, self.b
        position, inside = self.place(node, node.args[1:])
        part = self.buffers[node.args[0]]
        parts = [b.load(b.gep(part, [b.add(position, I64(k))])) for k in range(self.length(t, len(node.args) - 1))]
        nothing = no_part(t.dtype)
        self.env[node.results[0]] = parts if inside is None else [b.select(inside, x, nothing) for x in parts]
        return True

    def insert(self, node: Call) -> bool:
        if node.results[0].type not in self.types:
            return False
        b = self.b
        buffer = self.buffers[node.results[0]] = self.own(node.args[0], node)
        position, inside = self.place(node, node.args[1:-1])
        for k, x in enumerate(self.flat(node.args[-1])):
            at = b.gep(buffer, [b.add(position, I64(k))])
            b.store(x if inside is None else b.select(inside, x, b.load(at)), at)
        return True

    def place(self, node: Call, indices: tuple[Value, ...]) -> tuple[Any, Any]:
        """The position of a part, and whether there is such a part; None where that is sure."""
        self.target.call, self.target.location = node, node.location
        shape = node.args[0].type.shape
        strides = [shape[1], 1] if len(shape) == 2 else [1]
        position, inside = self.target.component_offset(node, [self.get(i)[0] for i in indices], shape, strides)
        return position, inside

    def length(self, t: type[Compound], indices: int) -> int:
        return int(t.shape[1]) if len(t.shape) == 2 and indices == 1 else 1

    def add(self, node: Call) -> bool:
        """The sum of two large values, in the place of the first."""
        if node.results[0].type not in self.types:
            return False
        one, other = node.args
        other_buffer = self.readable(other)
        buffer = self.buffers[node.results[0]] = self.own(one, node)
        self.target.call, self.target.location = node, node.location
        for mine, its in zip(self.chunks(buffer, one.type), self.chunks(other_buffer, one.type), strict=True):
            [total] = self.target.value(node, [[self.b.load(mine, align=1)], [self.b.load(its, align=1)]])
            self.b.store(total, mine, align=1)
        return True

    def load(self, node: Call) -> bool:
        if node.results[0].type not in self.types:
            return False
        t = node.results[0].type
        buffer = self.buffers[node.results[0]] = self.allocate(t)
        self.copy(self.element(node, t), buffer, t)
        return True

    def store(self, node: Call) -> bool:
        if node.args[-1] not in self.buffers:
            return False
        t = node.args[-1].type
        self.copy(self.buffers[node.args[-1]], self.element(node, t), t)
        return True

    def element(self, node: Call, t: ValueType) -> Any:
        """The element of an array that is accessed, as a pointer to its first component."""
        self.target.call, self.target.location = node, node.location
        address = element_address(self.target, node, [self.flat(a) for a in node.args[: 1 + node.args[0].type.ndim]])
        return self.b.bitcast(address, llvm_type(t.dtype).as_pointer())

    # ----- buffers --------------------------------------------------------------------------

    def allocate(self, t: type[Compound]) -> Any:
        return self.target.stack(llvm_type(t.dtype), t.size)

    def own(self, value: Value, node: Node) -> Any:
        """A buffer with a value that may be changed: its own if the value is not used after `node`, else a copy."""
        if value in self.buffers and self.liveness.ends_at(value, node):
            return self.buffers[value]
        return self.fresh_copy(value)

    def fresh_copy(self, value: Value) -> Any:
        """A new buffer with a value."""
        buffer = self.allocate(value.type)
        if value in self.buffers:
            self.copy(self.buffers[value], buffer, value.type)
        elif isinstance(value, Constant) and not value.value.numpy().any():
            for chunk in self.chunks(buffer, value.type):
                self.b.store(ll.Constant(chunk.type.pointee, None), chunk, align=1)
        else:
            for k, x in enumerate(super().get(value)):
                self.b.store(x, self.b.gep(buffer, [I64(k)]))
        return buffer

    def readable(self, value: Value) -> Any:
        return self.buffers[value] if value in self.buffers else self.fresh_copy(value)

    def copy(self, source: ll.Value, target: ll.Value, t: type[Compound]) -> None:
        for here, there in zip(self.chunks(source, t), self.chunks(target, t), strict=True):
            self.b.store(self.b.load(here, align=1), there, align=1)

    def chunks(self, buffer: ll.Value, t: type[Compound]) -> Iterator[Any]:
        """Pointers to vectors that make up a buffer."""
        for k in range(0, t.size, _CHUNK):
            kind = ll.VectorType(llvm_type(t.dtype), min(_CHUNK, t.size - k))
            yield self.b.bitcast(self.b.gep(buffer, [I64(k)]), kind.as_pointer())

    # ----- control flow ---------------------------------------------------------------------

    def region(self, region: Region) -> list[list[Any]]:
        for node in region.nodes:
            self.node(node)
        self.settle(region)
        return [self.get(v) for v in region.yields]

    def settle(self, region: Region) -> None:
        """Bring what a round of a loop yields to where the next one looks for it."""
        moves = [(value, to) for value, to in self.settling.get(region, ()) if self.buffers.get(value) is not to]
        if any(self.buffers.get(value) is other for value, to in moves for _, other in moves if other is not to):
            moved = [(self.fresh_copy(value), value.type, to) for value, to in moves]
            for buffer, t, to in moved:
                self.copy(buffer, to, t)
            return
        for value, to in moves:
            self.copy(self.readable(value), to, value.type)

    def carry(self, node: For | While) -> list[Any]:
        """The buffers of what a loop carries, filled with what it starts with; None for what has none."""
        inside = self.liveness.used_in(node)
        taken: set[int] = set()
        buffers: list[ll.Value | None] = []
        for value, param in zip(node.init, node.carried, strict=True):
            if value.type not in self.types:
                buffers.append(None)
                continue
            buffer = self.fresh_copy(value) if value in inside else self.own(value, node)
            if id(buffer) in taken:
                buffer = self.fresh_copy(value)
            taken.add(id(buffer))
            self.buffers[param] = buffer
            buffers.append(buffer)
        return buffers

    def homes(self, values: tuple[Value, ...], buffers: list[Any]) -> list[tuple[Value, Any]]:
        return [(value, buffer) for value, buffer in zip(values, buffers, strict=True) if buffer is not None]

    def count(self, node: For) -> None:
        buffers = self.carry(node)
        self.settling[node.body] = self.homes(node.body.yields, buffers)
        super().count(node)
        self.buffers.update(self.homes(node.results, buffers))

    def repeat(self, node: While) -> None:
        buffers = self.carry(node)
        passed = [self.allocate(v.type) if v.type in self.types else None for v in node.passed]
        for k, value in enumerate(node.passed):
            if k < len(buffers) and value is node.carried[k]:
                passed[k] = buffers[k]
        self.settling[node.before] = self.homes(node.passed, passed)
        self.settling[node.body] = self.homes(node.body.yields, buffers)
        self.buffers.update(self.homes(node.body.params, passed))
        super().repeat(node)
        self.buffers.update(self.homes(node.results, passed))

    def join(self, node: If, arms: list[tuple[list[list[Any]], Any]], joined: ll.Block) -> None:
        taken: list[Any] = []
        for k, result in enumerate(node.results):
            if result.type in self.types:
                values = [region.yields[k] for region in node.regions()]
                buffer = self.shared_buffer(node, values)
                if buffer is None or any(buffer is other for other in taken):
                    buffer = self.merged_copy(values, [block for _, block in arms])
                taken.append(buffer)
                self.buffers[result] = buffer
        super().join(node, arms, joined)

    def shared_buffer(self, node: If, values: list[Value]) -> Any:
        """The buffer in which both arms leave a result, if nobody uses it under another name."""
        yes, no = (self.buffers.get(value) for value in values)
        if yes is None or yes is not no:
            return None
        return yes if all(self.liveness.ends_at(value, node) for value in values) else None

    def merged_copy(self, values: list[Value], blocks: list[Any]) -> Any:
        """A new buffer into which each arm copies what it yields."""
        buffer = self.allocate(values[0].type)
        for value, block in zip(values, blocks, strict=True):
            self.b.position_at_end(block)
            self.copy(self.readable(value), buffer, value.type)
        return buffer
