"""Damaged and forged NanoVDB bytes: a clean error or a sound grid, never a crash, hang or large allocation.

WARPSIM_NANOVDB_MUTATIONS sets how many are tried in all; each is reproducible by its number.
"""

import io
import os
import time
import tracemalloc
from collections import Counter

import numpy as np
import pytest

from warpsim.errors import VolumeFormatError
from warpsim.geometry.nanovdb import checksum as nanovdb_checksum
from warpsim.geometry.nanovdb import voxels as nanovdb_voxels
from warpsim.geometry.nanovdb.build import from_dense, from_tiles, from_voxels
from warpsim.geometry.nanovdb.check import check
from warpsim.geometry.nanovdb.features import with_features
from warpsim.geometry.nanovdb.file import read, write
from warpsim.geometry.nanovdb.grid import Grid, aligned_copy
from warpsim.geometry.nanovdb.layout import ABSENT_CHECKSUM, BLIND_META, FILE_HEADER, FILE_META, GRID, TREE, TREE_OFFSET

COUNT = int(os.environ.get("WARPSIM_NANOVDB_MUTATIONS", "1500"))
SECONDS = 20.0  # for one file: a hang, not a slow machine
ROOM = 16 << 20  # bytes that reading may take beyond a multiple of the file and of the grid it holds


def sphere():
    axis = np.arange(-9, 10)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    return np.clip(np.sqrt(x * x + y * y + z * z) - 7.0, -2.0, 2.0).astype(np.float32)


def base_grids():
    few = np.array([[3, 4, 5], [3, 4, 6], [100, 7, 9], [200, 40, 5], [4095, 1, 2], [10, 10, 2000]])
    with_tile = from_dense(sphere(), (20, 20, 20), background=2.0)
    lower = with_tile.lowers[0]
    lower["value_mask"][100], lower["table"]["value"][800] = 1, 7.0  # an active tile
    with_tile.tree["voxel_count"] += 512
    nanovdb_checksum.update(with_tile)
    features = {"density": np.arange(7, dtype="f4"), "color": np.ones((7, 3), "f4")}
    return {
        "level set": from_dense(sphere(), (20, 20, 20), background=2.0, grid_class="level_set", name="ball"),
        "two tiles": from_dense(sphere().astype("f8"), (-9, 9, 9), background=2.0, version=(32, 9, 2)),
        "active tile": with_tile,
        "vectors": from_tiles(few[:4], background=(1.0, 2.0, 3.0), type="vec3f", version=(32, 3, 3)),
        "on index": with_features(from_voxels(few), features),
        "on index, late": with_features(from_voxels(few, version=(32, 8, 0)), features),
        "index": from_tiles(few, type="index", version=(32, 4, 2)),
        "old features": with_features(from_voxels(few, np.arange(6), version=(32, 5, 0)), features),
        "mask": from_voxels(few, type="mask", version=(32, 6, 1)),
        "integers": from_voxels(few, np.arange(6, dtype="i4")),
    }


BASES = list(base_grids().values())


def as_file(grids, codec):
    stream = io.BytesIO()
    write(stream, grids, codec)
    return stream.getvalue()


# ----- an independent walk ------------------------------------------------------------------------


def walk(grid: Grid) -> int:
    """Follow every child offset with own arithmetic on the bytes; the number of leaves met."""
    data, parts = grid.buffer, grid.layout
    seen = set()

    def struct(record, begin):
        assert 0 <= begin <= len(data) - record.size and begin % 32 == 0
        assert begin not in seen
        seen.add(begin)
        return np.frombuffer(data, record.dtype, 1, begin)[0]

    def children(record, begin):
        node = struct(record, begin)
        slots = np.flatnonzero(np.unpackbits(node["child_mask"], bitorder="little"))
        return [begin + int(offset) for offset in node["table"]["child"][slots]]

    root = TREE_OFFSET + int(grid.tree["node_offset"][3])
    tiles = int(struct(parts.root, root)["tile_count"])
    found = [struct(parts.tile, root + parts.root.size + k * parts.tile.size) for k in range(tiles)]
    leaves = 0
    for upper in (root + int(tile["child"]) for tile in found if tile["child"]):
        for lower in children(parts.upper, upper):
            for leaf in children(parts.lower, lower):
                node, leaves = struct(parts.leaf, leaf), leaves + 1
                if parts.is_index:
                    used = 512 if grid.type.name == "INDEX" else int(np.unpackbits(node["mask"]).sum())
                    assert int(node["offset"]) + used <= grid.value_count
    return leaves


