"""Contents of a NanoVDB grid as plain NumPy arrays: active voxels, tiles, values at voxels, dense boxes.

Guarantees: vectorised over voxels; results follow masks and tables, never what headers claim about boxes and
counts.  Voxels are listed leaf by leaf in the order of the buffer, and inside a leaf with z running fastest:
in on-index grids as tools write them that is the order of the indices, from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...errors import VolumeError
from .check import BIT_COUNTS, set_bits
from .grid import Grid
from .layout import (
    KEY_BITS,
    LEAF_LOG2,
    LEAF_SLOTS,
    LEAF_SPAN_LOG2,
    LOWER_LOG2,
    LOWER_SLOTS,
    LOWER_SPAN_LOG2,
    UPPER_LOG2,
    UPPER_SLOTS,
    UPPER_SPAN_LOG2,
    GridType,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_SIDE = 1 << LEAF_LOG2
_CHUNK = 4096  # leaves copied at a time
_NOTHING = -1
_LOWEST = np.array([(byte & -byte).bit_length() - 1 if byte else _SIDE for byte in range(256)], np.int64)
_HIGHEST = np.array([byte.bit_length() - 1 for byte in range(256)], np.int64)


def leaf_origins(grid: Grid) -> np.ndarray:
    """Lowest voxel of each leaf (n, 3), int64."""
    origins: np.ndarray = grid.leaves["bbox_min"].astype(np.int64) & ~(_SIDE - 1)
    return origins


def tiles(grid: Grid) -> np.ndarray:
    """Lowest voxel of each block of 8^3 voxels that has a leaf (n, 3), int32, in the order of the buffer."""
    origins: np.ndarray = leaf_origins(grid).astype(np.int32)
    return origins


def active_voxels(grid: Grid) -> np.ndarray:
    """Coordinates of all active voxels that leaves hold (n, 3), int32; those of larger tiles are not listed."""
    leaf, slot = set_bits(grid.leaves["mask"], LEAF_SLOTS)
    voxels: np.ndarray = leaf_origins(grid)[leaf] + local_coordinates(slot, LEAF_LOG2)
    return voxels.astype(np.int32)


def local_coordinates(slot: np.ndarray, log2: int) -> np.ndarray:
    """Coordinates (n, 3) inside a node of 2^log2 children along an axis; `slots_of` is the inverse."""
    bits = (1 << log2) - 1
    return np.stack([slot >> 2 * log2 & bits, slot >> log2 & bits, slot & bits], axis=-1)


def slots_of(voxels: np.ndarray, log2: int, child_span_log2: int) -> np.ndarray:
    """Slot (n,) of voxels (n, 3) in the table of a node; voxels may be anywhere, also negative."""
    x, y, z = (voxels[:, axis] >> child_span_log2 & (1 << log2) - 1 for axis in range(3))
    slots: np.ndarray = x << 2 * log2 | y << log2 | z
    return slots


def leaf_bounds(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest active voxel of each leaf inside it, (n, 3) in 0..7; 8 and -1 where none is active."""
    masks = np.ascontiguousarray(grid.leaves["mask"]).reshape(-1, _SIDE, _SIDE)  # x, y, bits of z
    x = np.packbits(masks.any(axis=2), axis=1, bitorder="little")[:, 0]
    y = np.packbits(masks.any(axis=1), axis=1, bitorder="little")[:, 0]
    z = np.bitwise_or.reduce(masks.reshape(-1, _SIDE * _SIDE), axis=1)
    occupied = np.stack([x, y, z], axis=1)
    return _LOWEST[occupied], _HIGHEST[occupied]


def active_bounds(grid: Grid) -> np.ndarray | None:
    """Box around all active voxels and active tiles (2, 3), int64, both corners inside; None if there are none."""
    low, high = leaf_bounds(grid)
    origins, some = leaf_origins(grid), high[:, 0] >= 0
    boxes = [(origins + low)[some], (origins + high)[some]]
    for corners, span, active, _ in value_tiles(grid):
        boxes[0] = np.concatenate([boxes[0], corners[active]])
        boxes[1] = np.concatenate([boxes[1], corners[active] + span - 1])
    return np.stack([boxes[0].min(axis=0), boxes[1].max(axis=0)]) if len(boxes[0]) else None


