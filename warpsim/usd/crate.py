"""Memory requirements of binary USD files, read from their tables before pxr reads them.

Arrays of integers and of many floats are compressed in such files, up to a thousandfold, and so are the tables of
names, paths and specs. `check_file` reads where values stand and how long arrays say they are, in files of any version
and in packages of them, and refuses one whose largest array or table is beyond a limit, or that contradicts itself.
Texts need no such look: they take memory in proportion to their size.
"""

import io
import struct
import zipfile
from mmap import mmap

import numpy as np

from warpsim.usd.checks import UsdError

_MAGIC, _PACKAGE = b"PXR-USDC", b"PK\x03\x04"
_HEADER = struct.Struct("<8s8Bq")
_SECTION = struct.Struct("<16sqq")
_ARRAY, _INLINED, _COMPRESSED = 1 << 63, 1 << 62, 1 << 61
_TIME_SAMPLES = 46  # the type of a value that stands for samples
_ITEM = 8  # bytes of a number, as large as they come
_ENTRY = 100  # bytes, at least, that a path or a spec takes once it is read
_TABLES = ("TOKENS", "STRINGS", "FIELDS", "FIELDSETS", "PATHS", "SPECS")
_FIRST_COMPRESSED = (0, 5)  # the version that brought compressed arrays
_WIDE_COUNTS = (0, 7)  # the version since which lengths of arrays have 64 bits


def check_file(path: str, max_bytes: int) -> None:
    """Raise UsdError if one array or table of the file takes more than `max_bytes`, or if its tables are damaged."""
    with open(path, "rb") as file:
        data = np.frombuffer(file.read(), np.uint8)
    _check(data, path, max_bytes)


def tokens(data: mmap) -> bytes | None:
    """The names in a binary file; None for files of another kind, of an old version, or with damaged tables."""
    if data[:8] != _MAGIC:
        return None
    try:
        crate = _Crate(np.frombuffer(data, np.uint8), "", 0)
        at = crate.sections["TOKENS"][0]
        return decompress(crate.bytes(at + 24, crate.number(at + 16, 8)), crate.number(at + 8, 8))
    except (struct.error, KeyError, IndexError, ValueError, OverflowError):
        return None


def _check(data: np.ndarray, name: str, max_bytes: int) -> None:
    start = data[:8].tobytes()
    if start.startswith(_PACKAGE):
        _check_package(data, name, max_bytes)
    elif start == _MAGIC:
        try:
            _Crate(data, name, max_bytes).check()
        except UsdError:
            raise
        except (struct.error, IndexError, ValueError, OverflowError) as error:
            raise UsdError(
                f"{name!r} is damaged ({error}); expected tables that lie inside of the file, export it again"
            ) from None


def _check_package(data: np.ndarray, name: str, max_bytes: int) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data.tobytes())) as package:
            for entry in package.infolist():
                if entry.compress_type == zipfile.ZIP_STORED:  # others are not read by pxr
                    inside = np.frombuffer(package.read(entry), np.uint8)
                    _check(inside, f"{name}[{entry.filename}]", max_bytes)
    except UsdError:
        raise
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise UsdError(f"{name!r} is a damaged package ({error}); expected a .usdz file, export it again") from None


