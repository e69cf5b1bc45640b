"""Sizes and offsets of NanoVDB structures: recomputed by the C rules of ctypes, and against published figures."""

import ctypes as c

import numpy as np
import pytest

from warpsim.errors import VolumeFormatError
from warpsim.geometry.nanovdb.layout import (
    BLIND_META,
    FILE_HEADER,
    FILE_META,
    GRID,
    KINDS,
    MAP,
    TREE,
    GridClass,
    GridType,
    layout,
    pack_version,
    unpack_version,
)

# Measured with offsetof and sizeof in programs compiled against the format's own headers, 32.3.3 to 32.9.2.
FIXED = {
    FILE_HEADER: (16, {"magic": 0, "version": 8, "grid_count": 12, "codec": 14}),
    FILE_META: (
        176,
        {
            "grid_size": 0, "file_size": 8, "name_key": 16, "voxel_count": 24, "grid_type": 32, "grid_class": 36,
            "world_bbox": 40, "index_bbox": 88, "voxel_size": 112, "name_size": 136, "node_count": 140,
            "tile_count": 156, "codec": 168, "blind_data_count": 170, "version": 172,
        },
    ),
    MAP: (
        264,
        {
            "matrix_f": 0, "inverse_f": 36, "translation_f": 72, "taper_f": 84,
            "matrix": 88, "inverse": 160, "translation": 232, "taper": 256,
        },
    ),
    GRID: (
        672,
        {
            "magic": 0, "checksum": 8, "version": 16, "flags": 20, "grid_index": 24, "grid_count": 28,
            "grid_size": 32, "name": 40, "map": 296, "world_bbox": 560, "voxel_size": 608, "grid_class": 632,
            "grid_type": 636, "blind_offset": 640, "blind_count": 648, "data0": 652, "value_count": 656, "data2": 664,
        },
    ),
    TREE: (64, {"node_offset": 0, "node_count": 32, "tile_count": 44, "voxel_count": 56}),
    BLIND_META: (
        288,
        {
            "data_offset": 0, "value_count": 8, "value_size": 16, "semantic": 20, "data_class": 24, "data_type": 28,
            "name": 32,
        },
    ),
}  # fmt: skip

# root size, background; tile size, value; upper table, size; stride; lower table, size; leaf values, size
VALUES = {
    "FLOAT INT32 UINT32": (64, 28, 32, 20, 8256, 270400, 8, 1088, 33856, 96, 2144),
    "DOUBLE INT64": (96, 32, 32, 24, 8256, 270400, 8, 1088, 33856, 128, 4224),
    "INT16": (64, 28, 32, 20, 8256, 270400, 8, 1088, 33856, 96, 1120),
    "UINT8": (64, 28, 32, 20, 8256, 270400, 8, 1088, 33856, 96, 608),
    "VEC3F": (96, 28, 32, 20, 8256, 532544, 16, 1088, 66624, 128, 6272),
    "VEC3D": (128, 32, 64, 24, 8288, 794720, 24, 1120, 99424, 160, 12448),
    "VEC4F": (96, 28, 64, 20, 8288, 532576, 16, 1120, 66656, 128, 8320),
    "VEC4D": (160, 32, 64, 24, 8320, 1056896, 32, 1152, 132224, 160, 16544),
    "MASK": (64, 28, 32, 20, 8256, 270400, 8, 1088, 33856, 16, 96),
    "BOOL": (64, 28, 32, 20, 8256, 270400, 8, 1088, 33856, 80, 160),
    "INDEX ONINDEX": (96, 32, 32, 24, 8256, 270400, 8, 1088, 33856, 80, 96),
}
LEAF_STATISTICS = {  # minimum, maximum, average, deviation
    "FLOAT": (80, 84, 88, 92),
    "INT32": (80, 84, 88, 92),
    "DOUBLE": (80, 88, 96, 104),
    "INT64": (80, 88, 96, 104),
    "INT16": (80, 82, 84, 88),
    "UINT8": (80, 81, 84, 88),
    "VEC3F": (80, 92, 104, 108),
    "VEC3D": (80, 104, 128, 136),
    "VEC4F": (80, 96, 112, 116),
}


@pytest.mark.parametrize("record", FIXED, ids=lambda record: record.name)
def test_structures_that_all_grids_share(record):
    size, offsets = FIXED[record]
    assert record.size == size
    assert {name: record.offset(name) for name in record.dtype.names} == offsets


