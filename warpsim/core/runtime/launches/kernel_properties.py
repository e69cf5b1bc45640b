"""Machine-code properties of kernels: registers, suggested block sizes, and cache keys for the CPU."""

from __future__ import annotations

import hashlib
import platform
from typing import Any

from ....errors import ArgumentTypeError, DeviceError
from ...emit.disk.fingerprint import fingerprint
from ...emit.native.native import host_signature
from ..devices.device import Device, DeviceLike, get_device
from .kernel import Kernel


def get_suggested_block_size(kernel: Kernel, device: DeviceLike = None) -> tuple[int, int]:
    """Threads of a block, as `block_dim=` of launches takes them, that let the most threads of a kernel run at a time.

    Gives with it the least blocks that fill the GPU; (1, 1) on devices that have no blocks. A launch of fewer threads
    may be faster in smaller blocks. Raises `ArgumentTypeError` for what is no kernel, and for a generic one of which
    `wp.overload` named no types, or several.
    """
    place = get_device(device)
    _check(kernel)
    return (1, 1) if place.block_threads == 1 else _function(kernel, place).suggested_block()


def get_cuda_kernel_properties(
    kernel: Kernel, device: DeviceLike = None, block_dim: int | None = None
) -> dict[str, int]:
    """Registers and bytes of local memory that each thread of a kernel takes on a GPU.

    As `{"register_count": n, "local_memory_size": bytes}`. block_dim: accepted, machine code does not depend on it.
    Raises `DeviceError` for other devices, and what `get_suggested_block_size` raises.
    """
    place = get_device(device)
    _check(kernel)
    if place.block_threads == 1:
        raise DeviceError(f"properties of kernel {kernel.key!r} on {place}\nexpected: a CUDA device")
    properties: dict[str, int] = _function(kernel, place).properties()
    return properties


def get_cpu_kernel_cache_key() -> str:
    """A name for the machine code of this CPU and this version: what it names in one cache serves in another.

    For caches of kernels that are carried from machine to machine, such as those of continuous integration: kernels
    in a folder with this name are found again where the name is the same. The text has no meaning.
    """
    target = hashlib.sha256("\n".join((fingerprint(), host_signature())).encode()).hexdigest()[:16]
    return f"{platform.system()}-{platform.machine()}-{target}"


def _check(kernel: object) -> None:
    if not isinstance(kernel, Kernel):
        raise ArgumentTypeError(f"kernel is {type(kernel).__name__}\nexpected: a function decorated with @wp.kernel")


def _function(kernel: Kernel, device: Device) -> Any:
    """The kernel on a CUDA device, for contiguous arrays."""
    kernel = kernel.current
    if len(kernel.known_types()) != 1:
        count = len(kernel.known_types())
        raise ArgumentTypeError(f"kernel {kernel.key!r} has {count} sets of types\nexpected: one, see wp.overload")
    return kernel.prepare(device)
