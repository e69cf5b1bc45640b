"""JAX: arrays over its buffers and its arrays over ours, without copies where memory allows it.

JAX's buffers never change: kernels may read them in place, and may not write to them. What JAX is given in place must
not be written to while it may still be read.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ...core.language import array, get_device
from ...core.runtime.arrays.creation import from_dlpack
from ...core.runtime.arrays.host_memory import checked_dtype
from ...core.runtime.devices.device import CPU, Device, DeviceLike
from ...core.types import compounds, scalars, structs
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError, ArrayError, DeviceError, MissingPackageError, counted

_OLDEST = (0, 7)
if tuple(int(part) for part in jax.__version__.split(".")[:2]) < _OLDEST:
    raise MissingPackageError(
        f"JAX {jax.__version__} is installed\nexpected: {'.'.join(map(str, _OLDEST))} or newer\n"
        "help: pip install --upgrade jax"
    )


def from_jax(jax_array: jax.Array, dtype: Any = None) -> array:
    """An array over the buffer of a JAX array, without a copy, once its contents are computed.

    dtype: the element type, by default the JAX array's; vectors and matrices take trailing extents: (n, 3) are n
    elements of `vec3`. On the CPU the array is read-only, and launches of kernels that write to it are refused.

    Raises `ArrayError` for shapes and dtypes that do not fit, for traced arrays, and for arrays on several devices.
    """
    if isinstance(jax_array, jax.core.Tracer):
        raise ArrayError(
            "a traced JAX array has no memory yet\nexpected: an array outside of jit, grad and vmap\n"
            "help: make the kernel a function of JAX: jax_kernel(kernel)"
        )
    if not isinstance(jax_array, jax.Array):
        raise ArgumentTypeError(f"jax_array is {type(jax_array).__name__}\nexpected: jax.Array")
    if len(jax_array.devices()) != 1:
        raise ArrayError(
            f"a JAX array on {counted(len(jax_array.devices()), 'device')}\n"
            "expected: one device, a shard of it"
        )
    if not device_from_jax(next(iter(jax_array.devices()))).shares_host_memory:
        return from_dlpack(jax_array, dtype)
    memory = np.asarray(jax_array)
    element = checked_dtype(memory.dtype) if dtype is None else checked_dtype(dtype)
    layout = structs.numpy_dtype(element)
    inner = layout.shape
    if not memory.ndim:
        raise ArrayError(f"a JAX array of {memory.dtype} without extents\nexpected: rank 1 to 4\nhelp: x.reshape(1)")
    if memory.dtype != layout.base or memory.ndim <= len(inner) or memory.shape[memory.ndim - len(inner) :] != inner:
        raise ArrayError(
            f"a JAX array of {memory.dtype} of shape {memory.shape} as {type_name(element)}\n"
            f"expected: {layout.base}, with trailing extents {inner}"
        )
    return array._wrap(memory, element, CPU)


def to_jax(warp_array: array) -> jax.Array:
    """A JAX array over the memory of an array; extents of elements become trailing extents.

    It is a copy where JAX cannot have the memory itself: not contiguous, not aligned to 64 bytes, as views may be, or
    read-only.
    Raises `ArrayError` for arrays of structs, and for 64-bit numbers where JAX has not been told to have such.
    """
    if not isinstance(warp_array, array):
        raise ArgumentTypeError(f"warp_array is {type(warp_array).__name__}\nexpected: a warpsim array")
    if warp_array._data.dtype.names is not None:
        raise ArrayError(f"an array of structs {type_name(warp_array.dtype)}\nexpected: numbers, vectors, matrices")
    check_width(warp_array._data.dtype, f"an array of {type_name(warp_array.dtype)}")
    if not warp_array._tag.writable:
        return jax.numpy.array(warp_array._data)
    warp_array._memory.lend(warp_array._address)
    return jax.dlpack.from_dlpack(warp_array.contiguous())


def check_width(dtype: np.dtype, what: str) -> None:
    """Raise `ArrayError` for 64-bit numbers that JAX would cut."""
    if dtype.itemsize == 8 and not jax.config.jax_enable_x64:
        cure = "help: jax.config.update('jax_enable_x64', True)"
        raise ArrayError(f"{what} has 64-bit numbers, and JAX has none\n{cure}")


def device_from_jax(jax_device: jax.Device) -> Device:
    """The device of JAX's. Raises `DeviceError` (a `RuntimeError`) for what is neither a CPU nor a CUDA device."""
    platform = getattr(jax_device, "platform", None)
    if platform == "cpu":
        return get_device("cpu")
    if platform in ("gpu", "cuda"):
        return get_device(f"cuda:{jax_device.local_hardware_id}")
    raise DeviceError(f"no device here is JAX's {jax_device!r}\nexpected: a CPU or a CUDA device of JAX")


def device_to_jax(warp_device: DeviceLike) -> jax.Device:
    """The device in JAX. Raises `DeviceError` (a `RuntimeError`) where JAX has none."""
    ours = get_device(warp_device)
    if ours.shares_host_memory:
        return jax.local_devices(backend="cpu")[0]
    try:
        devices = jax.local_devices(backend="cuda")
    except RuntimeError as error:
        raise DeviceError(f"JAX has no {ours}: {error}") from error
    for device in devices:
        if device.local_hardware_id == ours.ordinal:
            return device
    raise DeviceError(f"JAX has no {ours}\nfound: {devices}")


def get_jax_device() -> jax.Device:
    """The default device of JAX."""
    device = jax.config.jax_default_device
    return device if isinstance(device, jax.Device) else jax.local_devices()[0]


def dtype_from_jax(jax_dtype: Any) -> Any:
    """The scalar type of a JAX dtype. Raises `ArgumentTypeError` (a `TypeError`) where there is none."""
    dtype = scalars.scalar_in(np.dtype(jax_dtype))
    if not scalars.is_scalar(dtype):
        raise ArgumentTypeError(f"{jax_dtype} has no scalar type here\nexpected: bool, integers, floats")
    return dtype


def dtype_to_jax(warp_dtype: type) -> Any:
    """The JAX dtype of a type's numbers. Raises `ArgumentTypeError` (a `TypeError`) where there is none."""
    element = scalars.canonical(warp_dtype)
    dtype = compounds.scalar_of(element) if compounds.is_compound(element) else element
    if not scalars.is_scalar(dtype):
        raise ArgumentTypeError(f"{warp_dtype!r} has no JAX dtype\nexpected: a type of numbers")
    return jax.numpy.dtype(dtype)
