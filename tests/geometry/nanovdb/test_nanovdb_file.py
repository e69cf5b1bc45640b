"""NanoVDB files of other tools against an independent reading; every version, codec and shape of file; bad files."""

import builtins
import io
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

from warpsim.errors import MissingPackageError, VolumeError, VolumeFormatError
from warpsim.geometry.nanovdb import codec as nanovdb_codec
from warpsim.geometry.nanovdb import voxels as nanovdb_voxels
from warpsim.geometry.nanovdb.build import from_dense, from_tiles, from_voxels
from warpsim.geometry.nanovdb.features import with_features
from warpsim.geometry.nanovdb.file import name_key, read, write
from warpsim.geometry.nanovdb.layout import FILE_HEADER, FILE_META

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
VERSIONS = [(32, 3, 3), (32, 4, 2), (32, 5, 0), (32, 6, 0), (32, 6, 1), (32, 7, 0), (32, 8, 0), (32, 9, 2)]
VOXELS = np.array([[0, 0, 0], [-1, 4, 9], [-1, 4, 10], [130, -7, 4096]])


def as_file(grids, codec="none"):
    stream = io.BytesIO()
    write(stream, grids, codec)
    return stream.getvalue()


def small(version=(32, 6, 0), **more):
    return from_voxels(VOXELS, np.array([1.5, -2.0, 3.25, 4.0], "f4"), background=0.5, version=version, **more)


# ----- files of other tools -------------------------------------------------------------------------


# By type: size of a leaf, where its values begin, their dtype and components.
LEAVES = {1: (2144, 96, "<f4", 1), 4: (2144, 96, "<i4", 1), 6: (6272, 128, "<f4", 3), 20: (96, 80, "<u8", 0)}


