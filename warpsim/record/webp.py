"""`WebpFile`: an animated WebP that grows by an image at a time, and is whole between any two.

The container (https://developers.google.com/speed/webp/docs/riff_container): RIFF, a head with the size of the canvas,
then a chunk ANMF for each image. The size in the first bytes is written last: readers leave alone what stands behind.
"""

from __future__ import annotations

import io
import os
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
from PIL import Image

from ..atomic_file import AtomicFile
from .errors import RecordError

_ANIMATED = 0x02
_NO_BLENDING = 0x02
_MOST = 2**32 - 10  # bytes of a file, by the format


class WebpFile:
    """A film at `path`; `durations` [ms] of its images tell how far it has come."""

    def __init__(self, path: Path, quality: int):
        self._path, self._quality = path, quality
        self.durations: list[int] = []
        self._ends = [0]  # where the head and each image end [bytes]

    def read(self) -> None:
        """Find the images of a file that is there. Raises `RecordError` for what is no film of this kind."""
        data = self._path.read_bytes()
        end = 8 + struct.unpack_from("<I", data, 4)[0] if len(data) >= 12 else 0
        if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or end > len(data):
            raise RecordError(f"{str(self._path)!r} is no film to go on with\nexpected: an animated WebP")
        at = 12
        while at + 8 <= end:
            name, size = struct.unpack_from("<4sI", data, at)
            if name == b"ANMF":
                self.durations.append(int.from_bytes(data[at + 20 : at + 23], "little"))
            at += 8 + size + size % 2
            if name == b"ANMF":
                self._ends.append(at)
            else:
                self._ends = [at]

    def cut(self, count: int) -> None:
        """Keep some of the first images."""
        del self.durations[count:], self._ends[count + 1 :]
        with open(self._path, "r+b") as file:
            _set_size(file.fileno(), self._ends[-1])
            file.truncate(self._ends[-1])

    def add(self, image: np.ndarray, duration: int) -> None:
        """Append an sRGB image (h, w, 3) in bytes, shown for a time [ms]. Raises OSError, and leaves the file whole."""
        height, width, _ = image.shape
        out = io.BytesIO()
        Image.fromarray(image).save(out, "WEBP", quality=self._quality, method=4)
        bits = out.getvalue()[12:]
        place = _three(0) + _three(0) + _three(width - 1) + _three(height - 1)
        frame = _chunk(b"ANMF", place + _three(duration) + bytes([_NO_BLENDING]) + bits)
        if not self.durations:
            canvas = bytes([_ANIMATED, 0, 0, 0]) + _three(width - 1) + _three(height - 1)
            head = _chunk(b"VP8X", canvas) + _chunk(b"ANIM", bytes([255, 255, 255, 255, 0, 0]))
            self._ends = [12 + len(head)]
            size = struct.pack("<I", 4 + len(head) + len(frame))
            with AtomicFile(self._path, durable=False) as path:
                path.write_bytes(b"RIFF" + size + b"WEBP" + head + frame)
        else:
            self._append(frame)
        self.durations.append(duration)
        self._ends.append(self._ends[-1] + len(frame))

    def _append(self, frame: bytes) -> None:
        end = self._ends[-1]
        if end + len(frame) > _MOST:
            raise RecordError(f"{str(self._path)!r} has {end} bytes\nexpected: less than 4 GiB, the most of WebP")
        with open(self._path, "r+b", buffering=0) as file:
            try:
                file.seek(end)
                left = memoryview(frame)
                while left:
                    left = left[file.write(left) :]
                _set_size(file.fileno(), end + len(frame))
            except OSError:
                with suppress(OSError):
                    file.truncate(end)
                raise


def _set_size(handle: int, size: int) -> None:
    os.lseek(handle, 4, os.SEEK_SET)
    os.write(handle, struct.pack("<I", size - 8))


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)


def _three(number: int) -> bytes:
    return number.to_bytes(3, "little")
