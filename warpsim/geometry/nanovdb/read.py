"""Reading a NanoVDB tree in kernels: from voxel coordinates to the place of a value, and from a place to the value.

A place is the position of a value in the grid's buffer, counted in words of 4 bytes. `tree_entry` walks
root, upper node and lower node as the format stores them and gives an *entry* for the cube of 8^3 voxels
around a voxel: the place where the values of its leaf begin, or ~place of the one value that all 512 share
(that of a tile, or the background). `place` turns an entry and a voxel of the cube into a place. In index
grids the entry is the place of the leaf itself.

`VolumeData` sees one buffer through arrays of several types. Every offset in a buffer was checked when it was
loaded, so nothing is checked again here.
"""

from __future__ import annotations

from typing import Any

from ...core.language import N, Vec, array_type, bit_count, float32, float64, func, int32, int64, struct, uint32
from ...core.lib.sampling import lower_bound
from ...core.types import structs
from ...core.types.arrays import type_name
from ...core.types.compounds import standard_names
from ...errors import VolumeError
from .layout import GridType, layout

TYPES = standard_names()
vec3i, vec3f, vec3d, vec4f, vec4d = (TYPES[name] for name in ("vec3i", "vec3f", "vec3d", "vec4f", "vec4d"))
mat33f, mat33d = TYPES["mat33f"], TYPES["mat33d"]

WORD = 4  # bytes

VALUE_TYPES = {
    GridType.FLOAT: float32,
    GridType.DOUBLE: float64,
    GridType.INT32: int32,
    GridType.INT64: int64,
    GridType.UINT32: uint32,
    GridType.VEC3F: vec3f,
    GridType.VEC3D: vec3d,
    GridType.VEC4F: vec4f,
    GridType.VEC4D: vec4d,
}
"""What grids of values hold, as types of kernels."""

GRID_TYPES = {t: int(kind) for kind, t in VALUE_TYPES.items()}


def grid_type_of(t: type) -> int:
    """The number of the grid type that holds values of type `t`. Raises `VolumeError` where there is none."""
    if t in GRID_TYPES:
        return GRID_TYPES[t]
    raise VolumeError(f"a volume of {type_name(t)}\nexpected: one of {', '.join(map(type_name, GRID_TYPES))}")


