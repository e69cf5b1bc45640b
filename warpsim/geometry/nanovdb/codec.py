"""The bodies of NanoVDB files: a grid buffer as bytes on disk, plain, ZIP (zlib) or BLOSC, and back.

Guarantees: no more memory is taken than a small multiple of what the bytes at hand really decompress to, so a
forged size costs nothing; a result has exactly the promised size or there is an error that says what is wrong.
BLOSC needs the package `blosc` (Blosc 1: the frames of the newer `blosc2` cannot be read by other tools).
"""

from __future__ import annotations

import zlib
from types import ModuleType
from typing import Any

import numpy as np

from ...errors import MissingPackageError, VolumeFormatError
from .grid import aligned_zeros
from .layout import CODECS

_NONE, _ZIP, _BLOSC = CODECS.values()
_WORD = 8  # a length stands before each compressed stream, as u64
_MAX_RATIO = 1100  # deflate reaches 1032:1, the LZ4 of BLOSC 255:1
_FIRST_RATIO = 16  # memory taken before anything is decompressed; it doubles while more comes
_STEP = 1 << 20  # bytes decompressed at a time
_SLICE = 1 << 16  # bytes given to zlib at a time: it copies what it has not used yet
_BLOSC_CHUNK = 1 << 30  # bytes that one frame holds at most
_BLOSC_HEADER = np.dtype([("version", "u1", 2), ("flags", "u1"), ("type_size", "u1"), ("sizes", "<u4", 3)])


def decode(codec: int, body: memoryview, size: int) -> np.ndarray:
    """The grid buffer of `size` bytes, aligned, from a compressed body, length words included."""
    if size > _MAX_RATIO * len(body) + _STEP:
        expected = f"at most {_MAX_RATIO} times the {len(body)} bytes it is made from"
        raise VolumeFormatError("grid size", f"{size} bytes", expected, "the file is damaged or not to be trusted")
    return _unzip(body, size) if codec == _ZIP else _unblosc(body, size)


def encode(codec: int, data: memoryview) -> list[bytes | memoryview]:
    """The body for a grid buffer, in pieces to write one after the other."""
    if codec == _NONE:
        return [data]
    if codec == _ZIP:
        return _with_length(zlib.compress(data, 6))
    blosc = _blosc()
    pieces: list[bytes | memoryview] = []
    for begin in range(0, len(data), _BLOSC_CHUNK):
        chunk = bytes(data[begin : begin + _BLOSC_CHUNK])
        pieces += _with_length(blosc.compress(chunk, typesize=4, clevel=9, shuffle=blosc.SHUFFLE, cname="lz4"))
    return pieces


def _with_length(stream: bytes) -> list[bytes | memoryview]:
    return [len(stream).to_bytes(_WORD, "little"), stream]


def _stream(body: memoryview, what: str) -> tuple[memoryview, memoryview]:
    """The stream that a length word announces, and what follows it."""
    length = int.from_bytes(body[:_WORD], "little")
    if len(body) < _WORD or length > len(body) - _WORD:
        raise VolumeFormatError(f"length of a {what} stream", length, f"at most the {len(body)} bytes that are left")
    return body[_WORD : _WORD + length], body[_WORD + length :]


class _Sink:
    """An aligned buffer of a promised size that takes memory only as bytes come in."""

    def __init__(self, size: int, compressed: int):
        self.size, self.filled = size, 0
        self.buffer = aligned_zeros(min(size, max(_STEP, _FIRST_RATIO * compressed)))

    def add(self, data: bytes) -> None:
        end = self.filled + len(data)
        if end > self.size:
            raise VolumeFormatError("decompressed bytes", f"more than {self.size}", "the grid size in the metadata")
        if end > len(self.buffer):
            larger = aligned_zeros(min(self.size, max(end, 2 * len(self.buffer))))
            larger[: self.filled] = self.buffer[: self.filled]
            self.buffer = larger
        self.buffer[self.filled : end] = np.frombuffer(data, np.uint8)
        self.filled = end

    def result(self) -> np.ndarray:
        if self.filled != self.size:
            raise VolumeFormatError("decompressed bytes", self.filled, f"the grid size in the metadata, {self.size}")
        return self.buffer


def _unzip(body: memoryview, size: int) -> np.ndarray:
    stream, rest = _stream(body, "ZIP")
    sink, engine, unused = _Sink(size, len(stream)), zlib.decompressobj(), len(rest)
    try:
        for begin in range(0, len(stream), _SLICE):
            pending: bytes | memoryview = stream[begin : begin + _SLICE]
            while len(pending) and not engine.eof:
                sink.add(engine.decompress(pending, _STEP))
                pending = engine.unconsumed_tail
            if engine.eof:
                unused += len(engine.unused_data) + max(0, len(stream) - begin - _SLICE)
                break
        while not engine.eof and (more := engine.decompress(b"", _STEP)):  # what the engine still holds
            sink.add(more)
    except zlib.error as error:
        raise VolumeFormatError("ZIP stream", error, "an undamaged zlib stream") from None
    if not engine.eof:
        raise VolumeFormatError("ZIP stream", "no end", "a whole zlib stream", "the file may be cut off")
    if unused:
        raise VolumeFormatError("ZIP stream", f"{unused} bytes after its end", "none")
    return sink.result()


def _unblosc(body: memoryview, size: int) -> np.ndarray:
    blosc = _blosc()
    sink = _Sink(size, len(body))
    while len(body):
        frame, body = _stream(body, "BLOSC")
        _check_frame(frame, size - sink.filled)
        try:
            sink.add(blosc.decompress(bytes(frame)))
        except blosc.blosc_extension.error as error:
            raise VolumeFormatError("BLOSC frame", error, "an undamaged frame") from None
    return sink.result()


def _check_frame(frame: memoryview, room: int) -> None:
    """The sizes that a frame claims, before the library believes them."""
    if len(frame) < _BLOSC_HEADER.itemsize:
        raise VolumeFormatError("BLOSC frame", f"{len(frame)} bytes", f"a header of {_BLOSC_HEADER.itemsize} bytes")
    plain, _, packed = (int(n) for n in np.frombuffer(frame, _BLOSC_HEADER, 1)["sizes"][0])
    if packed != len(frame):
        raise VolumeFormatError("compressed size in a BLOSC frame", packed, f"the length of the frame, {len(frame)}")
    if not 0 < plain <= min(room, _MAX_RATIO * packed + _STEP):
        expected = f"above 0, at most the {room} bytes of the grid that are left and {_MAX_RATIO} times {packed} bytes"
        raise VolumeFormatError("size in a BLOSC frame", plain, expected)


def _blosc() -> ModuleType | Any:
    try:
        import blosc  # noqa: PLC0415 - optional
    except ImportError as error:
        text = "a NanoVDB file with codec BLOSC needs the package blosc: pip install blosc (or warpsim[blosc])"
        raise MissingPackageError(text) from error
    return blosc
