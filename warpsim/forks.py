"""What a process can be forked in the middle of: locks that are open in the child, and properties without a lock.

Threads do not go along into a forked child: a lock that another one held at that moment would never open there. Where
a fork has to wait for a lock, as what it guards is not to be seen half done, `os.register_at_fork` is told where it is
made.
"""

from __future__ import annotations

import functools
import os
import sys
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

_Lock = TypeVar("_Lock")
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def fork_safe(lock: _Lock) -> _Lock:
    """A lock of `threading` that is open in every forked child."""
    _locks.add(lock)
    return lock


def _open_all() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()  # as the locks of Python's own modules


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """As that of Python 3.12: before, one lock for all objects was held while a value was computed."""

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
