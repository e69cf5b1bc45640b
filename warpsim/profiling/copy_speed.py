"""The speed of a copy on a device, measured: what launches that wait for memory are compared with."""

from __future__ import annotations

from functools import cache
from time import perf_counter

from ..core.language import array, full, kernel, launch, tid
from ..core.runtime.devices.device import get_device

_ELEMENTS = 1 << 24  # of four bytes: more than caches hold
_ROUNDS = 5


@kernel
def copy_elements(x: array(dtype=float), y: array(dtype=float)):
    i = tid()
    y[i] = x[i]


@cache
def bytes_per_second(device: str) -> float:
    """The bytes that a copy of 64 MiB reads and writes in a second, the best of five; 0 for the interpreter."""
    place = get_device(device)
    if place.alias == "interp":
        return 0.0
    x, y = full(_ELEMENTS, 1.0, float, place), full(_ELEMENTS, 0.0, float, place)  # pages of zeros might be one page
    times = []
    for _ in range(_ROUNDS + 1):
        place.synchronize()
        start = perf_counter()
        launch(copy_elements, _ELEMENTS, inputs=[x, y], device=place, record_tape=False)
        place.synchronize()
        times.append(perf_counter() - start)
    return 8.0 * _ELEMENTS / min(times[1:])
