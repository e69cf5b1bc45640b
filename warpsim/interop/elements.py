"""Memory of other frameworks in the layout of an element type: vectors and matrices take trailing extents."""

from __future__ import annotations

import numpy as np

from ..core.types import structs
from ..core.types.arrays import type_name
from ..errors import ArrayError


def seen_as(memory: np.ndarray, element: type, what: str) -> np.ndarray:
    """The memory with numbers of the element type; integers may differ in their sign, and truth values are bytes.

    what: what messages call it, as in "a tensor of torch.float32". Raises `ArrayError` for other numbers and shapes.
    """
    shape, layout = memory.shape, structs.numpy_dtype(element)
    if memory.dtype != layout.base:
        alike = memory.dtype.kind in "biu" and layout.base.kind in "biu"  # a truth value is a byte, 0 or 1
        same = alike and memory.itemsize == layout.base.itemsize
        if not same or structs.is_struct(element):
            raise ArrayError(f"{what} as {type_name(element)}\nexpected: the same type of numbers")
        memory = memory.view(layout.base)
    inner = layout.shape
    if inner and (memory.ndim <= len(inner) or shape[-len(inner) :] != inner):
        raise ArrayError(
            f"{what} of shape {shape} as {type_name(element)}\nexpected: trailing extents {inner}, and extents of the "
            "array before them"
        )
    return memory