class Independent:
    """A grid read with offsets written down as numbers: nothing of the package takes part."""

    def __init__(self, data: bytes):
        self.data = data
        self.type = struct.unpack_from("<I", data, 636)[0]
        self.name = data[40:296].split(b"\0")[0].decode()
        self.matrix = np.frombuffer(data, "<f8", 9, 384).reshape(3, 3)
        self.translation = np.frombuffer(data, "<f8", 3, 616 - 88)
        self.voxel_size = np.frombuffer(data, "<f8", 3, 608)
        first, root = struct.unpack_from("<q16xq", data, 672)
        size, values, dtype, components = LEAVES[self.type]
        count = struct.unpack_from("<I", data, 704)[0]
        background = (32 if self.type == 20 else 28) + 672 + root
        self.background = np.frombuffer(data, dtype, max(components, 1), background)
        voxels, found = [], []
        for leaf in range(672 + first, 672 + first + count * size, size):
            x, y, z = (corner & ~7 for corner in struct.unpack_from("<3i", data, leaf))
            mask = np.unpackbits(np.frombuffer(data, np.uint8, 64, leaf + 16), bitorder="little")
            slots = np.flatnonzero(mask)
            voxels.append(np.stack([x + slots // 64, y + slots // 8 % 8, z + slots % 8], axis=1))
            if components:
                block = np.frombuffer(data, dtype, 512 * components, leaf + values).reshape(512, components)
                found.append(block[slots])
            else:
                found.append(np.arange(len(slots))[:, None] + struct.unpack_from("<Q", data, leaf + values)[0])
        self.voxels, self.values = np.concatenate(voxels), np.concatenate(found)

    @classmethod
    def all(cls, path: Path) -> list["Independent"]:
        data = path.read_bytes()
        count = struct.unpack_from("<H", data, 12)[0]
        at = 16
        for _ in range(count):
            at += 176 + struct.unpack_from("<I", data, at + 136)[0]
        out = []
        for _ in range(count):
            length = struct.unpack_from("<Q", data, at)[0]
            out.append(cls(zlib.decompress(data[at + 8 : at + 8 + length])))
            at += 8 + length
        return out


@pytest.mark.parametrize(
    ("name", "voxels"),
    [
        ("test_grid", [9261]),
        ("test_int32_grid", [9261]),
        ("test_vec_grid", [9261]),
        ("torus", [3001]),
        ("rocks", [308828]),
        ("test_index_grid", [16, 24]),
    ],
)
def test_files_of_other_tools(name, voxels):
    path = DATA / f"{name}.nvdb"
    if not path.exists():
        pytest.skip("the shared sample files are not on this machine")
    grids, wanted = read(path), Independent.all(path)
    assert [len(grid.voxels) for grid in wanted] == voxels
    for grid, right in zip(grids, wanted, strict=True):
        assert (grid.type, grid.name, grid.voxel_count) == (right.type, right.name, len(right.voxels))
        assert np.array_equal(grid.background, right.background.reshape(np.shape(grid.background)))
        assert np.array_equal(nanovdb_voxels.active_voxels(grid), right.voxels)
        found = nanovdb_voxels.lookup(grid, right.voxels)
        assert np.array_equal(found, right.values.reshape(found.shape))
        assert np.array_equal(grid.matrix, right.matrix) and np.array_equal(grid.translation, right.translation)
        assert np.array_equal(grid.voxel_size, right.voxel_size)
        bounds = [right.voxels.min(axis=0), right.voxels.max(axis=0)]
        assert np.array_equal(nanovdb_voxels.active_bounds(grid), bounds) and np.array_equal(grid.index_bbox, bounds)
        beyond = nanovdb_voxels.lookup(grid, np.array([[2_000_000, 0, -2_000_000]]))[0]
        assert np.array_equal(beyond, right.background.reshape(np.shape(beyond)))
    again = read(as_file(grids, "zip"))
    for grid, copy in zip(grids, again, strict=True):
        assert np.array_equal(grid.buffer[16:], copy.buffer[16:])  # all but the checksum, which may have been absent


def test_features_of_another_tool():
    path = DATA / "test_index_grid.nvdb"
    if not path.exists():
        pytest.skip("the shared sample files are not on this machine")
    (first,), (second,) = (grid.features for grid in read(path))
    assert first.name == second.name == "fvdb_jdatafloat32"
    assert (first.array.nbytes, second.array.nbytes) == (416, 608)
    assert first.array[:16].view("<u8").tolist() == [3, 16]  # what that tool writes ahead: 16 voxels


# ----- versions, codecs, shapes of files ------------------------------------------------------------


@pytest.mark.parametrize("codec", ["none", "zip", "blosc"])
@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_what_is_written_is_read(version, codec):
    if codec == "blosc":
        pytest.importorskip("blosc")
    features = {"weight": np.arange(3.0), "normal": np.ones((2, 3), "f4"), "odd": np.array([True, False])}
    grids = [small(version, name="a"), with_features(from_voxels(VOXELS, version=version, name="b"), features)]
    grids.append(from_tiles(VOXELS[:1], background=(1, 2, 3), type="vec3f", version=version))
    data = as_file(grids, codec)
    assert data[:8] == (b"NanoVDB2" if version >= (32, 8, 0) else b"NanoVDB0")
    again = read(data)
    assert [grid.name for grid in again] == ["a", "b", ""]
    assert [int(grid.header["grid_index"]) for grid in again] == [0, 1, 2]
    for grid, copy in zip(grids, again, strict=True):
        assert bytes(copy.buffer[:8]) == (b"NanoVDB1" if version >= (32, 8, 0) else b"NanoVDB0")
        assert copy.version == version and copy.buffer.ctypes.data % 32 == 0
        assert np.array_equal(grid.buffer[32:], copy.buffer[32:])
    arrays = {feature.name: feature.array for feature in again[1].features}
    assert all(np.array_equal(arrays[name], array) for name, array in features.items())


def test_several_blosc_frames(monkeypatch):
    pytest.importorskip("blosc")
    grid = small()
    monkeypatch.setattr(nanovdb_codec, "_BLOSC_CHUNK", 100_000)
    data = as_file(grid, "blosc")
    monkeypatch.undo()
    assert np.array_equal(read(data)[0].buffer, grid.buffer)


def test_metadata_of_a_file():
    grid = small(voxel_size=0.5, translation=(1, 2, 3), name="smoke", grid_class="fog")
    data = as_file(grid)
    meta = np.frombuffer(data, FILE_META.dtype, 1, FILE_HEADER.size)[0]
    assert meta["grid_size"] == meta["file_size"] == len(grid.buffer) == len(data) - 16 - 176 - len("smoke\0")
    assert (meta["voxel_count"], meta["grid_type"], meta["grid_class"], meta["name_size"]) == (4, 1, 2, 6)
    assert meta["node_count"].tolist() == [3, 3, 3, 1]
    assert meta["index_bbox"].tolist() == [[-1, -7, 0], [130, 4, 4096]]
    assert meta["world_bbox"].tolist() == [[0.5, -1.5, 3.0], [66.5, 4.5, 2051.5]]
    assert meta["name_key"] == name_key(b"smoke")
    assert data[192:198] == b"smoke\0" and data[198:] == grid.buffer.tobytes()


def test_the_place_of_a_grid_in_its_file():
    stream = io.BytesIO()
    write(stream, [small(name="a"), small(name="b")], numbered=False)
    places = [(int(grid.header["grid_index"]), int(grid.header["grid_count"])) for grid in read(stream.getvalue())]
    assert places == [(0, 1), (0, 1)]


def test_hash_of_names():
    assert name_key(b"") == 0
    assert name_key(b"grid-0") == 0x20EBA0EDE5  # as another tool wrote it
    assert name_key(b"a name that is long enough to overflow") < 1 << 64


def test_all_that_a_source_may_be(tmp_path):
    grid, path = small(), tmp_path / "a.nvdb"
    write(path, [grid])
    write(str(tmp_path / "b.nvdb"), grid, codec="zip")
    data = path.read_bytes()

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def seek(self, *_):
            raise OSError("not here")

    late = io.BytesIO(b"before" + data)
    late.seek(6)
    with open(path, "rb", buffering=0) as unbuffered:
        sources = [
            path,
            str(path),
            tmp_path / "b.nvdb",
            data,
            bytearray(data),
            memoryview(data),
            late,
            unbuffered,
            Pipe(data),
        ]
        found = [read(source) for source in sources]
    assert all(np.array_equal(grids[0].buffer, grid.buffer) and len(grids) == 1 for grids in found)


def test_grids_own_their_memory():
    data = bytearray(as_file(small()))
    first, second = read(data)[0], read(data)[0]
    data[:] = bytes(len(data))
    first.buffer[-1] ^= 255
    assert second.voxel_count == 4 and second.buffer[-1] != first.buffer[-1]


def test_segments_and_bare_grids():
    one, two = small(name="one"), small((32, 9, 0), name="two")
    segments = as_file(one, "zip") + as_file([two, one]) + as_file(two)
    assert [grid.name for grid in read(segments)] == ["one", "two", "one", "two"]
    assert [grid.name for grid in read(two.buffer.tobytes() + one.buffer.tobytes())] == ["two", "one"]
    marked = small((32, 6, 1), name="old magic").copy()
    marked.buffer[664:672] = np.frombuffer(b"NanoVDB1", np.uint8)  # how 32.6 and 32.7 mark a bare grid
    grids = read(marked.buffer.tobytes(), verify_checksum=False)
    assert [grid.name for grid in grids] == ["old magic"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rest", [0xFFFFFFFF, 0, 1, 2**16 + 1, 2**17 + 1])
def test_a_bare_grid_whose_checksum_looks_like_the_version_of_a_file(version, rest):
    """One checksum in 2048 does; the words behind it could be a number of grids and a codec."""
    data = small(version).buffer.tobytes()
    for word in (32 << 21, (32 << 21) + 12345, (33 << 21) - 1):
        disguised = data[:8] + struct.pack("<II", word, rest) + data[16:]
        [grid] = read(disguised, verify_checksum=False)
        assert np.array_equal(nanovdb_voxels.active_voxels(grid), nanovdb_voxels.active_voxels(small(version)))
    [again] = read(as_file([small(version)]))
    assert again.buffer.tobytes() == data


def test_an_empty_segment_is_nothing():
    empty = struct.pack("<8sIHH", b"NanoVDB0", 32 << 21 | 6 << 10, 0, 0)
    assert [grid.name for grid in read(empty + as_file(small(name="a")))] == ["a"]
    with pytest.raises(VolumeFormatError, match="at least one"):
        read(empty)


# ----- bad files ----------------------------------------------------------------------------------


def patched(data, record, begin, **fields):
    out = np.frombuffer(bytearray(data), np.uint8)
    view = record.view(out, begin)
    for name, value in fields.items():
        view[name] = value
    return out.tobytes()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"magic": b"NanoVDB7"}, "file magic"),
        ({"magic": b" BDV\0\0\0\0"}, "nanovdb_convert"),
        ({"version": 31 << 21}, "file version\nfound: 31.0.0\nexpected: 32.x.x"),
        ({"codec": 3}, "file codec\nfound: 3"),
        ({"codec": 1}, "codec of a grid\nfound: 0\nexpected: that of the file header, 1"),
        ({"grid_count": 60000}, "bytes are left"),
    ],
)
def test_bad_file_headers(fields, message):
    with pytest.raises(VolumeFormatError) as error:
        read(patched(as_file(small()), FILE_HEADER, 0, **fields))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"grid_size": 2**63}, "grid size"),
        ({"grid_size": 100}, "grid size"),
        ({"file_size": 2**64 - 1}, "file size"),
        ({"file_size": 2**40, "grid_size": 2**40}, "grid size"),
        ({"file_size": 2**35, "grid_size": 2**35}, "grid body"),
        ({"name_size": 2**32 - 1}, "grid name"),
        ({"grid_type": 2}, "grid type in the metadata"),
    ],
)
def test_bad_metadata(fields, message):
    with pytest.raises(VolumeFormatError, match=message):
        read(patched(as_file(small()), FILE_META, FILE_HEADER.size, **fields))


