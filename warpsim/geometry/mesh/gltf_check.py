"""Memory requirements of glTF files: lengths of arrays stand in a text, and need no bytes behind them."""

from __future__ import annotations

import json
import struct
from typing import Any

from ...errors import MeshFileError

_MAGIC = b"glTF"
_JSON_CHUNK = struct.Struct("<12xI4x")  # behind the header: how long the text is
_ELEMENT = 24  # bytes of a point as it is read: three float64


def check_accessors(name: str, max_bytes: int) -> None:
    """Raise `MeshFileError` if an array of the file has more than `max_bytes`, or the text is none."""
    with open(name, "rb") as file:
        data = file.read()
    try:
        counts = [int(accessor.get("count", 0)) for accessor in _document(data).get("accessors", [])]
    except (ValueError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise MeshFileError(f"{name!r} cannot be read ({error})\nexpected: glTF\nhelp: export it again") from None
    if max(counts, default=0) * _ELEMENT > max_bytes:
        raise MeshFileError(
            f"{name!r}: an array of {max(counts)} elements in a file of {len(data)} bytes\n"
            f"expected: at most {max_bytes // _ELEMENT} elements\nhelp: pass a larger max_bytes if the file is trusted"
        )


def _document(data: bytes) -> Any:
    if data.startswith(_MAGIC):
        start = _JSON_CHUNK.size
        data = data[start : start + _JSON_CHUNK.unpack_from(data)[0]]
    return json.loads(data)
