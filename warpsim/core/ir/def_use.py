"""Def-use information: which node defines a value, which values a region uses, what flows into which parameter."""

from __future__ import annotations

from collections.abc import Iterator

from .nodes import Call, For, If, Node, Region, Value, While, walk

Flow = tuple[tuple[Value, ...], tuple[Value, ...]]
"""Values, and those in other regions that take them on, position by position."""


def definitions(region: Region) -> dict[Value, Node]:
    """The node that defines each result in a region; parameters have none."""
    return {result: node for node in walk(region) for result in node.results}


def defining_calls(region: Region) -> dict[Value, Call]:
    """The call that defines each result of a call in a region."""
    return {result: node for node in walk(region) if isinstance(node, Call) for result in node.results}


def uses(region: Region) -> Iterator[Value]:
    """Every use of a value in a region: operands of nodes, then what regions yield."""
    ahead = [(region, iter(region.nodes))]
    while ahead:
        inner, nodes = ahead[-1]
        for node in nodes:
            yield from node.operands()
            inside = node.regions()
            if inside:
                ahead.extend((each, iter(each.nodes)) for each in reversed(inside))
                break
        else:
            yield from inner.yields
            ahead.pop()


def used_values(region: Region) -> set[Value]:
    """The values that something in a region uses."""
    return set(uses(region))


def captured_values(node: Node) -> list[Value]:
    """The values from outside that the regions of a node use, in the order of their first use."""
    used = dict.fromkeys(value for region in node.regions() for value in uses(region))
    own: set[Value] = set()
    for region in node.regions():
        own.update(region.params)
        for inner in walk(region):
            own.update(inner.results, *(part.params for part in inner.regions()))
    return [value for value in used if value not in own]


def flows_in(node: Node) -> list[Flow]:
    """What flows into the regions of a loop: from outside to parameters."""
    return [(node.init, node.carried)] if isinstance(node, For | While) else []


def flows_out(node: Node) -> list[Flow]:
    """What flows between the regions of a node, round a loop, and out to its results."""
    if isinstance(node, If):
        return [(node.then.yields, node.results), (node.orelse.yields, node.results)]
    if isinstance(node, For):
        return [(node.body.yields, node.carried), (node.carried, node.results)]
    if isinstance(node, While):
        return [(node.passed, node.body.params), (node.body.yields, node.carried), (node.passed, node.results)]
    return []
