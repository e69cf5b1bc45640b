"""From a grid to the `VolumeData` that kernels see: typed views of one buffer, the tree's numbers, the directory.

Values are not copied: what kernels store is in the grid, and the other way round. A kernel that writes values never
writes what it finds its way by: that is the directory, or a copy of root and inner nodes. Gradients of values, if there
are any, are a second buffer of the same size: a value and its gradient stand at the same place.

On CUDA the grid's buffer is copied to the device, once. From then on, values are those there, and the buffer on the
host says only where they are; `present` reads them back. On the CPU both are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.language import CPU, array, empty, float32, float64, int32, int64, launch, uint32, zeros
from ...errors import VolumeError
from ..nanovdb.grid import Grid
from ..nanovdb.layout import LEAF_LOG2, LEAF_SLOTS, MAX_BYTES
from ..nanovdb.read import VALUE_TYPES, WORD, VolumeData
from ..nanovdb.voxels import leaf_origins, value_tiles
from .directory import fill_directory

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

CUBES_PER_LEAF, FEW_CUBES = 64, 1 << 17
"""How large a directory may become: an eighth of what the leaves need, or half a megabyte."""


def volume_data(grid: Grid, device: Device = CPU, directory: bool = True, shared: array | None = None) -> VolumeData:
    """A grid as kernels of a device see it; without `directory` they walk the tree at every lookup.

    shared: the bytes of the grid on a CUDA device, (n,) uint8, to be used where they are.
    Raises `VolumeError` for a grid of 8 GiB and more.
    """
    if len(grid.buffer) >= MAX_BYTES:
        raise VolumeError(f"a grid of {len(grid.buffer)} bytes\nexpected: less than {MAX_BYTES}")
    device = CPU if device.shares_host_memory else device
    data = VolumeData()
    data.words = _words(grid.buffer, device) if shared is None else _words_of(shared)
    whole = data.words._data.view(np.uint8)
    for name, t in (("integers", int32), ("floats", float32), ("longs", int64), ("doubles", float64)):
        setattr(data, name, array._wrap(whole.view(t), t, device, owner=data.words))
    _see_nodes(data, whole)
    _see_tree(data, grid)
    _see_map(data, grid)
    if not (directory and _filled_directory(data, grid)):
        data.entries = zeros(0, dtype=int32, device=device)
        if not grid.layout.is_index:
            _see_nodes(data, whole[: _end_of_tree(grid)].copy())
    elif not grid.layout.is_index:  # the directory knows all that the tree does
        _see_nodes(data, whole[:0])
    return data


def _words(buffer: np.ndarray, device: Device) -> array:
    """The memory of values: the buffer itself, or a copy of it on a device. Blind data may end at any byte."""
    if device.shares_host_memory:
        return array(buffer[: len(buffer) // 8 * 8].view(np.uint32), dtype=uint32, copy=False, device=device)
    padded = np.concatenate([buffer, np.zeros(-len(buffer) % 8, np.uint8)])
    return array(padded.view(np.uint32), dtype=uint32, device=device)


def _words_of(shared: array) -> array:
    """The same memory of a device as words."""
    memory = shared._data[: shared.size // 8 * 8].view(np.uint32)
    return array._wrap(memory, uint32, shared.device, owner=shared)


def _see_nodes(data: VolumeData, memory: np.ndarray) -> None:
    device = data.words.device
    if device.shares_host_memory:
        data.masks = array(memory.view(np.uint32), dtype=uint32, copy=False, device=device)
    else:
        data.masks = array._wrap(memory.view(np.uint32), uint32, device)
    data.links = array._wrap(memory.view(np.int64), int64, device, owner=data.masks)


def present(data: VolumeData, grid: Grid) -> Grid:
    """The grid with the values of now, on the host; waits for a device."""
    if data.words.device.shares_host_memory:
        return grid
    now = grid.copy()
    words = data.words.numpy().view(np.uint8)[: len(grid.buffer)]
    now.buffer[: len(words)] = words
    return now


def seen_by_kernels(data: VolumeData, grid: Grid, view: np.ndarray) -> np.ndarray:
    """What kernels have where a view of the grid's buffer lies."""
    memory = data.words._data
    if data.words.device.shares_host_memory:
        return view
    begin = view.ctypes.data - grid.buffer.ctypes.data if view.size else 0
    first = memory.view(np.uint8)[begin : begin + view.itemsize].view(view.dtype)
    return np.lib.stride_tricks.as_strided(first, view.shape, view.strides, subok=True)


def _end_of_tree(grid: Grid) -> int:
    """The first byte behind root and inner nodes, which usually stand before all leaves."""
    ends = [grid.root_offset + grid.layout.root.size + grid.tiles.nbytes]
    for level, nodes in ((1, grid.lowers), (2, grid.uppers)):
        ends += [grid.node_offset(level) + nodes.nbytes] * bool(len(nodes))
    return max(ends)


def _see_tree(data: VolumeData, grid: Grid) -> None:
    parts, root, device = grid.layout, grid.root_offset, data.words.device
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
    if len(grid.leaves):
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


def _filled_directory(data: VolumeData, grid: Grid) -> bool:
    """Whether there is room for a directory; then it is made."""
    limit = max(FEW_CUBES, CUBES_PER_LEAF * len(grid.leaves))
    box = directory_box(grid, limit)
    if box is None:
        return False
    low, extent = box
    data.low, data.extent = low.tolist(), extent.tolist()
    device = data.words.device
    data.entries = empty(int(extent.prod()), dtype=int32, device=device)
    launch(fill_directory, dim=tuple(extent.tolist()), inputs=[data], device=device, record_tape=False)
    return True


def directory_box(grid: Grid, limit: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Around all cubes that may differ from the background, a box with a border: lowest cube and extent, (3,) int64.

    None where the box has more than `limit` cubes.
    """
    origins = leaf_origins(grid)
    corners = [origins >> LEAF_LOG2]
    if _count(corners) > limit:  # it only grows
        return None
    for lows, span, _, _ in value_tiles(grid):
        corners += [lows >> LEAF_LOG2, lows + (span - 1) >> LEAF_LOG2]
    if _count(corners) > limit:
        return None
    cubes = np.concatenate(corners)
    if not len(cubes):
        return np.zeros(3, np.int64), np.ones(3, np.int64)
    return cubes.min(axis=0) - 1, np.ptp(cubes, axis=0) + 3


def _count(corners: list[np.ndarray]) -> float:
    """How many cubes the box around some cubes and its border have."""
    cubes = np.concatenate(corners)
    return float(np.prod(np.ptp(cubes, axis=0) + 3.0)) if len(cubes) else 1.0


def leaf_values(data: VolumeData, grid: Grid) -> array:
    """The values in leaves as an array (leaves, 512) over the volume's memory, with their gradients."""
    values = seen_by_kernels(data, grid, grid.leaves["values"])
    return array._wrap(values, VALUE_TYPES[grid.type], data.words.device, owner=data.words)
