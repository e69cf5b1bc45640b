"""The layout of bounding volume hierarchies: four boxes to a node, structures of arrays, items in tree order.

A hierarchy over n boxes ("primitives") is a tree of `BvhNode`s, 128 bytes each. A node holds the boxes of
its up to four children, coordinate by coordinate in `vec4`s, so that one instruction tests four boxes;
its own box stands in its parent only. Node 0 is the root; a child's number is larger than its
parent's. `child[s]` says what slot s holds:

    child >= 0           an inner node, by number
    child == EMPTY (-1)  nothing: its box is (+inf, -inf), and so are all later slots of the node
    child <= -2          a leaf: positions first to first + count - 1 in `items`, from
                         leaf_first(child) and leaf_count(child); 1 <= count <= MAX_LEAF

`items` lists primitives in the order of the leaves: data that queries read per primitive is best stored
in this order too. Everything below a node is one range of `items`: `first` to `first + count - 1`.

A hierarchy without primitives has one node, whose slots are all empty; one whose handle was closed has no
nodes at all. Primitives whose box is not finite are in no leaf.

Bounds for traversals: a path from the root passes at most `MAX_DEPTH` = 31 nodes, so a stack of
`STACK_SIZE` = 96 entries holds all that can be waiting: at most three siblings on each level.
"""

from __future__ import annotations

from ...core.language import array_type, func, int32, struct, vec4, vec4i

EMPTY = -1
MAX_LEAF = 8
MAX_DEPTH = 31
STACK_SIZE = 96
NO_NODE = 2**31 - 1  # a number beyond all nodes
MAX_PRIMITIVES = 1 << 27  # leaves have 8 * first + count - 1 to store


@struct
class BvhNode:
    """Boxes of up to four children, and what they are; see the head of this file."""

    lower_x: vec4
    lower_y: vec4
    lower_z: vec4
    upper_x: vec4
    upper_y: vec4
    upper_z: vec4
    child: vec4i
    parent: int32  # 4 * parent's number + slot there; -1 for the root
    first: int32  # of the positions in `items` below this node
    count: int32  # of these positions
    depth: int32  # nodes above


@func
def leaf_first(child: int32) -> int32:
    """The first position in `items` of a leaf."""
    return (-2 - child) >> 3


@func
def leaf_count(child: int32) -> int32:
    """The number of positions of a leaf."""
    return ((-2 - child) & 7) + 1


@func
def leaf_code(first: int32, count: int32) -> int32:
    """What `child` holds for a leaf of `count` positions from `first` on."""
    return -2 - (first * 8 + count - 1)


@struct
class BvhTree:
    """A hierarchy as kernels see it."""

    nodes: array_type(BvhNode, 1)
    items: array_type(int32, 1)


@struct
class BvhData:
    """What the id of a `Bvh` stands for."""

    tree: BvhTree
    groups: array_type(int32, 1)  # of primitives, ascending and each once; empty without groups
    roots: array_type(int32, 1)  # the node of each group; NO_NODE where all of its boxes are left out
