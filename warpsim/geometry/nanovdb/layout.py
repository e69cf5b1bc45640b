"""The layout of NanoVDB files and grids: sizes and byte offsets, derived from short descriptions.

Guarantees: every number follows from the list of fields by the alignment rules of C structs; no other file
of warpsim holds a byte offset of the format.  Each structure is a `Record` with a NumPy dtype, so that
`record.view(buffer, offset, count)` reads and writes fields by name; `GridLayout` also gives the numbers as
plain ints for kernels.

A grid is one contiguous little-endian buffer: grid header, tree header, root header, root tiles, then all
upper nodes, all lower nodes, all leaves, then blind data.  Root tiles span 4096 voxels along each axis and
hold a value or an upper node; an upper node is a table of 32^3 values or lower nodes (each spans 128), a
lower node one of 16^3 values or leaves, a leaf holds 8^3 voxels.  Structure and field order are those of the
format's public specification (K. Museth, "NanoVDB: A GPU-friendly and portable VDB data structure for
real-time rendering and simulation", SIGGRAPH 2021 Talks), versions 32.3 to 32.9, which differ in none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import numpy as np

from ...forks import cached_property
from ...errors import VolumeFormatError

ALIGNMENT = 32  # of the buffer, and of every structure inside it
UPPER_LOG2, LOWER_LOG2, LEAF_LOG2 = 5, 4, 3  # children along an axis, as powers of two
UPPER_SLOTS, LOWER_SLOTS, LEAF_SLOTS = (1 << 3 * log2 for log2 in (UPPER_LOG2, LOWER_LOG2, LEAF_LOG2))
LEAF_SPAN_LOG2 = LEAF_LOG2  # voxels that a node spans along an axis, as powers of two
LOWER_SPAN_LOG2 = LEAF_SPAN_LOG2 + LOWER_LOG2
UPPER_SPAN_LOG2 = LOWER_SPAN_LOG2 + UPPER_LOG2
MAX_BYTES = 4 << 31  # kernels tell places in a grid by the int32 numbers of words of 4 bytes
KEY_BITS = 21  # a root tile's key packs x, y, z, 21 bits each; coordinates >> 12 fill 20 of them

MAGIC_OLD, MAGIC_GRID, MAGIC_FILE = b"NanoVDB0", b"NanoVDB1", b"NanoVDB2"
CODECS = {"none": 0, "zip": 1, "blosc": 2}
ABSENT_CHECKSUM = 0xFFFFFFFF


class GridType(IntEnum):
    """What a grid stores per voxel, with the numbers of the format; not all have a `GridLayout`."""

    UNKNOWN, FLOAT, DOUBLE, INT16, INT32, INT64, VEC3F, VEC3D, MASK = range(9)
    HALF, UINT32, BOOL, RGBA8, FP4, FP8, FP16, FPN, VEC4F, VEC4D, INDEX, ONINDEX = range(9, 21)
    INDEXMASK, ONINDEXMASK, POINTINDEX, VEC3U8, VEC3U16, UINT8 = range(21, 27)


class GridClass(IntEnum):
    """What the values mean."""

    UNKNOWN, LEVEL_SET, FOG, STAGGERED, POINT_INDEX, POINT_DATA = range(6)
    TOPOLOGY, VOXEL, INDEX, TENSOR, VOXEL_BVH = range(6, 11)


class GridFlag(IntEnum):
    """Bits of the grid header's `flags`: which optional data the grid carries."""

    LONG_NAME, BBOX, MIN_MAX, AVERAGE, DEVIATION, BREADTH_FIRST = (1 << bit for bit in range(6))


class LeafFlag(IntEnum):
    """Bits of `flags` in nodes: a bounding box is there; statistics are there."""

    BBOX, STATS = 1 << 1, 1 << 4


def pack_version(major: int, minor: int, patch: int) -> int:
    """A version as the format stores it: 11 bits, 11 bits, 10 bits."""
    return major << 21 | minor << 10 | patch


def unpack_version(word: int) -> tuple[int, int, int]:
    """The inverse of `pack_version`."""
    return word >> 21, word >> 10 & 0x7FF, word & 0x3FF


