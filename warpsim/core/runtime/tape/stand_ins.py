"""Substitution of saved contents for present ones: in arguments of adjoints, and in memory while a function runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...types import structs
from ...types.array_ref import Fields
from ..arrays.allocation import Allocation
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..arrays.saved_contents import Read

Copies = dict[tuple[Fields, int | None], np.ndarray]
"""Saved contents by the fields that lead to the array, and index table."""


def stand_in(a: array, contents: np.ndarray, grad: bool = True) -> array:
    """An array with other contents and the gradient of `a`; without grad, with none."""
    replacement = array.__new__(array)
    replacement.__dict__.update(a.__dict__)  # all but what follows is the same: contents lie as those of `a` do
    replacement._data, replacement._address = contents, contents.ctypes.data
    replacement._range, replacement._memory = None, Allocation()
    if not grad:
        replacement._grad = None
    replacement._pack()
    return replacement


def substitute(value: Any, copies: Copies, path: Fields = (), grad: bool = True) -> Any:
    """An argument with saved contents in the place of present ones; without grad, and no gradients there."""
    if isinstance(value, structs.Struct):
        replaced = object.__new__(type(value))
        for name in type(value).fields:
            inner = substitute(getattr(value, name), copies, (*path, name), grad)
            object.__setattr__(replaced, name, inner)
        return replaced
    contents = copies.get((path, None))
    if isinstance(value, indexedarray):
        data = value.data if contents is None else stand_in(value.data, contents, grad)
        tables = [copies.get((path, n)) for n in range(value.ndim)]
        pairs = zip(value.indices, tables, strict=True)
        return indexedarray(data, [t if t is None or table is None else stand_in(t, table) for t, table in pairs])
    return value if contents is None else stand_in(value, contents, grad)


class Restored:
    """While it lasts, memory holds saved contents again."""

    def __init__(self, reads: list[tuple[np.ndarray, Read]]):
        self.reads = [(view, read.copy) for view, read in reads if read.copy is not None]

    def __enter__(self) -> None:
        self.present = [view.copy() for view, _ in self.reads]
        for view, copy in self.reads:
            view[...] = copy

    def __exit__(self, *error: object) -> None:
        for (view, _), present in reversed(list(zip(self.reads, self.present, strict=True))):
            view[...] = present
