"""Data of a texture in kernels: its numbers, how many there are, and how to read between them.

All levels stand in one array, the finest first, each with the fastest axis u and the channels of a texel side by side.
Numbers are float32 whatever they were made of, and normalized where that is an integer of 8 or 16 bits: so a texture
is one type to kernels, and `texels` has gradients like any array.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Array, N, Vec, bool_, float16, float32, int8, int16, int32, uint8, uint16, uint32
from ...core.language import array_type, func, max
from .address import OUTSIDE

DTYPES = (float32, float16, uint8, int8, uint16, int16, uint32, int32)
"""What textures can be made of; a texture has the position of its type here."""
CHANNELS = (1, 2, 4)

AXES = ("width", "height", "depth")
HEAD = {"texels": array_type(float32, 1), "kind": int32, "channels": int32, "levels": int32}
MODES = {"filtering": int32, "blending": int32, "normalized": bool_}


def fields(dimensions: int) -> dict[str, Any]:
    """The fields of the struct, for so many dimensions."""
    sizes = dict.fromkeys(AXES[:dimensions], int32)
    return HEAD | sizes | MODES | {f"address_{axis}": int32 for axis in "uvw"[:dimensions]}


@func
def size_at(size: int32, level: int32) -> int32:
    """How many texels an axis has at a level."""
    return max(size >> level, 1)


@func
def begin_of(width: int32, height: int32, depth: int32, level: int32) -> int32:
    """How many texels stand before those of a level."""
    before = int32(0)
    for finer in range(level):
        before += size_at(width, finer) * size_at(height, finer) * size_at(depth, finer)
    return before


@func
def texel(texels: Array[float32, 1], at: int32, channels: int32, like: float32) -> float32:
    """The first number of a texel, or zero OUTSIDE."""
    return texels[at * channels] if at != OUTSIDE else float32(0.0)


@func(overload_of=texel)
def texel(texels: Array[float32, 1], at: int32, channels: int32, like: Vec[N, float32]) -> Vec[N, float32]:
    """The numbers of a texel; zero where it has fewer channels."""
    numbers = type(like)()
    if at != OUTSIDE:
        for c in range(len(like)):
            if c < channels:
                numbers[c] = texels[at * channels + c]
    return numbers
