"""Device memory as NumPy sees it: shapes, strides and views are NumPy's, contents move through the driver.

`DeviceMemory` is a NumPy array whose data pointer leads to a GPU. Slicing, transposing and reinterpreting it
touch no element. Writing into it (`m[...] = x`, `np.copyto`) copies to the device, or on it; reading it
(arithmetic, sums, `tolist`) works on a copy on the host, for which it waits. So what is written for host
memory is right for device memory, and what should be fast there has its own way.

No code written in C may be given such an array unseen: `np.asarray(m)` would read addresses of the GPU.
`on_host(m)` is what to give it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from .....errors import DeviceMemoryError
from . import driver, strided
from .device import Allocation, CudaDevice, ended
from .driver import call

_SET = {1: "cuMemsetD8Async", 2: "cuMemsetD16Async", 4: "cuMemsetD32Async"}
_LAYOUT_ONLY = {np.may_share_memory, np.shares_memory, np.ndim, np.shape, np.size}
_IN_PLACE = {np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}

_READING = (
    "all any argmax argmin argpartition argsort byteswap choose clip compress conj conjugate cumprod cumsum dot dump "
    "dumps item max mean min nonzero prod repeat round searchsorted std sum take tobytes tofile tolist trace var "
    "__bool__ __complex__ __contains__ __copy__ __deepcopy__ __float__ __format__ __index__ __int__ __repr__ __str__"
).split()
"""Methods written in C that read contents."""
_WRITING = "partition resize setfield sort".split()


class DeviceMemory(np.ndarray):
    """A view of memory on a CUDA device."""

    device: CudaDevice = None  # type: ignore[assignment]  # NumPy's own attribute of this name is read-only

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, DeviceMemory):
            self.device = source.device

    @property
    def address(self) -> int:
        return self.ctypes.data

    # ----- reading ------------------------------------------------------------------------------

    def host(self) -> np.ndarray:
        """A copy of the contents on the host; waits for the work that makes them."""
        self.device.needs_host()
        made = np.empty(self.shape, self.dtype)
        if made.size:
            source = self if self.flags.c_contiguous else self.copy()
            self.device.synchronize_for_host()
            call("cuMemcpyDtoH", made.ctypes.data, source.address, made.nbytes)
        return made

    def __getitem__(self, key: Any) -> Any:
        if _is_advanced(key):
            return self.host()[key]
        if isinstance(key, str):
            return super().__getitem__(key)
        keys = key if isinstance(key, tuple) else (key,)
        part = super().__getitem__(keys if Ellipsis in keys else (*keys, ...))
        single = part.ndim == 0 and Ellipsis not in keys
        return part.host()[()] if single else part

    def copy(self, order: Any = "C") -> DeviceMemory:  # type: ignore[override]
        """The same contents in fresh memory of the device, packed."""
        self.device.needs_host()  # where the copy goes would be forgotten
        made = empty(self.shape, self.dtype, self.device)
        made.put(self)
        return made

    def astype(self, dtype: Any, *args: Any, **options: Any) -> np.ndarray:  # type: ignore[override]
        return self.host().astype(dtype, *args, **options)

    def reshape(self, *shape: Any, **options: Any) -> Any:  # type: ignore[override]
        """As NumPy's, but where that would copy, the copy is made on the device."""
        if self.flags.c_contiguous:
            return super().reshape(*shape)
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape
        wanted = tuple(self.size // max(1, -math.prod(given)) if n == -1 else int(n) for n in given)
        # NumPy finds out whether it must copy by copying, so it is asked only about what is packed.
        strides = strided.regrouped(self.shape, self.strides, wanted) if math.prod(wanted) == self.size else None
        if strides is None:
            return self.copy().reshape(wanted)
        return np.lib.stride_tricks.as_strided(self, wanted, strides, subok=True)

    def ravel(self, order: Any = "C") -> Any:
        return self.reshape(-1)

    flatten = ravel  # type: ignore[assignment]

    def __iter__(self) -> Any:
        return iter(self.host())

    def __reduce__(self) -> Any:
        return self.host().__reduce__()

    # ----- writing ------------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        if _is_advanced(key):
            kept = self.host()
            kept[key] = on_host(value)
            self.put(kept)
        elif isinstance(key, str):
            self[key].put(value)
        else:
            keys = key if isinstance(key, tuple) else (key,)
            part: DeviceMemory = super().__getitem__(keys if Ellipsis in keys else (*keys, ...))
            part.put(value)

    def fill(self, value: Any) -> None:
        self.put(value)

    def put(self, value: Any) -> None:  # type: ignore[override]
        """Copy a value, of any shape that NumPy would broadcast, into this memory, in order of the current stream."""
        if not self.size:
            return
        if isinstance(value, DeviceMemory) and (value.dtype != self.dtype or value.device is not self.device):
            if value.dtype == self.dtype and value.size == self.size:
                self._put_peer(value)
                return
            value = value.host()
        if isinstance(value, DeviceMemory):
            self._put_here(_broadcast(value, self.shape))
        else:
            self._put_host(np.asarray(value))

    def _put_here(self, source: DeviceMemory) -> None:
        """From memory of the same device, with the same shape and dtype."""
        if np.may_share_memory(self, source):
            if self.address == source.address and self.strides == source.strides:
                return
            source = source.copy()
        if self.flags.c_contiguous and source.flags.c_contiguous:
            call("cuMemcpyDtoDAsync", self.address, source.address, self.nbytes, self.device.stream_handle)
        else:
            strided.copy(self, source)

    def _put_peer(self, source: DeviceMemory) -> None:
        """From memory of another device."""
        self.device.needs_host()
        packed = source if source.flags.c_contiguous else source.copy()
        target = self if self.flags.c_contiguous else empty(self.shape, self.dtype, self.device)
        source.device.synchronize_for_host()
        self.device.enter()
        ends = (target.address, self.device.context, packed.address, source.device.context)
        call("cuMemcpyPeerAsync", *ends, target.nbytes, self.device.stream_handle)
        call("cuStreamSynchronize", self.device.stream_handle)  # the source may be freed on its own device
        if target is not self:
            self._put_here(target)

    def _put_host(self, source: np.ndarray) -> None:
        """From memory of the host."""
        if source.dtype != self.dtype:
            source = source.astype(self.dtype)
        if source.size == 1:
            self._put_one(source)
            return
        self.device.needs_host()
        packed = np.ascontiguousarray(np.broadcast_to(source, self.shape))
        target = self if self.flags.c_contiguous else empty(self.shape, self.dtype, self.device)
        self.device.enter()
        target._upload(packed)
        if target is not self:
            self._put_here(target)

    def _upload(self, packed: np.ndarray) -> None:
        """Copy from the host, which may change its memory when this returns."""
        call("cuMemcpyHtoDAsync", self.address, packed.ctypes.data, packed.nbytes, self.device.stream_handle)
        if self.device.reads_host_late or is_pinned(packed):  # else the driver has taken its copy
            call("cuStreamSynchronize", self.device.stream_handle)

    def _put_one(self, source: np.ndarray) -> None:
        """One element everywhere."""
        element = source.tobytes()
        pattern = next((n for n in _SET if not len(element) % n and element == element[:n] * (len(element) // n)), 0)
        self.device.enter()
        if pattern and self.flags.c_contiguous and not self.address % pattern:
            word = int.from_bytes(element[:pattern], "little")
            call(_SET[pattern], self.address, word, self.nbytes // pattern, self.device.stream_handle)
            return
        self.device.needs_host()
        one = empty((1,), self.dtype, self.device)
        one._upload(source)
        strided.copy(self, _broadcast(one, self.shape))

    # ----- NumPy's functions --------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        """Compute on the host, but for sums in place; results go back to the device where `out`, or `at`, says so."""
        if ufunc is np.add and method == "__call__" and not options and _adds_here(out, inputs):
            strided.add(out[0], inputs[1])
            return out[0]
        given = [on_host(x) for x in inputs]
        if method == "at":
            ufunc.at(*given, **options)
            inputs[0].put(given[0])
            return None
        options = {name: on_host(x) for name, x in options.items()}
        found = getattr(ufunc, method)(*given, **options)
        if out is None:
            return found
        for target, result in zip(out, found if isinstance(found, tuple) else (found,), strict=True):
            target[...] = result
        return out[0] if len(out) == 1 else out

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in _OWN:
            return _OWN[function](*args, **options)
        if function in _LAYOUT_ONLY:
            return function(*(_plain(x) for x in args), **options)
        if function in _IN_PLACE:
            name = function.__name__
            raise TypeError(f"np.{name} does not write to memory on {self.device}\nhelp: write with a[...] =")
        return function(*_all_on_host(args), **{name: _all_on_host(x) for name, x in options.items()})


def _adds_here(out: Any, inputs: tuple[Any, ...]) -> bool:
    """Whether a sum is `a += b` of floats on one device."""
    if out is None or out[0] is not inputs[0] or not all(isinstance(x, DeviceMemory) for x in inputs):
        return False
    a, b = inputs
    alike = a.shape == b.shape and a.dtype == b.dtype and a.device is b.device
    return alike and a.dtype.char in strided.SUMMED and a.size > 0 and not np.may_share_memory(a, b)


def _by_host(name: str) -> Any:
    """A method of NumPy's arrays, on a copy of the contents."""

    def method(self: DeviceMemory, *args: Any, **options: Any) -> Any:
        return getattr(self.host(), name)(*map(_all_on_host, args), **options)

    return method


def _refused(name: str) -> Any:
    """A method that would write to the memory from C."""

    def method(self: DeviceMemory, *args: Any, **options: Any) -> Any:
        raise TypeError(f"{name}() does not write to memory on {self.device}\nhelp: write with a[...] =")

    return method


for _name in _READING:
    setattr(DeviceMemory, _name, _by_host(_name))
for _name in _WRITING:
    setattr(DeviceMemory, _name, _refused(_name))


def _copyto(target: Any, source: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(target, DeviceMemory) or where is not True:
        kept = on_host(target)
        np.copyto(kept, on_host(source), casting, where=on_host(where))
        if kept is not target:
            target.put(kept)
        return
    target.put(source)


def _like(value: Any) -> Any:
    """One of `np.zeros_like` and its kin, for device memory."""

    def made(prototype: DeviceMemory, dtype: Any = None) -> DeviceMemory:
        found = empty(prototype.shape, dtype or prototype.dtype, prototype.device)
        if value is not None:
            found.put(value)
        return found

    return made


_OWN = {np.copyto: _copyto, np.empty_like: _like(None), np.zeros_like: _like(0), np.ones_like: _like(1)}

# ----- making -----------------------------------------------------------------------------------


def empty(shape: tuple[int, ...], dtype: Any, device: CudaDevice) -> DeviceMemory:
    """Fresh memory on a device; contents are undefined."""
    layout = np.dtype(dtype)
    return viewed(device.allocate(math.prod(shape) * layout.itemsize), shape, layout, None, device)


def empty_like(memory: DeviceMemory) -> DeviceMemory:
    """Fresh memory of the same shape and strides."""
    span = memory.itemsize + sum((n - 1) * s for n, s in zip(memory.shape, memory.strides, strict=True))
    held = memory.device.allocate(span if memory.size else 0)
    return viewed(held, memory.shape, memory.dtype, memory.strides, memory.device)


def viewed(
    held: Allocation | Any, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None, device: CudaDevice
) -> DeviceMemory:
    """The memory of an object with `__array_interface__`, kept alive by the view."""
    found = np.ndarray(shape, dtype, np.asarray(held), 0, strides).view(DeviceMemory)
    found.device = device
    return found


def adopted(memory: np.ndarray, device: CudaDevice) -> DeviceMemory:
    """A NumPy view over addresses of a device as what it is."""
    found = memory.view(DeviceMemory)
    found.device = device
    return found


def zero(memory: DeviceMemory) -> DeviceMemory:
    """Every element becomes zero; returns the memory."""
    memory.put(np.zeros((), memory.dtype))
    return memory


def zero_span(memory: DeviceMemory) -> DeviceMemory:
    """Every byte from the first element to the last becomes zero; returns the memory, which must be of our own."""
    if memory.size:
        span = memory.itemsize + sum((n - 1) * s for n, s in zip(memory.shape, memory.strides, strict=True))
        memory.device.enter()
        call("cuMemsetD8Async", memory.address, 0, span, memory.device.stream_handle)
    return memory


def _broadcast(memory: DeviceMemory, shape: tuple[int, ...]) -> DeviceMemory:
    """A view of another shape, with stride 0 where elements are repeated. Raises `ValueError` as NumPy does."""
    if memory.shape == shape:
        return memory
    if np.broadcast_shapes(memory.shape, shape) != shape:
        if memory.size == math.prod(shape):
            return memory.reshape(shape)
        raise ValueError(f"shape {memory.shape} does not fit shape {shape}")
    missing = len(shape) - memory.ndim
    steps = [0 if n == 1 else s for n, s in zip(memory.shape, memory.strides, strict=True)]
    return np.lib.stride_tricks.as_strided(memory, shape, [0] * missing + steps, subok=True)


def _is_advanced(key: Any) -> bool:
    """Whether NumPy would gather elements instead of making a view."""
    keys = key if isinstance(key, tuple) else (key,)
    basic = (int, np.integer, slice, str, type(None), type(Ellipsis))
    return any(isinstance(k, bool) or not isinstance(k, basic) for k in keys)


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, DeviceMemory) else x


def _all_on_host(x: Any) -> Any:
    return type(x)(map(_all_on_host, x)) if isinstance(x, list | tuple) else on_host(x)


def on_host(x: Any) -> Any:
    """The contents of device memory on the host; anything else as it is."""
    return x.host() if isinstance(x, DeviceMemory) else x


def is_pinned(memory: np.ndarray) -> bool:
    """Whether host memory is page-locked, by whomever, so that the device reads it when a copy runs."""
    kinds = driver.api().CUpointer_attribute
    status, _ = driver.api().cuPointerGetAttribute(kinds.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory.ctypes.data)
    return not status  # pageable memory is nothing that the driver knows


class Pinned:
    """Page-locked host memory: copies to and from devices need no detour."""

    def __init__(self, size: int, device: CudaDevice, zero: bool):
        device.enter()
        portable = 1  # CU_MEMHOSTALLOC_PORTABLE: for all devices
        self.device, self.size = device, size
        try:
            self.address = int(call("cuMemHostAlloc", max(1, size), portable))
        except DeviceMemoryError:
            raise DeviceMemoryError(
                f"no room for {size:,} bytes of page-locked memory of the host\nhelp: leave out pinned=True"
            ) from None
        if zero:
            np.asarray(self)[:] = 0

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"data": (self.address, False), "shape": (self.size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        if hasattr(self, "address"):
            ended(self.device, partial(_free_host, self.address))


def _free_host(address: int) -> None:
    call("cuCtxSynchronize")  # a kernel may be using it
    call("cuMemFreeHost", address)
