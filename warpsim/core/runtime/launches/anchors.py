"""Keep-alive references of an argument block: gradients, and structures behind ids.

A recorded launch keeps it alive: the block holds addresses, and what they are addresses of may be replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...types import structs
from ...types.handles import LIVE
from ...types.scalars import uint64
from ..arrays.host_memory import TypedMemory


def anchors(values: Iterable[Any]) -> Iterator[Any]:
    """What arguments, and fields of structs among them, refer to as they are now."""
    for value in values:
        for _, member in structs.members(value):
            if isinstance(member, TypedMemory):
                yield member._array._gradient
            elif isinstance(member, int | uint64):
                yield LIVE.get(int(member))
