"""Every rule that a grid must keep before a kernel follows it: one broken at a time, and the error that names it."""

import pickle
import time

import numpy as np
import pytest

from warpsim.errors import VolumeFormatError, WarpsimError
from warpsim.geometry.nanovdb import checksum as nanovdb_checksum
from warpsim.geometry.nanovdb.build import from_dense, from_tiles, from_voxels
from warpsim.geometry.nanovdb.check import check, prefix_sums, set_bits
from warpsim.geometry.nanovdb.features import with_features
from warpsim.geometry.nanovdb.grid import aligned_copy

# Two root tiles, two upper nodes, three lower nodes, five leaves.
SPOTS = np.array([[0, 0, 0], [8, 0, 0], [200, 0, 0], [-1, 0, 0], [-1, 0, 9]])
GRIDS = {
    "floats": from_voxels(SPOTS, np.arange(5, dtype="f4"), background=7.0),
    "on index": with_features(from_voxels(SPOTS), {"a": np.arange(6.0), "b": np.arange(4, dtype="f4")}),
    "index": from_tiles(SPOTS, type="index"),
}


def refused(base: str, change, message: str) -> None:
    """A copy of a grid in which something was changed gives an error that says what."""
    grid = GRIDS[base].copy()
    change(grid)
    with pytest.raises(VolumeFormatError) as error:
        check(grid.buffer, verify_checksum=False)
    assert message in str(error.value), str(error.value)
    assert isinstance(error.value, ValueError) and isinstance(error.value, WarpsimError)


def put(view_of, field, value, *place):
    """A change: `value` into a field of a structured view, at a place in it."""

    def change(grid):
        target = view_of(grid)
        if place:
            target[field][place if len(place) > 1 else place[0]] = value
        else:
            target[field] = value

    return change


def header(grid):
    return grid.header


def tree(grid):
    return grid.tree


def tiles(grid):
    return grid.tiles


def uppers(grid):
    return grid.uppers


def lowers(grid):
    return grid.lowers


def leaves(grid):
    return grid.leaves


def blind(grid):
    return grid.blind_descriptions


def in_map(grid):
    return grid.header["map"]


@pytest.mark.parametrize("name", GRIDS)
def test_sound_grids(name):
    grid = check(GRIDS[name].buffer)
    assert grid.buffer is GRIDS[name].buffer


def test_memory():
    buffer = GRIDS["floats"].buffer
    for wrong in (buffer[:100], buffer[8:], buffer.view(np.int8), buffer.reshape(2, -1), buffer[::2], b"bytes"):
        with pytest.raises(VolumeFormatError, match="buffer"):
            check(wrong)


def test_what_an_error_says():
    grid = GRIDS["floats"].copy()
    grid.header["grid_size"] = 12
    with pytest.raises(VolumeFormatError) as error:
        check(grid.buffer)
    expected = f"NanoVDB: grid size\nfound: 12\nexpected: the bytes that are there, {len(grid.buffer)}"
    assert str(error.value) == expected
    assert (error.value.field, error.value.found) == ("grid size", "12")
    assert str(pickle.loads(pickle.dumps(error.value))) == expected


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("magic", b"NanoVDB2", "grid magic"),
        ("version", 33 << 21, "grid version\nfound: 33.0.0"),
        ("grid_size", 1 << 62, "grid size"),
        ("grid_type", 13, "grid type\nfound: FP4\nexpected: one of FLOAT"),
        ("grid_type", 99, "grid type\nfound: 99"),
        ("grid_class", 11, "grid class"),
        ("voxel_size", [1.0, 0.0, 1.0], "voxel size"),
        ("voxel_size", [1.0, np.inf, 1.0], "voxel size"),
        ("blind_count", 1 << 31, "blind data count"),
    ],
)
def test_header_fields(field, value, message):
    refused("floats", put(header, field, value), message)


@pytest.mark.parametrize("suffix", ["", "_f"])
def test_maps(suffix):
    matrix, inverse, translation = (f"{part}{suffix}" for part in ("matrix", "inverse", "translation"))
    refused("floats", put(in_map, matrix, np.nan, 0, 0), f"map {matrix}")
    refused("floats", put(in_map, translation, np.inf, 2), f"map {translation}")
    refused("floats", put(in_map, inverse, 2.0, 0, 0), f"map {inverse}")
    refused("floats", put(in_map, matrix, 0.0), f"map {inverse}")
    refused("floats", put(in_map, matrix, 1.0), f"map {inverse}")
    refused("floats", put(in_map, inverse, 0.0), f"map {inverse}")


