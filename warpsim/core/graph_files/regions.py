"""The memory that a graph reaches, as regions: pieces that overlap are one, so that they overlap in a file as well."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...errors import GraphFileError
from ..runtime.arrays.foreign import ArrayLayout, memory_at
from ..runtime.devices.device import CPU, Device
from ..runtime.devices.device_memory import on_host
from ..runtime.devices.memory_range import MemoryRange, merge_ranges
from ..types.scalars import uint8

PHASE = 64
"""Regions lie to multiples of this as they lay when they were saved: code may count on what it was compiled for."""

NOWHERE = 0
"""The region of arrays without elements, whose addresses lead to nothing; others are numbered from 1."""


@dataclass(frozen=True)
class Place:
    """Memory that a description refers to by its place in a region: address, size [bytes], whether on the host."""

    address: int
    size: int
    on_host: bool

    @property
    def addresses(self) -> MemoryRange:
        return MemoryRange(self.address, self.address + self.size)


class Region(NamedTuple):
    """Addresses from `low` on, up to `high`."""

    low: int
    high: int
    on_host: bool


class Regions:
    """The memory of a graph on a device; host memory too, where a step copies from it."""

    def __init__(self, device: Device):
        self.device = device
        self._pieces: dict[bool, list[MemoryRange]] = {False: [], True: []}
        self.merged: list[Region] = []
        self._lows: dict[bool, list[tuple[int, int]]] = {}  # addresses where regions begin, with their numbers

    def add(self, place: Place) -> None:
        """The graph reaches this."""
        if place.size:
            self._pieces[place.on_host].append(place.addresses)

    def merge(self) -> None:
        """Make regions of all that was added."""
        self.merged = [Region(*piece, host) for host, pieces in self._pieces.items() for piece in merge_ranges(pieces)]
        for host in self._pieces:
            self._lows[host] = [(r.low, k) for k, r in enumerate(self.merged) if r.on_host is host]

    def holds(self, place: Place) -> bool:
        """Whether the graph reaches some byte of memory that was added so far."""
        return any(place.addresses.meets(piece) for piece in self._pieces[place.on_host])

    def locate(self, place: Place) -> list[int]:
        """The region of a place, the first of its bytes there, and how many they are."""
        if not place.size:
            return [NOWHERE, 0, 0]
        lows = self._lows[place.on_host]
        low, number = lows[bisect_right(lows, (place.address, len(self.merged))) - 1]
        return [number + 1, place.address - low, place.size]

    def contents(self, region: Region) -> bytes:
        """What is in a region now."""
        return bytes_at(region.low, region.high - region.low, CPU if region.on_host else self.device)


def bytes_at(address: int, size: int, device: Device) -> bytes:
    """What is in memory of a device now."""
    memory: np.ndarray[Any, Any] = on_host(memory_at(address, ArrayLayout(uint8, (size,)), device))
    return memory.tobytes()


def space_of(home: Device, device: Device, what: str) -> bool:
    """Whether memory is the host's, in a graph of `device`. Raises `GraphFileError` for memory of another device."""
    if home.memory_space == device.memory_space:
        return False
    if home.shares_host_memory:
        return True
    raise GraphFileError(
        f"{what} is on {home}, and the graph is one of {device}\nexpected: memory of {device} alone\n"
        f"help: copy it there before the capture: a.to({str(device)!r})"
    )
