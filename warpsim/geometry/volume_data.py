"""From a grid to the `VolumeData` that kernels see: typed views of one buffer, the tree's numbers, the directory.

Values are not copied: what kernels store is in the grid, and the other way round. Root and inner nodes are, so that a
kernel that writes values never writes what it finds its way by. Gradients of values, if there are any, are a
second buffer of the same size: a value and its gradient stand at the same place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.runtime.array import array
from ..core.runtime.array_ops import empty, zeros
from ..core.runtime.launch import launch
from ..core.types.scalars import float32, float64, int32, int64, uint32
from ..errors import VolumeError
from .nanovdb_grid import Grid
from .nanovdb_layout import LEAF_LOG2, LEAF_SLOTS
from .nanovdb_read import VALUE_TYPES, WORD, VolumeData
from .nanovdb_voxels import leaf_origins, value_tiles
from .volume_directory import fill_directory

MAX_BYTES = (1 << 31) * WORD
"""Places are int32 words."""

CUBES_PER_LEAF, FEW_CUBES = 64, 1 << 17
"""How large a directory may become: an eighth of what the leaves need, or half a megabyte."""


def volume_data(grid: Grid, device: Any = None) -> VolumeData:
    """A grid as kernels see it. Raises `VolumeError` for one of 8 GiB and more."""
    data = VolumeData()
    _see_buffer(data, grid, device)
    _see_tree(data, grid, device)
    _see_map(data, grid)
    _see_directory(data, grid, device)
    return data


def _see_buffer(data: VolumeData, grid: Grid, device: Any) -> None:
    if len(grid.buffer) >= MAX_BYTES:
        raise VolumeError(f"a grid of {len(grid.buffer)} bytes\nexpected: less than {MAX_BYTES}")
    whole = grid.buffer[: len(grid.buffer) // 8 * 8]  # blind data may end at any byte
    data.words = array(whole.view(np.uint32), dtype=uint32, copy=False, device=device)
    for name, t in (("integers", int32), ("floats", float32), ("longs", int64), ("doubles", float64)):
        setattr(data, name, array._wrap(whole.view(t), t, data.words.device, owner=data.words))
    apart = whole if grid.layout.is_index else whole[: _end_of_tree(grid)].copy()
    data.masks = array(apart.view(np.uint32), dtype=uint32, copy=False, device=device)
    data.links = array._wrap(apart.view(np.int64), int64, data.words.device, owner=data.masks)


def _end_of_tree(grid: Grid) -> int:
    """The first byte behind root and inner nodes, which usually stand before all leaves."""
    ends = [grid.root_offset + grid.layout.root.size + grid.tiles.nbytes]
    return max([*ends, *(grid.node_offset(n) + nodes.nbytes for n, nodes in ((1, grid.lowers), (2, grid.uppers)))])


def _see_tree(data: VolumeData, grid: Grid, device: Any) -> None:
    parts, root = grid.layout, grid.root_offset
    data.grid_type = int(grid.type)
    data.root, data.background = root // WORD, (root + parts.background) // WORD
    order = np.argsort(grid.tiles["key"], kind="stable")
    places = (root + parts.root.size + order * parts.tile.size) // WORD
    data.keys = array(grid.tiles["key"][order].astype(np.int64), dtype=int64, device=device)
    data.tiles = array(places.astype(np.int32), dtype=int32, device=device)
    data.tile_value, data.table_stride = parts.tile_value // WORD, parts.table_stride // WORD
    data.upper_table, data.lower_table = parts.upper_table // WORD, parts.lower_table // WORD
    data.leaf_values = 0 if parts.is_index else parts.leaf_values // WORD
    data.leaf_stride = parts.leaf.size // WORD
    data.first_leaf = grid.node_offset(0) // WORD + data.leaf_values
    data.voxel_count = voxel_count(grid)


def voxel_count(grid: Grid) -> int:
    """The length of arrays with an element per voxel: of index grids what they ask for, else 512 per leaf."""
    return max(grid.value_count - 1, 0) if grid.layout.is_index else len(grid.leaves) * LEAF_SLOTS


def _see_map(data: VolumeData, grid: Grid) -> None:
    entry = grid.header["map"]
    for field, name in (("to_world", "matrix"), ("to_index", "inverse"), ("translation", "translation")):
        for suffix, source in (("", name), ("_f", f"{name}_f")):
            t = VolumeData.fields[field + suffix]
            setattr(data, field + suffix, t(*entry[source].ravel().tolist()))


def _see_directory(data: VolumeData, grid: Grid, device: Any) -> None:
    low, extent = directory_box(grid)
    data.low, data.extent = low.tolist(), extent.tolist()
    count = int(np.prod(extent, dtype=np.float64))
    if count > max(FEW_CUBES, CUBES_PER_LEAF * len(grid.leaves)):
        data.entries = zeros(0, dtype=int32, device=device)
        return
    data.entries = empty(count, dtype=int32, device=device)
    launch(fill_directory, dim=tuple(extent.tolist()), inputs=[data], device=device)


def directory_box(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Around all cubes that may differ from the background, a box with a border: lowest cube and extent, (3,) int64."""
    origins = leaf_origins(grid)
    lows, highs = [origins], [origins]
    for corners, span, _, _ in value_tiles(grid):
        lows.append(corners)
        highs.append(corners + (span - 1))
    low, high = np.concatenate(lows) >> LEAF_LOG2, np.concatenate(highs) >> LEAF_LOG2
    if not len(low):
        return np.zeros(3, np.int64), np.ones(3, np.int64)
    return low.min(axis=0) - 1, high.max(axis=0) - low.min(axis=0) + 3


def leaf_values(data: VolumeData, grid: Grid) -> array:
    """The values in leaves as an array (leaves, 512) over the grid's memory, with the gradients that belong to it."""
    return array._wrap(grid.leaves["values"], VALUE_TYPES[grid.type], data.words.device, owner=data.words)
