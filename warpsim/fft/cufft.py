"""Transforms by cuFFT on a CUDA device, through NVIDIA's own Python bindings, the package `nvmath-python`.

Numbers stay on the device: complex ones as memory with a last axis of two. A graph replays a transform by the host.
Every thread has plans of its own, as a plan has one work area.
"""

from __future__ import annotations

import importlib
import math
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..core.language import array, array_type, kernel, tid
from ..core.runtime.algorithms.cuda.work import Now
from ..core.runtime.arrays.indexed import indexedarray
from ..core.runtime.devices.device_memory import DeviceMemory
from ..core.runtime.tape.host_gradients import add_gradient, take_gradient
from ..core.types.scalars import float32, float64
from ..errors import DeviceError
from .complex_arrays import REAL_OF

__all__ = ["add", "bindings", "c2c", "c2r", "contents", "into", "r2c", "scale_pairs", "take_gradient"]

_MOST_PLANS = 16  # of a thread; each keeps its work area
_plans = threading.local()
_Any = array_type(Any, 1)
add = add_gradient


@kernel
def _scale(x: _Any, factor: Any):
    i = tid()
    x[i] = x[i] * factor


@kernel
def _scale_pairs(x: _Any, inner: int, extent: int, length: int, factor: Any):
    """Scale complex numbers that stand for themselves and their conjugates."""
    i = tid()
    k = i // 2 // inner % extent
    if k > 0 and 2 * k != length:
        x[i] = x[i] * factor


@kernel
def _drop_imaginary(x: _Any, extent: int, length: int):
    """Keep the real part of complex numbers, lines of `extent`, that stand for themselves alone."""
    line = tid()
    x[2 * line * extent + 1] = x.dtype(0)
    if length % 2 == 0:
        x[2 * (line + 1) * extent - 1] = x.dtype(0)


# ----- what steps ask for -----------------------------------------------------------------------------


def contents(a: Any) -> DeviceMemory:
    """The elements of an operand on the device; in a graph this is work that the host starts again each time."""
    a.device.needs_host()
    if not isinstance(a, indexedarray):
        return a._data
    picked = a.device.empty((*a.shape, *((2,) if a.dtype in REAL_OF else ())), a.data._data.dtype)
    picked.put(a._contents())
    return picked


def into(target: Any, values: DeviceMemory) -> None:
    """Store numbers in an array."""
    target._data.put(values)


