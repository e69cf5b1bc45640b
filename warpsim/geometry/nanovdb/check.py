"""Offsets, counts and tables of a NanoVDB grid, checked against its buffer before a kernel follows them.

Guarantees: after `check(buffer)` every walk from the root ends inside the buffer.  Header, root tiles, node
arrays and blind data lie inside the buffer and do not overlap, so writing voxels cannot change the tree; each
node has exactly one parent, stands where its parent says it is in space, and all of a level's nodes are
reached; indices of index grids are below the number of values that the header asks for; the map can be
inverted.  What nobody follows is not checked: bounding boxes, statistics, world box, names.
Costs: a few passes over masks and tables in NumPy, one over all bytes for the checksum.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...errors import VolumeFormatError
from . import checksum
from .grid import Grid, blind_extent, value_dtype
from .layout import (
    ALIGNMENT,
    BLIND_META,
    KEY_BITS,
    KINDS,
    LEAF_SLOTS,
    LEAF_SPAN_LOG2,
    LOWER_LOG2,
    LOWER_SLOTS,
    LOWER_SPAN_LOG2,
    MAGIC_GRID,
    MAGIC_OLD,
    MAJOR_VERSION,
    TREE,
    TREE_OFFSET,
    UPPER_LOG2,
    UPPER_SLOTS,
    UPPER_SPAN_LOG2,
    GridClass,
    GridType,
    Record,
    unpack_version,
)

_MAX_BLIND = 0xFFFF  # file metadata has 16 bits for their number
_STATISTICS = 4  # values that a node of an index grid may own beside those of its voxels
_LEVELS = ("leaf", "lower node", "upper node")
_PLURALS = ("leaves", "lower nodes", "upper nodes")
_SINGULAR = 0.3  # of a matrix without an inverse, matrix @ anything misses the identity by 1/3 in some element
_CHUNK = 2048  # nodes whose masks are unpacked at a time
BIT_COUNTS = np.array([byte.bit_count() for byte in range(256)], np.uint8)


def check(buffer: np.ndarray, verify_checksum: bool = True) -> Grid:
    """The grid in a buffer, or `VolumeFormatError` that names the first field that is wrong.

    buffer: uint8, contiguous, aligned to 32 bytes, exactly as long as its header says.
    """
    _check_memory(buffer)
    grid = Grid(buffer)
    _check_header(grid)
    _check_map(grid)
    _check_regions(grid)
    origins = _check_root(grid)
    origins = _check_children(grid, origins, 2)
    origins = _check_children(grid, origins, 1)
    _check_leaves(grid, origins)
    _check_counts(grid)
    if grid.layout.is_index:
        _check_indices(grid)
    if verify_checksum and (wrong := checksum.difference(grid)):
        what, actual, right = wrong
        raise VolumeFormatError(what, f"{actual:#010x}", f"{right:#010x}", "the file is damaged: copy it again")
    return grid


def _require(condition: object, field: str, value: object, expected: str) -> None:
    if not condition:
        raise VolumeFormatError(field, value, expected)


def _require_all(good: np.ndarray, field: str, values: np.ndarray, expected: str) -> None:
    """Like `_require` for arrays: names the first element that is wrong."""
    if not good.all():
        first = int(np.argmin(good))
        raise VolumeFormatError(f"{field} (number {first})", values[first], expected)


# ----- headers ------------------------------------------------------------------------------------


def _check_memory(buffer: np.ndarray) -> None:
    good = isinstance(buffer, np.ndarray) and buffer.dtype == np.uint8 and buffer.ndim == 1
    _require(good and buffer.flags.c_contiguous, "buffer", type(buffer).__name__, "a contiguous uint8 array (n,)")
    least = TREE_OFFSET + TREE.size
    _require(len(buffer) >= least, "buffer", f"{len(buffer)} bytes", f"at least {least}, the size of the headers")
    _require(buffer.ctypes.data % ALIGNMENT == 0, "buffer", "memory that is not aligned", f"multiple of {ALIGNMENT}")


def _check_header(grid: Grid) -> None:
    header = grid.header
    magic, version = bytes(header["magic"]), unpack_version(int(header["version"]))
    _require(magic in (MAGIC_OLD, MAGIC_GRID), "grid magic", magic, f"{MAGIC_OLD!r} or {MAGIC_GRID!r}")
    _require(version[0] == MAJOR_VERSION, "grid version", "{}.{}.{}".format(*version), f"{MAJOR_VERSION}.x.x")
    size, kind, meaning = (int(header[name]) for name in ("grid_size", "grid_type", "grid_class"))
    _require(size == len(grid.buffer), "grid size", size, f"the bytes that are there, {len(grid.buffer)}")
    known = GridType(kind).name if kind in GridType.__members__.values() else kind
    _require(kind in KINDS, "grid type", known, f"one of {', '.join(t.name for t in KINDS)}")
    _require(meaning in GridClass.__members__.values(), "grid class", meaning, f"at most {max(GridClass)}")
    voxel = grid.voxel_size
    _require(np.isfinite(voxel).all() and (voxel > 0.0).all(), "voxel size", voxel, "finite and above 0")


def _check_map(grid: Grid) -> None:
    """Both maps (single and double precision) are finite, and matrix and inverse belong together."""
    fields = grid.header["map"]
    for suffix in ("_f", ""):
        names = [f"{part}{suffix}" for part in ("matrix", "inverse", "translation")]
        for name in names:
            _require(np.isfinite(fields[name]).all(), f"map {name}", fields[name].tolist(), "finite numbers")
        matrix, inverse = (fields[name].astype(np.float64) for name in names[:2])
        with np.errstate(over="ignore", invalid="ignore"):
            wrong = np.abs(matrix @ inverse - np.eye(3)).max()
            rounding = np.finfo(fields[names[0]].dtype).eps * (np.abs(matrix) @ np.abs(inverse)).max()
        good = wrong <= min(1000.0 * rounding, _SINGULAR)
        _require(good, f"map {names[1]}", fields[names[1]].tolist(), f"the inverse of {matrix.tolist()}")


# ----- where everything is --------------------------------------------------------------------------


def _check_regions(grid: Grid) -> None:
    """Root, tiles, node arrays and blind data lie in the buffer, aligned, and share no byte."""
    size, tree, parts = len(grid.buffer), grid.tree, grid.layout
    regions = [("headers", 0, TREE_OFFSET + TREE.size)]
    root = _inside("offset of the root", TREE_OFFSET + int(tree["node_offset"][3]), parts.root.size, size)
    tiles = int(grid.root["tile_count"])
    _require(tiles <= size // parts.tile.size, "root tile count", tiles, f"tiles that fit into {size} bytes")
    regions.append(("root", root, parts.root.size + tiles * parts.tile.size))
    for level, record in enumerate((parts.leaf, parts.lower, parts.upper)):
        if count := int(tree["node_count"][level]):
            begin = _inside(f"offset of the first {_LEVELS[level]}", grid.node_offset(level), 0, size)
            regions.append((_PLURALS[level], begin, count * record.size))
    if count := int(grid.header["blind_count"]):
        _require(count <= _MAX_BLIND, "blind data count", count, f"at most {_MAX_BLIND}")
        begin = _inside("offset of the blind data descriptions", int(grid.header["blind_offset"]), 0, size)
        regions.append(("blind data descriptions", begin, count * BLIND_META.size))
    for name, begin, length in regions:
        _require(begin + length <= size, f"end of the {name}", begin + length, f"at most {size}, the grid size")
    regions += _blind_regions(grid)
    regions.sort(key=lambda region: region[1:])
    for (name, begin, length), (other, start, _) in pairwise(regions):
        _require(begin + length <= start, f"start of the {other}", start, f"after the {name}: {begin + length} or more")


def _inside(field: str, begin: int, length: int, size: int) -> int:
    good = 0 <= begin <= size - length and begin % ALIGNMENT == 0
    _require(good, field, begin, f"a multiple of {ALIGNMENT}, at most {size - length} from the start of the grid")
    return begin


def _blind_regions(grid: Grid) -> list[tuple[str, int, int]]:
    """Where the arrays beside the tree are; Python's integers, which do not overflow."""
    size, regions = len(grid.buffer), []
    for index, meta in enumerate(grid.blind_descriptions):
        name, kind, count = f"blind data {index}", int(meta["data_type"]), int(meta["value_count"])
        _require(kind in GridType.__members__.values(), f"type of {name}", kind, f"at most {max(GridType)}")
        dtype = value_dtype(kind)
        begin, length, value_size = blind_extent(grid, index)
        if dtype is not None:
            _require(
                value_size == dtype.itemsize, f"value size of {name}", value_size, f"{dtype.itemsize}, by its type"
            )
        scalar = dtype.base.itemsize if dtype else 1
        good = 0 <= begin <= size and begin % scalar == 0
        _require(good, f"offset of {name}", begin, f"a multiple of {scalar}, at most {size} from the start of the grid")
        _require(length <= size - begin, f"value count of {name}", count, f"what fits into {size - begin} bytes")
        if length:
            regions.append((name, begin, length))
    return regions


