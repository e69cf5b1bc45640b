"""NanoVDB grids made from NumPy arrays: dense boxes, lists of tiles, lists of voxels.

Guarantees: what comes out passes `check`, holds just the voxels that were asked for, in an order that
depends on their coordinates alone (root tiles by x, y, z, then by the slots of the nodes), with boxes,
statistics and checksums that other tools accept.  Coordinates may repeat and be negative, anywhere in int32.
Versions: 32.6.0 unless another is asked for, which all readers from 32.3 to 32.9 take.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import VolumeError
from . import checksum, statistics
from .check import active_in_leaves, prefix_sums
from .grid import Grid, aligned_zeros
from .layout import (
    GRID,
    LEAF_LOG2,
    LEAF_SLOTS,
    LEAF_SPAN_LOG2,
    LOWER_LOG2,
    LOWER_SPAN_LOG2,
    MAGIC_GRID,
    MAGIC_OLD,
    MAX_BYTES,
    NEW_MAGIC,
    TREE,
    TREE_OFFSET,
    UPPER_LOG2,
    UPPER_SPAN_LOG2,
    GridFlag,
    GridLayout,
    GridType,
    pack_version,
)
from .settings import Description, Settled
from .voxels import as_blocks, local_coordinates, root_keys, slots_of

_SIDE = 1 << LEAF_LOG2
_INT32 = np.iinfo(np.int32)
_LEAF_BITS, _LOWER_BITS, _UPPER_BITS = 3 * LEAF_LOG2, 3 * LOWER_LOG2, 3 * UPPER_LOG2
_RANK_BITS = 63 - _LEAF_BITS - _LOWER_BITS - _UPPER_BITS  # for the number of a root tile in a sort key
_ROOT_AXIS_BITS = 32 - UPPER_SPAN_LOG2


def from_dense(
    array: np.ndarray, min: Sequence[int] = (0, 0, 0), *, sparse: bool = True, **description: object
) -> Grid:
    """A grid of the values of a box whose lowest voxel is `min`.

    array: (nx, ny, nz) or (nx, ny, nz, 3 or 4).  With `sparse`, voxels that equal the background are inactive and
    blocks of 8^3 without an active voxel are left out; else every voxel of the box is active.
    description: the fields of `Description`.
    """
    array = np.asarray(array)
    if array.ndim not in (3, 4) or (array.ndim == 4 and array.shape[3] not in (3, 4)):
        raise VolumeError(f"shape of a dense array\nfound: {array.shape}\nexpected: (x, y, z) or (x, y, z, 3 or 4)")
    low = _coordinates(min).reshape(-1)
    if low.shape != (3,) or (low + array.shape[:3] - 1 > _INT32.max).any():
        raise VolumeError(f"lowest voxel of a box {array.shape[:3]}\nfound: {min}\nexpected: 3 integers inside int32")
    about = _settle(description, array, 3)
    values = array if about.layout.is_index else about.cast(array, "values", 3)
    active = _differs(values, about.background) if sparse else np.ones(array.shape[:3], bool)
    first = low & -_SIDE
    blocks = _blocks(active, low - first)
    places = np.argwhere(blocks.any(axis=(3, 4, 5)))
    grid, order = _allocate(about, first + places * _SIDE)
    x, y, z = places[order].T
    grid.leaves["mask"] = np.packbits(blocks[x, y, z].reshape(-1, LEAF_SLOTS), axis=1, bitorder="little")
    if about.stores_values:
        inside = _blocks(values, low - first, about.background)[x, y, z]
        grid.leaves["values"] = inside.reshape(-1, LEAF_SLOTS, *array.shape[3:])
    return _finish(grid)


def from_tiles(tiles: np.ndarray, **description: object) -> Grid:
    """A grid in which all voxels of some blocks of 8^3 are active and hold the background value.

    tiles: integers (n, 3), any voxel of each block.  description: the fields of `Description`.
    """
    about = _settle(description)
    keys, root_tiles = _sort_keys(_coordinates(tiles))
    grid = _allocate_sorted(about, np.unique(keys >> _LEAF_BITS), root_tiles)
    grid.leaves["mask"] = 0xFF
    if about.stores_values:
        grid.leaves["values"] = about.background
    return _finish(grid)


def from_voxels(voxels: np.ndarray, values: np.ndarray | None = None, **description: object) -> Grid:
    """A grid in which just some voxels are active.

    voxels: integers (n, 3).  values: (n,) or (n, components); the last one counts where a voxel repeats; by
    default the background value.  Without values and `type`, an on-index grid.
    description: the fields of `Description`.
    """
    if values is None and "background" not in description:
        description.setdefault("type", GridType.ONINDEX)
    coordinates = _coordinates(voxels)
    if values is not None:
        values = np.atleast_1d(values)
    about = _settle(description, values, 1)
    if values is not None and not about.stores_values:
        raise VolumeError(f"values for a grid of type {about.type.name}\nhelp: it stores none; use with_features")
    if values is not None and len(values) != len(coordinates):
        raise VolumeError(f"values\nfound: {len(values)}\nexpected: one for each of the {len(coordinates)} voxels")
    keys, tiles = _sort_keys(coordinates)
    unique, last = np.unique(keys[::-1], return_index=True)
    grid = _allocate_sorted(about, np.unique(unique >> _LEAF_BITS), tiles)
    leaf = np.cumsum(np.diff(unique >> _LEAF_BITS, prepend=-1) != 0) - 1
    slot = unique & LEAF_SLOTS - 1
    _switch_on(grid.leaves["mask"], leaf, slot)
    if about.stores_values:
        grid.leaves["values"] = about.background
        if values is not None:
            grid.leaves["values"][leaf, slot] = about.cast(values, "values", 1)[len(keys) - 1 - last]
    return _finish(grid)


def _settle(description: dict[str, object], values: np.ndarray | None = None, axes: int = 0) -> Settled:
    """What the caller says; the type is that of the values (along `axes` axes), else of the background."""
    about = Description(**description)  # type: ignore[arg-type]
    like = np.asarray(about.background) if values is None else values
    return Settled(about, like.dtype, like.shape if values is None else like.shape[axes:])


def _coordinates(voxels: object) -> np.ndarray:
    """Integer voxels as (n, 3) int64."""
    rows = np.asarray(voxels)
    if rows.size == 0:
        return np.zeros((0, 3), np.int64)
    if rows.dtype.kind not in "iu" or rows.ndim not in (1, 2) or rows.shape[-1] != 3:
        raise VolumeError(f"voxels\nfound: dtype {rows.dtype}, shape {rows.shape}\nexpected: integers (n, 3)")
    if rows.min() < _INT32.min or rows.max() > _INT32.max:
        raise VolumeError(f"voxels\nfound: {rows.min()} to {rows.max()}\nexpected: numbers of int32")
    return rows.astype(np.int64).reshape(-1, 3)


def _differs(values: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Which voxels (x, y, z) of a dense array are not the background; NaN is like NaN."""
    other = np.asarray(values != background)
    if values.dtype.kind == "f" and np.isnan(background).any():
        other &= ~(np.isnan(values) & np.isnan(background))
    return np.asarray(other.any(axis=3)) if other.ndim == 4 else other


