"""The memory of a graph out of a file: regions of its own, with the addresses in it set to where they lie now."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..runtime.arrays.host_memory import allocate
from ..runtime.devices.device import CPU, Device
from ..runtime.devices.memory_range import span_of
from ..runtime.steps.fields import Fields
from ..runtime.steps.refusals import damage_error
from ..types import scalars
from ..types.arrays import WORD
from ..types.scalars import uint8
from .regions import NOWHERE, PHASE

_MOST_DIMENSIONS = 8  # four of an array, two of its elements, and room
_MOST_RECORD = 1 << 20  # bytes of an element that is copied as it is


class Memory:
    """The regions of a graph on a device."""

    def __init__(self, description: Fields, contents: memoryview, device: Device):
        self.device = device
        nothing = _region(1, 0, False, device)
        self._regions = [nothing, *(self._read(part, contents) for part in description.parts("regions"))]
        for at, to in description.pairs_of_places("patches"):
            self._bytes(at, WORD)[...] = np.frombuffer(self.address(to).to_bytes(WORD, "little"), np.uint8)

    def _read(self, part: Fields, contents: memoryview) -> np.ndarray:
        size = part.integer("bytes", low=1)
        memory = _region(size, part.integer("phase", high=PHASE - 1), part.flag("host"), self.device)
        if "at" in part:
            start = part.integer("at", high=len(contents))
            if start + size > len(contents):
                raise damage_error(part.place, f"{size} bytes at {start} of {len(contents)}")
            memory[...] = np.frombuffer(contents[start : start + size], np.uint8)
        return memory

    def address(self, place: list[int]) -> int:
        """Where a place lies now."""
        return int(self._bytes(place).ctypes.data)

    def _bytes(self, place: list[int], least: int = 0) -> np.ndarray:
        number, offset, size = place
        if number >= len(self._regions) or offset + size > self._regions[number].size or size < least:
            raise damage_error("a place", f"{place}, and no place in memory")
        if number == NOWHERE:
            return self._regions[NOWHERE]
        return self._regions[number][offset : offset + size]

    def view(self, part: Fields) -> np.ndarray:
        """Memory as NumPy sees it."""
        memory, dtype = self._bytes(part.place_in_memory("place")), _dtype(part)
        shape, strides = tuple(part.integers("shape")), tuple(part.integers("strides"))
        if len(shape) != len(strides) or len(shape) > _MOST_DIMENSIONS:
            raise damage_error(part.place, f"of shape {shape} with strides {strides}")
        if not math.prod(shape):
            return np.lib.stride_tricks.as_strided(memory[:0].view(dtype), shape, strides, subok=True)
        if span_of(shape, strides, dtype.itemsize) != memory.size:
            raise damage_error(part.place, f"of shape {shape} with strides {strides} in {memory.size} bytes")
        first = memory[: dtype.itemsize].view(dtype)
        return np.lib.stride_tricks.as_strided(first, shape, strides, subok=True)

    def block(self, content: bytes, part: Fields) -> bytearray:
        """Bytes of a description with the addresses that its `points` name."""
        block = bytearray(content)
        for at, to in part.points("points"):
            put_word(block, at, self.address(to), part)
        return block


def put_word(block: bytearray, at: int, word: int, part: Fields) -> None:
    """Write an address or an id into bytes of a description."""
    if at % WORD or at + WORD > len(block):
        raise damage_error(part.place, f"{len(block)} bytes with an address at {at}")
    block[at : at + WORD] = word.to_bytes(WORD, "little")


def _region(size: int, phase: int, on_host: bool, device: Device) -> np.ndarray:
    """Fresh memory; as many bytes behind a multiple of PHASE as before."""
    memory = allocate((size + 2 * PHASE,), uint8, device=CPU if on_host else device)
    start = (phase - int(memory.ctypes.data)) % PHASE
    return memory[start : start + size]


def _dtype(part: Fields) -> np.dtype[Any]:
    text = part.text("dtype")
    try:
        dtype: np.dtype[Any] = np.dtype(scalars.bfloat16 if text == "bfloat16" else text)
    except (TypeError, ValueError, SyntaxError) as error:
        raise damage_error(part.place, f"of type {text!r}") from error
    plain = dtype.kind in "biufV" and not dtype.fields and not dtype.subdtype
    if not plain or not 0 < dtype.itemsize <= _MOST_RECORD:
        raise damage_error(part.place, f"of type {text!r}")
    return dtype
