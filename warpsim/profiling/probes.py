"""Probes: functions of the runtime that others stand in for while a profile is on.

`PLACES` is the whole list. Each is looked up by its name whenever it is called, so that replacing it there is enough,
and putting it back leaves no trace. Launches that are no more than a call of machine code are led through
`Launcher.execute` meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core import compile as compiler
from ..core.emit import build
from ..core.runtime import launch as launching
from ..core.runtime.arrays import creation
from ..core.runtime.arrays.array import array
from ..core.runtime.arrays.assignment import Writable
from ..core.runtime.arrays.indexed import indexedarray
from ..core.runtime.commands.graph import Graph
from ..core.runtime.devices.cuda.device import CudaDevice
from ..core.runtime.devices.stream import Stream
from ..core.runtime.launches.cuda_launcher import CudaLauncher
from ..core.runtime.launches.launcher import Launcher, watch_launches
from ..core.runtime.steps.launch import LaunchStep
from ..core.runtime.steps.operation import Operation
from ..core.runtime.tape import relaunch
from ..core.runtime.tape.tape import Tape
from ..core.runtime.tape.timer import ScopedTimer
from ..forks import fork_safe
from . import host, launches, tapes
from .timeline import Book, books, present, set_books


class Place(NamedTuple):
    """A function of a module or class by its name, and what makes its stand-in of it."""

    owner: Any
    name: str
    around: Callable[[Any], Callable[..., Any]]


PLACES = (
    Place(Launcher, "execute", launches.time_launches),
    Place(CudaLauncher, "execute", launches.time_on_device),
    Place(LaunchStep, "submit", launches.show_recorded),
    Place(Graph, "_run", launches.run_in_pieces),
    Place(Graph, "add", launches.note_places),
    Place(Tape, "stepped_backward", tapes.time_backward),
    Place(launching, "run_plain", tapes.time_plain_recording),
    Place(launching, "run_generally", tapes.time_recording),
    Place(relaunch, "run_generally", tapes.time_recording),
    Place(compiler, "lower", host.time_stage("front end")),
    Place(compiler, "finish", host.time_stage("passes")),
    Place(compiler, "derive", host.time_stage("passes")),
    Place(compiler, "reporting", host.time_stage("passes")),
    Place(compiler, "phase_of", host.time_stage("passes")),
    Place(build, "translate", host.time_stage("LLVM")),
    Place(build, "object_code", host.time_stage("LLVM")),
    Place(build, "compile_cuda", host.time_stage("LLVM")),
    Place(build, "load_or_compile", host.time_stage("code cache")),
    Place(Writable, "_change", host.time_writes),
    Place(indexedarray, "_change", host.time_writes),
    Place(array, "_contents", host.time_reads),
    Place(array, "__init__", host.time_creation),
    Place(creation, "_new_array", host.count_calls("allocation", "new array")),
    Place(Operation, "run", host.time_operations),
    Place(CudaDevice, "synchronize", host.count_calls("waiting", "for a device")),
    Place(Stream, "synchronize", host.count_calls("waiting", "for a stream")),
    Place(ScopedTimer, "__enter__", host.begin_block),
    Place(ScopedTimer, "__exit__", host.end_block),
)
"""Every function that a profile stands around."""

_changing = fork_safe(threading.Lock())
_originals: list[Any] = []


def open_book(book: Book) -> None:
    """Let what happens from now on be counted in a book too."""
    with _changing:
        if not books():
            _install()
        set_books([*books(), book])


def close_book(book: Book) -> None:
    """Let nothing be counted in a book any more."""
    with _changing:
        set_books([other for other in books() if other is not book])
        if not books():
            _remove()
    present()  # lets go of its timeline


def _install() -> None:
    _originals.extend(vars(place.owner)[place.name] for place in PLACES)
    for place, original in zip(PLACES, _originals, strict=True):
        setattr(place.owner, place.name, place.around(original))
    watch_launches(True)


def _remove() -> None:
    watch_launches(False)
    for place, original in zip(PLACES, _originals, strict=True):
        setattr(place.owner, place.name, original)
    _originals.clear()
    launches.forget()


def is_installed(places: Sequence[Place] = PLACES) -> bool:
    """Whether any stand-in is in its place."""
    return any(getattr(vars(place.owner)[place.name], "__module__", "").startswith(__package__) for place in places)
