"""`FileImage`: the bytes of a scene's file in memory, in which a save changes what is not as it was in the last one.

Most of a scene are constants of its model. They are compared with the bytes that are there, which takes a fraction of
the time of copying them, of their sums, and of making a zip file of them anew.

The file is a zip archive of uncompressed members (PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3): .npy arrays,
behind them the text with spaces up to whole pages, and the directory, in which the text is first.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

TEXT = "scene.json"
PAGE = 4096
"""Bytes at whose multiples an image begins in memory, as writes past the system's cache ask for it."""

_LINE = 64  # arrays begin at multiples of it, so that words can be compared
_DATE = 1 << 5 | 1  # 1 January 1980, of every member: equal scenes are equal files
_MODE = 0o600 << 16  # who may read what is unpacked
_UNIX, _PLAIN, _LARGE = 3 << 8, 20, 45  # who made it; versions of the format without and with 64-bit numbers
_FULL, _MANY = 0xFFFFFFFF, 0xFFFF  # the least size or place, and number of members, that have 64 bits
_ELSEWHERE, _ELSEWHERE_TOO = 0xFFFFFFFF, 0xFFFF  # stand for them in fields of 32 and of 16 bits
_LOCAL, _ENTRY, _END = struct.Struct("<4s5H3I2H"), struct.Struct("<4s6H3I5H2I"), struct.Struct("<4s4H2IH")
_END_64, _LOCATOR = struct.Struct("<4sQ2H2I4Q"), struct.Struct("<4sIQI")
_AROUND = _LOCAL.size + _ENTRY.size + 3 * _LINE  # bytes of a member at most, besides its name twice and its contents
_PAD = 0xD935  # the kind of field that aligns what follows it
_ODD = re.compile(r"[^\w .=+-]")
_LABEL = 200  # characters of a label in the name of a member

Layout = tuple[str, str, tuple[int, ...]]
"""The label, the dtype and the shape of an array."""


class Content(NamedTuple):
    """An array of a file, C-contiguous, with its label. is_fixed: nobody can ever write to it."""

    label: str
    values: np.ndarray
    is_fixed: bool


class _Member:
    """A file of the archive in the image: its local header is at `start`, its contents are `words` behind a head."""

    def __init__(self, name: str, head: bytes, size: int):
        self.name, self.head, self.size = name.encode("ascii"), head, len(head) + size
        self.start = self.entry = self.sum = 0
        self.image = self.words = np.empty(0, np.uint8)
        self.is_stale = self.is_changing = True
        self.fixed: np.ndarray | None = None

    def place(self, image: np.ndarray, start: int) -> int:
        """Write the local header and the head there; returns where the contents end."""
        large = struct.pack("<2H2Q", 1, 16, self.size, self.size) if self.size >= _FULL else b""
        room = -(start + _LOCAL.size + len(self.name) + len(large) + 6) % _LINE
        extra = large + struct.pack("<3H", _PAD, 2 + room, _LINE) + bytes(room)
        size, version = _field(self.size), _LARGE if large else _PLAIN
        lengths = len(self.name), len(extra)
        header = _LOCAL.pack(b"PK\3\4", version, 0, 0, 0, _DATE, self.sum, size, size, *lengths)
        begin = header + self.name + extra + self.head
        data = start + len(begin)
        end = data + self.size - len(self.head)
        image[start:data] = np.frombuffer(begin, np.uint8)
        self.image, self.start, self.words = image, start, as_words(image[data:end])
        return end

    def take_over(self, older: _Member) -> None:
        """Have the contents and the sum that another image has."""
        self.words[...] = older.words
        self.fixed, self.is_stale, self.is_changing = older.fixed, older.is_stale, older.is_changing
        self._write_sum(older.sum)

    def take(self, values: np.ndarray, is_fixed: bool = False) -> None:
        """Hold other contents; what was another one the last time is not compared before."""
        if values is self.fixed:
            return
        words = values.reshape(-1).view(self.words.dtype)
        if self.is_changing or not (words == self.words).all():
            self.words[...] = words
            self.is_stale = True
        self.fixed = values if is_fixed else None

    def seal(self) -> None:
        """Bring the sum up to date."""
        if self.is_stale:
            total = zlib.crc32(self.words.view(np.uint8), zlib.crc32(self.head))
            self.is_changing, self.is_stale = total != self.sum, False
            self._write_sum(total)

    def _write_sum(self, total: int) -> None:
        """Have a sum, in both headers."""
        self.sum = total
        for place in (self.start + 14, self.entry + 16):
            struct.pack_into("<I", self.image.data, place, total)

    def directory_entry(self, place: int) -> bytes:
        """What the directory has of it at a place of the image."""
        self.entry = place
        large = self.size >= _FULL, self.size >= _FULL, self.start >= _FULL
        numbers = self.size, self.size, self.start
        more = b"".join(struct.pack("<Q", n) for n, over in zip(numbers, large, strict=True) if over)
        extra = struct.pack("<2H", 1, len(more)) + more if more else b""
        version, size = _LARGE if more else _PLAIN, _field(self.size)
        fixed = b"PK\1\2", _UNIX | version, version, 0, 0, 0, _DATE, self.sum, size, size
        entry = _ENTRY.pack(*fixed, len(self.name), len(extra), 0, 0, 0, _MODE, _field(self.start))
        return entry + self.name + extra


