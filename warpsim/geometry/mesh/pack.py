"""From points and indices to what queries read: boxes of faces, packs of triangles, and the tree over them.

Every step is a kernel, and each element is made by one thread in a fixed order, so the bits do not depend on the
number of threads. Faces with a corner that is not finite are in no leaf, so no query finds them.
"""

from __future__ import annotations

import math

from ...core.language import array, array_scan, atomic_add, atomic_min, empty, float32, float64, greater, int32, kernel
from ...core.language import launch, length_sq, lesser, max, min, sqrt, tid, vec3, where, zeros
from ..bvh.boxes import LARGEST
from ..bvh.nodes import BvhNode, BvhTree, leaf_code, leaf_count, leaf_first
from ..bvh.refit import put_box
from .data import LANES, TrianglePack, is_finite_triangle


@kernel
def bound_faces(
    points: array(dtype=vec3), indices: array(dtype=int32), lowers: array(dtype=vec3), uppers: array(dtype=vec3)
):
    """The boxes of faces."""
    face = tid()
    a, b, c = points[indices[3 * face]], points[indices[3 * face + 1]], points[indices[3 * face + 2]]
    if is_finite_triangle(a, b, c):
        lowers[face] = min(a, min(b, c))
        uppers[face] = max(a, max(b, c))
    else:
        lowers[face] = vec3(math.nan)
        uppers[face] = vec3(math.nan)


@kernel
def _find_wrong(indices: array(dtype=int32), points: int32, wrong: array(dtype=int32)):
    """Write to `wrong` how many indices are no numbers of points, and the first of them."""
    i = tid()
    if indices[i] < 0 or indices[i] >= points:
        atomic_add(wrong, 0, 1)
        atomic_min(wrong, 1, i)


def out_of_range(indices: array, points: int) -> tuple[int, int]:
    """How many indices are not from 0 to `points` - 1, and where the first is. The host waits for the device once."""
    wrong = array([0, indices.size], dtype=int32, device=indices.device)
    launch(_find_wrong, indices.size, [indices, points], [wrong], device=indices.device, record_tape=False)
    count, first = wrong.numpy().tolist()
    return count, first


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
    nodes: array(dtype=BvhNode),
    items: array(dtype=int32),
    leaves: array(dtype=int32),
    wide: array(dtype=BvhNode),
    positions: array(dtype=int32),
    owners: array(dtype=int32),
):
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


def widen_leaves(tree: BvhTree) -> tuple[BvhTree, array]:
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
    return BvhTree(nodes=nodes, items=items), owners


# ----- packs ----------------------------------------------------------------------------------


@kernel
def gather_vertices(indices: array(dtype=int32), items: array(dtype=int32), vertices: array(dtype=int32)):
    """The vertices of faces in the order of the tree, so that refits read them in a row."""
    i = tid()
    for k in range(3):
        vertices[3 * i + k] = indices[3 * items[i] + k]


@kernel
def pack_triangles(
    points: array(dtype=vec3),
    vertices: array(dtype=int32),
    owners: array(dtype=int32),
    packs: array(dtype=TrianglePack),
    nodes: array(dtype=BvhNode),
    edges: array(dtype=float32),
):
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
        if is_finite_triangle(a, b, c):
            lower, upper = lesser(lower, lesser(a, lesser(b, c))), greater(upper, greater(a, greater(b, c)))
            total += where(k < count, length_sq(b - a), 0.0)
        else:
            a, b, c = vec3(math.nan), vec3(math.nan), vec3(math.nan)
        pack.ax[k], pack.ay[k], pack.az[k] = a[0], a[1], a[2]
        pack.bx[k], pack.by[k], pack.bz[k] = b[0], b[1], b[2]
        pack.cx[k], pack.cy[k], pack.cz[k] = c[0], c[1], c[2]
    packs[leaf] = pack
    edges[leaf] = total
    put_box(nodes, slot, lower, upper)


@kernel
def _sum_squares(edges: array(dtype=float32), share: int32, sums: array(dtype=float64)):
    """Sum `share` numbers in order."""
    t = tid()
    total = float64(0.0)
    for i in range(share * t, min(share * (t + 1), edges.shape[0])):
        total += float64(edges[i])
    sums[t] = total


@kernel
def _average(sums: array(dtype=float64), count: int32, average: array(dtype=float32)):
    tid()
    total = float64(0.0)
    for i in range(sums.shape[0]):
        total += sums[i]
    average[0] = float32(sqrt(total / float64(max(count, 1))))


def average_edges(edges: array, count: int, average: array) -> None:
    """The root of the mean of `count` squared lengths, whose sums over leaves are `edges`.

    Where there are many threads, each sums the square root of all.
    """
    device = edges.device
    share = math.isqrt(edges.size) + 1 if device.runs_many_threads else edges.size or 1
    sums = empty(-(-edges.size // share), float64, device)
    launch(_sum_squares, sums.size, [edges, share], [sums], device=device, record_tape=False)
    launch(_average, 1, [sums, count], [average], device=device, record_tape=False)