VALUE_WORDS = {t: structs.numpy_dtype(t).itemsize // WORD for t in GRID_TYPES}

# The masks of inner nodes stand at the same places in every type of grid, and so do the parts of an index leaf.
_UPPER_MASK = layout(GridType.FLOAT).upper.offset("child_mask") // WORD
_LOWER_MASK = layout(GridType.FLOAT).lower.offset("child_mask") // WORD
_TILE_CHILD = layout(GridType.FLOAT).tile.offset("child") // WORD
_LEAF_MASK = layout(GridType.ONINDEX).leaf.offset("mask") // WORD
_LEAF_OFFSET = layout(GridType.ONINDEX).leaf.offset("offset") // WORD
_LEAF_PREFIX = layout(GridType.ONINDEX).leaf.offset("prefix") // WORD
_INDEX, _ONINDEX = int(GridType.INDEX), int(GridType.ONINDEX)


@struct
class VolumeData:
    """A grid in memory, as kernels see it. Of a closed volume all is zero and all arrays are empty."""

    grid_type: int32  # a GridType; 0 for none
    background: int32  # the place of the value where there is nothing else
    # The buffer under the types of values; they share gradients, which only floating-point types use.
    words: array_type(uint32)
    integers: array_type(int32)
    longs: array_type(int64)
    floats: array_type(float32)
    doubles: array_type(float64)
    # The nodes above leaves, in index grids the leaves too; empty where the directory does without.
    masks: array_type(uint32)
    links: array_type(int64)
    # The tree: keys of the root's tiles in ascending order with their places, and strides in words.
    root: int32
    keys: array_type(int64)
    tiles: array_type(int32)
    tile_value: int32
    upper_table: int32
    lower_table: int32
    table_stride: int32
    # Leaves, counted from the first.
    first_leaf: int32
    leaf_stride: int32
    leaf_values: int32
    voxel_count: int32
    # Entries of all cubes in a box, see `volume.directory`; empty where the box is too large.
    entries: array_type(int32)
    low: vec3i
    extent: vec3i
    # world = to_world @ index + translation, in both precisions.
    to_world_f: mat33f
    to_index_f: mat33f
    translation_f: vec3f
    to_world: mat33d
    to_index: mat33d
    translation: vec3d


# ----- the tree -------------------------------------------------------------------------------


@func
def tree_entry(data: VolumeData, i: int32, j: int32, k: int32) -> int32:
    """The entry of the cube that contains voxel (i, j, k), from the tree."""
    key = _key_part(i) << int64(42) | _key_part(j) << int64(21) | _key_part(k)
    rank = lower_bound(data.keys, key)
    if rank == len(data.keys):
        return ~data.background
    if data.keys[rank] != key:
        return ~data.background
    tile = data.tiles[rank]
    child = _link(data, tile + _TILE_CHILD)
    if child == 0:
        return ~(tile + data.tile_value)
    upper = data.root + child
    slot = (i >> 7 & 31) << 10 | (j >> 7 & 31) << 5 | (k >> 7 & 31)
    at = upper + data.upper_table + slot * data.table_stride
    if not _bit(data, upper + _UPPER_MASK, slot):
        return ~at
    lower = upper + _link(data, at)
    slot = (i >> 3 & 15) << 8 | (j >> 3 & 15) << 4 | (k >> 3 & 15)
    at = lower + data.lower_table + slot * data.table_stride
    if not _bit(data, lower + _LOWER_MASK, slot):
        return ~at
    return lower + _link(data, at) + data.leaf_values


@func
def _key_part(i: int32) -> int64:
    """The 20 bits that tell tiles of 4096 voxels along an axis apart."""
    return int64(i >> 12) & int64(0xFFFFF)


@func
def _link(data: VolumeData, at: int32) -> int32:
    """A distance to a child, in words."""
    return int32(data.links[at >> 1] >> int64(2))


@func
def _bit(data: VolumeData, mask: int32, n: int32) -> bool:
    """Bit `n` of the mask that begins at place `mask`."""
    return data.masks[mask + (n >> 5)] >> uint32(n & 31) & uint32(1) != uint32(0)


# ----- in a cube of 8^3 voxels ----------------------------------------------------------------


@func
def place(entry: int32, slot: int32, width: Any) -> int32:
    """Where the value of a voxel stands; `slot` is its number in the cube, `width` the words of a value."""
    return entry + slot * width if entry >= 0 else ~entry


@func
def leaf_slot(i: int32, j: int32, k: int32) -> int32:
    """The number of a voxel in its cube: x is the slowest."""
    return (i & 7) << 6 | (j & 7) << 3 | (k & 7)


@func
def voxel_index(data: VolumeData, entry: int32, slot: int32) -> int32:
    """The position of a voxel in arrays of one element per voxel, -1 for a voxel that has none.

    Grids of values count the voxels of their leaves, 512 each. Index grids say which voxels count; their
    own numbers start at 1, and 0 is the background.
    """
    if data.grid_type == _ONINDEX or data.grid_type == _INDEX:
        if entry < 0:
            return int32(data.links[~entry >> 1]) - 1
        first = int32(data.links[entry + _LEAF_OFFSET >> 1]) - 1
        return first + slot if data.grid_type == _INDEX else _active_index(data, entry, slot, first)
    if entry < 0:
        return -1
    return (entry - data.first_leaf) // data.leaf_stride * 512 + slot


@func
def _active_index(data: VolumeData, leaf: int32, slot: int32, first: int32) -> int32:
    """`first` plus the number of active voxels of a leaf before `slot`; -1 where `slot` is not active."""
    n, bit = slot >> 6, int64(slot & 63)
    mask = data.links[(leaf + _LEAF_MASK >> 1) + n]
    if mask >> bit & int64(1) == int64(0):
        return -1
    before = int32(bit_count(mask & ~(int64(-1) << bit)))
    if n > 0:  # 9 bits for each of the first seven words: the active voxels up to its end
        before += int32(data.links[leaf + _LEAF_PREFIX >> 1] >> int64(9 * (n - 1)) & int64(511))
    return first + before


# ----- values ---------------------------------------------------------------------------------
# `like` is any value of the type to read; only its type matters.


@func
def read(data: VolumeData, at: int32, like: float32) -> float32:
    """The value at a place."""
    return data.floats[at]


@func(overload_of=read)
def read(data: VolumeData, at: int32, like: float64) -> float64:
    return data.doubles[at >> 1]


@func(overload_of=read)
def read(data: VolumeData, at: int32, like: int32) -> int32:
    return data.integers[at]


@func(overload_of=read)
def read(data: VolumeData, at: int32, like: uint32) -> uint32:
    return data.words[at]


@func(overload_of=read)
def read(data: VolumeData, at: int32, like: int64) -> int64:
    return data.longs[at >> 1]


@func(overload_of=read)
def read(data: VolumeData, at: int32, like: Vec[N, float32]) -> Vec[N, float32]:
    value = type(like)()
    for c in range(len(like)):
        value[c] = data.floats[at + c]
    return value


@func(overload_of=read)
def read(data: VolumeData, at: int32, like: Vec[N, float64]) -> Vec[N, float64]:
    value = type(like)()
    for c in range(len(like)):
        value[c] = data.doubles[(at >> 1) + c]
    return value


@func
def write(data: VolumeData, at: int32, value: float32):
    """Replace the value at a place."""
    data.floats[at] = value


@func(overload_of=write)
def write(data: VolumeData, at: int32, value: float64):
    data.doubles[at >> 1] = value


@func(overload_of=write)
def write(data: VolumeData, at: int32, value: int32):
    data.integers[at] = value


@func(overload_of=write)
def write(data: VolumeData, at: int32, value: uint32):
    data.words[at] = value


@func(overload_of=write)
def write(data: VolumeData, at: int32, value: int64):
    data.longs[at >> 1] = value


@func(overload_of=write)
def write(data: VolumeData, at: int32, value: Vec[N, float32]):
    for c in range(len(value)):
        data.floats[at + c] = value[c]


@func(overload_of=write)
def write(data: VolumeData, at: int32, value: Vec[N, float64]):
    for c in range(len(value)):
        data.doubles[(at >> 1) + c] = value[c]
