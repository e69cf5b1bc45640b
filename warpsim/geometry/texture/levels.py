"""The numbers of textures: from data of any type to float32, and from a level to the next coarser one.

A level has half as many texels along each axis, at least one, each the mean of two along every axis that has two. An
odd texel at the end is left out. Means of integers are rounded to integers, halves to even, so that a level holds what
the data's own type can.

All of it is launched, so tapes record it: a texture made of an array that has a gradient passes gradients on to it.
"""

from __future__ import annotations

import builtins
import math

import numpy as np

from ...core.language import Array, Float, Int, Scalar, array, float32, float64, int8, int16, int32, uint8, uint16
from ...core.language import clamp, empty, func, kernel, launch, max, min, rint, static, tid
from ...errors import TextureError

_MOST = 2**31

# ----- numbers --------------------------------------------------------------------------------


@func
def number(x: Scalar) -> float32:
    """What a number of data is in a texture."""
    return float32(x)


@func(overload_of=number)
def number(x: uint8) -> float32:
    return float32(x) / 255.0


@func(overload_of=number)
def number(x: uint16) -> float32:
    return float32(x) / 65535.0


@func(overload_of=number)
def number(x: int8) -> float32:
    return max(float32(x) / 127.0, -1.0)


@func(overload_of=number)
def number(x: int16) -> float32:
    return max(float32(x) / 32767.0, -1.0)


@func
def unit(like: Scalar) -> float32:
    """What the number 1 of a texture is in its data."""
    return float32(1.0)


@func(overload_of=unit)
def unit(like: uint8) -> float32:
    return float32(255.0)


@func(overload_of=unit)
def unit(like: uint16) -> float32:
    return float32(65535.0)


@func(overload_of=unit)
def unit(like: int8) -> float32:
    return float32(127.0)


@func(overload_of=unit)
def unit(like: int16) -> float32:
    return float32(32767.0)


@func
def round_to_type(x: float64, like: Float) -> Float:
    """A number in the type of the data."""
    return type(like)(x)


@func(overload_of=round_to_type)
def round_to_type(x: float64, like: Int) -> Int:
    limits = static(np.iinfo(type(like)))
    return type(like)(clamp(rint(x), float64(limits.min), float64(limits.max)))


@kernel
def to_texels(data: Array[Scalar, 4], begin: int32, texels: Array[float32, 1]):
    k, j, i, c = tid()
    at = ((k * data.shape[1] + j) * data.shape[2] + i) * data.shape[3] + c
    texels[begin + at] = number(data[k, j, i, c])


@kernel
def from_texels(texels: Array[float32, 1], data: Array[Scalar, 4]):
    k, j, i, c = tid()
    at = ((k * data.shape[1] + j) * data.shape[2] + i) * data.shape[3] + c
    like = data[k, j, i, c]
    data[k, j, i, c] = round_to_type(float64(texels[at] * unit(like)), like)


@kernel
def coarsen(fine: Array[Scalar, 4], coarse: Array[Scalar, 4]):
    k, j, i, c = tid()
    depth, height, width = min(fine.shape[0], 2), min(fine.shape[1], 2), min(fine.shape[2], 2)
    total = float64(0.0)
    for z in range(depth):
        for y in range(height):
            for x in range(width):
                total += float64(fine[depth * k + z, height * j + y, width * i + x, c])
    coarse[k, j, i, c] = round_to_type(total / float64(depth * height * width), fine[0, 0, 0, 0])


# ----- levels ---------------------------------------------------------------------------------


def most_levels(sizes: tuple[int, ...]) -> int:
    """How many levels there are until every axis has one texel."""
    return builtins.max(sizes).bit_length()


def shape_at(shape: tuple[int, ...], level: int) -> tuple[int, ...]:
    """The shape (depth, height, width, channels) of a level."""
    return (*(builtins.max(n >> level, 1) for n in shape[:3]), shape[3])


def count_of(shape: tuple[int, ...], levels: int) -> int:
    """How many numbers all levels have. Raises `TextureError` for more than kernels can count."""
    total = sum(math.prod(shape_at(shape, level)) for level in range(levels))
    if total >= _MOST:
        raise TextureError(f"a texture of {total} numbers\nexpected: less than {_MOST}")
    return total


def fill(texels: array, data: array, levels: int) -> None:
    """All levels of the data, (depth, height, width, channels), as float32 numbers one after the other."""
    begin, shape = 0, data.shape
    for level in range(levels):
        if level:
            coarse = empty(shape_at(shape, level), dtype=data.dtype, device=data.device)
            coarse.requires_grad = data.requires_grad
            launch(coarsen, dim=coarse.shape, inputs=[data], outputs=[coarse], device=data.device)
            data = coarse
        launch(to_texels, dim=data.shape, inputs=[data, begin], outputs=[texels], device=data.device)
        begin += data.size


def read(texels: array, data: array) -> None:
    """The numbers of level 0 as data of its own type, (depth, height, width, channels)."""
    launch(from_texels, dim=data.shape, inputs=[texels], outputs=[data], device=data.device)
