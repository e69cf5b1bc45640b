"""Handles: structures that kernels reach by a 64-bit id, such as hash grids and meshes.

A handle keeps a struct of arrays and a record of it in memory that kernels read (see `types.handles`).
Closed records stay readable for a long time and say that everything is empty, so a kernel that is launched with the
id of a closed structure finds nothing; launches that are checked say so instead.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...errors import StructureIdError
from ..types import structs
from ..types.handles import ADDRESS_BITS, HEADER, LIVE, digest
from . import versions
from .interp import interpreted
from .memory import write_struct

_RESTING = 4096
"""How many closed records are kept, so that stale ids still lead to memory that says so."""

_resting: deque[np.ndarray] = deque(maxlen=_RESTING)
_numbers = itertools.count(1)
_lock = threading.Lock()


class Handle:
    """A struct under an id. `data` is the struct, `id` what kernels are given.

    Safe to make and close from several threads. Raises `StructureIdError` for the use of a closed handle.
    """

    def __init__(self, data: structs.Struct):
        self.type = type(data)
        layout = structs.numpy_dtype(self.type)
        self._memory = np.zeros(HEADER + layout.itemsize + layout.alignment, np.uint8)
        self._words = self._memory[:HEADER].view(np.uint64)
        self._record = self._memory[HEADER : HEADER + layout.itemsize].view(layout)
        with _lock:
            number = next(_numbers)
        self._id = self._memory.ctypes.data | number % (1 << 64 - ADDRESS_BITS) << ADDRESS_BITS
        self._words[:] = self._id, digest(self.type)
        write_struct(self._record, 0, data)
        self._data = data
        LIVE[self._id] = self

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
        write_struct(self._record, 0, data)
        self._data = data

    def close(self) -> None:
        """End the structure: its id stands for nothing from now on. Closing twice does no harm."""
        if self.is_open:
            del self._data
            LIVE.pop(self._id, None)
            self._memory[:] = 0
            _resting.append(self._memory)

    def note_filled(self, arrays: Iterable[Any]) -> None:
        """Tell loops with checkpoints that a build is about to fill arrays of the structure's own."""
        for tape in versions.active():
            tape.note_filled(arrays)

    def note_replaced(self, what: str, instead: str) -> None:
        """Tell tapes that a structure is about to take new arrays. Raises `CheckpointError` in loops with checkpoints.

        what: the call that does so; instead: what steps of loops can do.
        """
        for tape in versions.active():
            tape.note_replaced(what, instead)

    def interpreted(self) -> Any:
        """The struct as the interpreter holds it."""
        return interpreted(self.data, self.type, self.type.__name__, self.type.__name__)

    def _check_open(self) -> None:
        if not self.is_open:
            raise StructureIdError(
                f"this {self.type.__name__} is closed\nexpected: a structure that is in use\nhelp: make a new one"
            )

    def __del__(self) -> None:
        with contextlib.suppress(TypeError):  # when the interpreter ends, parts of it are gone
            self.close()
