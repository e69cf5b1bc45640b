"""Adjacency of triangles: half-edges sorted by their two vertices, so that the two of an edge meet."""

from __future__ import annotations

from typing import Any

from ...core.language import array, array2d, int32, int64
from ...core.language import empty, full, func, kernel, launch, max, min, radix_sort_pairs, tid
from ...core.runtime.arrays import saved_contents
from ...core.runtime.arrays.array import array as Array
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError, ArrayError, instance


@kernel
def _key_edges(indices: array2d[int32], keys: array[int64], order: array[int32]):
    t, j = tid()
    a, b = indices[t, (j + 1) % 3], indices[t, (j + 2) % 3]
    keys[3 * t + j] = int64(min(a, b)) << int64(32) | int64(max(a, b))
    order[3 * t + j] = 3 * t + j


@kernel
def _join(keys: array[int64], order: array[int32], count: int32, neighbors: array2d[int32], edges: array2d[int32]):
    k = tid()
    if k + 1 == count or keys[k + 1] != keys[k]:
        return
    if k > 0 and keys[k - 1] == keys[k]:
        return  # of an edge of three triangles, the first two are neighbours
    a, b = order[k], order[k + 1]
    neighbors[a // 3, a % 3], neighbors[b // 3, b % 3] = b // 3, a // 3
    if edges.shape[0] > 0:
        edges[a // 3, a % 3], edges[b // 3, b % 3] = b % 3, a % 3


@func
def find_triangle_neighbor_edge_index(triangle_neighbors: array2d[int32], triangle: int32, neighbor: int32) -> int32:
    """The edge of `triangle` behind which `neighbor` is, by the vertex opposite; -1 where it is no neighbour."""
    for j in range(3):
        if triangle_neighbors[triangle, j] == neighbor:
            return j
    return -1


def tri_tri_adjacency(
    indices: Array, vertex_count: int | None = None, return_neighbor_edge_indices: bool = True
) -> Any:
    """The neighbours of each triangle: (triangles, 3) int32, -1 where an edge has no other triangle.

    indices: (triangles, 3) int32, in any orientation. Edge j of a triangle is the one opposite to its vertex j. With
    it, another such array: which edge of the neighbour it is; with `return_neighbor_edge_indices=False` the first one
    alone. Of an edge of more than two triangles, the first two are neighbours.
    vertex_count: accepted for scripts that give it, and not needed.

    Raises `ArgumentTypeError` for what is no array of int32, `ArrayError` for another shape.
    """
    check_indices(indices)
    with saved_contents.Paused():  # integers have no gradients
        neighbors = full(indices.shape, -1, dtype=int32, device=indices.device)
        edges = full(indices.shape if return_neighbor_edge_indices else (0, 3), -1, dtype=int32, device=indices.device)
        find_neighbors(indices, neighbors, edges)
    return (neighbors, edges) if return_neighbor_edge_indices else neighbors


def check_indices(indices: Array) -> None:
    """Raise unless these are triangles."""
    instance(indices, array, "indices")
    if indices.dtype is not int32:
        raise ArgumentTypeError(f"indices is an array of {type_name(indices.dtype)}\nexpected: int32")
    if indices.ndim != 2 or indices.shape[1] != 3:
        raise ArrayError(f"indices has shape {indices.shape}\nexpected: (triangles, 3)")


def find_neighbors(indices: Array, neighbors: Array, edges: Array) -> None:
    """Fill arrays as `tri_tri_adjacency` makes them, which hold -1 everywhere; edges only where there is room."""
    count, device = 3 * len(indices), indices.device
    if not count:
        return
    keys, order = (empty(2 * count, dtype=t, device=device) for t in (int64, int32))
    options = {"device": device, "record_tape": False}
    launch(_key_edges, indices.shape, [indices], [keys, order], **options)
    radix_sort_pairs(keys, order, count)
    launch(_join, count, [keys, order, count], [neighbors, edges], **options)
