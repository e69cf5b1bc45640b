"""The floating-point numbers inside an array, in one order: element by element, component by component.

A vec3 array of shape (n,) has 3 n of them; an array of structs has the floats of every field, in the
order of the fields. Integers and array fields are left out. Strided arrays work as any other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.types.scalars import holds_floats, rounding


class Components:
    """Reads and writes the floats of one array by a single index.

    size: how many there are. per_element: how many of them belong to one element.
    dtype: the NumPy dtype that holds all of them (of the widest, where a struct mixes precisions).
    """

    def __init__(self, array: Any):
        self.array = array
        elements = array.shape
        self.leaves = list(_float_leaves(array._data))  # numpy() would tell tapes that anyone may write now
        self.widths = [math.prod(leaf.shape[len(elements) :]) for leaf in self.leaves]
        self.per_element = sum(self.widths)
        self.elements: int = math.prod(elements)
        self.size: int = self.elements * self.per_element
        self.dtype = np.result_type(*(leaf.dtype for leaf in self.leaves)) if self.leaves else np.dtype(np.float32)

    def read(self) -> np.ndarray:
        """All numbers, as a fresh float64 vector of `size` entries."""
        parts = [leaf.reshape(self.elements, width) for leaf, width in zip(self.leaves, self.widths, strict=True)]
        return np.concatenate(parts, axis=1, dtype=np.float64).reshape(-1)

    def __getitem__(self, index: int) -> Any:
        leaf, place = self._place(index)
        return leaf[place]

    def __setitem__(self, index: int, value: float) -> None:
        leaf, place = self._place(index)
        leaf[place] = value

    def precision(self, index: int) -> Any:
        """What the type of one number can represent."""
        return np.finfo(self._place(index)[0].dtype)

    def precisions(self) -> np.ndarray:
        """The machine epsilon of every number, (size,)."""
        row = np.repeat([rounding(leaf.dtype.type) for leaf in self.leaves], self.widths)
        return np.tile(row, self.elements)

    def name(self, index: int) -> str:
        """Where a number stands, as an index expression: `[4]`, `[4][1]`, `[2, 0][1]`."""
        element, component = divmod(index, self.per_element)
        place = ", ".join(str(int(k)) for k in np.unravel_index(element, self.array.shape))
        return f"[{place}]" + (f"[{component}]" if self.per_element > 1 else "")

    def _place(self, index: int) -> tuple[np.ndarray, Any]:
        """The memory that holds a number, and its index there."""
        element, component = divmod(index, self.per_element)
        for leaf, width in zip(self.leaves, self.widths, strict=True):
            if component < width:
                return leaf, np.unravel_index(element * width + component, leaf.shape)
            component -= width
        raise IndexError(index)


def _float_leaves(memory: np.ndarray) -> Any:
    """Views of the floating-point parts of structured memory."""
    if memory.dtype.names is None:
        if holds_floats(memory.dtype):
            yield memory
        return
    for name in memory.dtype.names:
        yield from _float_leaves(memory[name])
