"""Archives: a zip of uncompressed .npy files, which `numpy.load` opens as well, and a JSON text that describes them.

Files may come from anybody: nothing in them is run, no size is believed before it is compared with the bytes that are
there, and nothing is compressed, so that no file is larger in memory than on the disk.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import SceneFileError
from .image import TEXT, Content, member_name

FORMAT, VERSION = "warpsim scene", 4
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufc](?:1|2|4|8|16))', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \} *\n"
)
"""Of a .npy file of numbers or truth values, as NumPy writes it."""


class ArchiveWriter:
    """Collects the arrays of a file; `FileImage` makes a file of them, with a text."""

    def __init__(self) -> None:
        self.contents: list[Content] = []

    def add(self, label: str, values: np.ndarray, is_fixed: bool = False) -> str:
        """Keep an array; returns the name of its member. is_fixed: nobody can ever write to it."""
        name = member_name(len(self.contents), label)
        self.contents.append(Content(label, np.asarray(values, order="C"), is_fixed))
        return name


class Text:
    """The JSON texts of a scene that is saved again and again; objects seldom have another one."""

    def __init__(self) -> None:
        self._objects: list[dict[str, Any]] = []
        self._words = "[]"

    def of(self, things: dict[str, Any], objects: list[dict[str, Any]]) -> bytes:
        """The text of a file."""
        if objects != self._objects:
            self._objects, self._words = objects, json.dumps(objects, allow_nan=False)
        begin = json.dumps({"format": FORMAT, "version": VERSION, "things": things}, allow_nan=False)
        return f'{begin[:-1]}, "objects": {self._words}}}'.encode("ascii")


class ArchiveReader:
    """An archive that was read. Raises `SceneFileError` for what is none, with the reason."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        try:
            with zipfile.ZipFile(self.path) as file:
                self._members = {entry.filename: _content(file, entry) for entry in file.infolist()}
        except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError, RuntimeError) as error:
            raise self.broken(f"it is no whole zip file: {error}") from None
        self.content = self._text()

    def array(self, name: Any) -> np.ndarray:
        """The array of a member; its own memory."""
        data = self._members.get(name) if isinstance(name, str) else None
        if data is None:
            raise self.broken(f"it has no array {name!r}")
        try:
            return _parsed(data)
        except (TypeError, ValueError) as error:
            raise self.broken(f"{name} is no array: {error}") from None

    def broken(self, reason: str) -> SceneFileError:
        """The error that says why this cannot be read."""
        return SceneFileError(f"{str(self.path)!r} cannot be read\nreason: {reason}")

    def _text(self) -> dict[str, Any]:
        try:
            content = json.loads(self._members.get(TEXT, b"null").decode())
        except (ValueError, RecursionError) as error:
            raise self.broken(f"its {TEXT} is no JSON: {error}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise self.broken(f"it is no {FORMAT}")
        if content.get("version") != VERSION:
            raise self.broken(
                f"it has version {content.get('version')!r} of the format; this warpsim reads version {VERSION}"
            )
        return content


def _content(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of a member. Raises `BadZipFile` for compressed ones, and for sums that do not agree."""
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
        raise zipfile.BadZipFile(f"{entry.filename!r} is compressed")
    with file.open(entry) as member:
        return member.read()


def _parsed(data: bytes) -> np.ndarray:
    """An array out of the bytes of a .npy file of numbers. Raises ValueError for anything else.

    NumPy's own reader evaluates the header as Python, and makes room for as much as that says.
    """
    start = 10 if data[6:7] == b"\x01" else 12  # behind the length of the header
    end = start + int.from_bytes(data[8:start], "little")
    header = _HEADER.fullmatch(data[start:end])
    if data[:6] != np.lib.format.MAGIC_PREFIX or header is None:
        raise ValueError("it has no header of numbers")
    dtype = np.dtype(header[1].decode())
    shape = tuple(int(extent) for extent in header[2].split(b",") if extent.strip())
    if math.prod(shape) * dtype.itemsize != len(data) - end:
        raise ValueError(f"{dtype} of shape {shape} in {len(data) - end} bytes")
    return np.frombuffer(data, dtype, math.prod(shape), end).reshape(shape).copy()
