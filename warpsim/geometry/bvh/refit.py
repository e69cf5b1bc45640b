"""New boxes for an old hierarchy of one primitive to a leaf, from the leaves up.

It is done in stages, one launch each. In a stage, each thread goes through the nodes of its range backwards, for
children have higher numbers than their parents. No node of a stage hangs below one of another range of it, and no two
threads write the same slot. Where threads are few, ranges are subtrees, and then all nodes above these; where there
are many, a stage is a level of the tree, and a range a node.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core.language import Kernel, array, empty, func, greater, int32, kernel, launch, lesser, tid, vec3, vec4, where
from .boxes import LARGEST, extent
from .nodes import EMPTY, BvhNode, BvhTree, leaf_first

_INFINITE = math.inf


class Built(NamedTuple):
    """A hierarchy, and the stages of passes over it from the leaves up.

    The nodes of range t of a stage are those from stage[t] to stage[t + 1] - 1.
    """

    tree: BvhTree
    stages: Sequence[array]  # int32, each one longer than it has ranges


def by_level(numbers: array, levels: Sequence[int]) -> list[array]:
    """Stages for nodes that are numbered by level, which begin at `levels`; numbers: 0 to the number of nodes."""
    return [numbers[a : b + 1] for a, b in zip(levels[-2:0:-1], levels[:1:-1], strict=True)]


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
def put_box(nodes: array(dtype=BvhNode), slot: int32, lower: vec3, upper: vec3) -> None:
    """Write the box of a child, given as 4 * node + slot."""
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
    put_box(tree.nodes, slots[k], where(good, lower, vec3(_INFINITE)), where(good, upper, vec3(-_INFINITE)))


@func
def _smallest(x: vec4) -> float:
    return lesser(lesser(x[0], x[1]), lesser(x[2], x[3]))


@func
def _greatest(x: vec4) -> float:
    return greater(greater(x[0], x[1]), greater(x[2], x[3]))


@kernel
def fill_nodes(nodes: array(dtype=BvhNode), stage: array(dtype=int32)):
    """Pass the boxes of the nodes of one range on to their parents, the last first."""
    t = tid()
    at = stage[t + 1] - 1
    while at >= stage[t]:
        node = nodes[at]
        if node.parent >= 0:
            lower = vec3(_smallest(node.lower_x), _smallest(node.lower_y), _smallest(node.lower_z))
            upper = vec3(_greatest(node.upper_x), _greatest(node.upper_y), _greatest(node.upper_z))
            put_box(nodes, node.parent, lower, upper)
        at -= 1


def refit(built: Built, slots: array, lowers: array, uppers: array) -> None:
    """Fit the boxes of all nodes to new boxes of the primitives; the tree stays as it is. slots: by `leaf_slots`.

    A primitive whose box is not finite is not found; one that was left out of the tree stays out.
    """
    tree = built.tree
    _run(_fill_leaves, tree.items.size, tree, slots, lowers, uppers)
    for stage in built.stages:
        _run(fill_nodes, stage.size - 1, tree.nodes, stage)


def _run(code: Kernel, dim: int, *args: Any) -> None:
    device = args[0].nodes.device if isinstance(args[0], BvhTree) else args[0].device
    launch(code, dim, args, device=device, record_tape=False)
