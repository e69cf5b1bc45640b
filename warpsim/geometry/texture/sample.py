"""`texture_sample`: the numbers of a texture at a point.

Derivatives follow from the code: to the coordinates (of CLOSEST zero), to the level of detail, and to the numbers of
the texture, where `texels` has a gradient. On a border between cells, or between a texture and what lies beyond, the
derivative is that of the side of larger coordinates.
"""

from __future__ import annotations

from typing import Any

from ...core.language import float32, floor, func, int32, static, vec2f, vec3f, vec4f
from ...core.types.arrays import type_name
from ...core.types.scalars import canonical
from ...errors import TextureError
from .address import OUTSIDE, Neighbours, closest, neighbours
from .data import begin_of, size_at, texel
from .modes import LINEAR
from .texture import Texture1D, Texture2D, Texture3D


def check_texel_type(dtype: type) -> bool:
    """Raise `TextureError` for a type that no texel is."""
    if canonical(dtype) not in (float32, vec2f, vec4f):
        raise TextureError(f"a texture is sampled as {type_name(canonical(dtype))}\nexpected: float, vec2f or vec4f")
    return True


# ----- one level ------------------------------------------------------------------------------


@func
def between(a: Any, b: Any, nearness: float32) -> Any:
    """Linear from `a` at 0 to `b` at 1."""
    return (1.0 - nearness) * a + nearness * b


@func
def texel_of(line: int32, width: int32, i: int32) -> int32:
    """The texel of a line, or OUTSIDE where one of both is."""
    return line * width + i if (line != OUTSIDE) & (i != OUTSIDE) else OUTSIDE


@func
def columns(t: Any, u: float32, width: int32) -> Neighbours:
    """The texels of a line around a coordinate."""
    return neighbours(u, width, t.width, t.normalized, t.address_u)


@func
def rows(t: Any, v: float32, height: int32) -> Neighbours:
    """The lines around a coordinate."""
    return neighbours(v, height, t.height, t.normalized, t.address_v)


@func
def column(t: Any, u: float32, width: int32) -> int32:
    """The texel of a line closest to a coordinate."""
    return closest(u, width, t.width, t.normalized, t.address_u)


@func
def row(t: Any, v: float32, height: int32) -> int32:
    """The line closest to a coordinate."""
    return closest(v, height, t.height, t.normalized, t.address_v)


@func
def value(t: Any, begin: int32, at: int32, like: Any) -> Any:
    """The numbers of a texel of the level that begins at a texel."""
    return texel(t.texels, begin + at if at != OUTSIDE else OUTSIDE, t.channels, like)


@func
def along_u(t: Any, begin: int32, line: int32, width: int32, x: Neighbours, like: Any) -> Any:
    """Between two texels of a line."""
    first = value(t, begin, texel_of(line, width, x.first), like)
    return between(first, value(t, begin, texel_of(line, width, x.second), like), x.nearness)


@func
def at_level(t: Texture1D, u: float32, level: int32, like: Any) -> Any:
    """The numbers at a point in one level."""
    width, begin = size_at(t.width, level), begin_of(t.width, 1, 1, level)
    if t.filtering == LINEAR:
        return along_u(t, begin, 0, width, columns(t, u, width), like)
    return value(t, begin, column(t, u, width), like)


@func(overload_of=at_level)
def at_level(t: Texture2D, uv: vec2f, level: int32, like: Any) -> Any:
    width, height = size_at(t.width, level), size_at(t.height, level)
    begin = begin_of(t.width, t.height, 1, level)
    if t.filtering == LINEAR:
        x, y = columns(t, uv[0], width), rows(t, uv[1], height)
        first = along_u(t, begin, y.first, width, x, like)
        return between(first, along_u(t, begin, y.second, width, x, like), y.nearness)
    return value(t, begin, texel_of(row(t, uv[1], height), width, column(t, uv[0], width)), like)