MAJOR_VERSION = 32
RELATIVE_BLIND_DATA = pack_version(32, 6, 0)  # from here on blind data is found relative to its description
NEW_MAGIC = pack_version(32, 8, 0)  # from here on file and grid have magic words of their own
BLOCK_CHECKSUMS = pack_version(32, 6, 1)  # from here on checksums go over blocks of bytes, before over nodes


@dataclass(frozen=True)
class Field:
    """A field of a C struct: `count` elements of `dtype`; `align` raises its alignment above the natural one."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...] = ()
    align: int = 1

    @property
    def alignment(self) -> int:
        """Natural alignment: that of the largest scalar inside, unless raised."""
        return max(self.align, _scalar_alignment(self.dtype))


@dataclass(frozen=True)
class Record:
    """A C struct: `dtype` has its fields at their offsets and its padded size."""

    name: str
    dtype: np.dtype

    @property
    def size(self) -> int:
        """Bytes, padding included."""
        return self.dtype.itemsize

    def offset(self, field: str) -> int:
        """Bytes from the start of the struct to the field."""
        return int(dict(self.dtype.fields or {})[field][1])

    def view(self, buffer: np.ndarray, offset: int = 0, count: int = 1) -> np.ndarray:
        """`count` structs that stand one after the other from byte `offset` of a uint8 array, without a copy.

        Raises `VolumeFormatError` where they are not inside the array: NumPy itself believes negative offsets.
        """
        end = offset + count * self.size
        if not 0 <= offset <= end <= len(buffer):
            raise VolumeFormatError(self.name, f"bytes {offset} to {end}", f"bytes 0 to {len(buffer)} of the buffer")
        structs: np.ndarray = np.ndarray((count,), self.dtype, buffer, offset)
        return structs


def _scalar_alignment(dtype: np.dtype) -> int:
    if dtype.subdtype is not None:
        return _scalar_alignment(dtype.subdtype[0])
    if dtype.fields is not None:
        return max(_scalar_alignment(entry[0]) for entry in dtype.fields.values())
    return 1 if dtype.kind == "S" else dtype.itemsize


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _field(name: str, code: str, *shape: int, align: int = 1) -> Field:
    return Field(name, np.dtype(code).newbyteorder("<"), shape, align)


def _record(name: str, fields: Iterable[Field], align: int = 1) -> Record:
    """Lay fields out as C does: each at the next multiple of its alignment, the size a multiple of the largest."""
    names, formats, offsets, end = [], [], [], 0
    for field in fields:
        begin = _round_up(end, field.alignment)
        full = np.dtype((field.dtype, field.shape))
        names.append(field.name)
        formats.append(full)
        offsets.append(begin)
        end, align = begin + full.itemsize, max(align, field.alignment)
    size = _round_up(end, align)
    return Record(name, np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size}))


def _union(name: str, fields: Iterable[Field]) -> Record:
    """Fields that share one place, as in a C union."""
    fields = list(fields)
    formats = [np.dtype((field.dtype, field.shape)) for field in fields]
    align = max(field.alignment for field in fields)
    size = _round_up(max(f.itemsize for f in formats), align)
    names, offsets = [field.name for field in fields], [0] * len(fields)
    return Record(name, np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size}))


# ----- structures that are the same for every type ----------------------------------------------

FILE_HEADER = _record(
    "file header",
    [_field("magic", "S8"), _field("version", "u4"), _field("grid_count", "u2"), _field("codec", "u2")],
)

FILE_META = _record(
    "file metadata",
    [
        _field("grid_size", "u8"),  # bytes in memory
        _field("file_size", "u8"),  # bytes in the file, length words included
        _field("name_key", "u8"),  # a hash of the name
        _field("voxel_count", "u8"),  # active ones
        _field("grid_type", "u4"),
        _field("grid_class", "u4"),
        _field("world_bbox", "f8", 2, 3),
        _field("index_bbox", "i4", 2, 3),
        _field("voxel_size", "f8", 3),
        _field("name_size", "u4"),  # with the closing zero byte
        _field("node_count", "u4", 4),  # leaves, lower nodes, upper nodes, roots
        _field("tile_count", "u4", 3),  # active tiles of lower nodes, upper nodes, root
        _field("codec", "u2"),
        _field("blind_data_count", "u2"),  # before version 32.9 padding
        _field("version", "u4"),
    ],
)

MAP = _record(
    "map",  # world = matrix @ index + translation, in single and in double precision
    [
        _field("matrix_f", "f4", 3, 3),
        _field("inverse_f", "f4", 3, 3),
        _field("translation_f", "f4", 3),
        _field("taper_f", "f4"),
        _field("matrix", "f8", 3, 3),
        _field("inverse", "f8", 3, 3),
        _field("translation", "f8", 3),
        _field("taper", "f8"),
    ],
)

GRID = _record(
    "grid header",
    [
        _field("magic", "S8"),
        _field("checksum", "u4", 2),  # of the headers; of the rest
        _field("version", "u4"),
        _field("flags", "u4"),
        _field("grid_index", "u4"),
        _field("grid_count", "u4"),
        _field("grid_size", "u8"),
        _field("name", "S256"),
        Field("map", MAP.dtype),
        _field("world_bbox", "f8", 2, 3),
        _field("voxel_size", "f8", 3),
        _field("grid_class", "u4"),
        _field("grid_type", "u4"),
        _field("blind_offset", "i8"),  # of the descriptions of blind data, from the start of the grid
        _field("blind_count", "u4"),
        _field("data0", "u4"),
        _field("value_count", "u8"),  # index grids: how many values an array for this grid must have
        _field("data2", "u8"),
    ],
    ALIGNMENT,
)

TREE = _record(
    "tree header",
    [
        _field("node_offset", "i8", 4),  # first leaf, lower node, upper node, root: from the tree header
        _field("node_count", "u4", 3),  # leaves, lower nodes, upper nodes
        _field("tile_count", "u4", 3),
        _field("voxel_count", "u8"),
    ],
    ALIGNMENT,
)

BLIND_META = _record(
    "blind data description",
    [
        _field("data_offset", "i8"),  # from this description, before version 32.6 from the start of the grid
        _field("value_count", "u8"),
        _field("value_size", "u4"),  # before version 32.6 flags
        _field("semantic", "u4"),
        _field("data_class", "u4"),
        _field("data_type", "u4"),  # a GridType
        _field("name", "S256"),
    ],
    ALIGNMENT,
)

TREE_OFFSET = GRID.size
CHECKSUM_BEGIN = GRID.offset("version")  # what stands before is not covered by a checksum


# ----- structures that depend on the type ---------------------------------------------------------


@dataclass(frozen=True)
class ValueKind:
    """What a type stores: a scalar or vector per value, the scalar of averages, and how leaves hold values."""

    scalar: str
    components: int = 1
    statistic: str = "f4"
    leaf: str = "values"  # "values", "mask" (nothing), "bits" (a second mask) or "index" (an offset)


KINDS = {
    GridType.FLOAT: ValueKind("f4"),
    GridType.DOUBLE: ValueKind("f8", statistic="f8"),
    GridType.INT16: ValueKind("i2"),
    GridType.INT32: ValueKind("i4"),
    GridType.INT64: ValueKind("i8", statistic="f8"),
    GridType.UINT8: ValueKind("u1"),
    GridType.UINT32: ValueKind("u4"),
    GridType.VEC3F: ValueKind("f4", 3),
    GridType.VEC3D: ValueKind("f8", 3, "f8"),
    GridType.VEC4F: ValueKind("f4", 4),
    GridType.VEC4D: ValueKind("f8", 4, "f8"),
    GridType.MASK: ValueKind("?", statistic="?", leaf="mask"),
    GridType.BOOL: ValueKind("?", statistic="?", leaf="bits"),
    GridType.INDEX: ValueKind("u8", statistic="u8", leaf="index"),
    GridType.ONINDEX: ValueKind("u8", statistic="u8", leaf="index"),
}


@dataclass(frozen=True)
class GridLayout:
    """All structures of one grid type; the properties are the numbers that kernels need."""

    type: GridType
    kind: ValueKind
    root: Record
    tile: Record  # of the root
    upper: Record
    lower: Record
    leaf: Record

    @property
    def dtype(self) -> np.dtype:
        """A value: a scalar dtype, or a subarray dtype of 3 or 4 scalars."""
        return self.scalar if self.kind.components == 1 else np.dtype((self.scalar, (self.kind.components,)))

    @cached_property
    def scalar(self) -> np.dtype:
        """One component of a value."""
        return _field("value", self.kind.scalar).dtype

    @property
    def components(self) -> int:
        """Components of a value: 1, 3 or 4."""
        return self.kind.components

    @property
    def is_index(self) -> bool:
        """Leaves hold positions in an outside array instead of values."""
        return self.kind.leaf == "index"

    @property
    def background(self) -> int:
        """Offset of the background value in the root."""
        return self.root.offset("background")

    @property
    def tile_value(self) -> int:
        """Offset of the value in a root tile."""
        return self.tile.offset("value")

    @property
    def upper_table(self) -> int:
        """Offset of the table in an upper node."""
        return self.upper.offset("table")

    @property
    def lower_table(self) -> int:
        """Offset of the table in a lower node."""
        return self.lower.offset("table")

    @property
    def table_stride(self) -> int:
        """Bytes of one entry of a table."""
        return int(self.upper.dtype["table"].base.itemsize)

    @property
    def leaf_values(self) -> int:
        """Offset of the values in a leaf: of the second mask of BOOL, of the offset word of index types."""
        return self.leaf.offset({"values": "values", "mask": "mask", "bits": "bits", "index": "offset"}[self.kind.leaf])


def _statistics(value: Field, statistic: str) -> list[Field]:
    extremes = [Field(name, value.dtype, value.shape) for name in ("minimum", "maximum")]
    return [*extremes, _field("average", statistic), _field("deviation", statistic)]


def _internal_node(name: str, slots: int, value: Field, statistics: list[Field]) -> Record:
    entry = _union("table entry", [value, _field("child", "i8")])  # child: bytes from the start of this node
    masks = [_field(mask, "u1", slots // 8, align=8) for mask in ("value_mask", "child_mask")]
    head = [_field("bbox", "i4", 2, 3), _field("flags", "u8"), *masks]
    return _record(name, [*head, *statistics, Field("table", entry.dtype, (slots,), ALIGNMENT)], ALIGNMENT)


def _leaf_node(kind: ValueKind, value: Field, statistics: list[Field]) -> Record:
    bits = LEAF_SLOTS // 8
    head = [
        _field("bbox_min", "i4", 3),
        _field("bbox_extent", "u1", 3),  # largest corner minus smallest
        _field("flags", "u1"),
        _field("mask", "u1", bits, align=8),
    ]
    tails = {
        "values": [*statistics, Field("values", value.dtype, (LEAF_SLOTS, *value.shape), ALIGNMENT)],
        "mask": [_field("reserved", "u8", 2)],
        "bits": [_field("bits", "u1", bits, align=8), _field("reserved", "u8", 2)],
        # prefix: how many voxels are active in the words 0..k of the mask, 9 bits for each k in 0..6
        "index": [_field("offset", "u8"), _field("prefix", "u8")],
    }
    return _record("leaf", [*head, *tails[kind.leaf]], ALIGNMENT)


@cache
def layout(grid_type: GridType) -> GridLayout:
    """The structures of a grid type; KeyError for types that have none here (`KINDS` lists those that do)."""
    kind = KINDS[grid_type]
    shape = () if kind.components == 1 else (kind.components,)
    value = _field("value", kind.scalar, *shape)
    statistics = _statistics(value, kind.statistic)
    root_head = [_field("bbox", "i4", 2, 3), _field("tile_count", "u4"), Field("background", value.dtype, shape)]
    return GridLayout(
        GridType(grid_type),
        kind,
        root=_record("root", [*root_head, *statistics], ALIGNMENT),
        tile=_record(
            "root tile",
            [_field("key", "u8"), _field("child", "i8"), _field("state", "u4"), value],  # child: bytes from the root
            ALIGNMENT,
        ),
        upper=_internal_node("upper node", UPPER_SLOTS, value, statistics),
        lower=_internal_node("lower node", LOWER_SLOTS, value, statistics),
        leaf=_leaf_node(kind, value, statistics),
    )
