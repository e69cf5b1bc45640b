"""System resources of Python objects, released after every finalizer that may still use them."""

from __future__ import annotations

import sys
from collections.abc import Callable


class Owned:
    """Calls `release` when the memory of this object goes; never at the end of the process.

    The garbage collector calls the finalizers of a cycle in any order, while all of its objects can still be used.
    So the finalizer here only leaves behind what releases: that goes with the memory, after all finalizers.
    """

    def __init__(self, release: Callable[[], None]):
        self._release = release

    def __del__(self) -> None:
        self._last = _Last(self._release)


class _Last:
    def __init__(self, release: Callable[[], None]):
        self.release = release

    def __del__(self) -> None:
        # Until the end threads may be running code, and other frameworks may hold its addresses.
        if sys is not None and not sys.is_finalizing():
            self.release()