def test_maps_with_unequal_axes_are_fine():
    turned = np.array([[0.0, 1e-4, 0.0], [-300.0, 0.0, 0.0], [0.0, 0.0, 0.1]])
    shear = np.array([[1.0, 0.999, 0.0], [0.0, 1.0, 0.999], [0.0, 0.0, 1.0]])
    c, s = np.cos(0.3), np.sin(0.3)
    flat = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ np.diag([1.0, 1e4, 1.0])
    for transform in (turned, shear, flat, flat.T, 1e-12 * shear, 1e12 * turned):
        check(from_voxels(SPOTS, transform=transform, translation=(1e6, -1e6, 0)).buffer)


@pytest.mark.parametrize(
    ("field", "value", "place", "message"),
    [
        ("node_offset", -1 << 63, 3, "offset of the root"),
        ("node_offset", 65, 3, "offset of the root"),
        ("node_offset", -64, 3, "start of the root"),
        ("node_offset", 1 << 40, 0, "offset of the first leaf"),
        ("node_offset", -4096, 0, "offset of the first leaf"),
        ("node_offset", 64, 2, "start of the"),
        ("node_count", 0xFFFFFFFF, 0, "end of the leaves"),
        ("node_count", 4, 0, "offset to the start of one of the 4 leaves"),
        ("node_count", 0, 1, "one of the 0 lower nodes"),
        ("node_count", 1, 2, "one of the 1 upper nodes"),
        ("voxel_count", 4, None, "voxel count\nfound: 4\nexpected: 5"),
    ],
)
def test_tree_fields(field, value, place, message):
    refused("floats", put(tree, field, value, *([] if place is None else [place])), message)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("child", 96, "child of a root tile"),
        ("child", -(1 << 63), "child of a root tile"),
        ("child", (1 << 63) - 1, "child of a root tile"),
        ("key", 1 << 63, "root tile key"),
        ("key", 1 << 20, "root tile key"),
        ("key", 3, "bbox_min of a leaf"),
        ("state", 2, "root tile state"),
    ],
)
def test_root_tiles(field, value, message):
    refused("floats", put(tiles, field, value, 1), message)


def test_root_tiles_of_one_key():
    def twice(grid):
        grid.tiles["key"][1] = grid.tiles["key"][0]

    def one_child(grid):
        grid.tiles["child"][1] = grid.tiles["child"][0]

    def no_child(grid):
        grid.tiles["child"][1] = 0

    refused("floats", twice, "a key that no other tile has")
    refused("floats", one_child, "each upper node exactly once")
    refused("floats", no_child, "each upper node exactly once")
    refused("floats", lambda grid: grid.root.__setitem__("tile_count", 1 << 31), "root tile count")
    refused("floats", lambda grid: grid.root.__setitem__("tile_count", 3), "start of the upper nodes")


@pytest.mark.parametrize("nodes", [uppers, lowers])
def test_tables(nodes):
    def slot_of(grid):
        return int(set_bits(nodes(grid)["child_mask"][:1], nodes(grid)["table"].shape[1])[1][0])

    def child(value):
        return lambda grid: nodes(grid)["table"]["child"][0].__setitem__(slot_of(grid), value)

    name = "upper node" if nodes is uppers else "lower node"
    for value in (0, -32, 1, 32, -(1 << 63), (1 << 63) - 1):
        refused("floats", child(value), f"child of a {name}")

    def another_bit(grid):
        nodes(grid)["child_mask"][0, 300] = 1

    def no_bits(grid):
        nodes(grid)["child_mask"][0] = 0

    def both_bits(grid):
        nodes(grid)["value_mask"][0] |= nodes(grid)["child_mask"][0]

    refused("floats", another_bit, f"child of a {name}")
    refused("floats", no_bits, "exactly once")
    refused("floats", both_bits, f"masks of a {name}")


def test_children_exchanged():
    def swap(grid):
        node, slots = set_bits(grid.lowers["child_mask"], 4096)
        number = int(np.argmax(np.bincount(node)))
        a, b = slots[node == number][:2]
        table = grid.lowers["table"]["child"][number]
        table[[a, b]] = table[[b, a]]

    refused("floats", swap, "bbox_min of a leaf")