def use(grid: Grid) -> None:
    """Everything that a volume does with a grid that was accepted."""
    assert walk(grid) == len(grid.leaves)
    voxels = nanovdb_voxels.active_voxels(grid)
    spots = np.concatenate([voxels[:200], voxels[:50] + 5, np.array([[0, 0, 0], [-1, 5000, 2**31 - 1]])])
    values = nanovdb_voxels.lookup(grid, spots)
    assert len(values) == len(spots)
    if grid.layout.is_index:
        assert (values < grid.value_count).all()
    nanovdb_voxels.tiles(grid)
    low = voxels[0] if len(voxels) else np.zeros(3, int)
    nanovdb_voxels.to_dense(grid, low, low + 9)
    assert all(feature.array.nbytes <= len(grid.buffer) for feature in grid.features)
    assert np.isfinite(grid.inverse @ (np.ones(3) - grid.translation)).all()


# ----- mutations -----------------------------------------------------------------------------------


def forge(rng, numbers: np.ndarray) -> None:
    """Replace one element of an array of numbers by one that breaks things."""
    flat, bits = numbers.reshape(-1), 8 * numbers.dtype.itemsize
    place = rng.integers(flat.size)
    old = flat[place]
    if numbers.dtype.kind == "f":
        flat[place] = rng.choice([0.0, -1.0, np.nan, np.inf, 1e30, float(old) * 2.0, float(rng.normal())])
        return
    steps = [1, -1, 8, 32, -32, 672, int(old), 1 << rng.integers(bits)]
    fixed = [0, 1, -1, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1, int(rng.integers(1 << min(bits, 62)))]
    value = int(old) + int(rng.choice(steps)) if rng.random() < 0.5 else int(rng.choice(np.array(fixed, object)))
    flat[place] = np.array([value % (1 << bits)], np.uint64).astype(f"u{numbers.dtype.itemsize}").view(numbers.dtype)[0]


def records_of(grid: Grid) -> list:
    """(record, first byte, count) of all there is in a grid."""
    parts, leaves = grid.layout, grid.node_counts
    levels = [
        (record, grid.node_offset(k), leaves[k]) for k, record in enumerate((parts.leaf, parts.lower, parts.upper))
    ]
    tiles = (parts.tile, grid.root_offset + parts.root.size, len(grid.tiles))
    blind = (BLIND_META, int(grid.header["blind_offset"]), int(grid.header["blind_count"]))
    return [(GRID, 0, 1), (TREE, TREE_OFFSET, 1), (parts.root, grid.root_offset, 1), tiles, *levels, blind]


def forge_field(rng, base: Grid, buffer: np.ndarray) -> np.ndarray:
    records = [entry for entry in records_of(base) if entry[2]]
    record, begin, count = records[rng.integers(len(records))]
    view = record.view(buffer, begin + int(rng.integers(count)) * record.size)
    field = str(rng.choice(list(record.dtype.names)))
    part = view[field]
    if field == "map":
        part = part[str(rng.choice(part.dtype.names))]
    elif field == "table":  # mostly slots that have a child
        slots = np.flatnonzero(np.unpackbits(view["child_mask"][0], bitorder="little"))
        part = part["child"][:, rng.choice(slots) if rng.random() < 0.9 else rng.integers(part.shape[1])]
    elif part.dtype.kind == "S":
        part = np.ndarray((part.dtype.itemsize,), np.uint8, view, record.offset(field))
    forge_in_place(rng, part)
    return buffer


def forge_in_place(rng, part: np.ndarray) -> None:
    """`forge` on a view that may be strided, little-endian or of bools."""
    copy = part.astype(part.dtype.newbyteorder("=")).reshape(part.shape)
    forge(rng, copy.view(np.uint8) if copy.dtype.kind == "b" else copy)
    part[...] = copy


def flip_bits(rng, base: Grid, buffer: np.ndarray) -> np.ndarray:
    records = [entry for entry in records_of(base) if entry[2]]
    record, begin, count = records[rng.integers(len(records))]
    begin += int(rng.integers(count)) * record.size
    size = min(record.size, 8400) if rng.random() < 0.8 else record.size
    for _ in range(rng.integers(1, 9)):
        buffer[begin + rng.integers(size)] ^= 1 << rng.integers(8)
    return buffer


def rewire(rng, base: Grid, buffer: np.ndarray) -> np.ndarray:
    """Children exchanged, repeated, switched on and off."""
    grid = Grid(buffer)
    nodes = grid.uppers if rng.random() < 0.5 else grid.lowers
    node = nodes[rng.integers(len(nodes))]
    slots = np.flatnonzero(np.unpackbits(node["child_mask"], bitorder="little"))
    if rng.random() < 0.5:
        node["table"]["child"][rng.choice(slots)] = node["table"]["child"][rng.choice(slots)]
    slot = rng.choice(slots) if rng.random() < 0.5 else rng.integers(len(node["table"]))
    node[rng.choice(["child_mask", "value_mask"])][slot >> 3] ^= 1 << (slot & 7)
    return buffer


