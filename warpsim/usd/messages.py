"""Messages between a process and the one that reads USD for it: JSON, whose arrays follow as bytes.

Nothing in a message is code, as it would be in a pickle: what a file made of the process that read it ends here.
"""

import json
from typing import Any, BinaryIO

import numpy as np

from warpsim.usd.checks import UsdError

_SIZE = 8  # bytes of a length
_KINDS = frozenset({"<f4", "<f8", "<i4", "<i8"})
_ARRAY = "array"


def send(stream: BinaryIO, message: Any) -> None:
    """Write dicts, lists, texts, numbers and arrays (float32, float64, int32, int64)."""
    arrays: list[np.ndarray] = []

    def describe(array: np.ndarray) -> dict[str, Any]:
        arrays.append(np.ascontiguousarray(array, array.dtype.newbyteorder("<")))
        return {_ARRAY: arrays[-1].dtype.str, "shape": array.shape}

    text = json.dumps(message, default=describe).encode("ascii")
    stream.write(len(text).to_bytes(_SIZE, "little") + text)
    for array in arrays:
        stream.write(array.reshape(-1).view(np.uint8).data)
    stream.flush()


def receive(stream: BinaryIO, max_bytes: int) -> Any:
    """Read what `send` wrote. Raises EOFError where the other end has gone, UsdError beyond `max_bytes`."""
    left = max_bytes

    def claim(size: int) -> int:
        nonlocal left
        left -= size
        if left < 0:
            raise UsdError(f"an answer takes more than {max_bytes / 2**20:,.0f} MiB; pass a larger max_bytes")
        return size

    def array_of(described: dict[str, Any]) -> Any:
        if _ARRAY not in described:
            return described
        kind, shape = described[_ARRAY], described["shape"]
        if kind not in _KINDS or any(n < 0 for n in shape):
            raise EOFError(f"an array of {kind!r} and shape {shape}")
        claim(int(np.prod(shape, dtype=object)) * np.dtype(kind).itemsize)
        arrays.append(np.empty(shape, kind))
        return arrays[-1]

    arrays: list[np.ndarray] = []
    text = _exactly(stream, claim(int.from_bytes(_exactly(stream, _SIZE), "little")))
    message = json.loads(text, object_hook=array_of)
    for array in arrays:
        _fill(stream, array.reshape(-1).view(np.uint8).data)
    return message


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError(f"{len(data)} bytes of {size}")
    return data


def _fill(stream: BinaryIO, room: memoryview) -> None:
    at = 0
    while at < len(room):
        count = stream.readinto(room[at:])  # type: ignore[attr-defined]
        if not count:
            raise EOFError(f"{at} bytes of {len(room)}")
        at += count