@pytest.mark.parametrize("nodes", [uppers, lowers])
def test_children_in_another_slot(nodes):
    def move(grid):
        node, table = nodes(grid)[0], nodes(grid)["table"]["child"][0]
        slot = int(set_bits(node["child_mask"][None], len(table))[1][0])
        table[-1], table[slot] = table[slot], 0
        node["child_mask"][slot >> 3] ^= 1 << (slot & 7)
        node["child_mask"][-1] |= 128

    refused("floats", move, "bbox_min of a leaf")


def test_leaves():
    refused("floats", put(leaves, "bbox_min", 8, 2, 1), "bbox_min of a leaf (number 2)")
    refused("floats", put(leaves, "mask", 255, 0, 0), "voxel count")


def test_indices():
    refused("on index", put(header, "value_count", 5), "first index of a leaf")
    refused("on index", put(header, "value_count", 0), "number of indexed values")
    refused("on index", put(header, "value_count", 1 << 40), "number of indexed values")
    refused("on index", put(leaves, "offset", 6, 1), "first index of a leaf")
    refused("on index", put(leaves, "offset", (1 << 64) - 1, 1), "first index of a leaf")
    refused("on index", put(leaves, "prefix", 1, 0), "prefix sums of a leaf (number 0)")
    refused("index", put(leaves, "offset", 1 + 512 * 4 + 1, 4), "first index of a leaf (number 4)")
    refused("index", lambda grid: grid.root.__setitem__("background", 1 << 40), "background index")
    for nodes, name in ((uppers, "upper"), (lowers, "lower")):
        change = put(lambda grid, nodes=nodes: nodes(grid)["table"], "value", 1 << 40, 0, 3)
        refused("index", change, f"index of a tile of a {name} node")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("data_offset", -(1 << 63), "offset of blind data 1"),
        ("data_offset", (1 << 63) - 1, "offset of blind data 1"),
        ("data_offset", -4096, "start of the"),
        ("data_offset", 290, "offset of blind data 1"),
        ("value_count", 1 << 63, "value count of blind data 1"),
        ("value_count", 100, "value count of blind data 1"),
        ("value_size", 8, "value size of blind data 1"),
        ("data_type", 1000, "type of blind data 1"),
    ],
)
def test_blind_data(field, value, message):
    refused("on index", put(blind, field, value, 1), message)


def test_blind_data_in_the_tree():
    refused("on index", put(header, "blind_offset", 736), "start of the")
    refused("on index", put(header, "blind_offset", 1 << 40), "offset of the blind data descriptions")
    refused("on index", put(blind, "data_offset", -(1 << 18), 0), "start of the")


def test_checksums_come_last():
    grid = GRIDS["floats"].copy()
    grid.header["name"] = b"other"
    with pytest.raises(VolumeFormatError, match="checksum of the headers"):
        check(grid.buffer)
    check(grid.buffer, verify_checksum=False)
    nanovdb_checksum.update(grid)
    check(grid.buffer)


def test_prefix_sums():
    masks = np.random.default_rng(0).integers(0, 256, (20, 64), dtype=np.uint8)
    masks[0], masks[1] = 0, 255
    words = np.unpackbits(masks, axis=1).reshape(20, 8, 64).sum(axis=2).cumsum(axis=1)
    for row, packed in zip(words, prefix_sums(masks), strict=True):
        assert [int(packed) >> 9 * k & 511 for k in range(7)] == row[:7].tolist()


def test_set_bits():
    masks = np.zeros((3000, 8), np.uint8)
    masks[0, 0], masks[2999, 7] = 0b101, 0x80
    rows, bits = set_bits(masks, 64)
    assert rows.tolist() == [0, 0, 2999] and bits.tolist() == [0, 2, 63]
    assert [len(part) for part in set_bits(np.zeros((0, 8), np.uint8), 64)] == [0, 0]


def test_large_grids_take_no_minutes():
    """The checks are passes over arrays: 8 million voxels in far less than a Python loop over leaves takes."""
    grid = from_dense(np.ones((200, 200, 200), "f4"))
    buffer = aligned_copy(grid.buffer)
    begun = time.perf_counter()
    check(buffer)
    assert len(buffer) > 33_000_000 and time.perf_counter() - begun < 5.0
