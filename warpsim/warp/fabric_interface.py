"""What Omniverse's Fabric tells of an attribute: its element type, and arrays over the memory at its addresses."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

from ..core.runtime.arrays.allocation import span
from ..core.runtime.arrays.array import array
from ..core.runtime.arrays.foreign import memory_at
from ..core.runtime.arrays.gradient import with_gradient
from ..core.runtime.arrays.host_memory import checked_dtype
from ..core.runtime.devices.device import Device, get_device
from ..core.types import compounds
from ..errors import ArrayError, counted

_MATRICES = ("matrix", "transform", "frame")
_NO_NUMBERS = ("text", "path")


def attribute_of(data: Any, attrib: str, depth: int) -> tuple[Any, Any, Device]:
    """What an interface tells of an attribute, its element type, its device. Raises `ArrayError`."""
    interface = data if isinstance(data, Mapping) else getattr(data, "__fabric_arrays_interface__", None)
    if not isinstance(interface, Mapping) or attrib not in interface.get("attribs", {}):
        raise ArrayError(f"{type(data).__name__} has no attribute {attrib!r}\nexpected: an interface of Fabric with it")
    about = interface["attribs"][attrib]
    return about, _element(about["type"], attrib, depth), get_device(interface["device"])


def _element(about: Any, attrib: str, expected_depth: int) -> Any:
    """The element type that Fabric tells: (whether it holds numbers, scalar, count, depth of arrays, role)."""
    numbers, scalar, count, depth, role = about
    if not numbers or depth != expected_depth or role in _NO_NUMBERS:
        what = "numbers, vectors or square matrices"
        raise ArrayError(f"attribute {attrib!r} of Fabric is {about}\nexpected: {what}, of depth {expected_depth}")
    base = checked_dtype("?" if scalar == "b" else scalar)
    if count == 1:
        return base
    if role in _MATRICES:
        side = math.isqrt(count)
        if side * side != count:
            raise ArrayError(
                f"attribute {attrib!r} is a {role} of {counted(count, 'number')}\n"
                "expected: a square matrix"
            )
        return compounds.matrix((side, side), base)
    return compounds.quaternion(base) if (role, count) == ("quat", 4) else compounds.vector(count, base)


def arrays_at(element: Any, device: Device, owner: Any) -> Callable[[int, int], array]:
    """What makes arrays of one element type at addresses, for (address, number of elements); their `owner` is kept.

    In memory of an array that has a gradient they are views of it.
    """
    known = sorted(((*span(a), a) for a in with_gradient(device)), key=lambda bounds: bounds[0])
    lows = [low for low, _, _ in known]

    def at(ptr: int, count: int) -> array:
        memory = memory_at(ptr, element, (count,), None, None, None, device, owner=owner)
        k = bisect_right(lows, ptr) - 1
        inside = bool(count) and k >= 0 and ptr + memory.nbytes <= known[k][1]
        a = array._wrap(memory, element, device, owner=known[k][2] if inside else owner)
        if inside:
            a._inherit()
        return a

    return at
