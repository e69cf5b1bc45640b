"""Zero-copy sharing of CUDA memory with other frameworks.

Others read `__cuda_array_interface__` (version 3) or `__dlpack__` of an array; `memory_of` reads theirs. Both say
which stream the contents are made on. Who takes memory lets its own stream wait for that one, so nobody waits on
the host, and work on memory follows the work before it. What happens to memory later is not announced: keep an
array until the work that uses it is done, or work on one stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import ArgumentTypeError, ArrayError, DeviceError
from ..memory_range import span_of
from . import dlpack, driver
from .addresses import device_numbered, is_gpu, place_of
from .buffers import Buffer
from .device import CudaDevice, wait_for
from .dlpack import Lent
from .memory import CudaMemory, view_buffer

if TYPE_CHECKING:
    from ..device import Device


LEGACY = 1  # the stream that protocols name by a number; other numbers are addresses, or 2, each thread's own
HOST, CUDA = dlpack.CPU, dlpack.CUDA
KNOWN = (HOST, CUDA, dlpack.CUDA_HOST, dlpack.CUDA_MANAGED)
"""Kinds of devices, by DLPack's numbers, whose memory arrays can be over."""


# ----- giving -----------------------------------------------------------------------------------


def interface(memory: CudaMemory) -> dict[str, Any]:
    """The value of `__cuda_array_interface__`: extents of elements are trailing axes."""
    return {
        "shape": memory.shape,
        "typestr": memory.dtype.str,
        "data": (memory.address if memory.size else 0, not memory.flags.writeable),
        "strides": None if memory.flags.c_contiguous else memory.strides,
        "stream": int(memory.device.stream_handle) or LEGACY,
        "version": 3,
    }


def export(
    memory: CudaMemory,
    stream: int | None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """The value of `__dlpack__`, whose arguments are those of the Python array API.

    stream: where the consumer will work; None is the legacy default stream, -1 asks for no order. dl_device: the
    device of the memory, or (1, 0) for a copy on the host. Raises `BufferError` for what cannot be had.
    """
    place = (CUDA, memory.device.ordinal)
    target = place if dl_device is None else tuple(int(n) for n in dl_device)
    versioned = max_version is not None and max_version[0] >= 1
    if target[0] == dlpack.CPU and copy is not False:
        return dlpack.capsule(memory.host(), (dlpack.CPU, 0), versioned, copied=True)
    if target != place:
        cure = "allow a copy: copy=None" if target[0] == dlpack.CPU else "move it first: a.to(device)"
        raise BufferError(f"memory on {memory.device}, DLPack device {place}, for device {target}\nhelp: {cure}")
    if copy:
        memory = memory.copy()
    capsule = dlpack.capsule(memory, place, versioned, copied=bool(copy))
    if stream != -1:
        _let_wait(memory, LEGACY if stream is None else int(stream))
    return capsule


def on_host(memory: np.ndarray, max_version: tuple[int, int] | None, copy: bool | None) -> Any:
    """The same for memory of the host."""
    versioned = max_version is not None and max_version[0] >= 1
    return dlpack.capsule(memory.copy() if copy else memory, (HOST, 0), versioned, copied=bool(copy))


def _let_wait(memory: CudaMemory, stream: int) -> None:
    """Let the work of a consumer follow the work of the current stream."""
    if not stream:
        raise BufferError("stream 0 of __dlpack__ has no meaning on CUDA\nexpected: 1, 2, an address, None or -1")
    device = memory.device
    held = _buffer(memory)
    if held is not None and stream not in (LEGACY, int(device.stream_handle)):
        held.lent = True  # it is freed in the order of streams that we know of
    _order(stream, int(device.stream_handle), device)


def _buffer(memory: np.ndarray) -> Buffer | None:
    """What frees the memory, if it is our own."""
    base: Any = memory
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, Buffer) else None


def _order(later: int, earlier: int, device: CudaDevice) -> None:
    """Let later work of one stream wait for the present work of another."""
    if later != earlier:
        device.enter()
        wait_for(driver.api().CUstream(later), driver.api().CUstream(earlier))


# ----- taking -----------------------------------------------------------------------------------


def memory_of(value: object, device: Device | None = None) -> CudaMemory | None:
    """The memory of another framework's array on a CUDA device; None for what is on the host.

    device: who asks; pinned memory of the host is memory of every CUDA device. Work that the current stream of
    the device gets later follows the producer's. The memory keeps the array alive, in its framework's sense.
    Raises `ArrayError` for what cannot be shared, `DeviceError` for a device that this process does not see.
    """
    if isinstance(value, np.ndarray):
        return value if isinstance(value, CudaMemory) else None
    if isinstance(value, type):
        return None  # it has the protocols of its instances
    described = _interface_of(value, device)
    if described is not None and (described.get("stream") is not None or not hasattr(value, "__dlpack__")):
        return _by_interface(value, described, device)
    kind = device_kind(value)
    if kind[0] == dlpack.CUDA_HOST and is_gpu(device):
        home = device
    elif kind[0] in (CUDA, dlpack.CUDA_MANAGED):
        home = device_numbered(kind[1])
    else:
        return None
    return _as_memory(dlpack.take(_capsule(value, kind[0], home)), home, value)


