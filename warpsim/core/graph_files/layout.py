"""The bytes of a graph file: a head with a checksum, a description, contents of memory.

Guarantees: `unpack` returns what `pack` was given, or raises `GraphFileError` that says what is wrong: not such a file,
another version of the format, cut off, or altered. The checksum finds accidents; who can write the file can write a
right checksum, and code that runs: a graph from a file must be trusted as a library.

All integers are little-endian:

    offset  bytes  field
    0       8      magic "wsgraph" and a newline
    8       4      version of the format, see FORMAT
    12      8      bytes of the description, D
    20      8      bytes of the contents, C
    28      32     sha256 of the 28 bytes above, the description and the contents
    60      D      description, JSON in UTF-8 (see `save`)
    60+D    C      contents of memory, which the description cuts into regions
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

from ...errors import GraphFileError

FORMAT = 2
"""Changes with this layout, with the description, and with what machine code and launches agree on: argument blocks,
flags, records of checks, the table of structures."""

_MAGIC = b"wsgraph\n"
_HEAD = struct.Struct("<8sIQQ")
_DIGEST_BYTES = hashlib.sha256().digest_size
_START = _HEAD.size + _DIGEST_BYTES


def pack(description: bytes, contents: bytes) -> bytes:
    """The bytes of a file."""
    head = _HEAD.pack(_MAGIC, FORMAT, len(description), len(contents))
    return b"".join((head, _digest(head, description, contents), description, contents))


def unpack(data: bytes | memoryview, where: str) -> tuple[Any, memoryview]:
    """The description, as JSON gives it, and the contents; where: the file in words."""
    view = memoryview(data)
    if len(view) < _START or bytes(view[:8]) != _MAGIC:
        begin = bytes(view[:8]).hex(" ") or "nothing"
        raise _refusal(where, f"{len(view)} bytes that begin with {begin}", "a graph that wp.capture_save wrote")
    _, version, size, room = _HEAD.unpack(view[: _HEAD.size])
    if version != FORMAT:
        raise _refusal(where, f"version {version} of the format", f"version {FORMAT}", "capture and save it again")
    if len(view) != _START + size + room:
        raise _refusal(where, f"{len(view)} bytes", f"{_START + size + room}, as its head says", "it is not complete")
    description, contents = view[_START : _START + size], view[_START + size :]
    if bytes(view[_HEAD.size : _START]) != _digest(bytes(view[: _HEAD.size]), description, contents):
        raise _refusal(where, "a wrong checksum", "the bytes that were written", "it was altered: copy it again")
    try:
        return json.loads(bytes(description)), contents
    except (ValueError, RecursionError) as error:
        raise _refusal(where, f"a description that is no JSON: {error}", "what wp.capture_save writes") from error


def _digest(head: bytes, description: bytes | memoryview, contents: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(head)
    digest.update(description)
    digest.update(contents)
    return digest.digest()


def _refusal(where: str, content: str, expected: str, cure: str = "") -> GraphFileError:
    return GraphFileError(f"{where} is no graph\nfound: {content}\nexpected: {expected}" + (cure and f"\nhelp: {cure}"))
