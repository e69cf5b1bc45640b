"""Subtrees of a hierarchy, each built by one thread: splits until leaves are small, four children to a node.

A node is made of a range of boxes by three splits: of the range, then of the part with the largest surface
that has more boxes than a leaf holds (Wald, Benthin, Boulos 2008, Getting rid of packets). Nodes are numbered
in depth-first order. With one box to a leaf, up to four boxes are a node without further ado.

Depth is bounded: a range of m boxes at depth d is split by area only while d + 1 + ceil(log4 m) <= MAX_DEPTH;
from there on it is quartered, and quartered ranges end in time.
"""

from __future__ import annotations

from ...core.language import array_type, func, int32, struct, vec4i, where, zeros
from .nodes import EMPTY, MAX_DEPTH, STACK_SIZE, BvhNode, leaf_code
from .split import NOTHING, Boxes, Range, half_area, range_of, split


@struct
class Waiting:
    """A range that becomes a node: `slot` is 4 * the parent's number + slot."""

    range: Range
    slot: int32
    depth: int32


@func
def empty_node() -> BvhNode:
    """A node without children."""
    node = BvhNode()
    node.lower_x, node.lower_y, node.lower_z = NOTHING, NOTHING, NOTHING
    node.upper_x, node.upper_y, node.upper_z = -NOTHING, -NOTHING, -NOTHING
    node.child = vec4i(EMPTY, EMPTY, EMPTY, EMPTY)
    return node


@func
def must_balance(count: int32, depth: int32) -> bool:
    """Whether a range of `count` boxes at `depth` has to be quartered to stay within MAX_DEPTH."""
    levels, reach = int32(0), int32(1)
    while reach < count:
        reach = reach * 4
        levels += 1
    return depth + 1 + levels > MAX_DEPTH


@func
def next_to_split(parts: array_type(Range, 1), count: int32, leaf_size: int32, balanced: bool) -> int32:
    """Which of the parts to split: the one of the largest surface (the most boxes if `balanced`), or -1."""
    chosen, most = int32(-1), float(-1.0)
    for k in range(count):
        size = parts[k].end - parts[k].begin
        if size > leaf_size:
            weight = half_area(parts[k].lower, parts[k].upper)
            if balanced or not weight < 3.0e38:
                weight = float(size)
            if weight > most:
                chosen, most = k, weight
    return chosen


@func
def new_node(nodes: array_type(BvhNode, 1), at: int32, task: Waiting, half: int32) -> None:
    """Make a node without children of a range."""
    node = empty_node()
    node.parent, node.depth = task.slot, task.depth
    node.first, node.count = position(task.range.begin, half), task.range.end - task.range.begin
    nodes[at] = node


@func
def put_child(nodes: array_type(BvhNode, 1), at: int32, k: int32, part: Range, child: int32) -> None:
    """Put a range into slot `k` of node `at`."""
    nodes[at].lower_x[k] = part.lower[0]
    nodes[at].lower_y[k] = part.lower[1]
    nodes[at].lower_z[k] = part.lower[2]
    nodes[at].upper_x[k] = -part.upper[0]
    nodes[at].upper_y[k] = -part.upper[1]
    nodes[at].upper_z[k] = -part.upper[2]
    nodes[at].child[k] = child


@func
def position(place: int32, half: int32) -> int32:
    """Where the box at a place of the buffer, whose second half begins at `half`, ends up in `items`."""
    return where(place >= half, place - half, place)


@func
def build_subtree(
    boxes: Boxes, half: int32, nodes: array_type(BvhNode, 1), first: int32, whole: Waiting, leaf_size: int32
) -> int32:
    """Build nodes from `nodes[first]` on; returns how many. The first one's parent is left to the caller."""
    stack = zeros(shape=STACK_SIZE, dtype=Waiting)
    parts = zeros(shape=4, dtype=Range)
    stack[0] = whole
    stack[0].slot = -1
    top, node_count = int32(1), int32(0)
    while top > 0:
        top -= 1
        task = stack[top]
        at = first + node_count
        node_count += 1
        if task.slot >= 0:
            nodes[task.slot >> 2].child[task.slot & 3] = at
        new_node(nodes, at, task, half)
        count = split_in_four(boxes, parts, task, leaf_size)
        for j in range(count):
            k = count - 1 - j
            part = parts[k]
            size = part.end - part.begin
            if size <= leaf_size:
                put_child(nodes, at, k, part, leaf_code(position(part.begin, half), size))
            else:
                put_child(nodes, at, k, part, EMPTY)
                stack[top] = Waiting(range=part, slot=4 * at + k, depth=task.depth + 1)
                top += 1
    return node_count


@func
def split_in_four(boxes: Boxes, parts: array_type(Range, 1), task: Waiting, leaf_size: int32) -> int32:
    """Split a range in up to four parts; returns how many."""
    parts[0] = task.range
    total = task.range.end - task.range.begin
    if leaf_size == 1 and total <= 4:
        for k in range(total):  # however they are split, each ends up by itself
            parts[k] = range_of(boxes, task.range.begin + k, task.range.begin + k + 1)
        return total
    balanced = must_balance(total, task.depth)
    count = where(total > 0, 1, 0)
    chosen = next_to_split(parts, count, leaf_size, balanced)
    while chosen >= 0:
        left, right = split(boxes, parts[chosen], balanced)
        parts[chosen] = left
        parts[count] = right
        count += 1
        chosen = int32(-1)
        if count < 4:
            chosen = next_to_split(parts, count, leaf_size, balanced)
    return count
