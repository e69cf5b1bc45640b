"""The directory of a volume: the entries of all cubes of 8^3 voxels in a box around the tree, in one dense array.

A tree answers a lookup by four reads that wait for each other. The directory answers it by one, of an array
that is small: 4 bytes per cube, where a leaf has 2 kB and more. Its box holds every cube that is not all
background and one more cube on each side; coordinates outside are clamped to that border, so a lookup has no
branch, and the eight voxels around a point share all arithmetic along the axes.

Where the box would be too large for the leaves in it, the directory stays empty and the tree is walked. Both ways
give the same values.
"""

from __future__ import annotations

from typing import Any

from ...core.language import clamp, func, int32, kernel, tid, vector_type, zeros
from ..nanovdb.read import VolumeData, tree_entry

vec2i, vec8i = vector_type(2, int32), vector_type(8, int32)

CORNERS = tuple((c, c >> 2, c >> 1 & 1, c & 1) for c in range(8))
"""The voxels around a point, z the fastest: their number, and 0 (below) or 1 (above) along each axis."""


@func
def entry_of(data: VolumeData, i: int32, j: int32, k: int32) -> int32:
    """The entry of the cube that contains voxel (i, j, k)."""
    if len(data.entries) == 0:
        return tree_entry(data, i, j, k)
    x, y, z = _row(data, 0, i), _row(data, 1, j), _row(data, 2, k)
    return data.entries[(x * data.extent[1] + y) * data.extent[2] + z]


@func
def corner_entries(data: VolumeData, i: int32, j: int32, k: int32) -> vec8i:
    """The entries of the eight voxels from (i, j, k) to (i + 1, j + 1, k + 1), in the order of `CORNERS`."""
    if len(data.entries) == 0:
        return _walk_tree(data, i, j, k)
    x = vec2i(_row(data, 0, i), _row(data, 0, i + 1)) * data.extent[1]
    y = vec2i(_row(data, 1, j), _row(data, 1, j + 1))
    z = vec2i(_row(data, 2, k), _row(data, 2, k + 1))
    entries = vec8i()
    for n, dx, dy, dz in CORNERS:
        entries[n] = data.entries[(x[dx] + y[dy]) * data.extent[2] + z[dz]]
    return entries


@func
def _row(data: VolumeData, axis: Any, i: int32) -> int32:
    """The row of the directory along an axis that holds coordinate `i`."""
    return clamp((i >> 3) - data.low[axis], 0, data.extent[axis] - 1)


@func
def _walk_tree(data: VolumeData, i: int32, j: int32, k: int32) -> vec8i:
    """`corner_entries` from the tree, which is walked once for every cube that the eight voxels touch."""
    leaving = ((i & 7) // 7) << 2 | ((j & 7) // 7) << 1 | (k & 7) // 7  # axes on which the upper voxels leave the cube
    entries = zeros(shape=8, dtype=int32)
    n = int32(0)
    while n < 8:
        if n & leaving == n:  # the first voxel in its cube
            entries[n] = tree_entry(data, i + (n >> 2), j + (n >> 1 & 1), k + (n & 1))
        else:
            entries[n] = entries[n & leaving]
        n += 1
    return vec8i(entries[0], entries[1], entries[2], entries[3], entries[4], entries[5], entries[6], entries[7])


@kernel
def fill_directory(data: VolumeData):
    """Look up the entries of the box; one thread per cube of `data.entries`."""
    x, y, z = tid()
    i, j, k = (x + data.low[0]) << 3, (y + data.low[1]) << 3, (z + data.low[2]) << 3
    data.entries[(x * data.extent[1] + y) * data.extent[2] + z] = tree_entry(data, i, j, k)