class _Crate:
    """The bytes of one binary layer."""

    def __init__(self, data: np.ndarray, name: str, max_bytes: int):
        self.data, self.name, self.max_bytes = data, name, max_bytes
        header = _HEADER.unpack(data[: _HEADER.size].tobytes())
        self.version = header[1:3]
        self.sections = dict(self._sections(header[-1]))

    def _sections(self, at: int):
        for k in range(self.number(at, 8)):
            name, start, size = _SECTION.unpack(self.bytes(at + 8 + k * _SECTION.size, _SECTION.size))
            self.bytes(start, size)
            yield name.rstrip(b"\0").decode("ascii", "replace"), (start, size)

    def bytes(self, at: int, size: int) -> bytes:
        if not (0 <= at <= len(self.data) and 0 <= size <= len(self.data) - at):
            raise ValueError(f"bytes {at} to {at + size} of {len(self.data)}")
        return self.data[at : at + size].tobytes()

    def number(self, at: int, size: int) -> int:
        return int.from_bytes(self.bytes(at, size), "little")

    def check(self) -> None:
        for table in _TABLES:
            if table in self.sections:
                self._limit(self.number(self.sections[table][0], 8) * _ENTRY, f"the table {table}")
        if self.version >= _FIRST_COMPRESSED and "FIELDS" in self.sections:
            values = self._fields()
            self._check_arrays(values)
            for value in values[(values >> 48) & 0xFF == _TIME_SAMPLES]:
                self._check_arrays(self._samples(int(value) & (2**48 - 1)))

    def _limit(self, size: int, what: str) -> None:
        if size > self.max_bytes:
            raise UsdError(
                f"{self.name!r}: {what} takes {size / 2**20:,.0f} MiB, from a file of {len(self.data)} bytes; expected "
                f"at most {self.max_bytes / 2**20:,.0f} MiB, pass a larger max_bytes if the file is to be trusted"
            )

    def _fields(self) -> np.ndarray:
        """Where the values of all fields stand, and of which types they are."""
        at = self.sections["FIELDS"][0]
        count, names = self.number(at, 8), self.number(at + 8, 8)
        at += 16 + names
        packed = self.bytes(at + 8, self.number(at, 8))
        return np.frombuffer(decompress(packed, 8 * count), "<u8")

    def _samples(self, at: int) -> np.ndarray:
        """The values of an attribute at its times. Two jumps lead to them."""
        at += int.from_bytes(self.bytes(at, 8), "little", signed=True) + 8
        at += int.from_bytes(self.bytes(at, 8), "little", signed=True)
        count = self.number(at, 8)
        return np.frombuffer(self.bytes(at + 8, 8 * count), "<u8")

    def _check_arrays(self, values: np.ndarray) -> None:
        places = values & np.uint64(2**48 - 1)
        arrays = (values & np.uint64(_ARRAY) != 0) & (values & np.uint64(_INLINED) == 0) & (places != 0)
        width = 8 if self.version >= _WIDE_COUNTS else 4
        for packed in (True, False):
            chosen = arrays & ((values & np.uint64(_COMPRESSED) != 0) == packed)
            at = np.unique(places[chosen]).astype(np.int64)
            if not len(at):
                continue
            if at[-1] > len(self.data) - width:
                raise ValueError(f"an array at byte {at[-1]} of {len(self.data)}")
            longest = int(self.data[at[:, None] + np.arange(width)].view(f"<u{width}").max())
            if packed:
                self._limit(longest * _ITEM, f"an array of {longest} numbers")
            elif longest > len(self.data):
                raise ValueError(f"an array of {longest} elements in {len(self.data)} bytes")


def decompress(data: bytes, size: int) -> bytes:
    """Blocks of LZ4, one after the other, that give `size` bytes."""
    out, at = bytearray(), 1
    if data[0] == 0:
        _append_block(data, 1, len(data), out, size)
    for _ in range(data[0]):
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        _append_block(data, at + 4, end, out, size)
        at = end
    if len(out) != size:
        raise ValueError(f"{len(out)} bytes in a table of {size}")
    return bytes(out)


def _append_block(data: bytes, at: int, end: int, out: bytearray, most: int) -> None:
    """Append what one block of LZ4 holds: literals, then a copy of what stands some way back, again and again."""
    if end > len(data):
        raise ValueError(f"a block that ends at byte {end} of {len(data)}")
    while at < end:
        token = data[at]
        count, at = _length(data, at + 1, token >> 4)
        out += data[at : min(at + count, end)]
        at += count
        if at < end:
            back = data[at] | data[at + 1] << 8
            count, at = _length(data, at + 2, token & 15)
            if not 0 < back <= len(out):
                raise ValueError(f"a copy from {back} bytes before byte {len(out)}")
            _repeat(out, back, count + 4)
        if len(out) > most:
            raise ValueError(f"more than {most} bytes in a table")


def _length(data: bytes, at: int, count: int) -> tuple[int, int]:
    """A length that begins with four bits and goes on while bytes are 255, and where it ends."""
    if count == 15:
        while True:
            more = data[at]
            at += 1
            count += more
            if more != 255:
                break
    return count, at


def _repeat(out: bytearray, back: int, count: int) -> None:
    piece = out[-back:]
    out += (piece * (count // back + 1))[:count]