def resize(rng, base: Grid, buffer: np.ndarray) -> np.ndarray:
    """Cut off or extended, and the header says so."""
    size = int(rng.choice([rng.integers(GRID.size, len(buffer)), len(buffer) - rng.integers(1, 400), len(buffer) + 64]))
    out = aligned_copy(np.resize(buffer, size).tobytes())
    Grid(out).header["grid_size"] = size
    return out


def seal(buffer: np.ndarray) -> np.ndarray:
    """Right checksums, so that the mutation is met by the deeper checks; none where they cannot be made."""
    grid = Grid(buffer)
    grid.header["checksum"] = ABSENT_CHECKSUM
    if grid.node_counts[0] < 1000 and len(buffer) >= TREE_OFFSET + TREE.size:
        try:
            nanovdb_checksum.update(grid)
        except (ValueError, KeyError):
            grid.header["checksum"] = ABSENT_CHECKSUM
    return buffer


def damage_file(rng, data: bytes) -> bytes:
    """Flips, cuts, forged fields, repeated and missing pieces of a file."""
    out = bytearray(data)
    kind = rng.integers(6)
    if kind == 0:
        return bytes(out[: rng.integers(len(out))])
    if kind == 1:
        for _ in range(rng.integers(1, 9)):
            out[rng.integers(len(out))] ^= 1 << rng.integers(8)
    elif kind == 2:  # near the beginning, where the sizes are
        for _ in range(rng.integers(1, 5)):
            out[rng.integers(min(400, len(out)))] = rng.integers(256)
    elif kind in (3, 4):
        record, begin = (FILE_HEADER, 0) if kind == 3 else (FILE_META, FILE_HEADER.size)
        view = record.view(np.frombuffer(out, np.uint8), begin)
        field = str(rng.choice(record.dtype.names))
        if view[field].dtype.kind == "S":
            out[rng.integers(8)] = 0
        else:
            forge_in_place(rng, view[field])
    else:
        begin = rng.integers(len(out))
        piece = out[begin : begin + rng.integers(1, 300)]
        out[begin : begin + (len(piece) if rng.random() < 0.5 else 0)] = piece * int(rng.integers(3))
    return bytes(out)


# ----- the tests ------------------------------------------------------------------------------------


def attempt(outcome: Counter, kind: str, act, size: int, label: str) -> None:
    """Run one case inside limits of time and memory; count how it ended."""
    tracemalloc.reset_peak()
    before, begun = tracemalloc.get_traced_memory()[0], time.perf_counter()
    try:
        grids = act()
    except VolumeFormatError as error:
        assert error.field and error.expected, label
        outcome[f"{kind}: refused"] += 1
        grids = []
    assert tracemalloc.get_traced_memory()[1] - before < ROOM + 4 * size, label
    for grid in grids:
        use(grid)
        outcome[f"{kind}: sound"] += 1
    assert time.perf_counter() - begun < SECONDS, label


@pytest.fixture
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


def test_forged_grids(traced):
    outcome: Counter = Counter()
    ways = [forge_field, forge_field, forge_field, flip_bits, rewire, resize]
    for number in range(2 * COUNT // 3):
        rng = np.random.default_rng([1, number])
        base, way = BASES[number % len(BASES)], ways[rng.integers(len(ways))]
        with np.errstate(all="ignore"):
            buffer = seal(way(rng, base, aligned_copy(base.buffer)))
        label = f"mutation {number}: {way.__name__}"
        attempt(outcome, way.__name__, lambda b=buffer: [check(b)], len(buffer), label)
    print(dict(outcome))
    assert outcome["forge_field: refused"] > COUNT / 20 and outcome["forge_field: sound"] > 0
    assert outcome["rewire: refused"] > COUNT / 40


def test_damaged_files(traced):
    codecs = ["none", "zip"]
    try:
        import blosc  # noqa: F401, PLC0415 - optional

        codecs.append("blosc")
    except ImportError:
        pass
    files = [as_file([BASES[0]], "none"), as_file([BASES[4], BASES[7]], "none"), BASES[1].buffer.tobytes()]
    files += [as_file([BASES[k]], codec) for codec in codecs[1:] for k in (0, 5)]
    outcome: Counter = Counter()
    for number in range(COUNT - 2 * COUNT // 3):
        rng = np.random.default_rng([2, number])
        data = damage_file(rng, files[number % len(files)])
        largest = max(len(data), max(len(base.buffer) for base in BASES))
        attempt(outcome, "file", lambda d=data: read(d), largest, f"damaged file {number}")
    print(dict(outcome))
    assert outcome["file: refused"] > COUNT / 20 and outcome["file: sound"] > 0
