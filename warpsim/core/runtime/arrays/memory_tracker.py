"""Memory statistics: allocations of arrays by scope and by source line."""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from ....config import config
from ....errors import LaunchError
from ....forks import fork_safe
from ..devices.memory_range import span_of
from .call_site import CallSite

GLOBAL = "global"
"""The scope of what is made while `config.track_memory` is set and no tracker is open."""

ORDERS: dict[str, Callable[[Allocation], int]] = {
    "size": lambda a: -a.size,
    "chronological": lambda a: a.number,
}


@dataclass(frozen=True)
class Allocation:
    """Memory in use. size: in bytes. device: its alias. scope: names of trackers, outermost first."""

    number: int
    size: int
    device: str
    scope: str
    place: CallSite


@dataclass
class Total:
    """Sums over a device: how often memory was made, and bytes altogether, now and at most [bytes]."""

    count: int = 0
    bytes: int = 0
    now: int = 0
    peak: int = 0


class Ledger:
    """All that was made since tracking began, of any thread."""

    def __init__(self) -> None:
        self.lock = fork_safe(threading.RLock())  # memory may be given back while it is held
        self.clear()

    def clear(self) -> None:
        """Forget what was made until now, also that it is in use."""
        with self.lock:
            self.live: dict[int, Allocation] = {}
            self.totals: dict[str, Total] = {}

    def add(self, memory: np.ndarray, device: str) -> None:
        """Note memory that is made now; it leaves the list when nobody holds it."""
        whole = memory
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        scope = "/".join(_scopes()) or GLOBAL
        size = span_of(memory.shape, memory.strides, memory.itemsize)
        allocation = Allocation(next(_NUMBERS), size, device, scope, CallSite.outside())
        with self.lock:
            self.live[allocation.number] = allocation
            total = self.totals.setdefault(device, Total())
            total.count += 1
            total.bytes += allocation.size
            total.now += allocation.size
            total.peak = max(total.peak, total.now)
        weakref.finalize(whole, self.drop, allocation.number).atexit = False

    def drop(self, number: int) -> None:
        """Memory is given back."""
        with self.lock:
            allocation = self.live.pop(number, None)
            if allocation is not None:
                self.totals[allocation.device].now -= allocation.size

    def report(self, sort: str, max_items: int) -> str:
        """Sums of each device and its `max_items` first allocations in use. Raises `ValueError` for other orders."""
        if sort not in ORDERS:
            raise ValueError(f"sort is {sort!r}\nexpected: {' or '.join(map(repr, ORDERS))}")
        with self.lock:
            live, totals = list(self.live.values()), sorted(self.totals.items())
        lines = []
        for device, total in totals:
            lines.append(
                f"{device}: {_readable(total.now)} in use, at most {_readable(total.peak)}; {total.count} allocations, "
                f"{_readable(total.bytes)} altogether"
            )
            there = sorted((a for a in live if a.device == device), key=ORDERS[sort])
            lines += [f"  {_readable(a.size):>10}  {a.scope}  {a.place}" for a in there[:max_items]]
            if len(there) > max_items:
                lines.append(f"  and {len(there) - max_items} more")
        return "\n".join(lines) or "no memory was made"


class ScopedMemoryTracker:
    """`with ScopedMemoryTracker("step"):` prints which memory the block made, and which is still in use.

    name: of the scope; trackers inside one another make scopes like `simulation/contacts`. active: do anything at all.
    print: report when the block ends. report_func: gets the report instead. Arrays of all devices count, those that
    structures (meshes, grids, volumes) make for themselves too; memory of other libraries does not. The ledger is one
    for all trackers: it begins anew with the first one that opens.
    """

    def __init__(
        self,
        name: str = "root",
        active: bool = True,
        print: bool = True,
        report_func: Callable[[str], None] | None = None,
    ):
        self.name, self.active, self.print, self.report_func = name, active, print, report_func

    def __enter__(self) -> ScopedMemoryTracker:
        if self.active:
            with LEDGER.lock:
                if not is_tracking():
                    LEDGER.clear()
                _OPEN.append(self)
            _scopes().append(self.name)
        return self

    def __exit__(self, *error: object) -> None:
        if not self.active:
            return
        _scopes().pop()
        try:
            if self.print:
                self.report()
        finally:
            with LEDGER.lock:
                _OPEN.remove(self)

    def report(self, file: TextIO | None = None, sort: str = "size", max_items: int = 10) -> None:
        """Print, or give to `report_func`, what is in use now; arguments as of `print_memory_report`."""
        text = LEDGER.report(sort, max_items)
        if self.report_func is not None:
            self.report_func(text)
        else:
            print(text, file=file or sys.stdout)

    def clear(self) -> None:
        """Count from now on."""
        LEDGER.clear()


def print_memory_report(file: TextIO | None = None, sort: str = "size", max_items: int = 10) -> None:
    """Print how much memory of each device arrays use, and who made it.

    file: where to, the standard output by default. sort: "size" (largest first) or "chronological" (oldest first).
    max_items: how many allocations of each device are listed. Raises `ValueError` for another order, `LaunchError`
    unless a `ScopedMemoryTracker` is open or `config.track_memory` is set.
    """
    if not is_tracking():
        raise LaunchError(
            "memory is not tracked\nhelp: set wp.config.track_memory = True first, or open a wp.ScopedMemoryTracker"
        )
    print(LEDGER.report(sort, max_items), file=file or sys.stdout)


def is_tracking() -> bool:
    """Whether allocations are noted."""
    return bool(_OPEN) or config.track_memory


def _readable(size: int) -> str:
    """A number of bytes with three digits or more."""
    number, unit = float(size), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if number < 1024:
            break
        number, unit = number / 1024, larger
    return f"{size} bytes" if unit == "bytes" else f"{number:.4g} {unit}"


def _scopes() -> list[str]:
    """The names of trackers that this thread is inside of."""
    if not hasattr(_THREAD, "scopes"):
        _THREAD.scopes = []
    scopes: list[str] = _THREAD.scopes
    return scopes


_THREAD: Any = threading.local()
_NUMBERS = itertools.count()
_OPEN: list[ScopedMemoryTracker] = []
LEDGER = Ledger()
