"""New boxes for an old hierarchy: leaves take up the boxes of their primitives, nodes those of their children.

Children have higher numbers than their parents, so each thread goes through the nodes of one subtree backwards;
then one thread goes through the nodes above. No two threads write the same slot.
"""

from __future__ import annotations

from ..core.frontend.functions import func
from ..core.ops import greater, lesser, tid
from ..core.runtime.array import array
from ..core.runtime.kernel import kernel
from ..core.runtime.launch import launch
from ..core.types.scalars import int32
from .bvh_nodes import EMPTY, BvhTree, leaf_count, leaf_first, vec3, vec4
from .bvh_split import NOTHING


@func
def _refit_leaf(tree: BvhTree, at: int32, s: int32, lowers: array(dtype=vec3), uppers: array(dtype=vec3)) -> None:
    """Give slot `s` the union of the boxes in its leaf; numbers that are NaN are passed over."""
    lower, upper = vec3(NOTHING[0]), vec3(-NOTHING[0])
    first = leaf_first(tree.nodes[at].child[s])
    for k in range(first, first + leaf_count(tree.nodes[at].child[s])):
        item = tree.items[k]
        lower = lesser(lower, lowers[item])
        upper = greater(upper, uppers[item])
    _put_box(tree, at, s, lower, upper)


@func
def _put_box(tree: BvhTree, at: int32, s: int32, lower: vec3, upper: vec3) -> None:
    tree.nodes[at].lower_x[s] = lower[0]
    tree.nodes[at].lower_y[s] = lower[1]
    tree.nodes[at].lower_z[s] = lower[2]
    tree.nodes[at].upper_x[s] = upper[0]
    tree.nodes[at].upper_y[s] = upper[1]
    tree.nodes[at].upper_z[s] = upper[2]


@func
def _smallest(x: vec4) -> float:
    return lesser(lesser(x[0], x[1]), lesser(x[2], x[3]))


@func
def _greatest(x: vec4) -> float:
    return greater(greater(x[0], x[1]), greater(x[2], x[3]))


@func
def _refit_nodes(tree: BvhTree, first: int32, end: int32, lowers: array(dtype=vec3), uppers: array(dtype=vec3)) -> None:
    """Refit nodes `first` to `end - 1`, the last first; each passes its box on to its parent."""
    at = end - 1
    while at >= first:
        for s in range(4):
            if tree.nodes[at].child[s] < EMPTY:
                _refit_leaf(tree, at, s, lowers, uppers)
        node = tree.nodes[at]
        lower = vec3(_smallest(node.lower_x), _smallest(node.lower_y), _smallest(node.lower_z))
        upper = vec3(_greatest(node.upper_x), _greatest(node.upper_y), _greatest(node.upper_z))
        if node.parent >= 0:
            _put_box(tree, node.parent >> 2, node.parent & 3, lower, upper)
        at -= 1


@kernel
def _refit_subtrees(tree: BvhTree, lowers: array(dtype=vec3), uppers: array(dtype=vec3)):
    t = tid()
    _refit_nodes(tree, tree.spans[t], tree.spans[t + 1], lowers, uppers)


@kernel
def _refit_top(tree: BvhTree, lowers: array(dtype=vec3), uppers: array(dtype=vec3)):
    tid()
    _refit_nodes(tree, 0, tree.spans[0], lowers, uppers)


def refit(tree: BvhTree, lowers: array, uppers: array) -> None:
    """Fit the boxes of all nodes to new boxes of the primitives; the tree stays as it is.

    A primitive whose box has become NaN is not found any more; one that was left out by `build` stays out.
    """
    device = tree.nodes.device
    launch(_refit_subtrees, tree.spans.size - 1, [tree, lowers, uppers], device=device)
    launch(_refit_top, 1, [tree, lowers, uppers], device=device)
