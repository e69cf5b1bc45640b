"""Ids of structures: how a 64-bit number in a kernel stands for a struct that the host keeps.

On the CPU an id is a row of a table in its low bits and a counter in the others, so that no id is ever used twice.
Kernels look it up: where the row holds another id, or a structure of another type, the number stands for nothing, and
no number whatever leads into foreign memory. On CUDA an id holds the address of a record in its low 48 bits and a
counter in its high 16.

A record is a header of two words, the id itself and a digest of the struct's type, both 0 once the structure is
closed, and then the struct as `structs` lays it out; closed ones read as structs whose arrays are empty.
"""

from __future__ import annotations

import zlib
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from .arrays import type_name
from .structs import StructType

ADDRESS_BITS = 48
HEADER = 16  # bytes before the struct
ROW_BITS = 20
ROWS = np.zeros((1 << ROW_BITS, 4), np.uint64)
"""Of each structure on the CPU the id, the digest of its type and the address of its struct. Row 0 is never used.

The memory is zero pages until it is written to.
"""
TABLE_NAME = "warpsim_structures"
"""What compiled code calls the table."""

LIVE: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The structures that are open, by id; `runtime.handles` keeps it."""


def structure_name(t: StructType) -> str:
    """What users know a structure by: what our `Mesh` keeps is a struct `MeshData`."""
    ours = t.__module__.partition(".")[0] == __name__.partition(".")[0]
    return type_name(t).removesuffix("Data") if ours else type_name(t)


def digest(t: StructType) -> int:
    """What a record and the table say about the type of a struct."""
    return zlib.crc32(t.key.encode()) | 1 << 32
