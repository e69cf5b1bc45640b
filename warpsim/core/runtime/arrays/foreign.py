"""Foreign memory at an address given by the user."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable
from typing import NamedTuple, SupportsIndex

import numpy as np

from ....errors import ArrayError
from ...types import structs
from ..devices.device import CPU, Device
from ..devices.memory_range import span_of
from .host_memory import check_extents, checked_strides, contiguous_strides

_NOWHERE = 64  # an address for what has no bytes: NumPy 2.2 takes no null pointer


class ArrayLayout(NamedTuple):
    """How elements lie in memory. strides: in bytes, None for elements without gaps."""

    element: type | None
    shape: tuple[int, ...] | None
    strides: Iterable[int] | None = None


def memory_at(
    ptr: int,
    array_layout: ArrayLayout,
    device: Device = CPU,
    owner: object = None,
    capacity: int | None = None,
    deleter: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Memory of a device at an address; the caller keeps it alive, or gives `deleter(ptr, bytes)`, or its `owner`.

    The deleter runs when the last view of the memory is gone. capacity: bytes that are there.
    """
    element, shape, strides = array_layout
    if element is None or shape is None:
        raise ArrayError("memory given by ptr= needs dtype= and shape=")
    layout = structs.numpy_dtype(element)
    packed = contiguous_strides(shape, layout.itemsize)
    steps = packed if strides is None else checked_strides(strides, shape)
    check_extents(shape)
    span = span_of(shape, steps, layout.itemsize)
    if capacity is not None and span > capacity:
        raise ArrayError(f"shape {shape} with strides {steps} spans {span} bytes, capacity is {capacity}")
    ptr = checked_address(ptr, span)
    device.check_address(ptr, span)
    inner = contiguous_strides(layout.shape, layout.base.itemsize)
    interface = {
        "data": (ptr or _NOWHERE, False),
        "shape": (*shape, *layout.shape),
        "strides": (*steps, *inner),
        "typestr": layout.base.str if layout.names is None else f"|V{layout.itemsize}",
        "version": 3,
    }
    holder = type("Memory", (), {"__array_interface__": interface, "owner": owner})()
    if deleter is not None:
        freed = weakref.finalize(holder, deleter, ptr, span if capacity is None else capacity)
        freed.atexit = False  # what the deleter needs may be gone by then
    view = np.asarray(holder)
    view = view.view(layout) if layout.names is not None else view
    return device.view_of(view)


def checked_address(ptr: SupportsIndex, span: int) -> int:
    """An address where so many bytes could lie. Raises `ArrayError`."""
    try:
        address = -1 if isinstance(ptr, bool) else operator.index(ptr)
    except TypeError:
        raise ArrayError(f"ptr={ptr!r} is {type(ptr).__name__}\nexpected: an address, an integer") from None
    if not (0 <= address < 2**64 - span) or (span and not address):
        raise ArrayError(f"ptr={ptr!r} is no address of {span} bytes\nexpected: where they begin in memory")
    return address
