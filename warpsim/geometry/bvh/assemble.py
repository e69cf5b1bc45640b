"""Nodes out of ranges of boxes: those over the subtrees first, then the subtrees, built by one thread each.

A subtree is built where there is room for the worst case, and moved when the sizes of all are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.language import array, array_type, float32, int32, struct
from ...core.language import empty, func, kernel, launch, min, tid, where, zeros
from .boxes import LARGEST
from .nodes import EMPTY, BvhNode, BvhTree, leaf_code
from .refit import Built
from .split import Boxes, Range, half_area
from .subtree import Waiting, build_subtree, new_node, position, put_child

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device


@struct
class TopTree:
    """The binary tree over subtrees: its ranges, the left child of each or -1, and what each is; see `assemble`."""

    ranges: array_type(Range, 1)
    children: array_type(int32, 1)
    kinds: array_type(int32, 1)
    leaf_size: int32


@kernel
def _top_nodes(
    tree: TopTree,
    half: int32,
    queue: array(dtype=int32),
    nodes: array(dtype=BvhNode),
    tasks: array(dtype=Waiting),
    owners: array(dtype=int32),
    counts: array(dtype=int32),
):
    """Nodes of up to four children out of the binary tree over subtrees, breadth first; subtrees become tasks.

    queue[k]: the range that node k is made of. owners[t]: that of task t. counts: how many nodes, and how many tasks.
    """
    tid()
    parts = zeros(shape=4, dtype=int)
    count, task_count = int32(0), int32(0)
    if tree.children[0] >= 0:
        queue[0] = 0
        new_node(nodes, 0, Waiting(range=tree.ranges[0], slot=-1, depth=0), half)
        count = 1
    else:
        tasks[0] = Waiting(range=tree.ranges[0], slot=-1, depth=0)
        owners[0] = 0
        task_count = 1
    at = int32(0)
    while at < count:
        parts[0] = queue[at]
        used = int32(1)
        chosen = int32(0)
        while chosen >= 0:
            left = tree.children[parts[chosen]]
            parts[chosen] = left
            parts[used] = left + 1
            used += 1
            chosen = int32(-1)
            if used < 4:
                chosen = _widest(tree, parts, used)
        for k in range(used):
            part = tree.ranges[parts[k]]
            size = part.end - part.begin
            below = Waiting(range=part, slot=4 * at + k, depth=nodes[at].depth + 1)
            if tree.children[parts[k]] >= 0:
                queue[count] = parts[k]
                new_node(nodes, count, below, half)
                put_child(nodes, at, k, part, count)
                count += 1
            elif size <= tree.leaf_size and tree.kinds[parts[k]] == 0:
                put_child(nodes, at, k, part, leaf_code(position(part.begin, half), size))
            else:
                put_child(nodes, at, k, part, EMPTY)
                tasks[task_count] = below
                owners[task_count] = parts[k]
                task_count += 1
        at += 1
    counts[0], counts[1] = count, task_count


@func
def _widest(tree: TopTree, parts: array_type(int32, 1), count: int32) -> int32:
    """Which of the parts that were split to open: that with most groups, or with the largest surface; -1: none."""
    chosen, most = int32(-1), float32(-1.0)
    for k in range(count):
        kind = tree.kinds[parts[k]]
        if tree.children[parts[k]] >= 0 and kind >= 0:
            weight = min(half_area(tree.ranges[parts[k]].lower, tree.ranges[parts[k]].upper), LARGEST)
            if kind > 0:
                weight = float32(kind)
            if weight > most:
                chosen, most = k, weight
    return chosen


@kernel
def _subtrees(
    boxes: Boxes,
    half: int32,
    tasks: array(dtype=Waiting),
    leaf_size: int32,
    drafts: array(dtype=BvhNode),
    sizes: array(dtype=int32),
):
    """Build every subtree, where there is room for it: at the position of its first box."""
    t = tid()
    task = tasks[t]
    sizes[t] = build_subtree(boxes, half, drafts, position(task.range.begin, half), task, leaf_size)


@kernel
def _settle(
    boxes: Boxes,
    half: int32,
    tasks: array(dtype=Waiting),
    drafts: array(dtype=BvhNode),
    spans: array(dtype=int32),
    nodes: array(dtype=BvhNode),
    items: array(dtype=int32),
):
    """Move the nodes of every subtree to their final numbers, and its items to their final places."""
    t = tid()
    task = tasks[t]
    first = position(task.range.begin, half)
    start, end = spans[t], spans[t + 1]
    if task.slot >= 0:
        nodes[task.slot >> 2].child[task.slot & 3] = start
    shift = start - first
    for k in range(end - start):
        node = drafts[first + k]
        node.parent = where(k == 0, task.slot, node.parent + 4 * shift)
        for s in range(4):
            node.child[s] = where(node.child[s] >= 0, node.child[s] + shift, node.child[s])
        nodes[start + k] = node
    for k in range(task.range.end - task.range.begin):
        items[first + k] = boxes.items[task.range.begin + k]


@kernel
def _settle_leaves(boxes: Boxes, half: int32, tree: TopTree, items: array(dtype=int32)):
    """Move the items of leaves that hang from top nodes."""
    t = tid()
    r = tree.ranges[t]
    if tree.children[t] < 0 and r.end - r.begin <= tree.leaf_size:
        for k in range(r.end - r.begin):
            items[position(r.begin, half) + k] = boxes.items[r.begin + k]


@kernel
def _note_nodes(owners: array(dtype=int32), spans: array(dtype=int32), node_of: array(dtype=int32)):
    """Note of every range that a subtree was made of which node that is."""
    t = tid()
    node_of[owners[t]] = spans[t]


@kernel
def _note_top_nodes(queue: array(dtype=int32), node_of: array(dtype=int32)):
    t = tid()
    node_of[queue[t]] = t


def assemble(
    boxes: Boxes, table: np.ndarray, links: np.ndarray, kinds: np.ndarray, n: int, leaf_size: int, device: Device
) -> tuple[Built, array]:
    """Nodes over the ranges of a binary tree, and below them; and the nodes that are made of the ranges.

    table: the ranges. links: the number of the left child of each, or -1. kinds: what stands over how many groups
    (2 or more), is a group (negative: it becomes a node), or anything else (0). n: how many boxes there are.
    """
    half, count = boxes.items.size // 2, table.size
    ranges, children = array(table, dtype=Range, device=device), array(links, dtype=int32, device=device)
    tree = TopTree(ranges, children, array(kinds, dtype=int32, device=device), leaf_size)
    top, tasks, owners = (empty(count, t, device) for t in (BvhNode, Waiting, int32))
    queue, counts, node_of = empty(count, int32, device), empty(2, int32, device), zeros(count, int32, device)
    launch(_top_nodes, 1, [tree, half, queue], [top, tasks, owners, counts], device=device)
    top_count, task_count = (int(x) for x in counts.numpy())
    drafts, sizes = empty(n if n > 0 else 1, BvhNode, device), empty(task_count, int32, device)
    launch(_subtrees, task_count, [boxes, half, tasks, leaf_size], [drafts, sizes], device=device)
    ends = top_count + np.concatenate([[0], np.cumsum(sizes.numpy())])
    spans = array(ends.astype(np.int32), dtype=int32, device=device)
    nodes, items = empty(int(ends[-1]), BvhNode, device), empty(n, int32, device)
    nodes[:top_count].assign(top[:top_count])
    launch(_settle, task_count, [boxes, half, tasks, drafts, spans], [nodes, items], device=device)
    launch(_settle_leaves, count, [boxes, half, tree], [items], device=device)
    launch(_note_nodes, task_count, [owners, spans], [node_of], device=device)
    launch(_note_top_nodes, top_count, [queue], [node_of], device=device)
    top = array(np.array([0, top_count]), dtype=int32, device=device)
    return Built(BvhTree(nodes=nodes, items=items), (spans, top)), node_of
