"""Overwritten parts: what a loop does to large values of which an iteration replaces single parts, as a log to undo.

A local array that a loop carries as a variable is no state to be copied in every iteration: an iteration replaces a
part or two. In place of the value, the states of a block hold what was replaced, and where; from the value at the start
of an iteration follows that of the one before by putting back what the log says.
"""

from __future__ import annotations

from ...ir.builder import Builder, constant
from ...ir.nodes import Call, For, Region, Value, While
from ...ops import construct
from ..analysis.large_compounds import is_large
from .recompute import Recompute

_MOST_INSERTS = 4

State = tuple[Value, ...]


class Overwrites:
    """The insertions by which a carried value becomes that of the next iteration; all stand in the body itself."""

    def __init__(self, node: For | While, positions: tuple[int, ...]):
        calls = (n for n in node.body.nodes if isinstance(n, Call) and n.op.name == "insert")
        makers = {call.results[0]: call for call in calls}
        chains = {at: chain_to(node, k, makers) for at, k in enumerate(positions)}
        self.chains = {at: chain for at, chain in chains.items() if chain is not None}

    @property
    def inserts(self) -> list[Call]:
        return [call for chain in self.chains.values() for call in chain]

    def others(self, state: State) -> State:
        """The values of a state that are stored whole."""
        return tuple(v for at, v in enumerate(state) if at not in self.chains)

    def log_changes(self, state: State) -> State:
        """The values of a state of which only changes are stored."""
        return tuple(state[at] for at in self.chains)

    def together(self, others: State, logged: State) -> State:
        """A state of its two kinds of values."""
        rest, mine = iter(others), iter(logged)
        return tuple(next(mine if at in self.chains else rest) for at in range(len(others) + len(logged)))

    def nothing(self, state: State) -> State:
        """The log before the first iteration: putting it back changes nothing."""
        values: list[Value] = []
        for at, chain in self.chains.items():
            for call in chain:
                indices = tuple(constant(i.type, 0) for i in call.args[1:-1])
                values += [*indices, construct.extract(state[at], *indices)]
        return tuple(values)

    def log(self, primals: Recompute, region: Region, builder: Builder) -> State:
        """What the insertions of an iteration replaced, looked up right before each in the region it was copied to."""
        values: list[Value] = []
        for call in self.inserts:
            copy = primals.use(call.results[0])
            [at] = [k for k, node in enumerate(region.nodes) if copy in node.results]
            before = Region()
            with builder.inside(before):
                indices = primals.uses(call.args[1:-1])
                values += [*indices, construct.extract(primals.use(call.args[0]), *indices)]
            region.nodes[at:at] = before.nodes
        return tuple(values)

    def undone(self, logged: State, log: State) -> State:
        """The values at the start of the iteration before."""
        entries, result = list(log), []
        for value, chain in zip(reversed(logged), reversed(self.chains.values()), strict=True):
            for call in reversed(chain):
                count = len(call.args) - 1
                value = construct.insert(value, *entries[-count:])
                del entries[-count:]
            result.append(value)
        return tuple(reversed(result))


def chain_to(node: For | While, k: int, makers: dict[Value, Call]) -> list[Call] | None:
    """The insertions that lead from a carried value at the start of the body to the next one, if these alone do."""
    start = node.carried[k] if isinstance(node, For) else handed_on(node, k)
    value = node.body.yields[k]
    chain: list[Call] = []
    while value is not start:
        if value not in makers or len(chain) == _MOST_INSERTS:
            return None
        chain.insert(0, makers[value])
        value = makers[value].args[0]
    return chain if chain and is_large(value.type) else None


def handed_on(node: While, k: int) -> Value | None:
    """What the test of a loop hands its body of a carried value that it leaves as it is."""
    return next((b for b, v in zip(node.body.params, node.passed, strict=True) if v is node.carried[k]), None)