def c2c(x: DeviceMemory, axes: tuple[int, ...], inverse: bool, norm: str, overwrite: bool = False) -> DeviceMemory:
    """Complex to complex; overwrite: whether `x` may be, which saves a copy."""
    in_line = x.flags.c_contiguous and axes == tuple(range(x.ndim - 1 - len(axes), x.ndim - 1))
    source = x if overwrite and in_line else _packed_with_axes_last(x, axes, pairs=True)
    target = source
    extents = [x.shape[axis] for axis in axes]
    _plan(x, extents, "C2C", source.size // 2 // math.prod(extents)).run(source, target, inverse)
    _normalize(target, extents, inverse, norm)
    return _axes_back(target, axes, pairs=True)


def r2c(x: DeviceMemory, axes: tuple[int, ...], norm: str) -> DeviceMemory:
    """Real to the half of its spectrum along the last of the axes."""
    source = _packed_with_axes_last(x, axes, pairs=False)
    target = x.device.empty((*source.shape[:-1], source.shape[-1] // 2 + 1, 2), source.dtype)
    extents = [x.shape[axis] for axis in axes]
    _plan(x, extents, "R2C", source.size // math.prod(extents)).run(source, target, False)
    _normalize(target, extents, False, norm)
    return _axes_back(target, axes, pairs=True)


def c2r(x: DeviceMemory, axes: tuple[int, ...], length: int, norm: str) -> DeviceMemory:
    """Half of a spectrum to `length` real numbers along the last of the axes.

    cuFFT leaves open what it makes of spectra that belong to no real numbers: so the last axis is transformed apart,
    without the imaginary parts that count nothing.
    """
    across = c2c(x, axes[:-1], True, "forward") if len(axes) > 1 else x
    source = _packed_with_axes_last(across, axes, pairs=True)
    extent, lines = source.shape[-2], source.size // 2 // source.shape[-2]
    Now(x.device).launch(_drop_imaginary, lines, _numbers(source), extent, length)
    target = x.device.empty((*source.shape[:-2], length), source.dtype)
    _plan(x, [length], "C2R", lines).run(source, target, True)
    _normalize(target, [*(x.shape[axis] for axis in axes[:-1]), length], True, norm)
    return _axes_back(target, axes, pairs=False)


def scale_pairs(x: DeviceMemory, axis: int, length: int, factor: float) -> None:
    """Scale what stands for itself and its conjugate: all elements along an axis but 0 and, for even n, n/2."""
    packed = x if x.flags.c_contiguous else x.copy()
    inner, numbers = math.prod(x.shape[axis + 1 : -1]), _numbers(packed)
    Now(x.device).launch(_scale_pairs, x.size, numbers, inner, x.shape[axis], length, numbers.dtype(factor))
    if packed is not x:
        x.put(packed)


# ----- plans ------------------------------------------------------------------------------------------


def bindings() -> Any:
    """The module with cuFFT's functions; raises `DeviceError` where it is missing or its library does not load."""
    try:
        return importlib.import_module("nvmath.bindings.cufft")
    except Exception as error:  # a missing package, or whatever keeps its library from loading
        raise DeviceError(
            f"transforms on CUDA need cuFFT: {error}\nexpected: the package nvmath-python with its libraries\n"
            "help: pip install 'warpsim[cuda]', or transform a.to('cpu')"
        ) from error


class _Plan:
    """A plan of cuFFT for packed batches. kind: C2C, R2C or C2R, of float32; those of float64 are called Z and D."""

    def __init__(self, device: Any, extents: list[int], kind: str, double: bool, batch: int):
        self.cufft = bindings()
        self.device = device
        name = kind.replace("C", "Z").replace("R", "D") if double else kind
        device.enter()
        self.handle = self.cufft.create()
        try:
            kind_number = int(getattr(self.cufft.Type, name))
            # No embedding: lines are packed one after the other, so strides and distances count nothing.
            self.cufft.make_plan_many(self.handle, len(extents), extents, 0, 1, 0, 0, 1, 0, kind_number, batch)
        except Exception as error:
            raise DeviceError(f"cuFFT refuses a plan for {batch} transforms of {extents}: {error}") from error
        self.exec = getattr(self.cufft, f"exec_{name.lower()}")
        self.directed = kind == "C2C"

    def run(self, source: DeviceMemory, target: DeviceMemory, inverse: bool) -> None:
        self.device.enter()
        self.cufft.set_stream(self.handle, int(self.device.stream_handle))
        direction = (1 if inverse else -1,) if self.directed else ()
        self.exec(self.handle, source.address, target.address, *direction)

    def __del__(self, process_ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if hasattr(self, "handle") and not process_ends():
            self.cufft.destroy(self.handle)


def _plan(x: DeviceMemory, extents: list[int], kind: str, batch: int) -> _Plan:
    """The plan of this thread, made at its first use; those not used for long go."""
    known: OrderedDict[Any, _Plan] = _plans.__dict__.setdefault("known", OrderedDict())
    double = x.dtype.itemsize == 8
    key = (x.device.ordinal, tuple(extents), kind, double, batch)
    if key not in known:
        known[key] = _Plan(x.device, extents, kind, double, batch)
    known.move_to_end(key)
    while len(known) > _MOST_PLANS:
        known.popitem(last=False)
    return known[key]


# ----- memory -----------------------------------------------------------------------------------------


def _order(ndim: int, axes: tuple[int, ...]) -> list[int]:
    return [k for k in range(ndim) if k not in axes] + list(axes)


def _packed_with_axes_last(x: DeviceMemory, axes: tuple[int, ...], pairs: bool) -> DeviceMemory:
    """A packed copy, which may be overwritten."""
    order = _order(x.ndim - pairs, axes)
    return x.transpose([*order, x.ndim - 1] if pairs else order).copy()


def _axes_back(x: DeviceMemory, axes: tuple[int, ...], pairs: bool) -> DeviceMemory:
    order = _order(x.ndim - pairs, axes)
    back = sorted(range(len(order)), key=order.__getitem__)
    return x.transpose([*back, x.ndim - 1] if pairs else back)


def _normalize(x: DeviceMemory, extents: list[int], inverse: bool, norm: str) -> None:
    """Multiply packed memory by the factor that a transform has."""
    number = math.prod(extents)
    power = {"ortho": -0.5, "backward": -1.0 if inverse else 0.0, "forward": 0.0 if inverse else -1.0}[norm]
    if power:
        numbers = _numbers(x)
        Now(x.device).launch(_scale, x.size, numbers, numbers.dtype(number**power))


def _numbers(packed: DeviceMemory) -> array:
    """All numbers of packed memory, as kernels want them."""
    return Now(packed.device).wrap(packed.reshape(-1), float64 if packed.dtype.itemsize == 8 else float32)