def _blocks(array: np.ndarray, before: np.ndarray, fill: object = False) -> np.ndarray:
    """A dense array as blocks (bx, by, bz, 8, 8, 8[, c]), `before` cells into the first; padded with `fill`."""
    after = -(before + array.shape[:3]) % _SIDE
    if before.any() or after.any():
        padded = np.empty((*(before + array.shape[:3] + after), *array.shape[3:]), array.dtype)
        padded[:] = fill
        padded[tuple(slice(b, b + n) for b, n in zip(before, array.shape, strict=False))] = array
        array = padded
    return as_blocks(array)


# ----- the tree -----------------------------------------------------------------------------------


def _sort_keys(voxels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys (n,) int64 that sort voxels as grids store them, and the root tiles' numbers, smallest first.

    A key is, from its highest bits: the rank of the root tile, slots in upper node, lower node and leaf.
    """
    shifted = voxels - _INT32.min >> UPPER_SPAN_LOG2
    packed = shifted[:, 0] << 2 * _ROOT_AXIS_BITS | shifted[:, 1] << _ROOT_AXIS_BITS | shifted[:, 2]
    tiles, rank = np.unique(packed, return_inverse=True)
    if len(tiles) >> _RANK_BITS:
        raise VolumeError(f"root tiles\nfound: {len(tiles)}\nexpected: below {1 << _RANK_BITS}")
    key = rank.reshape(-1).astype(np.int64) << _UPPER_BITS | slots_of(voxels, UPPER_LOG2, LOWER_SPAN_LOG2)
    key = key << _LOWER_BITS | slots_of(voxels, LOWER_LOG2, LEAF_SPAN_LOG2)
    return key << _LEAF_BITS | slots_of(voxels, LEAF_LOG2, 0), tiles


def node_offsets(parts: GridLayout, leaves: int, lowers: int, uppers: int) -> tuple[int, int, int, int]:
    """The bytes where upper nodes, lower nodes and leaves of a grid begin and where it ends, from their numbers.

    Raises `VolumeError` for a grid of 8 GiB and more, which kernels could not read, before anything is allocated.
    """
    first_upper = TREE_OFFSET + TREE.size + parts.root.size + uppers * parts.tile.size
    first_lower = first_upper + uppers * parts.upper.size
    first_leaf = first_lower + lowers * parts.lower.size
    end = first_leaf + leaves * parts.leaf.size
    if end >= MAX_BYTES:
        kinds = (
            (leaves, "tiles", parts.leaf),
            (lowers, "nodes of 128^3 voxels", parts.lower),
            (uppers, "of 4096^3", parts.upper),
        )
        sizes = ", ".join(f"{count} {kind} with {record.size} bytes each" for count, kind, record in kinds)
        raise VolumeError(
            f"a grid of {end / 2**30:.3g} GiB: {sizes}\nexpected: less than {MAX_BYTES >> 30} GiB\n"
            "help: take larger voxels, or leave out what lies far from the rest"
        )
    return first_upper, first_lower, first_leaf, end


def _allocate(about: Settled, origins: np.ndarray) -> tuple[Grid, np.ndarray]:
    """A grid with a leaf at each origin (n, 3), all different; and their order in the grid."""
    keys, tiles = _sort_keys(origins)
    order = np.argsort(keys)
    return _allocate_sorted(about, keys[order] >> _LEAF_BITS, tiles), order


def _allocate_sorted(about: Settled, leaf_keys: np.ndarray, tiles: np.ndarray) -> Grid:
    """A grid with leaves for sorted keys (without the bits of the voxel), in which no voxel is active yet."""
    lower_keys = leaf_keys[np.flatnonzero(np.diff(leaf_keys >> _LOWER_BITS, prepend=-1))] >> _LOWER_BITS
    parts, counts = about.layout, (len(leaf_keys), len(lower_keys), len(tiles))
    uppers, lowers, leaves, end = node_offsets(parts, *counts)
    grid = Grid(aligned_zeros(end))
    _describe(grid, about)
    grid.tree["node_offset"] = [begin - TREE_OFFSET for begin in (leaves, lowers, uppers, TREE_OFFSET + TREE.size)]
    grid.tree["node_count"] = counts
    grid.root["tile_count"], grid.root["background"] = len(tiles), about.background
    mask = (1 << _ROOT_AXIS_BITS) - 1
    corners = np.stack([tiles >> shift * _ROOT_AXIS_BITS & mask for shift in (2, 1, 0)], axis=1)
    corners = (corners << UPPER_SPAN_LOG2) + _INT32.min
    grid.tiles["key"] = root_keys(corners)
    grid.tiles["child"] = uppers + np.arange(len(tiles)) * parts.upper.size - grid.root_offset
    rank, slot = lower_keys >> _UPPER_BITS, lower_keys & (1 << _UPPER_BITS) - 1
    _link(grid.uppers, parts.upper.size, rank, slot, uppers, lowers + np.arange(counts[1]) * parts.lower.size, about)
    lower_corners = corners[rank] + (local_coordinates(slot, UPPER_LOG2) << LOWER_SPAN_LOG2)
    parent = np.searchsorted(lower_keys, leaf_keys >> _LOWER_BITS)
    slot = leaf_keys & (1 << _LOWER_BITS) - 1
    _link(grid.lowers, parts.lower.size, parent, slot, lowers, leaves + np.arange(counts[0]) * parts.leaf.size, about)
    grid.leaves["bbox_min"] = lower_corners[parent] + (local_coordinates(slot, LOWER_LOG2) << LEAF_SPAN_LOG2)
    return grid


def _link(
    nodes: np.ndarray, size: int, parent: np.ndarray, slot: np.ndarray, first: int, child: np.ndarray, about: Settled
) -> None:
    """Children at byte `child` in `slot` of the nodes `parent`; the background everywhere else."""
    if np.any(about.background):  # memory that is zero and never touched costs nothing
        nodes["table"]["value"] = about.background
        nodes["table"]["value"][parent, slot] = 0  # an offset is shorter than some values
    nodes["table"]["child"][parent, slot] = child - (first + parent * size)
    _switch_on(nodes["child_mask"], parent, slot)


def _switch_on(masks: np.ndarray, row: np.ndarray, bit: np.ndarray) -> None:
    """Set bits of masks (n, bytes)."""
    np.bitwise_or.at(masks, (row, bit >> 3), (1 << (bit & 7)).astype(np.uint8))


def _describe(grid: Grid, about: Settled) -> None:
    """The grid header, as far as it is known before the voxels."""
    header, version = grid.buffer[: GRID.size].view(GRID.dtype)[0], about.version
    header["magic"] = MAGIC_GRID if pack_version(*version) >= NEW_MAGIC else MAGIC_OLD
    header["version"], header["flags"] = pack_version(*version), GridFlag.BREADTH_FIRST
    header["grid_count"], header["grid_size"], header["name"] = 1, len(grid.buffer), about.name
    entry = header["map"]
    for name, value in (("matrix", about.matrix), ("inverse", about.inverse), ("translation", about.translation)):
        entry[name], entry[f"{name}_f"] = value, value
    entry["taper"], entry["taper_f"] = 1.0, 1.0
    header["voxel_size"] = np.linalg.norm(about.matrix, axis=0)
    header["grid_class"], header["grid_type"] = about.grid_class, about.type
    header["blind_offset"] = len(grid.buffer)


def _finish(grid: Grid) -> Grid:
    """What follows from masks and values: indices, boxes, statistics, checksums."""
    leaves = grid.leaves
    if grid.layout.is_index:
        is_on = grid.type == GridType.ONINDEX
        used = active_in_leaves(grid) if is_on else np.full(len(leaves), LEAF_SLOTS)
        leaves["offset"] = 1 + np.cumsum(used) - used
        if is_on:
            leaves["prefix"] = prefix_sums(leaves["mask"])
        grid.header["value_count"] = 1 + int(used.sum())
    statistics.fill_boxes(grid)
    statistics.fill(grid)
    checksum.update(grid)
    return grid
