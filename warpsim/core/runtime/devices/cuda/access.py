"""Which device may use whose memory, and what memory pools keep: switches of a device or a pair of devices.

Arrays of a CUDA device lie in its memory pool, where the device has one. What is switched on for a pair of devices
covers memory of both kinds, so access to a peer and access to its pool are one thing here. A kernel that reads
memory of another device is ordered by nobody: use `wait_stream`, or `synchronize`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .....arguments import checked
from .....config import config
from .....errors import DeviceError
from ..device import get_device
from . import driver
from .device import CudaDevice

if TYPE_CHECKING:
    from ..device import DeviceLike


# ----- peers ------------------------------------------------------------------------------------


def is_peer_access_supported(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether kernels on `peer_device` could use memory of `target_device`."""
    target, peer = get_device(target_device), get_device(peer_device)
    if not isinstance(target, CudaDevice) or not isinstance(peer, CudaDevice):
        return False
    return target is peer or bool(driver.call("cuDeviceCanAccessPeer", peer.handle, target.handle))


def is_peer_access_enabled(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether kernels on `peer_device` may use memory of `target_device`."""
    target, peer = get_device(target_device), get_device(peer_device)
    return isinstance(target, CudaDevice) and peer.is_cuda and (target is peer or peer in target.readers)


def set_peer_access_enabled(target_device: DeviceLike, peer_device: DeviceLike, enable: bool) -> None:
    """Let kernels on `peer_device` use arrays of `target_device`, or no longer.

    Raises `DeviceError` for devices that cannot reach each other.
    """
    if is_peer_access_enabled(target_device, peer_device) == bool(enable):
        return
    target, peer = _gpu(target_device), _gpu(peer_device)
    if target is peer or not is_peer_access_supported(target, peer):
        never = "always has access to its own memory" if target is peer else f"cannot reach memory of {target}"
        raise DeviceError(f"{peer} {never}\nhelp: ask wp.is_peer_access_supported(target, peer) first")
    target.enter()
    if enable:
        _unless_done(peer, "cuCtxEnablePeerAccess", target.context, 0)
    else:
        peer.synchronize()  # what it is doing with the memory comes to its end
        _unless_done(peer, "cuCtxDisablePeerAccess", target.context)
    if target.is_mempool_supported:
        driver.call("cuMemPoolSetAccess", target.pool, [_access(peer, enable)], 1)
    if enable:
        target.readers.append(peer)
    else:
        target.readers.remove(peer)
        config.touch()  # launches look at their arguments again


def _unless_done(peer: CudaDevice, name: str, *args: object) -> None:
    """Call the driver about access; what another framework in the process did already is done."""
    peer.enter()
    statuses = driver.api().CUresult
    done = (statuses.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, statuses.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)
    [status] = getattr(driver.api(), name)(*args)
    if status and status not in done:
        raise driver.failure(name, status)


def _access(peer: CudaDevice, enable: bool) -> Any:
    api = driver.api()
    request = api.CUmemAccessDesc()
    request.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    request.location.id = peer.ordinal
    flags = api.CUmemAccess_flags
    request.flags = flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE if enable else flags.CU_MEM_ACCESS_FLAGS_PROT_NONE
    return request


is_mempool_access_supported = is_peer_access_supported
is_mempool_access_enabled = is_peer_access_enabled
set_mempool_access_enabled = set_peer_access_enabled

# ----- pools ------------------------------------------------------------------------------------


def is_mempool_supported(device: DeviceLike = None) -> bool:
    """Whether a device has a memory pool, from which allocation costs little."""
    device = get_device(device)
    return isinstance(device, CudaDevice) and device.is_mempool_supported


def is_mempool_enabled(device: DeviceLike = None) -> bool:
    """Whether new arrays of a device lie in its memory pool."""
    device = get_device(device)
    return isinstance(device, CudaDevice) and device.is_mempool_enabled


def set_mempool_enabled(device: DeviceLike, enable: bool) -> None:
    """Let new arrays of a device lie in its memory pool, or not. Raises `DeviceError` where there is none."""
    device = _gpu(device)
    if enable:
        _require_pool(device)
    device.is_mempool_enabled = bool(enable)


def get_mempool_release_threshold(device: DeviceLike = None) -> int:
    """How much freed memory the pool of a device keeps at most when the host waits for it [bytes]."""
    return _pool_attribute(device, "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD")


@checked
def set_mempool_release_threshold(device: DeviceLike, threshold: float) -> None:
    """Let the pool of a device keep this much freed memory: a share of all its memory up to 1, or bytes."""
    if threshold < 0:
        raise DeviceError(f"threshold {threshold}\nexpected: a share of the memory from 0 to 1, or a number of bytes")
    _require_pool(_gpu(device)).set_mempool_release_threshold(threshold)


def get_mempool_used_mem_current(device: DeviceLike = None) -> int:
    """How much memory of the pool of a device is in use, by whatever part of this process [bytes]."""
    return _pool_attribute(device, "CU_MEMPOOL_ATTR_USED_MEM_CURRENT")


def get_mempool_used_mem_high(device: DeviceLike = None) -> int:
    """The most memory of the pool of a device that was in use so far [bytes]."""
    return _pool_attribute(device, "CU_MEMPOOL_ATTR_USED_MEM_HIGH")


def _pool_attribute(device: DeviceLike, attribute: str) -> int:
    device = _require_pool(_gpu(device))
    return int(driver.call("cuMemPoolGetAttribute", device.pool, getattr(driver.api().CUmemPool_attribute, attribute)))


def _gpu(device: DeviceLike) -> CudaDevice:
    device = get_device(device)
    if not isinstance(device, CudaDevice):
        raise DeviceError(f"device {device} is no GPU\nexpected: a CUDA device")
    return device


def _require_pool(device: CudaDevice) -> CudaDevice:
    if not device.is_mempool_supported:
        raise DeviceError(f"{device} ({device.name}) has no memory pool\nhelp: ask wp.is_mempool_supported() first")
    device.enter()
    return device


# ----- for a block ------------------------------------------------------------------------------


class _Scoped:
    """Sets a switch for a block and puts it back as it was."""

    def __init__(self, get: Callable[..., bool], put: Callable[..., None], places: tuple[Any, ...], enable: bool):
        self.get, self.put, self.enable = get, put, enable
        self.places = tuple(get_device(place) for place in places)

    def __enter__(self) -> None:
        self.before = self.get(*self.places)
        if self.before != self.enable:
            self.put(*self.places, self.enable)

    def __exit__(self, *error: object) -> None:
        if self.before != self.enable:
            self.put(*self.places, self.before)


class ScopedMempool(_Scoped):
    """`with ScopedMempool(device, False):` makes arrays outside of the device's memory pool."""

    def __init__(self, device: DeviceLike, enable: bool):
        super().__init__(is_mempool_enabled, set_mempool_enabled, (device,), bool(enable))


class ScopedPeerAccess(_Scoped):
    """`with ScopedPeerAccess(target, peer, True):` lets kernels on the device peer use arrays of the device target."""

    def __init__(self, target_device: DeviceLike, peer_device: DeviceLike, enable: bool):
        places = (target_device, peer_device)
        super().__init__(is_peer_access_enabled, set_peer_access_enabled, places, bool(enable))


ScopedMempoolAccess = ScopedPeerAccess


def get_cuda_driver_version() -> tuple[int, int] | None:
    """The version of CUDA that the driver is for, as (major, minor); None without a driver."""
    version = driver.find_driver().version
    return (version // 1000, version % 1000 // 10) if version else None
