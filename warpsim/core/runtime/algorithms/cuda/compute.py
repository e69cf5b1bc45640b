"""The package `cuda.compute` (CCCL): scans, sums and sorts of flat arrays by NVIDIA's own device-wide algorithms.

It is looked for once, when the first large array is scanned, summed or sorted. Where it is not installed or does
not work, a warning of the logger `warpsim` says so once, and kernels of our own do the same.

Every function gets a `Now` or `Later` and returns whether it will be done. Temporary storage comes from the
device's pool, work goes to the current stream. An algorithm is compiled once for each dtype and architecture,
which takes ten seconds, and kept in the kernel cache. Each thread has objects of its own: they hold arguments.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .....errors import DeviceError, DeviceMemoryError
from .....forks import fork_safe
from ....emit.disk.cache import object_cache
from ...arrays.array import array
from ...devices.cuda.memory import CudaMemory
from .work import Now

log = logging.getLogger("warpsim")
_looking = fork_safe(threading.Lock())
_made = threading.local()


class _Found:
    """What a look at the package found: the module, or None."""

    def __init__(self, module: Any):
        self.module = module

    def give_up(self, why: Any) -> None:
        """Never use the package again, and say why."""
        self.module = None
        log.warning(
            "cuda.compute is not used: %s\nSums, scans and sorts of large arrays on CUDA run kernels of warpsim "
            "instead, which takes longer\nhelp: pip install 'warpsim[cuda]'",
            why,
        )


_found: _Found | None = None


def find_package() -> _Found:
    """The package, after the first look."""
    global _found
    with _looking:
        if _found is None:
            _found = _Found(None)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the reason comes with the warning of our own
                    _found.module = importlib.import_module("cuda.compute")
            except Exception as error:  # whatever keeps an optional package from loading
                _found.give_up(error)
            else:
                if not _found.module._BINDINGS_AVAILABLE:
                    _found.give_up("its bindings do not load on this machine")
    return _found


# ----- what the package is given ------------------------------------------------------------------


class Flat:
    """Packed memory of a device, as the package asks for it; it does not keep the memory, which others do.

    The package remembers what it was given last for as long as it remembers the algorithm.
    """

    def __init__(self, view: CudaMemory):
        self.dtype, self.shape, self.size, self.nbytes = view.dtype, view.shape, view.size, view.nbytes
        self.__cuda_array_interface__ = {
            "data": (view.address, False),
            "shape": view.shape,
            "strides": None,
            "typestr": view.dtype.str,
            "version": 3,
        }


class StreamHandle:
    """A stream of the driver, as the package asks for it."""

    def __init__(self, handle: Any):
        self._handle = int(handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def flat(a: array, count: int) -> Flat:
    """The first elements of a packed array of scalars."""
    return Flat(a._data[:count])


# ----- algorithms -----------------------------------------------------------------------------------


def scan(work: Now, source: array, target: array, count: int, inclusive: bool) -> bool:
    """Running sums of integers, which wrap around; `target` may be `source`."""
    name = "inclusive scan" if inclusive else "exclusive scan"

    def describe(module: Any) -> _Wanted:
        make = module.make_inclusive_scan if inclusive else module.make_exclusive_scan
        operands = {"d_in": flat(source, count), "d_out": flat(target, count), "op": module.OpKind.PLUS}
        operands["init_value"] = np.zeros(1, source._data.dtype)
        return _Wanted(lambda: make(**operands), {**operands, "num_items": count}, (source, target))

    return _do(work, (name, source._data.dtype), describe)


def total(work: Now, source: array, target: array, count: int) -> bool:
    """target[0] = the sum, in the dtype of the target, always in the same order on the same kind of device."""

    def describe(module: Any) -> _Wanted:
        operands = {"d_in": flat(source, count), "d_out": flat(target, 1), "op": module.OpKind.PLUS}
        operands["h_init"] = np.zeros(1, target._data.dtype)
        order = module.Determinism.RUN_TO_RUN
        making = lambda: module.make_reduce_into(**operands, determinism=order)  # noqa: E731
        return _Wanted(making, {**operands, "num_items": count}, (source, target))

    return _do(work, ("sum", source._data.dtype, target._data.dtype), describe)


class Pairs(NamedTuple):
    """Unsigned keys, and the values of four bytes that go with them."""

    keys: array
    values: array


def sort(work: Now, source: Pairs, target: Pairs, count: int, begin: int, end: int) -> bool:
    """The pairs in ascending order of bits `begin` to `end` - 1 of their keys; stable."""
    names = ("d_in_keys", "d_out_keys", "d_in_values", "d_out_values")
    arrays = (source.keys, target.keys, source.values, target.values)

    def describe(module: Any) -> _Wanted:
        operands = {name: flat(a, count) for name, a in zip(names, arrays, strict=True)}
        making = lambda: module.make_radix_sort(**operands, order=module.SortOrder.ASCENDING)  # noqa: E731
        return _Wanted(making, {**operands, "num_items": count, "begin_bit": begin, "end_bit": end}, arrays)

    return _do(work, ("sort", source.keys._data.dtype, source.values._data.dtype), describe)


class _Wanted(NamedTuple):
    """How an algorithm is compiled, what it is called with, and whose memory that is."""

    making: Callable[[], Any]
    call: dict[str, Any]
    arrays: tuple[array, ...]


def _do(work: Now, key: tuple[Any, ...], describe: Callable[[Any], _Wanted]) -> bool:
    """Make the algorithm and its temporary storage, and let it run; False, and a warning, where it cannot be made."""
    device, module = work.device, find_package().module
    if module is None:
        return False
    device.enter()  # the package asks for the current device
    try:
        description = describe(module)
        making, call, _ = description
        size = _algorithm(key, device, making)(temp_storage=None, stream=StreamHandle(device.stream_handle), **call)
    except DeviceMemoryError:
        raise
    except Exception as error:  # a name, a header or a library that is missing, or does not fit the driver
        find_package().give_up(f"{type(error).__name__}: {error}")
        return False
    referenced = (device.empty((max(1, size),), np.uint8), description.arrays)

    def step() -> None:
        device.enter()
        algorithm = _algorithm(key, device, making)
        try:
            algorithm(temp_storage=Flat(referenced[0]), stream=StreamHandle(device.stream_handle), **call)
        except RuntimeError as error:
            raise DeviceError(f"cuda.compute fails in {key[0]!r} on {device}: {error}") from error

    work.on_host(step)
    return True


def _algorithm(key: tuple[Any, ...], device: Any, making: Callable[[], Any]) -> Any:
    """The compiled algorithm for a dtype on a device, of this thread."""
    algorithms = _made.__dict__.setdefault("algorithms", {})
    place = (*key, device.ordinal)
    if place not in algorithms:
        algorithms[place] = _load(key, device, making)
    return algorithms[place]


def _load(key: tuple[Any, ...], device: Any, making: Callable[[], Any]) -> Any:
    """An algorithm from the kernel cache, or compiled and put there."""
    module = find_package().module
    store = object_cache() if hasattr(module, "serialize") else None
    label = " ".join(map(str, ("cuda.compute", *key, "for", *device.arch)))
    name = hashlib.sha256(label.encode()).hexdigest()
    blob = store.load(name) if store is not None else None
    if blob is not None:
        try:
            return module.deserialize(blob)
        except Exception as error:  # of another version of the package, for example
            log.debug("%s is compiled again: %s", label, error)
    algorithm = making()
    if store is not None:
        try:
            store.store(name, module.serialize(algorithm), label)
        except Exception as error:  # not every backend of the package can
            log.debug("%s is not kept: %s", label, error)
    return algorithm
