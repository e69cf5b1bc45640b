"""`CompileLock`: one compilation at a time, and how long all of them took."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class CompileLock:
    """A lock that a thread may take again while it has it; use it in a `with` block.

    A fork goes first: `acquire` waits for the compilation that runs, not for others that threads begin one after the
    other, which a lock alone gives the next turn before the one that waits is awake.

    seconds: for how long it has been held [s]. listeners: called with True when a compilation begins and with False
    when it has ended, by the thread that compiles; they must not raise.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.listeners: list[Callable[[bool], None]] = []
        self._lock = threading.RLock()
        self._gate = threading.Lock()  # held by who is to be the next one; compilations pass it
        self._depth, self._begin, self._owner = 0, 0.0, 0
        self._forks: list[bool] = []  # whether each fork that is under way holds the gate

    def acquire(self) -> None:
        """Let no compilation begin from now on, and wait for the end of that of another thread."""
        foreign = self._owner != threading.get_ident()
        if foreign:
            self._gate.acquire()
        self._lock.acquire()
        self._forks.append(foreign)

    def release(self) -> None:
        """Undo `acquire`."""
        foreign = self._forks.pop()
        self._lock.release()
        if foreign:
            self._gate.release()

    def __enter__(self) -> None:
        if self._owner != threading.get_ident():
            with self._gate:
                pass
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._begin, self._owner = time.monotonic(), threading.get_ident()
            self._tell(True)

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        try:
            if self._depth == 0:
                self._owner = 0
                self.seconds += time.monotonic() - self._begin
                self._tell(False)
        finally:
            self._lock.release()

    def _tell(self, begins: bool) -> None:
        for hear in list(self.listeners):
            hear(begins)
