"""From points and indices to what queries read: boxes of faces, packs of triangles, and the tree over them.

Every step is a kernel, and each element is made by one thread in a fixed order, so the bits do not depend on the
number of threads. Faces with a corner that is not finite are in no leaf, so no query finds them.
"""

from __future__ import annotations

import math

from ..core.frontend.functions import func
from ..core.ops import greater, length_sq, lesser, max, min, sqrt, tid, where
from ..core.runtime.array import array
from ..core.runtime.array_ops import empty, zeros
from ..core.runtime.kernel import kernel
from ..core.runtime.launch import launch
from ..core.runtime.primitives import array_scan
from ..core.types.scalars import float32, float64, int32
from .bvh_nodes import BvhNode, BvhTree, leaf_code, leaf_count, leaf_first
from .bvh_walk import LARGEST
from .mesh_data import LANES, TrianglePack, known, vec3


@kernel
def bound_faces(
    points: array(dtype=vec3), indices: array(dtype=int32), lowers: array(dtype=vec3), uppers: array(dtype=vec3)
):
    """The boxes of faces."""
    face = tid()
    a, b, c = points[indices[3 * face]], points[indices[3 * face + 1]], points[indices[3 * face + 2]]
    if known(a, b, c):
        lowers[face] = min(a, min(b, c))
        uppers[face] = max(a, max(b, c))
    else:
        lowers[face] = vec3(math.nan)
        uppers[face] = vec3(math.nan)


# ----- leaves of eight positions --------------------------------------------------------------


@kernel
def _mark_leaves(nodes: array(dtype=BvhNode), starts: array(dtype=int32)):
    """1 at the first position of every leaf."""
    node = tid()
    for slot in range(4):
        child = nodes[node].child[slot]
        if child <= -2:
            starts[leaf_first(child)] = 1


@kernel
def _widen(
    nodes: array(dtype=BvhNode), items: array(dtype=int32), leaves: array(dtype=int32),
    wide: array(dtype=BvhNode), positions: array(dtype=int32), owners: array(dtype=int32),
):  # fmt: skip
    """The same node over leaves of eight positions; leaves: how many leaves begin up to a position."""
    n = tid()
    node = nodes[n]
    for slot in range(4):
        child = node.child[slot]
        if child <= -2:
            first, count = leaf_first(child), leaf_count(child)
            leaf = leaves[first] - 1
            node.child[slot] = leaf_code(LANES * leaf, count)
            owners[leaf] = 4 * n + slot
            for k in range(LANES):
                positions[LANES * leaf + k] = items[first + where(k < count, k, 0)]
    if node.count > 0:
        before, last = leaves[node.first] - 1, leaves[node.first + node.count - 1]
        node.first = LANES * before
        node.count = LANES * (last - before)
    wide[n] = node


def widened(tree: BvhTree) -> tuple[BvhTree, array]:
    """The same tree with eight positions for every leaf, and for each leaf 4 * its node + its slot there."""
    device = tree.nodes.device
    size = max(tree.items.size, 1)
    leaves = zeros(size, int32, device)
    launch(_mark_leaves, tree.nodes.size, [tree.nodes], [leaves], device=device)
    array_scan(leaves, leaves)
    count = int(leaves[size - 1 :].numpy()[0])
    nodes, owners = empty(tree.nodes.size, BvhNode, device), empty(count, int32, device)
    items = empty(LANES * count, int32, device)
    launch(_widen, tree.nodes.size, [tree.nodes, tree.items, leaves], [nodes, items, owners], device=device)
    return BvhTree(nodes=nodes, items=items, spans=tree.spans), owners


# ----- packs ----------------------------------------------------------------------------------


@kernel
def gather_vertices(indices: array(dtype=int32), items: array(dtype=int32), vertices: array(dtype=int32)):
    """The vertices of faces in the order of the tree, so that refits read them in a row."""
    i = tid()
    for k in range(3):
        vertices[3 * i + k] = indices[3 * items[i] + k]


@kernel
def pack_triangles(
    points: array(dtype=vec3), vertices: array(dtype=int32), owners: array(dtype=int32),
    packs: array(dtype=TrianglePack), nodes: array(dtype=BvhNode), edges: array(dtype=float32),
):  # fmt: skip
    """Fill one pack with the corners of its faces, and the leaf's slot with their box.

    Corners of a face that is not finite are all NaN, which is near nothing. edges: sums of the squared lengths of
    first edges, so that their average costs little.
    """
    leaf = tid()
    slot = owners[leaf]
    count = leaf_count(nodes[slot // 4].child[slot % 4])
    lower, upper, total = vec3(LARGEST), vec3(-LARGEST), float32(0.0)
    pack = TrianglePack()
    for k in range(LANES):
        i = 3 * (LANES * leaf + k)
        a, b, c = points[vertices[i]], points[vertices[i + 1]], points[vertices[i + 2]]
        if known(a, b, c):
            lower, upper = lesser(lower, lesser(a, lesser(b, c))), greater(upper, greater(a, greater(b, c)))
            total += where(k < count, length_sq(b - a), 0.0)
        else:
            a, b, c = vec3(math.nan), vec3(math.nan), vec3(math.nan)
        pack.ax[k], pack.ay[k], pack.az[k] = a[0], a[1], a[2]
        pack.bx[k], pack.by[k], pack.bz[k] = b[0], b[1], b[2]
        pack.cx[k], pack.cy[k], pack.cz[k] = c[0], c[1], c[2]
    packs[leaf] = pack
    edges[leaf] = total
    set_box(nodes, slot, lower, upper)


@func
def set_box(nodes: array(dtype=BvhNode), slot: int32, lower: vec3, upper: vec3):
    """Write the box of a child, given as 4 * node + slot."""
    node, k = slot // 4, slot % 4
    nodes[node].lower_x[k] = lower[0]
    nodes[node].lower_y[k] = lower[1]
    nodes[node].lower_z[k] = lower[2]
    nodes[node].upper_x[k] = upper[0]
    nodes[node].upper_y[k] = upper[1]
    nodes[node].upper_z[k] = upper[2]


@kernel
def refit_nodes(nodes: array(dtype=BvhNode), spans: array(dtype=int32)):
    """Boxes of inner children of the nodes from spans[t] on, the last first, for children follow their parents.

    Nodes of one span are one subtree. No two threads write to the same slot.
    """
    t = tid()
    for i in range(spans[t + 1] - spans[t]):
        node = nodes[spans[t + 1] - 1 - i]
        if node.parent >= 0:
            lower = vec3(min(node.lower_x), min(node.lower_y), min(node.lower_z))
            upper = vec3(max(node.upper_x), max(node.upper_y), max(node.upper_z))
            set_box(nodes, node.parent, lower, upper)


@kernel
def average_edges(edges: array(dtype=float32), count: int32, average: array(dtype=float32)):
    """The root of the mean of squared lengths whose sums are `edges`."""
    tid()
    total = float64(0.0)
    for i in range(edges.shape[0]):
        total += float64(edges[i])
    average[0] = float32(sqrt(total / float64(max(count, 1))))
