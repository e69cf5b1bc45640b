"""Reports of failed checks in compiled kernels, as exceptions.

A kernel with assertions, or compiled with `config.verify`, gets the address of a record in its
argument block; the first thread whose check fails claims the record and fills it.

Launches on the CPU, and with `config.verify` on CUDA as well, raise what they report. Other launches on CUDA
do not wait for their end: the next call that waits for the device raises. Where none does, the log tells at exit.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import KernelAssertionError, OutOfBoundsError, StructureIdError, WarpsimError
from ....forks import fork_safe
from ...emit.layout import WORD
from ...ir.host_arrays import ABSENT
from ...ops.native import exception_for
from ...types.scalars import int64
from ..arrays.host_memory import allocate
from ..devices.device_memory import on_host

if TYPE_CHECKING:
    from ..devices.cuda.device import CudaDevice
    from .launcher import LaunchCall, Launcher


log = logging.getLogger("warpsim")

_WORDS = 5  # claimed, site, index, extent, thread
_MOST = 1024  # launches that may be unread
_making = fork_safe(threading.Lock())


class Report:
    """The record of one launch."""

    def __init__(self, launcher: Launcher):
        self.launcher = launcher
        self.record = allocate((_WORDS,), int64, device=launcher.device)

    def attach(self, block: bytes) -> bytes:
        """The argument block with the record."""
        return attach_record(self.record, block)

    def raise_if_failed(self) -> None:
        """Raise what the launch reported."""
        raise_reported(self.launcher, on_host(self.record))


def attach_record(record: np.ndarray, block: bytes) -> bytes:
    """An argument block with the address of a record in its first word."""
    return int(record.ctypes.data).to_bytes(WORD, "little") + block[WORD:]


class Unread:
    """The records of launches on a CUDA device that nobody has looked at yet, in the order of the launches."""

    def __init__(self, device: CudaDevice):
        self.device = device
        self.records = allocate((_MOST, _WORDS), int64, device=device)
        self.launchers: list[Any] = []
        self.lock = fork_safe(threading.RLock())

    def run(self, call: LaunchCall) -> None:
        """Launch with a record of its own. No other thread looks at it before the launch is on its way."""
        with self.lock:
            if len(self.launchers) == _MOST:
                self.look()
            record = self.records[len(self.launchers)]
            self.launchers.append(call.launcher)
            call.launcher.run(call._replace(block=attach_record(record, call.block)))

    def look(self) -> None:
        """Raise what the first launch that failed reported, once the work on the current stream is done."""
        if not self.launchers:
            return
        with self.lock:
            launchers, self.launchers = self.launchers, []  # so that reading, which waits, finds nothing to look at
            used = self.records[: len(launchers)]
            contents = on_host(used)
            if contents.any():
                used[...] = 0
                self.device.synchronize()  # launches on other streams may be given these records next
        for launcher, record in zip(launchers, contents, strict=True):
            raise_reported(launcher, record)


def unread(device: CudaDevice) -> Unread:
    """The unread records of a device."""
    if device.unread is None:
        with _making:
            if device.unread is None:
                device.unread = Unread(device)
                atexit.register(tell_at_exit, device.unread)
    checks: Unread = device.unread
    return checks


def tell_at_exit(records: Unread) -> None:
    """Log what launches reported after the last call that waited."""
    try:
        records.look()
    except WarpsimError as error:
        log.error("a launch failed and nothing waited for it: %s", error)


def raise_reported(launcher: Launcher, record: np.ndarray) -> None:
    """Raise what a record says, if a check claimed it."""
    claimed, number, index, limit, thread = (int(x) for x in record)
    if not claimed:
        return
    site = launcher.code.sites[number]
    place = f"  --> {site.location}\n{site.location.excerpt()}\n" if site.location else ""
    where = f"{place}in kernel {launcher.kernel.key!r}, thread {thread}"
    if site.kind == "assert":
        raise KernelAssertionError(f"{site.text}\n{where}")
    if site.kind == "id":
        raise StructureIdError(f"id {index & (1 << 64) - 1:#x} stands for no open {site.text}\n{where}")
    if site.kind == "none":
        raise OutOfBoundsError(f"{site.text} is None, and is read or written\n{where}\n{ABSENT}")
    if site.kind == "native":
        said = ctypes.string_at(index)
        raise exception_for(site.text, said, site.location, f", in kernel {launcher.kernel.key!r}, thread {thread}")
    if site.kind == "table":
        raise OutOfBoundsError(f"an index table holds {index}, outside {site.text} of length {limit}\n{where}")
    if site.kind == "unsigned bounds":
        index &= (1 << 64) - 1
    raise OutOfBoundsError(f"index {index} is outside {site.text} of length {limit}\n{where}")
