"""Liveness: whether a value is used after a node of a structured program."""

from __future__ import annotations

from ...ir.def_use import used_values
from ...ir.nodes import For, If, Node, Region, Value, While


class Liveness:
    """The last use of every value in every region of a function body."""

    def __init__(self, body: Region):
        self.home: dict[Value, Region] = {}
        self.place: dict[Node, tuple[Region, int]] = {}
        self.owner: dict[Region, Node] = {}
        self.last_use: dict[Region, dict[Value, int]] = {}
        self.enter(body)

    def enter(self, region: Region) -> set[Value]:
        """Note a region and those inside; gives the values that are used there."""
        last = self.last_use[region] = {}
        self.home.update(dict.fromkeys(region.params, region))
        for at, node in enumerate(region.nodes):
            self.place[node] = (region, at)
            self.home.update(dict.fromkeys(node.results, region))
            last.update(dict.fromkeys(node.operands(), at))
            for inner in node.regions():
                self.owner[inner] = node
                last.update(dict.fromkeys(self.enter(inner), at))
        last.update(dict.fromkeys(region.yields, len(region.nodes)))
        return {*last}

    def ends_at(self, value: Value, node: Node) -> bool:
        """Whether nobody uses a value after `node`, on any way; what a loop takes from outside is used in every round.

        A value that was defined inside `node` ends there.
        """
        while True:
            region, at = self.place[node]
            if self.last_use[region].get(value, -1) > at:
                return False
            home = self.home[value]
            if home is region or not self.is_around(home, region):
                return True
            owner = self.owner[region]
            if not isinstance(owner, If):
                return False
            node = owner

    def is_around(self, home: Region, region: Region) -> bool:
        """Whether a region is around another one."""
        while region in self.owner:
            region = self.place[self.owner[region]][0]
            if region is home:
                return True
        return False

    def used_in(self, node: For | While) -> set[Value]:
        """The values that the regions of a loop use."""
        return {value for region in node.regions() for value in used_values(region)}
