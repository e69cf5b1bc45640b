"""A NanoVDB grid in memory: one aligned buffer, and everything in it by name.

Guarantees: properties only read the buffer, nothing is cached, so what a kernel writes into the buffer shows;
node arrays are structured NumPy views without a copy.  They follow the counts and offsets of the buffer as
they stand: run `check.check` first on bytes that come from outside, as `file.read` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .layout import (
    ALIGNMENT,
    BLIND_META,
    GRID,
    KINDS,
    RELATIVE_BLIND_DATA,
    TREE,
    TREE_OFFSET,
    GridClass,
    GridLayout,
    GridType,
    Record,
    layout,
    unpack_version,
)

_LEAF, _LOWER, _UPPER, _ROOT = range(4)  # order of the tree header's offsets and counts


def aligned_zeros(count: int) -> np.ndarray:
    """`count` zero bytes, uint8, that begin at a multiple of 32: memory of their own."""
    room = np.zeros(count + ALIGNMENT - 1, np.uint8)
    begin = -room.ctypes.data % ALIGNMENT
    return room[begin : begin + count]


def aligned_copy(data: np.ndarray | bytes | memoryview) -> np.ndarray:
    """Bytes as an aligned uint8 array of their own."""
    source = np.frombuffer(data, np.uint8)
    out = aligned_zeros(len(source))
    out[:] = source
    return out


@dataclass(frozen=True)
class Feature:
    """An array that a grid carries beside its tree ("blind data"): what it means, and its values."""

    name: str
    array: np.ndarray  # (n,) or (n, components); raw bytes (n * value_size,) where the type says nothing
    semantic: int = 0
    data_class: int = 0
    data_type: GridType | None = None  # by default that of the array; UNKNOWN for bytes


_PLAIN = {
    (np.dtype(kind.scalar), kind.components): grid_type for grid_type, kind in KINDS.items() if kind.leaf == "values"
}


def feature_type(array: np.ndarray) -> GridType:
    """The grid type whose values have the dtype of `array` and its trailing shape, or UNKNOWN."""
    components = array.shape[1] if array.ndim == 2 else 1
    return _PLAIN.get((array.dtype, components), GridType.UNKNOWN) if array.ndim in (1, 2) else GridType.UNKNOWN


def value_dtype(grid_type: int) -> np.dtype | None:
    """Dtype of a value of a grid type, (3,) or (4,) subarrays for vectors; None where it has no plain one."""
    kind = KINDS.get(GridType(grid_type)) if grid_type in GridType.__members__.values() else None
    return None if kind is None or kind.leaf != "values" else layout(GridType(grid_type)).dtype


@dataclass(frozen=True, eq=False)
class Grid:
    """A grid: `buffer` is uint8, aligned to 32 bytes, exactly as long as its header says."""

    buffer: np.ndarray

    @property
    def header(self) -> np.void:
        """The grid header: writing to its fields writes to the buffer."""
        header: np.void = GRID.view(self.buffer)[0]
        return header

    @property
    def tree(self) -> np.void:
        """The tree header."""
        tree: np.void = TREE.view(self.buffer, TREE_OFFSET)[0]
        return tree

    @property
    def layout(self) -> GridLayout:
        """The structures of this grid's type."""
        return layout(self.type)

    @property
    def type(self) -> GridType:
        """What a voxel stores."""
        return GridType(int(self.header["grid_type"]))

    @property
    def grid_class(self) -> GridClass:
        """What the values mean."""
        return GridClass(int(self.header["grid_class"]))

    @property
    def name(self) -> str:
        """The name; names of 256 bytes and more are cut."""
        return bytes(self.header["name"]).split(b"\0")[0].decode("utf-8", "replace")

    @property
    def version(self) -> tuple[int, int, int]:
        """Version of the format that the grid was written in."""
        return unpack_version(int(self.header["version"]))

    @property
    def flags(self) -> int:
        """Bits of `GridFlag`."""
        return int(self.header["flags"])

    @property
    def matrix(self) -> np.ndarray:
        """(3, 3) float64: world = matrix @ index + translation."""
        return np.array(self.header["map"]["matrix"])

    @property
    def inverse(self) -> np.ndarray:
        """(3, 3) float64: index = inverse @ (world - translation)."""
        return np.array(self.header["map"]["inverse"])

    @property
    def translation(self) -> np.ndarray:
        """(3,) float64: where index (0, 0, 0) is in the world."""
        return np.array(self.header["map"]["translation"])

    @property
    def voxel_size(self) -> np.ndarray:
        """(3,) float64: edge lengths of a voxel in the world."""
        return np.array(self.header["voxel_size"])

    @property
    def world_bbox(self) -> np.ndarray:
        """(2, 3) float64: what the header claims about the world box of active voxels."""
        return np.array(self.header["world_bbox"])

    @property
    def index_bbox(self) -> np.ndarray:
        """(2, 3) int32, both inclusive: what the root claims; `voxels.active_bounds` counts itself."""
        return np.array(self.root["bbox"])

    @property
    def node_counts(self) -> tuple[int, int, int]:
        """How many leaves, lower nodes and upper nodes there are."""
        leaves, lowers, uppers = (int(count) for count in self.tree["node_count"])
        return leaves, lowers, uppers

    @property
    def voxel_count(self) -> int:
        """Active voxels, those of active tiles included."""
        return int(self.tree["voxel_count"])

    @property
    def value_count(self) -> int:
        """Index grids: the length of an array for this grid; index 0 is the background.  Else 0."""
        return int(self.header["value_count"]) if self.layout.is_index else 0

    @property
    def background(self) -> Any:
        """The value outside all nodes: a NumPy scalar, or an array of 3 or 4."""
        return self.root["background"]

    @property
    def root_offset(self) -> int:
        """Bytes from the start of the buffer to the root."""
        return TREE_OFFSET + int(self.tree["node_offset"][_ROOT])

    @property
    def root(self) -> np.void:
        """The root header."""
        root: np.void = self.layout.root.view(self.buffer, self.root_offset)[0]
        return root

    @property
    def tiles(self) -> np.ndarray:
        """The root's tiles, structured (n,)."""
        return self.layout.tile.view(
            self.buffer, self.root_offset + self.layout.root.size, int(self.root["tile_count"])
        )

    @property
    def uppers(self) -> np.ndarray:
        """All upper nodes, structured (n,)."""
        return self._nodes(_UPPER, self.layout.upper)

    @property
    def lowers(self) -> np.ndarray:
        """All lower nodes, structured (n,)."""
        return self._nodes(_LOWER, self.layout.lower)

    @property
    def leaves(self) -> np.ndarray:
        """All leaves, structured (n,)."""
        return self._nodes(_LEAF, self.layout.leaf)

    def node_offset(self, level: int) -> int:
        """Bytes from the start of the buffer to the first leaf (level 0), lower (1) or upper node (2)."""
        return TREE_OFFSET + int(self.tree["node_offset"][level])

    def _nodes(self, level: int, record: Record) -> np.ndarray:
        count = int(self.tree["node_count"][level])
        return record.view(self.buffer, self.node_offset(level) if count else 0, count)

    @property
    def blind_descriptions(self) -> np.ndarray:
        """The descriptions of blind data, structured (n,)."""
        count = int(self.header["blind_count"])
        return BLIND_META.view(self.buffer, int(self.header["blind_offset"]) if count else 0, count)

    @property
    def features(self) -> list[Feature]:
        """The arrays beside the tree, as views into the buffer."""
        return [self._feature(index, meta) for index, meta in enumerate(self.blind_descriptions)]

    def _feature(self, index: int, meta: np.void) -> Feature:
        begin, size, _ = blind_extent(self, index)
        name = bytes(meta["name"]).split(b"\0")[0].decode("utf-8", "replace")
        dtype = value_dtype(int(meta["data_type"])) or np.dtype(np.uint8)
        values = self.buffer[begin : begin + size].view(dtype.base).reshape(-1, *dtype.shape)
        return Feature(name, values, int(meta["semantic"]), int(meta["data_class"]), GridType(int(meta["data_type"])))

    def copy(self) -> Grid:
        """The same grid in a buffer of its own."""
        return Grid(aligned_copy(self.buffer))


def blind_extent(grid: Grid, index: int) -> tuple[int, int, int]:
    """First byte, bytes, and bytes per value of the blind data that description `index` tells of."""
    meta = grid.blind_descriptions[index]
    relative = int(grid.header["version"]) >= RELATIVE_BLIND_DATA
    base = int(grid.header["blind_offset"]) + index * BLIND_META.size if relative else 0
    dtype = value_dtype(int(meta["data_type"]))
    value_size = int(meta["value_size"]) if relative else (dtype.itemsize if dtype else 1)
    return base + int(meta["data_offset"]), int(meta["value_count"]) * value_size, value_size
