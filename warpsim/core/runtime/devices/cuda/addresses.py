"""Address lookup: the CUDA device that owns an address, by the driver's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from .....errors import DeviceError
from ..device import get_cuda_devices
from ..device_memory import DeviceMemory
from . import driver
from .driver import call

if TYPE_CHECKING:
    from ..device import Device
    from .device import CudaDevice

_HOST = 1  # CU_MEMORYTYPE_HOST: pinned


def is_gpu(device: Device | None) -> TypeGuard[CudaDevice]:
    return device is not None and device.is_cuda


def device_numbered(ordinal: int) -> CudaDevice:
    devices = get_cuda_devices()
    if not devices:
        raise DeviceError(f"memory on cuda:{ordinal}, and CUDA is not available here: {driver.reason()}")
    if ordinal >= len(devices):
        raise DeviceError(f"memory on cuda:{ordinal}\nexpected: one of {', '.join(map(str, devices))}")
    return devices[ordinal]  # type: ignore[return-value]


def place_of(address: int, span: int, device: Device | None = None) -> CudaDevice:
    """The device that memory at an address belongs to: `device` for pinned memory of the host.

    Raises `DeviceError` when the driver does not know the first or the last byte, or puts them on two devices.
    """
    first, last = _device_at(address, device), _device_at(address + max(span, 1) - 1, device)
    if first is None or first is not last:
        where = "is no memory that CUDA knows" if first is None else f"on {first} ends before its {span:,} bytes"
        raise DeviceError(f"address {address:#x} {where}\nexpected: {span:,} bytes of memory of a CUDA device")
    return first


def _device_at(address: int, device: Device | None) -> CudaDevice | None:
    asked = device if is_gpu(device) else device_numbered(0)
    asked.enter()
    names = driver.api().CUpointer_attribute
    try:
        kind = int(call("cuPointerGetAttribute", names.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address))
        ordinal = int(call("cuPointerGetAttribute", names.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address))
    except DeviceError:
        return None
    return asked if kind == _HOST else device_numbered(ordinal)


def kind_of(memory: np.ndarray) -> str:
    """What kind of memory an address leads to, by the names of `MemoryKind`."""
    home = memory.device if isinstance(memory, DeviceMemory) else None
    gpu = home if is_gpu(home) else device_numbered(0)
    gpu.enter()
    names, address = driver.api().CUpointer_attribute, memory.ctypes.data
    status, kind = driver.api().cuPointerGetAttribute(names.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)
    if status:
        return "UNKNOWN" if isinstance(memory, DeviceMemory) else "HOST"  # pageable memory is nothing that CUDA knows
    if call("cuPointerGetAttribute", names.CU_POINTER_ATTRIBUTE_IS_MANAGED, address):
        return "CUDA_MANAGED"
    if int(kind) == _HOST:
        return "PINNED"
    pool = call("cuPointerGetAttribute", names.CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address)
    return "CUDA_MEMPOOL" if int(pool) else "CUDA_DEVICE"