class FileImage:
    """The bytes of one file after the other; those of the last one are remembered."""

    def __init__(self) -> None:
        self._layouts: list[Layout] = []
        self._arrays: list[_Member] = []
        self._text = _Member(TEXT, b"", 0)
        self._bytes = np.empty(0, np.uint8)

    def take(self, contents: Sequence[Content], text: bytes) -> None:
        """Hold a file of arrays and of a text, all as they are now."""
        layouts = [(label, values.dtype.str, values.shape) for label, values, _ in contents]
        if layouts != self._layouts or not len(text) <= self._text.size < len(text) + PAGE:
            self._lay_out(layouts, len(text))
        for member, (_, values, is_fixed) in zip(self._arrays, contents, strict=True):
            member.take(values, is_fixed)
        self._text.take(np.frombuffer(text.ljust(self._text.size), np.uint8))

    def seal(self) -> np.ndarray:
        """All bytes of the file (uint8), at a multiple of `PAGE` in memory."""
        for member in (self._text, *self._arrays):
            member.seal()
        return self._bytes

    def _lay_out(self, layouts: list[Layout], letters: int) -> None:
        """Make room for other members; contents of those that were there before are kept, with their sums.

        The text gets so much more room that the file is of whole pages.
        """
        older = dict(zip(self._layouts, self._arrays, strict=True))
        arrays = [
            _Member(member_name(k, label), _head(dtype, shape), _bytes_of(dtype, shape))
            for k, (label, dtype, shape) in enumerate(layouts)
        ]
        text = _Member(TEXT, b"", 0)
        listed = [text, *arrays]
        image = _aligned(sum(m.size + 2 * len(m.name) for m in listed) + letters + _AROUND * len(listed) + 2 * PAGE)
        place = 0
        for member in arrays:
            place = member.place(image, place)
        begin = text.place(image, place) + letters
        text.size = letters + -(begin + len(_directory(listed, begin))) % PAGE
        begin = text.place(image, place)
        end = _put(image, begin, _directory(listed, begin))
        for layout, member in zip(layouts, arrays, strict=True):
            if layout in older:
                member.take_over(older[layout])
        self._layouts, self._arrays, self._text, self._bytes = layouts, arrays, text, image[:end]


def _directory(members: Sequence[_Member], begin: int) -> bytes:
    """The directory from there on, with the record at its end."""
    entries, place, count = [], begin, len(members)
    for member in members:
        entries.append(member.directory_entry(place))
        place += len(entries[-1])
    size, large = place - begin, b""
    if count >= _MANY or begin >= _FULL or size >= _FULL:
        numbers = 0, 0, count, count, size, begin
        large = _END_64.pack(b"PK\6\6", _END_64.size - 12, _UNIX | _LARGE, _LARGE, *numbers)
        large += _LOCATOR.pack(b"PK\6\7", 0, place, 1)
    counts = (_ELSEWHERE_TOO if count >= _MANY else count,) * 2
    return b"".join(entries) + large + _END.pack(b"PK\5\6", 0, 0, *counts, _field(size), _field(begin), 0)


def _field(number: int) -> int:
    """A size or a place in 32 bits."""
    return _ELSEWHERE if number >= _FULL else number


@lru_cache(4096)
def member_name(number: int, label: str) -> str:
    """What the file calls an array: no two alike, and of plain characters."""
    plain = _ODD.sub("_", label).encode("ascii", "replace").decode().replace("?", "_")
    return f"{number:05}.{plain[-_LABEL:]}.npy"


def as_words(values: np.ndarray) -> np.ndarray:
    """The bytes of a C-contiguous array as the widest integers that they make."""
    flat = values.reshape(-1)
    width = next(width for width in (8, 4, 2, 1) if flat.nbytes % width == 0)
    return flat.view(f"u{width}") if flat.size else flat.view(np.uint8)


def _put(image: np.ndarray, place: int, content: bytes) -> int:
    image[place : place + len(content)] = np.frombuffer(content, np.uint8)
    return place + len(content)


def _bytes_of(dtype: str, shape: tuple[int, ...]) -> int:
    return int(np.dtype(dtype).itemsize * np.prod(shape, dtype=np.int64))


def _aligned(size: int) -> np.ndarray:
    """Memory that begins at a multiple of `PAGE`."""
    memory = np.empty(size + PAGE, np.uint8)
    shift = -memory.ctypes.data % PAGE
    return memory[shift : shift + size]


@lru_cache(1024)
def _head(dtype: str, shape: tuple[int, ...]) -> bytes:
    """What a .npy file has before its numbers."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()
