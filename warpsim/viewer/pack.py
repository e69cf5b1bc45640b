"""Frames as bytes: what the page of the viewer takes apart again (`Reader` in page/viewer.js).

A frame is its bodies in order. A body is a count (uint32), the box that its places lie in (float32: lowest corner,
extent), places (uint16 in that box), then colors (uint8, linear), radii (float32), turns (int16) and sizes (float32)
where it has them. A mesh whose faces vary ends with the number of triangles and these (uint32). Each part
begins at a multiple of four bytes.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .bodies import Body, Frames, Moment

Boxes = dict[str, tuple[np.ndarray, float]]

_STEPS = 65535  # of a place in its box


def header_of(animation: Frames, every: int, play: bool) -> dict[str, Any]:
    """What a page must know before the first frame."""
    low, high = animation.bounds()
    return {
        "up": animation.up, "fps": animation.fps, "every": every, "frames": len(range(0, len(animation), every)),
        "low": low.tolist(), "high": high.tolist(), "play": play, "ground": bool(animation.grounds()),
        "bodies": [_describe(animation, body) for body in animation.bodies],
        "still": text_of(frame_bytes(animation, [b for b in animation.bodies if not b.moving], 0)),
    }  # fmt: skip


def _describe(animation: Frames, body: Body) -> dict[str, Any]:
    first = animation.moment(body, 0)
    colored = animation.colored(body)
    return {
        "name": body.name, "kind": body.kind, "moving": body.moving, "count": len(first.points), "colored": colored,
        "varying": body.varying,
        "color": None if colored else [float(c) for c in first.color],
        "triangles": None if body.triangles is None else text_of(np.ascontiguousarray(body.triangles, "<u4")),
        "shape": None if body.kind != "instances" else text_of(np.ascontiguousarray(body.shape, "<f4")),
    }  # fmt: skip


def frame_bytes(animation: Frames, bodies: Iterable[Body], frame: int, boxes: Boxes | None = None) -> bytes:
    """Some bodies of a frame, their places in given boxes (lowest corner, extent) or in boxes of this frame."""
    parts: list[bytes] = []
    for body in bodies:
        moment = animation.moment(body, frame)
        box = boxes[body.name] if boxes else box_of(*moment.box())
        parts += _parts(body, moment, box, animation.colored(body))
    return b"".join(parts)


def box_of(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, float]:
    """The lowest corner and the extent of a cube, which is not empty."""
    return (low, max(float((high - low).max()), 1.0e-9)) if np.isfinite(low).all() else (np.zeros(3), 1.0)


def _parts(body: Body, moment: Moment, box: tuple[np.ndarray, float], colored: bool) -> Iterable[bytes]:
    count, (low, extent) = len(moment.points), box
    yield np.array([count], "<u4").tobytes()
    yield np.array([*low, extent], "<f4").tobytes()
    yield _pad(np.clip(np.rint((moment.points - low) * (_STEPS / extent)), 0, _STEPS).astype("<u2"))
    if colored:
        yield _pad(np.rint(np.broadcast_to(moment.color, (count, 3)) * 255.0).astype("u1"))
    if body.kind == "points":
        yield np.ascontiguousarray(moment.radii, "<f4").tobytes()
    if body.kind == "instances":
        yield _pad(np.rint(np.clip(moment.turns, -1.0, 1.0) * 32767.0).astype("<i2"))
        yield np.ascontiguousarray(moment.sizes, "<f4").tobytes()
    if moment.triangles is not None:
        yield np.array([len(moment.triangles)], "<u4").tobytes()
        yield np.ascontiguousarray(moment.triangles, "<u4").tobytes()


def _pad(values: np.ndarray) -> bytes:
    data = values.tobytes()
    return data + bytes(-len(data) % 4)


def compress(frames: Iterable[bytes]) -> tuple[bytes, Sequence[int]]:
    """Frames as one compressed stream, and the size of each.

    A frame stands as the difference of its 16-bit words to those of the frame before, where that is as long; low bytes
    first, then high ones, which are mostly zero.
    """
    before, parts, sizes = np.empty(0, "<u2"), [], []
    for frame in frames:
        now = np.frombuffer(frame, "<u2")
        change = now - before if len(now) == len(before) else now
        parts.append(change.astype("<u2").view("u1").reshape(-1, 2).T.tobytes())
        sizes.append(len(frame))
        before = now
    return gzip.compress(b"".join(parts), 6, mtime=0), sizes


def text_of(data: Any) -> str:
    """Bytes as text for a page."""
    return base64.b64encode(data if isinstance(data, bytes) else data.tobytes()).decode("ascii")