def _interface_of(value: object, device: Device | None = None) -> dict[str, Any] | None:
    """What a value says of memory on a CUDA device. With an interface for the host as well, only such a device asks."""
    try:
        on_host = isinstance(value, np.ndarray) or (not is_gpu(device) and hasattr(value, "__array_interface__"))
        return None if on_host else getattr(value, "__cuda_array_interface__", None)
    except Exception as error:  # what a framework says of arrays that it does not share
        raise ArrayError(f"{type(value).__name__} does not share its memory: {error}") from error


def memory_of_capsule(capsule: object) -> np.ndarray:
    """The memory of a bare DLPack capsule. Its producer has said nothing of streams: it must be done.

    Raises `ArgumentTypeError` for what is no capsule.
    """
    if type(capsule).__name__ != "PyCapsule":
        raise ArgumentTypeError(f"__dlpack__ gave {type(capsule).__name__}\nexpected: a DLPack capsule")
    tensor = dlpack.take(capsule)
    if tensor.place[0] in (CUDA, dlpack.CUDA_MANAGED):
        return _as_memory(tensor, device_numbered(tensor.place[1]), capsule)
    if tensor.place[0] not in (dlpack.CPU, dlpack.CUDA_HOST):
        raise DeviceError(f"memory on DLPack device {tensor.place}\nexpected: a CPU or a CUDA device")
    return _on_host(tensor)


def is_device_array(value: object) -> bool:
    """Whether a value is another framework's array on a CUDA device."""
    return _interface_of(value) is not None or device_kind(value)[0] in (CUDA, dlpack.CUDA_MANAGED)


def device_kind(value: object) -> tuple[int, int]:
    """What `__dlpack_device__` says, and (1, 0), the host, for what has none."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack_device__"):
        return dlpack.CPU, 0
    kind, number = value.__dlpack_device__()
    return int(kind), int(number or 0)


def _capsule(value: Any, kind: int, device: CudaDevice) -> Any:
    """The producer's capsule, after which our stream waits for its work."""
    stream = None if kind == dlpack.CUDA_HOST else int(device.stream_handle) or LEGACY
    try:
        try:
            return value.__dlpack__(stream=stream, max_version=(1, 0))
        except TypeError:  # a producer from before DLPack 1.0
            return value.__dlpack__(stream=stream)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArrayError(f"{type(value).__name__} does not share its memory: {error}") from error


def _by_interface(value: object, described: dict[str, Any], device: Device | None) -> CudaMemory:
    try:
        shape = tuple(int(n) for n in described["shape"])
        is_record = described["typestr"][1] == "V" and described.get("descr")
        dtype = np.dtype(described["descr"] if is_record else described["typestr"])
        address, read_only = described["data"]
        steps = described.get("strides")
        packed = [n * dtype.itemsize for n in dlpack.packed_strides(shape)]
        strides = tuple(map(int, packed if steps is None else steps))
    except (KeyError, TypeError, ValueError) as error:
        raise ArrayError(f"the __cuda_array_interface__ of {type(value).__name__} is broken: {error!r}") from error
    if described.get("mask") is not None:
        raise ArrayError(f"{type(value).__name__} has a mask\nexpected: an array of which every element counts")
    _check_layout(shape, strides)
    home = place_of(address, span_of(shape, strides, dtype.itemsize), device) if address and all(shape) else device
    home = home if is_gpu(home) else device_numbered(0)
    stream = described.get("stream")
    if stream == 0:
        raise ArrayError("stream 0 of __cuda_array_interface__ has no meaning\nexpected: None, 1, 2 or an address")
    if stream is not None:
        _order(int(home.stream_handle), int(stream), home)
    return _as_memory(Lent(address or 0, shape, strides, dtype, (CUDA, home.ordinal), read_only, None), home, value)


class _Foreign:
    """Bytes that another framework lends, for NumPy's arithmetic of shapes and strides."""

    def __init__(self, source: Lent, owner: object):
        self.source, self.owner = source, owner
        span = span_of(source.shape, source.strides, source.dtype.itemsize)
        self.__array_interface__ = {
            "data": (source.address, source.read_only),
            "shape": (span,),
            "typestr": "|u1",
            "version": 3,
        }


def _as_memory(source: Lent, device: CudaDevice, owner: object) -> CudaMemory:
    _check_layout(source.shape, source.strides)
    return view_buffer(_Foreign(source, owner), source.shape, source.dtype, source.strides, device)


def _on_host(source: Lent) -> np.ndarray:
    _check_layout(source.shape, source.strides)
    memory: np.ndarray = np.ndarray(source.shape, source.dtype, np.asarray(_Foreign(source, None)), 0, source.strides)
    return memory


def _check_layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    if len(shape) != len(strides) or min((*shape, *strides), default=0) < 0:
        raise ArrayError(f"shape {shape} with strides {strides}\nexpected: extents and strides from 0 on")
