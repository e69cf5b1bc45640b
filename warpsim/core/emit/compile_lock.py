"""`CompileLock`: one compilation at a time, and how long all of them took."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class CompileLock:
    """A lock that a thread may take again while it has it; use it in a `with` block.

    seconds: for how long it has been held [s]. listeners: called with True when a compilation begins and with False
    when it has ended, by the thread that compiles; they must not raise.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.listeners: list[Callable[[bool], None]] = []
        self._lock = threading.RLock()
        self._depth, self._begin = 0, 0.0
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._begin = time.monotonic()
            self._tell(True)

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        try:
            if self._depth == 0:
                self.seconds += time.monotonic() - self._begin
                self._tell(False)
        finally:
            self._lock.release()

    def _tell(self, begins: bool) -> None:
        for hear in list(self.listeners):
            hear(begins)
