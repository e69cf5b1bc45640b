"""Depth-first traversal of a hierarchy: branch and bound for the best of its items, or a visit to all that may count.

A search is a struct: what it looks for, and the best that it has found so far. It goes through the hierarchy with two
functions of its own, one that judges the children of a node and one that looks at a leaf:

    @struct
    class Nearest:
        point: vec3
        limit: float32  # squared distance of the best so far
        item: int32

    @func
    def near(search: Nearest, node: BvhNode) -> vec4:
        return box_distances_sq(node, search.point)

    @func
    def look(data: Data, search: Nearest, leaf: int32) -> Nearest:
        for k in range(leaf_first(leaf), leaf_first(leaf) + leaf_count(leaf)):
            ...                                                 # item data.tree.items[k]: lower `search.limit`
        return search

    search = nearest_first(data, search, near, look)

`data` is any struct with a `tree`. Leaves come in an order that depends on the tree alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.language import float32, func, int32, vec4, vec4i, where, zeros
from .boxes import LARGEST
from .nodes import STACK_SIZE


@func
def nearest_first(data: Any, search: Any, bounds_of: Callable, look: Callable, root: int32 = 0) -> Any:
    """The search below the node `root` after branch and bound: nodes and leaves whose bound is above `search.limit`
    are left out.

    bounds_of: (search, node) to a lower bound of what each child has to offer, at least -LARGEST, infinite for empty
    slots; nearer children are visited first. look: (data, search, leaf) to the search that has seen the leaf.
    """
    stack, bounds = zeros(shape=STACK_SIZE, dtype=int32), zeros(shape=STACK_SIZE, dtype=float32)
    bounds[0], stack[0] = -LARGEST, root
    top = where(root < len(data.tree.nodes), 1, 0)
    while top > 0:
        top -= 1
        child = stack[top]
        if bounds[top] <= search.limit:
            if child >= 0:
                node = data.tree.nodes[child]
                keys, children = sorted_down(bounds_of(search, node), node.child)
                for k in range(4):
                    if keys[k] <= search.limit:
                        stack[top] = children[k]
                        bounds[top] = keys[k]
                        top += 1
            else:
                search = look(data, search, child)
    return search


@func
def visit_all(data: Any, search: Any, enter: Callable, look: Callable, root: int32 = 0) -> Any:
    """The search after it has looked at all leaves below the node `root` that it enters.

    enter: (data, search, n) to the search that has seen node n, and a bit for each child to go on with, none of them
    empty. look: (data, search, leaf) to the search that has seen the leaf.
    """
    stack = zeros(shape=STACK_SIZE, dtype=int32)
    stack[0] = root
    top = where(root < len(data.tree.nodes), 1, 0)
    while top > 0:
        top -= 1
        child = stack[top]
        if child >= 0:
            search, entered = enter(data, search, child)
            for k in range(4):
                if (entered >> k) & 1 == 1:
                    stack[top] = data.tree.nodes[child].child[k]
                    top += 1
        else:
            search = look(data, search, child)
    return search


@func
def sorted_down(keys: vec4, values: vec4i) -> tuple[vec4, vec4i]:
    """Four pairs in the order of descending keys."""
    a, b, c, d = keys[0], keys[1], keys[2], keys[3]
    i, j, k, m = values[0], values[1], values[2], values[3]
    if a < b:
        a, b, i, j = b, a, j, i
    if c < d:
        c, d, k, m = d, c, m, k
    if a < c:
        a, c, i, k = c, a, k, i
    if b < d:
        b, d, j, m = d, b, m, j
    if b < c:
        b, c, j, k = c, b, k, j
    return vec4(a, b, c, d), vec4i(i, j, k, m)