def value_tiles(grid: Grid) -> Iterator[tuple[np.ndarray, int, np.ndarray, np.ndarray]]:
    """Tiles that hold one value for a whole cube, of the root, of upper and of lower nodes.

    Each time: lowest voxels (n, 3) int64, span in voxels, whether active (n,), values (n[, components]).
    Tiles that say nothing, inactive with the background value, are left out.
    """
    root = grid.tiles
    plain = root["child"] == 0
    yield root_tile_origins(grid)[plain], 1 << UPPER_SPAN_LOG2, root["state"][plain] != 0, root["value"][plain]
    uppers, lowers = _node_origins(grid)
    background = grid.background
    for nodes, origins, slots, log2, span_log2 in (
        (grid.uppers, uppers, UPPER_SLOTS, UPPER_LOG2, LOWER_SPAN_LOG2),
        (grid.lowers, lowers, LOWER_SLOTS, LOWER_LOG2, LEAF_SPAN_LOG2),
    ):
        for number, node in enumerate(nodes):  # one at a time: a table may have 32768 entries of 32 bytes
            child, active = (
                np.unpackbits(node[mask], bitorder="little").astype(bool) for mask in ("child_mask", "value_mask")
            )
            differs = (node["table"]["value"] != background).reshape(slots, -1).any(axis=1)
            slot = np.flatnonzero(~child & (active | differs))
            corners = origins[number] + (local_coordinates(slot, log2) << span_log2)
            yield corners, 1 << span_log2, active[slot], node["table"]["value"][slot]


def root_tile_origins(grid: Grid) -> np.ndarray:
    """Lowest voxel of each root tile (n, 3), int64."""
    keys = grid.tiles["key"].astype(np.int64)
    parts = np.stack([keys >> shift * KEY_BITS & (1 << KEY_BITS) - 1 for shift in (2, 1, 0)], axis=1)
    half = 1 << 31 - UPPER_SPAN_LOG2
    origins: np.ndarray = ((parts + half) % (2 * half) - half) << UPPER_SPAN_LOG2
    return origins


