"""Handles: structures that kernels reach by a 64-bit id, such as hash grids and meshes.

A handle keeps a struct of arrays and a record of it in memory that kernels read (see `types.handles`).
Closed records stay readable for a long time and say that everything is empty, so a kernel that is launched with the
id of a closed structure finds nothing; launches that are checked say so instead. The record of a structure on a CUDA
device is a copy there, which changes in the order of the current stream.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ....errors import DeviceError, StructureIdError
from ....forks import fork_safe
from ...types import structs
from ...types.arrays import WORD
from ...types.handles import ADDRESS_BITS, HEADER, LIVE, ROW_BITS, ROWS, digest, structure_name
from ...types.scalars import uint8
from ..arrays import saved_contents
from ..arrays.host_memory import allocate, write_struct
from ..devices.cuda.driver import finalize
from ..devices.device import Device, DeviceLike, get_device
from ..devices.unique import Unique
from .interp import interpreter_value

_RESTING = 4096
"""How many closed records are kept, so that stale ids still lead to memory that says so."""

_resting: deque[np.ndarray] = deque(maxlen=_RESTING)
_numbers = itertools.count(1)
_lock = fork_safe(threading.Lock())
_rows: deque[int] = deque()
_unused_rows = iter(range(1, 1 << ROW_BITS))
"""Rows of the table of ids that structures left, and those that none had yet."""


class Record(Unique):
    """The bytes that an id leads kernels to. kind: the digest of the type of struct that they are."""

    def __init__(self, size: int, kind: int, device: Device):
        self.device = device
        self._memory = np.zeros(HEADER + size + WORD, np.uint8)
        self._words = self._memory[:HEADER].view(np.uint64)
        self.content = self._memory[HEADER : HEADER + size]
        with _lock:
            number = next(_numbers)
        self._there: np.ndarray = self._memory
        self._row = 0
        if not self.device.shares_host_memory:
            self._there = allocate(self._memory.shape, uint8, zero=False, device=self.device)
            address = self._there.ctypes.data
            if address >> ADDRESS_BITS:
                raise DeviceError(f"a record at {address:#x}\nexpected: an address of {ADDRESS_BITS} bits, as ids hold")
            self._id = address | number % (1 << 64 - ADDRESS_BITS) << ADDRESS_BITS
        else:
            self._row = _free_row()
            self._id = number << ROW_BITS | self._row
        self._words[:] = self._id, kind

    @property
    def id(self) -> int:
        """What stands for the bytes in kernels."""
        return self._id

    def publish(self) -> None:
        """Bring the bytes to where kernels read them."""
        if self._there is not self._memory:
            self._there[...] = self._memory
        if self._row:
            ROWS[self._row] = self._id, self._words[1], self.content.ctypes.data, 0

    def take(self, content: Any) -> None:
        """Let the id stand for other contents: the bytes of a record, the struct of a handle."""
        self.content[...] = np.frombuffer(content, np.uint8)
        self.publish()

    def close(self) -> None:
        """Let the id stand for nothing. Closing twice does no harm."""
        if self._words[0]:
            if self._row:
                ROWS[self._row] = 0
                _rows.append(self._row)
            self._memory[:] = 0
            if self._there is not self._memory:
                finalize(self.device, partial(self._there.fill, 0))
            _resting.append(self._there)

    def __del__(self, process_ends: Callable[[], bool] = sys.is_finalizing) -> None:
        # When the process ends, modules are gone, and there is nobody to give the id back to.
        if not process_ends() and hasattr(self, "_id"):
            self.close()


class Handle(Record):
    """A struct under an id. `data` is the struct, `id` what kernels are given.

    device: where the arrays of the struct are, by default the current one. Safe to make and close from several
    threads. Raises `StructureIdError` for the use of a closed handle.
    """

    def __init__(self, data: structs.Struct, device: DeviceLike = None):
        self.type = type(data)
        layout = structs.numpy_dtype(self.type)
        super().__init__(layout.itemsize, digest(self.type), get_device(device))
        self._record = self.content.view(layout)
        self._write(data)
        LIVE[self._id] = self

    def _write(self, data: structs.Struct) -> None:
        write_struct(self._record, 0, data)
        self._data, self._arrays = data, structs.freeze(data)  # the record has the addresses of these arrays
        self.publish()

    @property
    def id(self) -> int:
        """What stands for the structure in kernels."""
        self._check_open()
        return self._id

    @property
    def data(self) -> structs.Struct:
        """The struct. Raises `StructureIdError` once closed."""
        self._check_open()
        return self._data

    @property
    def is_open(self) -> bool:
        return hasattr(self, "_data")

    def update(self, data: structs.Struct) -> None:
        """Take a struct of the same type in the place of the present one. No launch may be using the id."""
        self._check_open()
        self._write(data)

    def take(self, content: Any) -> None:
        if self.data is not content:
            self.update(content)

    def close(self) -> None:
        """End the structure: its id stands for nothing from now on. Closing twice does no harm."""
        if self.is_open:
            del self._data, self._arrays
            LIVE.pop(self._id, None)
            super().close()

    def note_filled(self, arrays: Iterable[Any]) -> None:
        """Tell loops with checkpoints that a build is about to fill arrays of the structure's own."""
        for tape in saved_contents.active():
            tape.note_filled(arrays)

    def note_replaced(self, what: str, instead: str) -> None:
        """Tell tapes that a structure is about to take new arrays. Raises `CheckpointError` in loops with checkpoints.

        what: the call that does so; instead: what steps of loops can do.
        """
        for tape in saved_contents.active():
            tape.note_replaced(what, instead)

    def for_interpreter(self) -> Any:
        """The struct as the interpreter holds it. Raises `DeviceError` for arrays where the host cannot look."""
        if not self.device.shares_host_memory:
            raise DeviceError(
                f"an id stands for a {structure_name(self.type)} on {self.device}, and the launch is on the host\n"
                f"expected: a structure on the host\nhelp: launch with device={str(self.device)!r}"
            )
        return interpreter_value(self.data, self.type, self.type.__name__)

    def _check_open(self) -> None:
        if not self.is_open:
            raise StructureIdError(
                f"this {structure_name(self.type)} is closed\nexpected: a structure that is in use\n"
                "help: make a new one"
            )


def _free_row() -> int:
    """A row of the table of ids. Raises `DeviceError` where all are taken."""
    with _lock:
        row = _rows.popleft() if _rows else next(_unused_rows, 0)
    if not row:
        raise DeviceError(f"{(1 << ROW_BITS) - 1} structures are open\nexpected: fewer\nhelp: close some")
    return row