@pytest.mark.parametrize("names", VALUES)
def test_structures_of_a_type(names):
    for name in names.split():
        parts = layout(GridType[name])
        assert parts.type.name == name
        assert (
            parts.root.size, parts.background, parts.tile.size, parts.tile_value, parts.upper_table, parts.upper.size,
            parts.table_stride, parts.lower_table, parts.lower.size, parts.leaf_values, parts.leaf.size,
        ) == VALUES[names]  # fmt: skip
        assert (parts.upper.offset("value_mask"), parts.upper.offset("child_mask")) == (32, 4128)
        assert (parts.lower.offset("value_mask"), parts.lower.offset("child_mask")) == (32, 544)
        assert (parts.upper.offset("minimum"), parts.lower.offset("minimum")) == (8224, 1056)


@pytest.mark.parametrize("name", LEAF_STATISTICS)
def test_statistics_of_leaves(name):
    leaf = layout(GridType[name]).leaf
    offsets = tuple(leaf.offset(field) for field in ("minimum", "maximum", "average", "deviation"))
    assert offsets == LEAF_STATISTICS[name]


def test_every_type_has_figures():
    assert {GridType[name] for names in VALUES for name in names.split()} == set(KINDS)


# ----- the same by the rules of a C compiler ------------------------------------------------------

SCALARS = {
    "f4": c.c_float,
    "f8": c.c_double,
    "i2": c.c_int16,
    "i4": c.c_int32,
    "i8": c.c_int64,
    "u1": c.c_uint8,
    "u4": c.c_uint32,
    "u8": c.c_uint64,
    "?": c.c_bool,
}


def struct(*fields):
    return type("Struct", (c.Structure,), {"_fields_": list(fields)})


def round_up(size):
    return (size + 31) // 32 * 32


@pytest.mark.parametrize("grid_type", KINDS, ids=lambda kind: kind.name)
def test_structures_against_ctypes(grid_type):
    kind, parts = KINDS[grid_type], layout(grid_type)
    scalar, statistic = SCALARS[kind.scalar], SCALARS[kind.statistic]
    value = scalar if kind.components == 1 else scalar * kind.components
    box = ("box", c.c_int32 * 6)
    statistics = [("minimum", value), ("maximum", value), ("average", statistic), ("deviation", statistic)]
    root = struct(box, ("count", c.c_uint32), ("background", value), *statistics)
    tile = struct(("key", c.c_uint64), ("child", c.c_int64), ("state", c.c_uint32), ("value", value))
    assert (parts.root.size, parts.tile.size) == (round_up(c.sizeof(root)), round_up(c.sizeof(tile)))
    assert (parts.background, parts.tile_value) == (root.background.offset, tile.value.offset)
    entry = type("Entry", (c.Union,), {"_fields_": [("child", c.c_int64), ("value", value)]})
    for record, slots in ((parts.upper, 32**3), (parts.lower, 16**3)):
        mask = c.c_uint64 * (slots // 64)
        head = struct(box, ("flags", c.c_uint64), ("values", mask), ("children", mask), *statistics)
        assert record.offset("table") == round_up(c.sizeof(head))
        assert record.size == round_up(record.offset("table") + slots * c.sizeof(entry))
        assert record.offset("deviation") == head.deviation.offset
    bits = c.c_uint64 * 8
    before = [("corner", c.c_int32 * 3), ("extent", c.c_uint8 * 3), ("flags", c.c_uint8), ("mask", bits)]
    if kind.leaf == "values":
        head = struct(*before, *statistics)
        assert parts.leaf_values == round_up(c.sizeof(head))
        assert parts.leaf.size == round_up(parts.leaf_values + 512 * c.sizeof(value))
    else:
        extra = {
            "mask": [("pad", c.c_uint64 * 2)],
            "bits": [("bits", bits), ("pad", c.c_uint64 * 2)],
            "index": [("offset", c.c_uint64), ("prefix", c.c_uint64)],
        }
        leaf = struct(*before, *extra[kind.leaf])
        assert parts.leaf.size == round_up(c.sizeof(leaf))


def test_views_stay_inside_the_buffer():
    buffer = np.zeros(1000, np.uint8)
    GRID.view(buffer, 328)["flags"] = 7
    assert buffer[328 + 20] == 7
    for offset, count in ((329, 1), (-1, 1), (0, 2), (0, -1)):
        with pytest.raises(VolumeFormatError, match="grid header"):
            GRID.view(buffer, offset, count)


def test_versions_and_numbers():
    assert pack_version(32, 9, 2) == 32 << 21 | 9 << 10 | 2
    assert unpack_version(pack_version(32, 1000, 3)) == (32, 1000, 3)
    published = {"FLOAT": 1, "INT32": 4, "VEC3F": 6, "MASK": 8, "VEC4F": 17, "INDEX": 19, "ONINDEX": 20, "UINT8": 26}
    assert {name: int(GridType[name]) for name in published} == published
    assert (GridClass.LEVEL_SET, GridClass.INDEX, GridClass.TENSOR) == (1, 8, 9)
