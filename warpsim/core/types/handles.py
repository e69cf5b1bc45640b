"""Ids of structures: how a 64-bit number in a kernel stands for a struct that the host keeps.

An id holds the address of a record in its low 48 bits and a counter in its high 16, so that an id is not
used twice even where a record's memory is. The record is a header of two words, the id itself and a
digest of the struct's type, both 0 once the structure is closed, and then the struct as `structs` lays
it out; closed ones read as structs whose arrays are empty.
"""

from __future__ import annotations

import zlib
from typing import Any
from weakref import WeakValueDictionary

ADDRESS_BITS = 48
HEADER = 16  # bytes before the struct

LIVE: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The structures that are open, by id; `runtime.handles` keeps it."""


def digest(t: Any) -> int:
    """What the second word of a record says about its type."""
    return zlib.crc32(t.key.encode()) | 1 << 32