# ----- the tree -----------------------------------------------------------------------------------


def _check_root(grid: Grid) -> np.ndarray:
    """Keys and children of the root's tiles; origins of the upper nodes (n, 3), int64."""
    tiles = grid.tiles
    keys, mask = tiles["key"], np.uint64((1 << KEY_BITS) - 1)
    parts = [(keys >> np.uint64(shift * KEY_BITS) & mask).astype(np.int64) for shift in (2, 1, 0)]
    half = 1 << 31 - UPPER_SPAN_LOG2
    canonical = (keys >> np.uint64(3 * KEY_BITS) == 0) & (np.max(parts, axis=0, initial=0) < 2 * half)
    _require_all(canonical, "root tile key", keys, "20 bits each for x, y and z")
    order = np.argsort(keys, kind="stable")
    repeated = np.ones(len(keys), bool)
    repeated[order[1:]] = keys[order[1:]] != keys[order[:-1]]
    _require_all(repeated, "root tile key", keys, "a key that no other tile has")
    _require_all(tiles["state"] <= 1, "root tile state", tiles["state"], "0 or 1")
    origins = (np.stack(parts, 1) + half) % (2 * half) - half << UPPER_SPAN_LOG2
    has_child = tiles["child"] != 0
    upper = _node_numbers(grid, 2, tiles["child"][has_child], grid.root_offset, "child of a root tile")
    return _scatter(origins[has_child], upper)