@pytest.mark.parametrize("codec", ["none", "zip", "blosc"])
def test_cut_off_files(codec):
    if codec == "blosc":
        pytest.importorskip("blosc")
    data = as_file(small(), codec)
    for size in [0, 1, 7, 8, 15, 16, 17, 100, 192, 194, len(data) // 2, len(data) - 1]:
        with pytest.raises(VolumeFormatError):
            read(data[:size])
    with pytest.raises(VolumeFormatError, match="NanoVDB"):
        read(data + b"x")


@pytest.mark.parametrize("codec", ["zip", "blosc"])
def test_wrong_lengths_of_compressed_grids(codec):
    if codec == "blosc":
        pytest.importorskip("blosc")
    grid = small()
    data, size = as_file(grid, codec), len(grid.buffer)
    for wrong in (size - 32, size + 32, size // 2, 2 * size):
        with pytest.raises(VolumeFormatError):
            read(patched(data, FILE_META, FILE_HEADER.size, grid_size=wrong))
    begin = data.index(b"\0", 192) + 1
    for length in (0, 5, 2**63, len(data)):
        with pytest.raises(VolumeFormatError):
            read(data[:begin] + struct.pack("<Q", length) + data[begin + 8 :])


def test_a_forged_size_takes_no_memory():
    """Sizes that the compressed bytes cannot fill are refused, or memory is taken only as bytes come."""
    head = as_file(small(), "zip")[:193]
    stream = zlib.compress(bytes(100_000))
    body = struct.pack("<Q", len(stream)) + stream
    for size in (2**35, 1_200_000):
        forged = patched(head, FILE_META, FILE_HEADER.size, grid_size=size, file_size=len(body)) + body
        tracemalloc.start()
        with pytest.raises(VolumeFormatError, match=r"grid size|decompressed bytes"):
            read(forged)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 << 20


def test_a_bomb_ends_at_the_promised_size():
    stream = zlib.compress(bytes(1 << 28), 1)
    body = struct.pack("<Q", len(stream)) + stream
    head = as_file(small(), "zip")[:193]
    forged = patched(head, FILE_META, FILE_HEADER.size, grid_size=100_000, file_size=len(body)) + body
    tracemalloc.start()
    with pytest.raises(VolumeFormatError, match="decompressed bytes\nfound: more than 100000"):
        read(forged)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * len(stream) + (8 << 20)


def test_limit_of_memory():
    data = as_file(small(), "zip")
    with pytest.raises(VolumeFormatError, match="max_bytes"):
        read(data, max_bytes=10_000)


@pytest.mark.parametrize("version", [(32, 6, 0), (32, 9, 0)], ids=str)
def test_checksums(version):
    data = bytearray(as_file(small(version)))
    data[192 + 1 + 300] ^= 1  # in the map, which hardly changes
    with pytest.raises(VolumeFormatError, match="checksum of the headers"):
        read(data)
    assert read(data, verify_checksum=False)[0].voxel_count == 4
    if version > (32, 6, 0):
        data[192 + 1 + 300] ^= 1
        data[-1] ^= 1
        with pytest.raises(VolumeFormatError, match="checksum of the nodes"):
            read(data)


def test_checksums_of_old_versions_over_nodes():
    """Tools of Linux store the CRCs of nodes as words of 8 bytes, others as words of 4: both are right."""
    grid = small().copy()
    crcs = []
    for level, size in ((2, 270400), (1, 33856), (0, 2144)):
        begin, count = grid.node_offset(level), grid.node_counts[level]
        crcs += [zlib.crc32(grid.buffer.data[begin + k * size : begin + (k + 1) * size]) for k in range(count)]
    for word in ("<u8", "<u4"):
        grid.header["checksum"][1] = zlib.crc32(np.array(crcs, word).tobytes())
        read_back = read(patched_bare(grid))
        assert read_back[0].voxel_count == 4
    grid.buffer[-1] ^= 1
    with pytest.raises(VolumeFormatError, match="checksum of the nodes"):
        read(patched_bare(grid))


def patched_bare(grid):
    """An uncompressed file around a buffer as it is."""
    return as_file(small())[:193] + grid.buffer.tobytes()


# ----- writing --------------------------------------------------------------------------------------


def test_writing_leaves_the_grid_alone(tmp_path):
    grid = from_dense(np.ones((4, 4, 4), "f4"))
    before = grid.buffer.copy()
    grid.leaves["values"][0, 0] = 9.0
    changed = grid.buffer.copy()
    write(tmp_path / "a.nvdb", [small(), grid])
    assert np.array_equal(grid.buffer, changed) and not np.array_equal(changed, before)
    assert read(tmp_path / "a.nvdb")[1].leaves["values"][0, 0] == 9.0


def test_bad_requests(tmp_path):
    with pytest.raises(VolumeError, match="expected: one of 'none', 'zip', 'blosc'"):
        write(tmp_path / "a.nvdb", small(), codec="gzip")
    with pytest.raises(VolumeError, match="grids of a file"):
        write(tmp_path / "a.nvdb", [])
    assert not (tmp_path / "a.nvdb").exists()
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.nvdb")


def test_without_the_package_for_blosc(monkeypatch, tmp_path):
    real = builtins.__import__

    def fake(name, *rest):
        if name == "blosc":
            raise ImportError(name)
        return real(name, *rest)

    data = patched(as_file(small(), "zip"), FILE_HEADER, 0, codec=2)
    data = patched(data, FILE_META, FILE_HEADER.size, codec=2)
    monkeypatch.setattr(builtins, "__import__", fake)
    for act in (lambda: read(data), lambda: write(tmp_path / "a.nvdb", small(), codec="blosc")):
        with pytest.raises(MissingPackageError, match="pip install blosc"):
            act()
    assert not (tmp_path / "a.nvdb").exists()
