"""Tables that grow block by block: one NumPy array per column, made when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import numbers
from ...errors import ModelError, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def one_each(value: ArrayLike, name: str, count: int, what: str) -> np.ndarray:
    """One number for each of `count` things, or one for all: (count,) or (). Raises `ModelError` for anything else."""
    values = numbers(value, name)
    if values.shape not in ((), (1,), (count,)):
        raise ModelError(
            f"{name} is {shown(value)}, of shape {values.shape}\n"
            f"expected: one number, or one for each of {count} {what}"
        )
    return values


def warp_and_weft(value: ArrayLike, name: str, count: int) -> np.ndarray:
    """A number, a pair (warp, weft), or one of either for each of `count` triangles, as (count, 2).

    Raises `ModelError` for anything else, and where two numbers may be a pair or those of two triangles.
    """
    values = numbers(value, name)
    if values.shape == (2,) and count == 2 and values[0] != values[1]:
        raise ModelError(
            f"{name} is {shown(value)} for two triangles\n"
            f"expected: [({values[0]:g}, {values[1]:g})] along warp and weft, "
            f"or [[{values[0]:g}], [{values[1]:g}]], one for each"
        )
    if values.shape in ((1,), (count,)) and values.shape != (2,):
        values = values.reshape(-1, 1)
    if values.shape not in ((), (2,), (1, 1), (1, 2), (count, 1), (count, 2)):
        raise ModelError(
            f"{name} is {shown(value)}, of shape {values.shape}\n"
            f"expected: one number, a pair (warp, weft), or one of either for each of {count} triangles"
        )
    return np.broadcast_to(values, (count, 2))


class Rows:
    """Columns of equal length. Each is declared with the width of a row: 0 for one number, n for n numbers.

    Columns named in `integers` hold int32, the others float64, so that a model of any precision can be made of them.
    """

    def __init__(self, what: str, integers: tuple[str, ...] = (), **widths: int):
        self.what, self.integers, self.widths = what, integers, widths
        self.count = 0
        self._blocks: dict[str, list[np.ndarray]] = {name: [] for name in widths}

    def add(self, count: int, **values: ArrayLike) -> range:
        """Append `count` rows; a value stands for all of them or has one row for each. Returns their numbers.

        Raises `ModelError` for values of another shape and for numbers that are NaN.
        """
        blocks = {name: self._block(name, count, values[name]) for name in self.widths}
        for name, block in blocks.items():
            self._blocks[name].append(block)
        first, self.count = self.count, self.count + count
        return range(first, self.count)

    def repeat(
        self, other: Rows, copies: int, shifts: Mapping[str, np.ndarray], placed: Mapping[str, np.ndarray]
    ) -> None:
        """Append copies of all rows of another table of the same columns.

        shifts: (copies,), what to add to the numbers of a column, of which -1 stays. placed: columns given outright.
        """
        for name, blocks in self._blocks.items():
            rows = np.repeat(other[name][None], copies, axis=0)
            if name in shifts:
                steps = shifts[name].reshape(copies, *(1 for _ in rows.shape[1:]))
                rows = np.where(rows < 0, rows, rows + steps).astype(rows.dtype)
            blocks.append(placed.get(name, rows.reshape(-1, *rows.shape[2:])))
        self.count += copies * other.count

    def __getitem__(self, name: str) -> np.ndarray:
        """A column: (count,) or (count, width)."""
        blocks = self._blocks[name]
        if len(blocks) != 1:
            empty = np.empty((0, *self._row(name)), self._dtype(name))
            self._blocks[name] = blocks = [np.concatenate([empty, *blocks])]
        return blocks[0]

    def _row(self, name: str) -> tuple[int, ...]:
        width = self.widths[name]
        return (width,) if width else ()

    def _dtype(self, name: str) -> type:
        return np.int32 if name in self.integers else np.float64

    def _block(self, name: str, count: int, value: ArrayLike) -> np.ndarray:
        shape = (count, *self._row(name))
        try:
            values = np.asarray(value, self._dtype(name))
        except (TypeError, ValueError):
            raise ModelError(f"{name} of {self.what} is {shown(value)}\nexpected: numbers") from None
        try:
            block = np.broadcast_to(values, shape).copy()
        except ValueError:
            raise ModelError(f"{name} of {self.what} has shape {values.shape}\nexpected: {shape} or less") from None
        if np.isnan(block).any():
            row = int(np.argwhere(np.isnan(block))[0, 0])
            raise ModelError(f"{name} of {self.what} is NaN in row {row}\nexpected: numbers")
        return block