def _node_origins(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Lowest voxels of all upper and all lower nodes (n, 3), int64."""
    uppers = np.zeros((len(grid.uppers), 3), np.int64)
    has_child = grid.tiles["child"] != 0
    uppers[_upper_numbers(grid)[has_child]] = root_tile_origins(grid)[has_child]
    lowers = np.zeros((len(grid.lowers), 3), np.int64)
    parent, slot = set_bits(grid.uppers["child_mask"], UPPER_SLOTS)
    numbers = _child_numbers(grid, 2, parent, slot)
    lowers[numbers] = uppers[parent] + (local_coordinates(slot, UPPER_LOG2) << LOWER_SPAN_LOG2)
    return uppers, lowers


def _upper_numbers(grid: Grid) -> np.ndarray:
    """Number of the upper node of each root tile, -1 for tiles with a value."""
    child = grid.tiles["child"]
    number = (grid.root_offset + child - grid.node_offset(2)) // grid.layout.upper.size
    return np.where(child != 0, number, _NOTHING)


def _child_numbers(grid: Grid, level: int, parent: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """Number, on the level below, of the children in `slot` of the nodes `parent` of a level (1 or 2)."""
    nodes = grid.uppers if level == 2 else grid.lowers
    size = grid.layout.upper.size if level == 2 else grid.layout.lower.size
    below = grid.layout.lower.size if level == 2 else grid.layout.leaf.size
    begin = grid.node_offset(level) + parent * size + nodes["table"]["child"][parent, slot]
    numbers: np.ndarray = (begin - grid.node_offset(level - 1)) // below
    return numbers


# ----- values ---------------------------------------------------------------------------------------


def lookup(grid: Grid, voxels: np.ndarray) -> np.ndarray:
    """Values at integer voxels (n, 3), also outside of what is stored: (n,) or (n, components).

    Index grids give indices, uint64, 0 outside; mask grids give whether a voxel is active.
    """
    voxels = np.asarray(voxels, np.int64).reshape(-1, 3)
    out = np.empty((len(voxels), *np.shape(grid.background)), grid.layout.scalar)
    out[:] = grid.background
    if not len(grid.tiles):
        return out
    rest, upper = _enter_root(grid, voxels, out)
    rest, lower = _enter_node(grid, 2, voxels, rest, upper, out)
    rest, leaf = _enter_node(grid, 1, voxels, rest, lower, out)
    out[rest] = leaf_values(grid, leaf, slots_of(voxels[rest], LEAF_LOG2, 0))
    return out


def _enter_root(grid: Grid, voxels: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which voxels go on, and into which upper node; the others get their value."""
    order = np.argsort(grid.tiles["key"], kind="stable")
    keys = grid.tiles["key"][order]
    sought = root_keys(voxels)
    place = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    tile = order[place]
    is_tile = keys[place] == sought
    upper = np.where(is_tile, _upper_numbers(grid)[tile], _NOTHING)
    constant = is_tile & (upper == _NOTHING)
    out[constant] = grid.tiles["value"][tile[constant]]
    rest = np.flatnonzero(upper != _NOTHING)
    return rest, upper[rest]


def root_keys(voxels: np.ndarray) -> np.ndarray:
    """Keys of the root tiles that voxels (n, 3) lie in, uint64."""
    parts = (voxels.astype(np.int64) & 0xFFFFFFFF) >> UPPER_SPAN_LOG2
    packed: np.ndarray = (parts << np.array([2 * KEY_BITS, KEY_BITS, 0])).sum(axis=1)
    return packed.astype(np.uint64)


def _enter_node(
    grid: Grid, level: int, voxels: np.ndarray, rest: np.ndarray, node: np.ndarray, out: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same one level down: voxels `rest` are in the nodes `node` of a level."""
    nodes, log2, span_log2 = (
        (grid.uppers, UPPER_LOG2, LOWER_SPAN_LOG2) if level == 2 else (grid.lowers, LOWER_LOG2, LEAF_SPAN_LOG2)
    )
    slot = slots_of(voxels[rest], log2, span_log2)
    child = nodes["child_mask"][node, slot >> 3] >> (slot & 7).astype(np.uint8) & 1 != 0
    out[rest[~child]] = nodes["table"]["value"][node[~child], slot[~child]]
    return rest[child], _child_numbers(grid, level, node[child], slot[child])


def leaf_values(grid: Grid, leaf: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """What the voxel `slot` (n,) of leaf number `leaf` (n,) holds: value, index, or whether it is active."""
    leaves, kind = grid.leaves, grid.layout.kind.leaf
    if kind == "values":
        values: np.ndarray = leaves["values"][leaf, slot]
        return values
    if grid.type == GridType.INDEX:
        indices: np.ndarray = leaves["offset"][leaf] + slot.astype(np.uint64)
        return indices
    bits = leaves["bits" if kind == "bits" else "mask"][leaf, slot >> 3]
    is_on: np.ndarray = bits >> (slot & 7).astype(np.uint8) & 1 != 0
    if kind != "index":
        return is_on
    indices = leaves["offset"][leaf] + _active_before(leaves[["mask", "prefix"]], leaf, slot)
    return np.where(is_on, indices, np.uint64(0))


def _active_before(leaves: np.ndarray, leaf: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """How many active voxels of the leaf come before a slot: a stored sum, then bits of one word of the mask."""
    word, bit = slot >> 6, (slot & 63).astype(np.uint64)
    words = np.ascontiguousarray(leaves["mask"]).view("<u8")[leaf, word] & ((np.uint64(1) << bit) - np.uint64(1))
    shift = (9 * np.maximum(word - 1, 0)).astype(np.uint64)
    sums = np.where(word > 0, leaves["prefix"][leaf] >> shift & np.uint64(511), np.uint64(0))
    total: np.ndarray = sums + BIT_COUNTS[words.view(np.uint8).reshape(-1, 8)].sum(axis=1, dtype=np.uint64)
    return total


def to_dense(grid: Grid, min: ArrayLike | None = None, max: ArrayLike | None = None) -> np.ndarray:
    """Values of all voxels of a box (nx, ny, nz[, components]); both corners are inside it.

    min, max: integer voxels; by default the box around all active voxels.  Raises `VolumeError` for a box that
    is too large for memory, or a default box of a grid without active voxels.
    """
    low, high = _box(grid, min, max)
    begin = low & -_SIDE  # whole blocks are filled, and then the box is cut out of them
    end = high + _SIDE & -_SIDE
    background = grid.background
    try:
        out = np.empty((*(end - begin).tolist(), *np.shape(background)), grid.layout.scalar)
    except (MemoryError, ValueError):
        extent = f"{(high - low + 1).tolist()} voxels"
        raise VolumeError(f"a dense array of this box does not fit into memory\nfound: {extent}") from None
    out[:] = background
    for corners, span, _, values in value_tiles(grid):
        near = ((corners + span > begin) & (corners < end)).all(axis=1)
        first, last = np.maximum(corners[near], begin) - begin, np.minimum(corners[near] + span, end) - begin
        for lowest, beyond, value in zip(first, last, values[near], strict=True):
            out[tuple(map(slice, lowest, beyond))] = value
    origins, blocks = leaf_origins(grid), as_blocks(out)
    inside = np.flatnonzero(((origins >= begin) & (origins < end)).all(axis=1))
    for chunk in np.split(inside, range(_CHUNK, len(inside), _CHUNK)):
        x, y, z = (origins[chunk] - begin).T >> LEAF_SPAN_LOG2
        blocks[x, y, z] = _whole_leaves(grid, chunk).reshape(len(chunk), *blocks.shape[3:])
    return np.array(out[tuple(map(slice, low - begin, high - begin + 1))], order="C")


def as_blocks(array: np.ndarray) -> np.ndarray:
    """A dense array (8 * x, 8 * y, 8 * z[, c]) as its blocks (x, y, z, 8, 8, 8[, c]), without a copy."""
    x, y, z = (n // _SIDE for n in array.shape[:3])
    return np.moveaxis(array.reshape(x, _SIDE, y, _SIDE, z, _SIDE, *array.shape[3:]), (0, 2, 4), (0, 1, 2))


def _whole_leaves(grid: Grid, leaf: np.ndarray) -> np.ndarray:
    """`leaf_values` of all voxels of some leaves, (n, 512[, components])."""
    if grid.layout.kind.leaf == "values":
        values: np.ndarray = grid.leaves["values"][leaf]
        return values
    number, slot = np.repeat(leaf, LEAF_SLOTS), np.tile(np.arange(LEAF_SLOTS), len(leaf))
    flat: np.ndarray = leaf_values(grid, number, slot)
    return flat.reshape(len(leaf), LEAF_SLOTS)


def _box(grid: Grid, min: ArrayLike | None, max: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest voxel, int64."""
    bounds = active_bounds(grid) if min is None or max is None else None
    if bounds is None and (min is None or max is None):
        raise VolumeError("the box of a grid without active voxels\nhelp: give min and max")
    low = np.array(bounds[0] if min is None and bounds is not None else min, np.int64)
    high = np.array(bounds[1] if max is None and bounds is not None else max, np.int64)
    if low.shape != (3,) or high.shape != (3,) or (high < low).any():
        raise VolumeError(f"corners of a box\nfound: {low.tolist()} and {high.tolist()}\nexpected: min <= max, 3 each")
    return low, high
