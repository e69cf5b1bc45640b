"""The box around all finite boxes, and how many there are: joined in rounds, so that no thread has much to do.

Minima and maxima of floats depend on no order, so neither does the result. It stays on the device.
"""

from __future__ import annotations

import math

from ...core.language import array, empty, func, greater, int32, kernel, launch, lesser, struct, tid, vec3
from .boxes import is_finite

_SHARE = 64  # boxes, or extents, that one thread joins
_INFINITE = math.inf


@struct
class Extent:
    """The union of some boxes, and the bounds of their middles, see `middle`."""

    lower: vec3
    upper: vec3
    middle_lower: vec3
    middle_upper: vec3
    count: int32  # of the boxes


@func
def middle(lower: vec3, upper: vec3) -> vec3:
    """Half the centre of a finite box: neither it nor the difference of two overflows."""
    return 0.25 * lower + 0.25 * upper


@func
def nothing() -> Extent:
    """The extent of no box."""
    e = Extent()
    e.lower, e.upper = vec3(_INFINITE), vec3(-_INFINITE)
    e.middle_lower, e.middle_upper = vec3(_INFINITE), vec3(-_INFINITE)
    return e


@func
def union_of(a: Extent, b: Extent) -> Extent:
    """The extent of the boxes of both."""
    a.lower, a.upper = lesser(a.lower, b.lower), greater(a.upper, b.upper)
    a.middle_lower = lesser(a.middle_lower, b.middle_lower)
    a.middle_upper = greater(a.middle_upper, b.middle_upper)
    a.count += b.count
    return a


@kernel
def _survey(lowers: array(dtype=vec3), uppers: array(dtype=vec3), parts: array(dtype=Extent)):
    """Every thread takes each parts.shape[0]-th box: neighbours read neighbouring memory."""
    t = tid()
    e = nothing()
    i = t
    while i < lowers.shape[0]:
        lower, upper = lowers[i], uppers[i]
        if is_finite(lower) and is_finite(upper):
            m = middle(lower, upper)
            e = union_of(e, Extent(lower=lower, upper=upper, middle_lower=m, middle_upper=m, count=1))
        i += parts.shape[0]
    parts[t] = e


@kernel
def _join(parts: array(dtype=Extent), fewer: array(dtype=Extent)):
    t = tid()
    e = nothing()
    i = t
    while i < parts.shape[0]:
        e = union_of(e, parts[i])
        i += fewer.shape[0]
    fewer[t] = e


def extent_of(lowers: array, uppers: array) -> array:
    """The `Extent` (one) of boxes, n vec3 each; those with a NaN or an infinity do not count."""
    device, count = lowers.device, _share(lowers.size)
    parts = empty(count, Extent, device)
    launch(_survey, count, [lowers, uppers], [parts], device=device, record_tape=False)
    while count > 1:
        count = _share(count)
        fewer = empty(count, Extent, device)
        launch(_join, count, [parts], [fewer], device=device, record_tape=False)
        parts = fewer
    return parts


def _share(count: int) -> int:
    return -(-count // _SHARE) or 1