def _scatter(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
    out = np.empty_like(rows)
    out[places] = rows
    return out


def _node_numbers(grid: Grid, level: int, child: np.ndarray, base: np.ndarray | int, field: str) -> np.ndarray:
    """Which node of `level` each child offset (from byte `base`) is; each is met exactly once."""
    record: Record = (grid.layout.leaf, grid.layout.lower, grid.layout.upper)[level]
    count, first = grid.node_counts[level], grid.node_offset(level)
    in_range = (child > 0) & (child <= len(grid.buffer))  # so the sum below cannot overflow
    relative = np.where(in_range, child + base - first, -1)
    number = relative // record.size
    good = (relative >= 0) & (relative % record.size == 0) & (number < count)
    _require_all(good, field, child, f"an offset to the start of one of the {count} {_PLURALS[level]}")
    met = np.bincount(number, minlength=count)
    missing = f"each {_LEVELS[level]} exactly once"
    _require(len(child) == count and (met == 1).all(), field, f"{len(child)} children for {count} nodes", missing)
    return number


def _check_children(grid: Grid, origins: np.ndarray, level: int) -> np.ndarray:
    """Tables of all nodes of a level against their masks; origins of the nodes below, in their order."""
    nodes, size, log2, child_span, slots = (
        (grid.uppers, grid.layout.upper.size, UPPER_LOG2, LOWER_SPAN_LOG2, UPPER_SLOTS)
        if level == 2
        else (grid.lowers, grid.layout.lower.size, LOWER_LOG2, LEAF_SPAN_LOG2, LOWER_SLOTS)
    )
    name = _LEVELS[level]
    both = (nodes["child_mask"] & nodes["value_mask"]).any(axis=1)
    _require_all(~both, f"masks of a {name}", both, "no slot that is both child and active value")
    parent, slot = set_bits(nodes["child_mask"], slots)
    child = nodes["table"]["child"][parent, slot]
    numbers = _node_numbers(grid, level - 1, child, grid.node_offset(level) + parent * size, f"child of a {name}")
    bits = (1 << log2) - 1
    local = np.stack([slot >> 2 * log2 & bits, slot >> log2 & bits, slot & bits], 1)
    return _scatter(origins[parent] + (local << child_span), numbers)


def set_bits(masks: np.ndarray, slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and bit number of every bit that is set in masks (n, slots / 8), in order; int64."""
    chunks = [
        np.flatnonzero(np.unpackbits(masks[begin : begin + _CHUNK], bitorder="little")) + begin * slots
        for begin in range(0, len(masks), _CHUNK)
    ]
    positions = np.concatenate(chunks) if chunks else np.zeros(0, np.int64)
    return positions // slots, positions % slots


def _check_leaves(grid: Grid, origins: np.ndarray) -> None:
    corner = grid.leaves["bbox_min"]
    leaf_span = (1 << LEAF_SPAN_LOG2) - 1
    _require_all((corner & ~leaf_span == origins).all(axis=1), "bbox_min of a leaf", corner, "a voxel of the leaf")


def active_in_leaves(grid: Grid) -> np.ndarray:
    """How many voxels are active in each leaf (n,), int64."""
    counts: np.ndarray = BIT_COUNTS[grid.leaves["mask"]].sum(axis=1, dtype=np.int64)
    return counts


def _check_counts(grid: Grid) -> None:
    """The number of active voxels, with active tiles or (some writers) without."""
    leaves = int(active_in_leaves(grid).sum())
    tiles = int(grid.tiles["state"][grid.tiles["child"] == 0].sum()) << 3 * UPPER_SPAN_LOG2
    for nodes, span in ((grid.uppers, LOWER_SPAN_LOG2), (grid.lowers, LEAF_SPAN_LOG2)):
        tiles += int(BIT_COUNTS[nodes["value_mask"]].sum(dtype=np.int64)) << 3 * span
    _require(grid.voxel_count in (leaves, leaves + tiles), "voxel count", grid.voxel_count, f"{leaves + tiles}")


# ----- index grids ------------------------------------------------------------------------------------


def _check_indices(grid: Grid) -> None:
    """No lookup gives an index that an array of `value_count` values does not have."""
    leaves, count = grid.leaves, grid.value_count
    most = 1 + (LEAF_SLOTS + _STATISTICS) * len(leaves) + (1 + _STATISTICS) * len(grid.tiles)
    most += (LOWER_SLOTS + _STATISTICS) * len(grid.lowers) + (UPPER_SLOTS + _STATISTICS) * len(grid.uppers)
    _require(1 <= count <= most, "number of indexed values", count, f"1 to {most}, by the number of nodes")
    used = active_in_leaves(grid) if grid.type == GridType.ONINDEX else np.full(len(leaves), LEAF_SLOTS)
    limit = np.uint64(count) - used.astype(np.uint64)
    good = (used <= count) & (leaves["offset"] <= limit)
    _require_all(good, "first index of a leaf", leaves["offset"], f"at most {count} less the voxels of the leaf")
    if grid.type == GridType.ONINDEX:
        _check_prefix_sums(leaves)
    below = f"below {count}, the number of indexed values"
    background = int(grid.background)
    _require(background < count, "background index", background, below)
    tiles = grid.tiles[grid.tiles["child"] == 0]["value"]
    _require_all(tiles < count, "index of a root tile", tiles, below)
    for nodes, name in ((grid.uppers, "upper node"), (grid.lowers, "lower node")):
        for begin in range(0, len(nodes), _CHUNK):
            part = nodes[begin : begin + _CHUNK]
            child = np.unpackbits(part["child_mask"], axis=1, bitorder="little").astype(bool)
            index = part["table"]["value"]
            good = (child | (index < count)).ravel()
            _require_all(good, f"index of a tile of a {name}", index.reshape(-1), below)


def prefix_sums(masks: np.ndarray) -> np.ndarray:
    """The word of 7 sums of 9 bits that on-index leaves store for their masks (n, 64); uint64."""
    words = BIT_COUNTS[masks].reshape(-1, 8, 8).sum(axis=2, dtype=np.uint64)
    sums = np.cumsum(words, axis=1, dtype=np.uint64)[:, :7]
    packed: np.ndarray = np.bitwise_or.reduce(sums << (9 * np.arange(7, dtype=np.uint64)), axis=1)
    return packed


def _check_prefix_sums(leaves: np.ndarray) -> None:
    right = prefix_sums(leaves["mask"])
    _require_all(leaves["prefix"] == right, "prefix sums of a leaf", leaves["prefix"], "the counts of its mask")
