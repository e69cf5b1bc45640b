"""`Texture1D`, `Texture2D`, `Texture3D`: numbers on a regular grid, that `texture_sample` reads between its points.

To kernels a texture is a struct, so it is an argument, a field of a struct, or an element of an array. Its data is
copied when it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, empty, float16, float32, get_device, zeros
from ...core.types.arrays import type_name
from ...core.types.structs import Layout, Struct, set_field
from ...errors import TextureError, shown
from .data import AXES, DTYPES, fields
from .levels import count_of, fill, read
from .modes import AddressModes, TextureAddressMode, TextureFilterMode
from .settings import Reading, checked_modes, checked_shape, memory_of, type_of

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

CLAMP = TextureAddressMode.CLAMP


class Texture(Struct):
    """What textures of all dimensions have in common. texels: the numbers of all levels, the finest first."""

    texels: array
    width: int
    none_is_empty = True
    """Where a texture is expected, None stands for the empty one: it has no texels and is zero everywhere."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is set\nhelp: make another texture, or use copy_from")

    def _begin(
        self,
        data: array | np.ndarray | None,
        sizes: dict[str, int],
        channels: int,
        dtype: type | None,
        device: Device | str | None,
        reading: Reading,
    ) -> None:
        """Set the fields, fill the texels."""
        Struct.__init__(self)
        if data is None and dtype is None and not channels and not any(sizes.values()):
            return
        memory = memory_of(data, device)
        shape, kind = checked_shape(memory, sizes, channels, dtype)
        values = checked_modes(kind, shape, len(sizes), reading)
        values |= {axis: size for axis, size in zip(AXES, reversed(shape[:3]), strict=True) if axis in sizes}
        values |= {"kind": DTYPES.index(kind), "channels": shape[3]}
        device = get_device(device) if memory is None else memory.device
        values["texels"] = zeros(count_of(shape, values["levels"]), dtype=float32, device=device)
        for name, value in values.items():
            set_field(self, name, value)
        if memory is not None:
            self.texels.requires_grad = memory.requires_grad
            fill(self.texels, memory.reshape(shape), values["levels"])

    # ----- contents -------------------------------------------------------------------------------

    def copy_from(self, src: Texture | array | np.ndarray) -> None:
        """Replace the contents; tapes record it where `src` is an array.

        src: an array, a NumPy array or a texture with the shape and the dtype of this one. Levels are made anew.
        Raises `TextureError` for another one.
        """
        if isinstance(src, Texture):
            src = src._contents(self)
        memory = memory_of(src, self.device)
        if memory is None:
            raise TextureError(f"copy_from {shown(src)}\nexpected: an array, a NumPy array or a texture")
        self._check_partner(memory)
        fill(self.texels, memory.reshape(self._shape), self.num_mip_levels)

    def copy_to(self, dst: Texture | array | np.ndarray) -> None:
        """Write the contents of level 0 to an array, a NumPy array or a texture with this shape and dtype.

        Integers of 32 bits come back as the float32 numbers next to them, and the lowest of signed integers of 8 and 16
        bits as the one after it: that is what a texture makes of them. Raises `TextureError` for another `dst`.
        """
        if isinstance(dst, Texture):
            dst.copy_from(self)
            return
        if not isinstance(dst, array | np.ndarray):
            raise TextureError(f"copy_to {shown(dst)}\nexpected: an array, a NumPy array or a texture")
        self._check_partner(dst)
        contents = self._contents(self)
        if isinstance(dst, array):
            dst.assign(contents.reshape(dst.shape))
        else:
            dst[...] = contents.numpy().reshape(dst.shape)

    def _contents(self, wanting: Texture) -> array:
        """Level 0 as an array of the data's type, in the shape that another texture takes."""
        self._check_filled()
        contents = empty(self._shape, dtype=self.dtype, device=self.texels.device)
        contents.requires_grad = self.texels.requires_grad and self.dtype in (float32, float16)
        read(self.texels, contents)
        return contents.reshape(self.shape if self.ndim == wanting.ndim else self._shape)

    def _check_filled(self) -> None:
        if not self.width:
            raise TextureError("an empty texture has no contents\nexpected: one that was made of data")

    def _check_partner(self, other: array | np.ndarray) -> None:
        self._check_filled()
        dtype = type_of(other)
        shapes = {self.shape, (*self.shape[: self.ndim], self.num_channels)}
        if dtype is not self.dtype or tuple(other.shape) not in shapes:
            raise TextureError(
                f"a copy between a texture of shape {self.shape} of {type_name(self.dtype)}, and an array of shape "
                f"{tuple(other.shape)} of {shown(other.dtype) if dtype is None else type_name(dtype)}\nexpected: the "
                "same of both"
            )

    # ----- what it is -----------------------------------------------------------------------------

    @property
    def _shape(self) -> tuple[int, int, int, int]:
        sizes = [int(getattr(self, axis)) for axis in AXES[: self.ndim]]
        width, height, depth = sizes + [1] * (3 - len(sizes))
        return depth, height, width, int(self.channels)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the data: (width,), (height, width) or (depth, height, width), then channels if several."""
        whole = self._shape
        return whole[3 - self.ndim : 3] + (whole[3:] if whole[3] > 1 else ())

    @property
    def ndim(self) -> int:
        """1, 2 or 3."""
        return sum(axis in type(self).fields for axis in AXES)

    @property
    def num_channels(self) -> int:
        """How many numbers a texel has."""
        return int(self.channels)

    @property
    def dtype(self) -> Any:
        """The type of the data."""
        return DTYPES[int(self.kind)]

    @property
    def device(self) -> Any:
        """Where kernels use it; None for an empty one."""
        return self.texels.device if self.texels is not None else None

    @property
    def id(self) -> int:
        """A number that no other texture alive has; 0 for an empty one."""
        return self.texels.ptr if self.texels is not None else 0

    @property
    def filter_mode(self) -> TextureFilterMode:
        """What stands between texels."""
        return TextureFilterMode(int(self.filtering))

    @property
    def mip_filter_mode(self) -> TextureFilterMode:
        """What stands between levels."""
        return TextureFilterMode(int(self.blending))

    @property
    def num_mip_levels(self) -> int:
        """How many levels there are."""
        return int(self.levels)

    @property
    def is_mipmapped(self) -> bool:
        """Whether there are several levels."""
        return self.num_mip_levels > 1

    @property
    def normalized_coords(self) -> bool:
        """Whether coordinates go from 0 to 1 along the texture."""
        return bool(self.normalized)

    @property
    def address_mode_u(self) -> TextureAddressMode:
        """What lies beyond the texture along its width."""
        return self._address("u")

    @property
    def address_mode_v(self) -> TextureAddressMode:
        """What lies beyond the texture along its height; CLAMP where it has none."""
        return self._address("v")

    @property
    def address_mode_w(self) -> TextureAddressMode:
        """What lies beyond the texture along its depth; CLAMP where it has none."""
        return self._address("w")

    def _address(self, axis: str) -> TextureAddressMode:
        return TextureAddressMode(int(getattr(self, f"address_{axis}", TextureAddressMode.CLAMP)))

    def __repr__(self) -> str:
        if not self.width:
            return f"{type(self).__name__}()"
        return f"{type(self).__name__}({self.shape}, {type_name(self.dtype)}, {self.filter_mode.name})"


def _struct(dimensions: int) -> Layout:
    return Layout(fields(dimensions), {})


class Texture1D(Texture):
    """Numbers along a line.

    data: (width,) or (width, num_channels), of 1, 2 or 4 channels; an array or a NumPy array of float16 or float32, or
    of integers of 8 bits to 32 bits. Integers of 8 and 16 bits are normalized: unsigned ones to [0, 1], others to
    [-1, 1]. Left out, the texture has `width` texels of zeros of type `dtype`. Given nothing at all, it is empty.
    filter_mode: LINEAR, and CLOSEST for integers of 32 bits, which can have no other.
    address_mode: one for all axes, or a tuple of one for each; `address_mode_u` and its kin count for their axis.
    normalized_coords: whether coordinates go from 0 to 1 along the texture, or count texels.
    num_mip_levels: how many levels, each of half as many texels as the one before; 0 for as many as there can be.
    mip_filter_mode: the same between levels.
    device: by default where data is. surface_access and cuda_array are taken for scripts written for Warp: there are
    no surfaces of CUDA here, so the one has no effect and the other must be 0.

    Raises `TextureError` for other shapes, types and modes.
    """

    __struct__ = _struct(1)
    height = depth = property(lambda self: 1, doc="1: it has a width only.")

    def __init__(
        self,
        data: array | np.ndarray | None = None,
        width: int = 0,
        num_channels: int = 0,
        dtype: type | None = None,
        filter_mode: TextureFilterMode | None = None,
        address_mode: AddressModes = CLAMP,
        address_mode_u: TextureAddressMode | None = None,
        normalized_coords: bool = True,
        num_mip_levels: int = 1,
        mip_filter_mode: TextureFilterMode | None = None,
        device: Device | str | None = None,
        surface_access: bool = False,
        cuda_array: int = 0,
    ):
        addresses = (address_mode_u,)
        reading = Reading(
            filter_mode, mip_filter_mode, address_mode, addresses, normalized_coords, num_mip_levels, cuda_array
        )
        self._begin(data, {"width": width}, num_channels, dtype, device, reading)


class Texture2D(Texture):
    """Numbers on a grid in the plane, of data (height, width) or (height, width, num_channels).

    All else is as for `Texture1D`.
    """

    __struct__ = _struct(2)
    height: int
    depth = property(lambda self: 1, doc="1: it has a width and a height.")

    def __init__(
        self, data: array | np.ndarray | None = None, width: int = 0, height: int = 0, num_channels: int = 0,
        dtype: type | None = None, filter_mode: TextureFilterMode | None = None,
        address_mode: AddressModes = CLAMP,
        address_mode_u: TextureAddressMode | None = None, address_mode_v: TextureAddressMode | None = None,
        normalized_coords: bool = True, num_mip_levels: int = 1, mip_filter_mode: TextureFilterMode | None = None,
        device: Device | str | None = None, surface_access: bool = False, cuda_array: int = 0,
    ):  # fmt: skip
        addresses = (address_mode_u, address_mode_v)
        reading = Reading(
            filter_mode, mip_filter_mode, address_mode, addresses, normalized_coords, num_mip_levels, cuda_array
        )
        self._begin(data, {"width": width, "height": height}, num_channels, dtype, device, reading)


class Texture3D(Texture):
    """Numbers on a grid in space, of data (depth, height, width) or (depth, height, width, num_channels).

    All else is as for `Texture1D`.
    """

    __struct__ = _struct(3)
    height: int
    depth: int

    def __init__(
        self, data: array | np.ndarray | None = None, width: int = 0, height: int = 0, depth: int = 0,
        num_channels: int = 0, dtype: type | None = None, filter_mode: TextureFilterMode | None = None,
        address_mode: AddressModes = CLAMP,
        address_mode_u: TextureAddressMode | None = None, address_mode_v: TextureAddressMode | None = None,
        address_mode_w: TextureAddressMode | None = None, normalized_coords: bool = True, num_mip_levels: int = 1,
        mip_filter_mode: TextureFilterMode | None = None, device: Device | str | None = None,
        surface_access: bool = False, cuda_array: int = 0,
    ):  # fmt: skip
        addresses = (address_mode_u, address_mode_v, address_mode_w)
        reading = Reading(
            filter_mode, mip_filter_mode, address_mode, addresses, normalized_coords, num_mip_levels, cuda_array
        )
        self._begin(data, {"width": width, "height": height, "depth": depth}, num_channels, dtype, device, reading)
