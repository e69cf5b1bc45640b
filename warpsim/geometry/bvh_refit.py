"""New boxes for an old hierarchy of one primitive to a leaf, from the leaves up.

Children have higher numbers than their parents, so each thread goes through the nodes of one subtree backwards;
then one thread goes through the nodes above. No two threads write the same slot.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.frontend.functions import func
from ..core.ops import greater, lesser, tid, where
from ..core.runtime.array import array
from ..core.runtime.array_ops import empty
from ..core.runtime.kernel import kernel
from ..core.runtime.launch import launch
from ..core.types.scalars import int32
from .bvh_nodes import EMPTY, BvhNode, BvhTree, leaf_first, vec3, vec4
from .bvh_walk import LARGEST, extent

_INFINITE = math.inf


@kernel
def _find_slots(tree: BvhTree, slots: array(dtype=int32)):
    at = tid()
    for s in range(4):
        if tree.nodes[at].child[s] < EMPTY:
            slots[leaf_first(tree.nodes[at].child[s])] = 4 * at + s


def leaf_slots(tree: BvhTree) -> array:
    """Where the box of each position in `items` is: 4 * node + slot."""
    slots = empty(tree.items.size, int32, tree.nodes.device)
    _run(_find_slots, tree.nodes.size, tree, slots)
    return slots


@func
def _put_box(nodes: array(dtype=BvhNode), slot: int32, lower: vec3, upper: vec3) -> None:
    at, s = slot >> 2, slot & 3
    nodes[at].lower_x[s] = lower[0]
    nodes[at].lower_y[s] = lower[1]
    nodes[at].lower_z[s] = lower[2]
    nodes[at].upper_x[s] = upper[0]
    nodes[at].upper_y[s] = upper[1]
    nodes[at].upper_z[s] = upper[2]


@kernel
def _fill_leaves(tree: BvhTree, slots: array(dtype=int32), lowers: array(dtype=vec3), uppers: array(dtype=vec3)):
    k = tid()
    lower, upper = lowers[tree.items[k]], uppers[tree.items[k]]
    good = 0.5 * extent(lower) + 0.5 * extent(upper) <= LARGEST
    _put_box(tree.nodes, slots[k], where(good, lower, vec3(_INFINITE)), where(good, upper, vec3(-_INFINITE)))


@func
def _smallest(x: vec4) -> float:
    return lesser(lesser(x[0], x[1]), lesser(x[2], x[3]))


@func
def _greatest(x: vec4) -> float:
    return greater(greater(x[0], x[1]), greater(x[2], x[3]))


@func
def _fill_nodes(nodes: array(dtype=BvhNode), first: int32, end: int32) -> None:
    """Pass the boxes of nodes `first` to `end - 1` on to their parents, the last first."""
    at = end - 1
    while at >= first:
        node = nodes[at]
        if node.parent >= 0:
            lower = vec3(_smallest(node.lower_x), _smallest(node.lower_y), _smallest(node.lower_z))
            upper = vec3(_greatest(node.upper_x), _greatest(node.upper_y), _greatest(node.upper_z))
            _put_box(nodes, node.parent, lower, upper)
        at -= 1


@kernel
def _fill_subtrees(tree: BvhTree):
    t = tid()
    _fill_nodes(tree.nodes, tree.spans[t], tree.spans[t + 1])


@kernel
def _fill_top(tree: BvhTree):
    tid()
    _fill_nodes(tree.nodes, 0, tree.spans[0])


def refit(tree: BvhTree, slots: array, lowers: array, uppers: array) -> None:
    """Fit the boxes of all nodes to new boxes of the primitives; the tree stays as it is. slots: by `leaf_slots`.

    A primitive whose box is not finite is not found; one that was left out by `build` stays out.
    """
    _run(_fill_leaves, tree.items.size, tree, slots, lowers, uppers)
    _run(_fill_subtrees, tree.spans.size - 1, tree)
    _run(_fill_top, 1, tree)


def _run(code: Any, dim: int, tree: BvhTree, *args: array) -> None:
    launch(code, dim, [tree, *args], device=tree.nodes.device, record_tape=False)
