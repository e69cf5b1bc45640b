"""Filter and address modes of textures: values between texels, and beyond the outermost."""

from __future__ import annotations

from enum import IntEnum


class TextureFilterMode(IntEnum):
    """CLOSEST: the texel around a point. LINEAR: between the centres of the two texels of each axis."""

    CLOSEST = 0
    LINEAR = 1


class TextureAddressMode(IntEnum):
    """What a texture is beyond its outermost texels, along an axis.

    WRAP: repeated. CLAMP: the outermost texel. MIRROR: repeated, every second time backwards. BORDER: zero.
    """

    WRAP = 0
    CLAMP = 1
    MIRROR = 2
    BORDER = 3


AddressModes = TextureAddressMode | int | tuple[TextureAddressMode | int | None, ...] | None
"""Of all axes, or of each in a tuple; None says nothing."""

CLOSEST, LINEAR = map(int, TextureFilterMode)
WRAP, CLAMP, MIRROR, BORDER = map(int, TextureAddressMode)
