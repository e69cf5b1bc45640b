"""`runtime.core`: functions of Warp's native library that engines call, on values and arrays in memory of the host."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.runtime.devices.device import is_cuda_available

_BUILTIN = "wp_builtin_"


class NativeLibrary:
    """Functions under the names of Warp's native library.

    A name begins with wp_builtin, then come that of the public function and types; the arguments are values of the host
    and a `ctypes.byref` for the result. Raises
    `AttributeError` for names that are not here.
    """

    def __getattr__(self, name: str) -> Callable[..., None]:
        public, words = sys.modules[__name__.partition(".")[0]], name.removeprefix(_BUILTIN).split("_")
        for count in range(len(words), 0, -1) if name.startswith(_BUILTIN) else ():
            if function := getattr(public, "_".join(words[:count]), None):
                return of_values(function)
        raise AttributeError(f"the native library has no function {name!r}")

    def wp_array_inner_float_host(
        self, a: int, b: int, out: int, count: int, stride_a: int, stride_b: int, components: int
    ) -> None:
        """Write the inner product of two arrays at addresses to a third; strides are bytes between elements."""
        one, other = strided(a, count, stride_a, components), strided(b, count, stride_b, components)
        ctypes.c_float.from_address(out).value = float(np.einsum("ij,ij->", one, other, dtype=np.float64))

    def wp_is_debug_enabled(self) -> int:
        """0: the library checks nothing by itself."""
        return 0

    def wp_is_mathdx_enabled(self) -> int:
        """0: products of tiles come from no library of NVIDIA."""
        return 0


def of_values(function: Callable[..., Any]) -> Callable[..., None]:
    """A function on values that writes what it gives to the `ctypes.byref` at the end of its arguments."""

    def call(*arguments: Any) -> None:
        *values, result = arguments
        result._obj[:] = function(*values)

    return call


def strided(address: int, count: int, stride: int, components: int) -> np.ndarray:
    """Elements of floats at an address, a row each."""
    if not count:
        return np.empty((0, components), np.float32)
    memory = (ctypes.c_byte * ((count - 1) * stride + 4 * components)).from_address(address)
    return np.ndarray((count, components), np.float32, memory, strides=(stride, 4))


runtime = SimpleNamespace(
    core=NativeLibrary(), is_cuda_enabled=is_cuda_available(), toolkit_version=None, driver_version=None
)
"""What Warp keeps of its library and of CUDA."""