@func(overload_of=at_level)
def at_level(t: Texture3D, uvw: vec3f, level: int32, like: Any) -> Any:
    width, height, depth = size_at(t.width, level), size_at(t.height, level), size_at(t.depth, level)
    begin = begin_of(t.width, t.height, t.depth, level)
    if t.filtering == LINEAR:
        x, y = columns(t, uvw[0], width), rows(t, uvw[1], height)
        z = neighbours(uvw[2], depth, t.depth, t.normalized, t.address_w)
        near = along_u(t, begin, texel_of(z.first, height, y.first), width, x, like)
        near = between(near, along_u(t, begin, texel_of(z.first, height, y.second), width, x, like), y.nearness)
        far = along_u(t, begin, texel_of(z.second, height, y.first), width, x, like)
        far = between(far, along_u(t, begin, texel_of(z.second, height, y.second), width, x, like), y.nearness)
        return between(near, far, z.nearness)
    line = texel_of(closest(uvw[2], depth, t.depth, t.normalized, t.address_w), height, row(t, uvw[1], height))
    return value(t, begin, texel_of(line, width, column(t, uvw[0], width)), like)


# ----- between levels -------------------------------------------------------------------------


@func
def sample_levels(t: Any, place: Any, lod: float32, like: Any) -> Any:
    """The numbers at a point, between the levels around `lod`: one of them, or two with their weights."""
    level, count, nearness = int32(0), int32(1), float32(0.0)
    if lod >= 0.0:
        coarsest = t.levels - 1
        if lod >= float32(coarsest):
            level = coarsest
        elif t.blending == LINEAR:
            level, count = int32(floor(lod)), 2
            nearness = lod - floor(lod)
        else:
            level = int32(floor(lod + 0.5))
    total = at_level(t, place, level, like)
    if count == 2:
        total = between(total, at_level(t, place, level + 1, like), nearness)
    return total


@func
def texture_sample(tex: Texture1D, u: float32, dtype: Any, lod: float32 = -1.0) -> Any:
    """The numbers, of type `dtype`, of a texture at a coordinate; zero where there is no texture.

    u: from 0 to 1 along the texture, where it has normalized coordinates; else in texels. The centre of texel i of n is
    at (i + 1/2) / n, or at i + 1/2.
    dtype: float, vec2f or vec4f: channels that the texture lacks are zero.
    lod: the level of detail, 0 the finest. Numbers below 0 count as 0, those above the coarsest level as that. Between
    levels `mip_filter_mode` counts.
    """
    static(check_texel_type(dtype))
    like = dtype()
    return sample_levels(tex, u, lod, like) if tex.width > 0 else like


@func(overload_of=texture_sample)
def texture_sample(tex: Texture2D, uv: vec2f, dtype: Any, lod: float32 = -1.0) -> Any:
    """The same of a texture in two dimensions: u along its width, v along its height."""
    static(check_texel_type(dtype))
    like = dtype()
    return sample_levels(tex, uv, lod, like) if tex.width > 0 else like


@func(overload_of=texture_sample)
def texture_sample(tex: Texture2D, u: float32, v: float32, dtype: Any, lod: float32 = -1.0) -> Any:
    """The same with the coordinates one by one."""
    return texture_sample(tex, vec2f(u, v), dtype, lod)


@func(overload_of=texture_sample)
def texture_sample(tex: Texture3D, uvw: vec3f, dtype: Any, lod: float32 = -1.0) -> Any:
    """The same of a texture in three dimensions: u along its width, v along its height, w along its depth."""
    static(check_texel_type(dtype))
    like = dtype()
    return sample_levels(tex, uvw, lod, like) if tex.width > 0 else like


@func(overload_of=texture_sample)
def texture_sample(tex: Texture3D, u: float32, v: float32, w: float32, dtype: Any, lod: float32 = -1.0) -> Any:
    """The same with the coordinates one by one."""
    return texture_sample(tex, vec3f(u, v, w), dtype, lod)
