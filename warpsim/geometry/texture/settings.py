"""Settings of textures: data, shapes, types and modes that fit each other, or an error."""

from __future__ import annotations

import operator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np

from ...core.language import array, get_device, int32, uint32
from ...core.runtime.arrays.creation import dtype_from_numpy
from ...core.types.arrays import type_name
from ...core.types.scalars import canonical
from ...errors import ArgumentTypeError, TextureError, counted, shown
from .data import AXES, CHANNELS, DTYPES
from .levels import most_levels
from .modes import AddressModes, TextureAddressMode, TextureFilterMode

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

Shape = tuple[int, int, int, int]
_SHAPES = (
    "(width,) or (width, channels)",
    "(height, width) or (height, width, channels)",
    "(depth, height, width) or (depth, height, width, channels)",
)


def type_of(data: array | np.ndarray) -> Any:
    """The type of the elements of an array or a NumPy array, None where there is no such type."""
    if isinstance(data, array):
        return data.dtype
    try:
        return dtype_from_numpy(data.dtype.newbyteorder("="))
    except TypeError:
        return None


def memory_of(data: array | np.ndarray | None, device: Device | str | None) -> array | None:
    """Data of a texture as a contiguous array on its device, None for none. Raises `TextureError` for other types."""
    if data is None:
        return None
    if not isinstance(data, array | np.ndarray):
        raise TextureError(f"data of a texture is {shown(data)}\nexpected: an array or a NumPy array")
    kind = type_of(data)
    if kind not in DTYPES:
        raise _wrong_type(shown(data.dtype) if kind is None else type_name(kind))
    if isinstance(data, np.ndarray):
        return array(np.ascontiguousarray(data), dtype=kind, device=get_device(device))
    there = data if device is None else data.to(get_device(device))
    return there if there.is_contiguous else there.contiguous()


def _wrong_type(name: str) -> TextureError:
    return TextureError(f"a texture of {name}\nexpected: one of {', '.join(map(type_name, DTYPES))}")


# ----- shapes and types -----------------------------------------------------------------------


def _whole(n: SupportsIndex, name: str) -> int:
    try:
        return operator.index(n)
    except TypeError:
        raise ArgumentTypeError(f"{name} of a texture is {shown(n)}\nexpected: an integer") from None


def checked_shape(memory: array | None, sizes: dict[str, int], channels: int, dtype: type | None) -> tuple[Shape, Any]:
    """(depth, height, width, channels) and the type of numbers, of data or of what is said without."""
    said = {name: _whole(n, name) for name, n in (sizes | {"num_channels": channels}).items()}
    asked = None if dtype is None else canonical(dtype)
    if memory is None:
        shape, kind = _shape(tuple(said[name] for name in reversed(sizes)), said["num_channels"]), asked
    else:
        shape, kind = _shape_in(memory, len(sizes)), memory.dtype
        if asked not in (None, kind):
            raise TextureError(f"dtype {shown(dtype)} of a texture\nexpected: {type_name(kind)}, as its data has")
    for name, size in zip((*AXES, "num_channels"), (*reversed(shape[:3]), shape[3]), strict=True):
        if memory is not None and said.get(name, 0) not in (0, size):
            raise TextureError(f"{name} {said[name]} of a texture\nexpected: {size}, as its data has")
        if name in AXES and size < 1:
            raise TextureError(f"{name} {size} of a texture\nexpected: at least 1")
    if shape[3] not in CHANNELS:
        raise TextureError(f"a texture of {counted(shape[3], 'channel')}\nexpected: 1, 2 or 4")
    if kind not in DTYPES:
        raise _wrong_type(shown(dtype))
    return shape, kind


def _shape(lengths: tuple[int, ...], channels: int) -> Shape:
    """Lengths in the order of data, and channels."""
    depth, height, width = (1,) * (3 - len(lengths)) + lengths
    return depth, height, width, channels


def _shape_in(memory: array, dimensions: int) -> Shape:
    """The shape of a texture of such data."""
    if memory.ndim not in (dimensions, dimensions + 1):
        raise TextureError(
            f"data of shape {memory.shape} of a Texture{dimensions}D\nexpected: {_SHAPES[dimensions - 1]}"
        )
    return _shape(memory.shape[:dimensions], memory.shape[dimensions] if memory.ndim > dimensions else 1)


# ----- modes ----------------------------------------------------------------------------------


class Reading(NamedTuple):
    """How a texture is to be read, as its constructor is told. addresses: the modes of single axes."""

    filter_mode: TextureFilterMode | int | None
    mip_filter_mode: TextureFilterMode | int | None
    address_mode: AddressModes
    addresses: tuple[Any, ...]
    normalized: bool
    levels: int
    cuda_array: int


def checked_modes(kind: type, shape: Shape, dimensions: int, reading: Reading) -> dict[str, Any]:
    """The fields that say how a texture is read."""
    if reading.cuda_array:
        raise TextureError("cuda_array of a texture\nexpected: 0, as textures here are arrays\nhelp: pass data")
    most = most_levels(shape[:3])
    levels = operator.index(reading.levels) or most
    if not 1 <= levels <= most:
        raise TextureError(f"num_mip_levels {levels} of a texture of {shape[:3]}\nexpected: 0 to {most}")
    whole = kind in (int32, uint32)
    usual = TextureFilterMode.CLOSEST if whole else TextureFilterMode.LINEAR
    asked = {"filter_mode": reading.filter_mode, "mip_filter_mode": reading.mip_filter_mode}
    filtering, blending = (
        _mode(TextureFilterMode, usual if mode is None else mode, name) for name, mode in asked.items()
    )
    if whole and (filtering or (blending and levels > 1)):
        raise TextureError("a texture of 32-bit integers is read LINEAR\nexpected: CLOSEST, in and between levels")
    fields = {"filtering": filtering, "blending": blending, "normalized": bool(reading.normalized), "levels": levels}
    return fields | _address_modes(reading.address_mode, reading.addresses[:dimensions])


def _address_modes(common: AddressModes, own: tuple[Any, ...]) -> dict[str, int]:
    """The mode of each axis: its own, or what is said for all, or for it in a tuple; else CLAMP."""
    clamp = TextureAddressMode.CLAMP
    shared = (*common, *[clamp] * 3) if isinstance(common, tuple) else (clamp if common is None else common,) * 3
    pairs = zip("uvw", own, shared, strict=False)
    return {
        f"address_{axis}": _mode(TextureAddressMode, mode if mode is not None else other, f"address_mode_{axis}")
        for axis, mode, other in pairs
    }


def _mode(modes: type[IntEnum], choice: Any, name: str) -> int:
    try:
        return int(modes(choice))
    except ValueError:
        names = ", ".join(f"{modes.__name__}.{mode.name}" for mode in modes)
        raise TextureError(f"{name} {shown(choice)} of a texture\nexpected: one of {names}") from None
