"""NanoVDB files: read into checked grids, and grids written so that other tools read them.

Guarantees: a grid that `read` returns has passed `check`; any other bytes give `VolumeFormatError`,
without memory beyond what the file really holds.  Files of the versions 32.3 to 32.9 are read, with any number
of segments and grids, plain, ZIP or BLOSC, and grid buffers without a file around them.  Writing recomputes
the checksums, and uses the older of the two magic words unless a grid's version asks for the new one.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ...atomic_file import AtomicFile
from ...errors import VolumeError, VolumeFormatError
from . import checksum
from .check import check
from .codec import decode, encode
from .grid import Grid, aligned_zeros
from .layout import (
    CODECS,
    FILE_HEADER,
    FILE_META,
    GRID,
    MAGIC_FILE,
    MAGIC_GRID,
    MAGIC_OLD,
    MAJOR_VERSION,
    NEW_MAGIC,
    GridClass,
    GridType,
    Record,
    pack_version,
    unpack_version,
)

MAX_GRID_BYTES = 1 << 36  # 64 GiB
_SHRANK = "the file shrank while it was read"
_COUNTED_BLIND_DATA = pack_version(32, 9, 0)


def read(
    source: str | Path | bytes | bytearray | memoryview | BinaryIO,
    *,
    verify_checksum: bool = True,
    max_bytes: int = MAX_GRID_BYTES,
) -> list[Grid]:
    """All grids of a file, in its order.

    source: a path, the bytes of a file, or a binary file object, which is read from where it stands.
    max_bytes: no grid may be larger in memory.
    Raises `VolumeFormatError` for anything that is not a sound NanoVDB file, OSError where it cannot be opened,
    `MissingPackageError` where its codec needs a package.
    """
    if isinstance(source, str | Path):
        with open(source, "rb") as stream:
            return _read(_Source(stream), verify_checksum, max_bytes)
    if isinstance(source, bytes | bytearray | memoryview):
        return _read(_Source(io.BytesIO(source)), verify_checksum, max_bytes)
    seekable = source if source.seekable() else io.BytesIO(source.read())
    return _read(_Source(seekable), verify_checksum, max_bytes)


class _Source:
    """A binary file that knows how many bytes are left, so that no read asks for more."""

    def __init__(self, stream: BinaryIO):
        self.stream = stream
        begin = stream.tell()
        self.left = stream.seek(0, io.SEEK_END) - begin
        stream.seek(begin)

    def peek(self, count: int) -> bytes:
        data = self.stream.read(min(count, self.left))
        self.stream.seek(-len(data), io.SEEK_CUR)
        return data

    def take(self, count: int, what: str) -> bytes:
        if count > self.left:
            help = "the file may be cut off, or one of its sizes is wrong"
            raise VolumeFormatError(what, f"{self.left} bytes are left", f"{count} bytes", help)
        data = self.stream.read(count)
        if len(data) != count:
            raise VolumeFormatError(what, f"{len(data)} bytes", f"{count} bytes", _SHRANK)
        self.left -= count
        return data

    def take_buffer(self, count: int, what: str) -> np.ndarray:
        """Like `take`, into an aligned buffer without a second copy."""
        if count > self.left:
            self.take(count, what)
        out = aligned_zeros(count)
        filled = 0
        while filled < count and (more := self.stream.readinto(out[filled:].data)):  # type: ignore[attr-defined]
            filled += more
        if filled != count:
            raise VolumeFormatError(what, f"{filled} bytes", f"{count} bytes", _SHRANK)
        self.left -= count
        return out

    def record(self, record: Record) -> np.void:
        entry: np.void = np.frombuffer(self.take(record.size, record.name), record.dtype)[0]
        return entry


def _read(source: _Source, verify_checksum: bool, max_bytes: int) -> list[Grid]:
    buffers: list[np.ndarray] = []
    while source.left or not buffers:
        start = source.peek(GRID.size)
        if not start and not buffers:
            raise VolumeFormatError("file", "no grid", "at least one")
        if _is_grid(start):
            buffers.append(_take_grid(source, max_bytes))
        else:
            buffers += _take_segment(source, max_bytes)
    return [check(buffer, verify_checksum) for buffer in buffers]


def _major(word: bytes) -> int:
    return unpack_version(int.from_bytes(word, "little"))[0]


def _is_grid(start: bytes) -> bool:
    """Is this a grid without a file around it?  The old magic word stands before both.

    Where a file has its version a grid has a checksum, which may be any number.
    """
    magic = start[:8]
    if magic != MAGIC_OLD:
        return magic == MAGIC_GRID
    as_file, as_grid = FILE_HEADER.offset("version"), GRID.offset("version")
    marked = start[GRID.offset("data2") :][:8] == MAGIC_GRID
    if marked or _major(start[as_grid : as_grid + 4]) != MAJOR_VERSION:
        return marked
    return _major(start[as_file : as_file + 4]) != MAJOR_VERSION or _describes_grid(start)


def _describes_grid(start: bytes) -> bool:
    """Whether all that a grid header says of the kind and the place of the grid makes sense."""
    if len(start) < GRID.size:
        return False
    header = np.frombuffer(start, GRID.dtype)[0]
    kinds = int(header["grid_type"]) in set(GridType) and int(header["grid_class"]) in set(GridClass)
    return kinds and int(header["grid_index"]) < int(header["grid_count"]) and int(header["grid_size"]) >= GRID.size


def _take_grid(source: _Source, max_bytes: int) -> np.ndarray:
    header = source.peek(GRID.size)
    if len(header) < GRID.size:
        source.take(GRID.size, GRID.name)
    size = int(np.frombuffer(header, GRID.dtype)[0]["grid_size"])
    _check_size(size, max_bytes)
    return source.take_buffer(size, "grid")


def _check_size(size: int, max_bytes: int) -> None:
    if not GRID.size <= size <= max_bytes:
        help = "a larger grid can be read with max_bytes=..." if size > max_bytes else ""
        raise VolumeFormatError("grid size", size, f"{GRID.size} to {max_bytes} bytes", help)


def _take_segment(source: _Source, max_bytes: int) -> list[np.ndarray]:
    header = source.record(FILE_HEADER)
    magic, version, codec = bytes(header["magic"]), unpack_version(int(header["version"])), int(header["codec"])
    if magic not in (MAGIC_OLD, MAGIC_FILE):
        help = "an OpenVDB file (.vdb) is converted by the tool nanovdb_convert" if b"BDV" in magic[:4] else ""
        raise VolumeFormatError("file magic", magic, f"{MAGIC_OLD!r} or {MAGIC_FILE!r}", help)
    if version[0] != MAJOR_VERSION:
        raise VolumeFormatError("file version", "{}.{}.{}".format(*version), f"{MAJOR_VERSION}.x.x")
    if codec not in CODECS.values():
        raise VolumeFormatError("file codec", codec, f"one of {CODECS}")
    metas = []
    for _ in range(int(header["grid_count"])):
        metas.append(source.record(FILE_META))
        source.take(int(metas[-1]["name_size"]), "grid name")
    return [_take_body(source, meta, codec, max_bytes) for meta in metas]


def _take_body(source: _Source, meta: np.void, codec: int, max_bytes: int) -> np.ndarray:
    size = int(meta["grid_size"])
    _check_size(size, max_bytes)
    if int(meta["codec"]) != codec:
        raise VolumeFormatError("codec of a grid", int(meta["codec"]), f"that of the file header, {codec}")
    stored = int(meta["file_size"])
    if codec == CODECS["none"]:
        if stored != size:
            raise VolumeFormatError("file size of a grid without compression", stored, f"its grid size, {size}")
        buffer = source.take_buffer(size, "grid body")
    else:
        buffer = decode(codec, memoryview(source.take(stored, "grid body")), size)
    actual, expected = int(GRID.view(buffer)["grid_type"][0]), int(meta["grid_type"])
    if actual != expected:
        raise VolumeFormatError("grid type in the metadata", expected, f"that of the grid, {actual}")
    return buffer


# ----- writing --------------------------------------------------------------------------------------


def write(
    target: str | Path | BinaryIO, grids: Grid | Sequence[Grid], codec: str = "none", *, numbered: bool = True
) -> None:
    """Write one or more grids as one NanoVDB file; the grids themselves are not changed.

    codec: "none", "zip" or "blosc" (needs the package blosc).
    numbered: each grid tells its place among all, as Warp and tools since 32.6 have it.  Tools of 32.3 to 32.5
    find the grids of a file with several only if each says that it is the only one: False.
    """
    grids = [grids] if isinstance(grids, Grid) else list(grids)
    if not isinstance(target, str | Path) and not callable(getattr(target, "writelines", None)):
        raise VolumeError(f"target is {type(target).__name__}\nexpected: a path, or a file open for writing bytes")
    if codec not in CODECS:
        raise VolumeError(f"unknown codec\nfound: {codec!r}\nexpected: one of {', '.join(map(repr, CODECS))}")
    if not 0 < len(grids) <= 0xFFFF:
        raise VolumeError(f"grids of a file\nfound: {len(grids)}\nexpected: 1 to 65535")
    grids = [_number_grid(grid, *((index, len(grids)) if numbered else (0, 1))) for index, grid in enumerate(grids)]
    pieces = list(_file_pieces(grids, CODECS[codec]))
    if isinstance(target, str | Path):
        with AtomicFile(target) as path, open(path, "wb") as stream:
            stream.writelines(pieces)
    else:
        target.writelines(pieces)


def _file_pieces(grids: Sequence[Grid], codec: int) -> Iterable[bytes | memoryview]:
    """Header, then all metadata, then all bodies."""
    version = max(int(grid.header["version"]) for grid in grids)
    header = np.zeros(1, FILE_HEADER.dtype)
    header[0] = (MAGIC_FILE if version >= NEW_MAGIC else MAGIC_OLD, version, len(grids), codec)
    bodies = [encode(codec, grid.buffer.data) for grid in grids]
    yield header.tobytes()
    for grid, body in zip(grids, bodies, strict=True):
        name = bytes(grid.header["name"]).split(b"\0")[0]
        yield _metadata(grid, codec, sum(map(len, body)), name).tobytes()
        yield name + b"\0"
    for body in bodies:
        yield from body


def _number_grid(grid: Grid, index: int, count: int) -> Grid:
    """A copy that knows its place among the grids of the file, with right checksums."""
    copy = grid.copy()
    copy.header["grid_index"], copy.header["grid_count"] = index, count
    checksum.update(copy)
    return copy


def _metadata(grid: Grid, codec: int, body_size: int, name: bytes) -> np.ndarray:
    meta = np.zeros(1, FILE_META.dtype)
    entry, header, version = meta[0], grid.header, int(grid.header["version"])
    entry["grid_size"], entry["file_size"], entry["name_key"] = len(grid.buffer), body_size, name_key(name)
    entry["voxel_count"], entry["grid_type"], entry["grid_class"] = grid.voxel_count, grid.type, header["grid_class"]
    entry["world_bbox"], entry["index_bbox"] = header["world_bbox"], grid.root["bbox"]
    entry["voxel_size"], entry["name_size"] = header["voxel_size"], len(name) + 1
    entry["node_count"][:3], entry["node_count"][3] = grid.tree["node_count"], 1
    entry["tile_count"] = grid.tree["tile_count"]
    entry["codec"], entry["version"] = codec, version
    if version >= _COUNTED_BLIND_DATA:
        entry["blind_data_count"] = header["blind_count"]
    return meta


def name_key(name: bytes) -> int:
    """The hash of a name in a file's metadata: 64 bits, each byte times powers of 67, high bits folded in."""
    key = 0
    for byte in name:
        key = (key * 67 + byte + (key >> 56)) & 0xFFFFFFFFFFFFFFFF
    return key
