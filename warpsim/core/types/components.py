"""Components of vectors, matrices, quaternions and transforms on the host: read and written by index and by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ...errors import ComponentCountError, ComponentKeyError, OutOfBoundsError, shown
from . import buffers, scalars
from .precise import host_number

_SWIZZLE = {"x": 0, "y": 1, "z": 2, "w": 3}


class Components:
    """The half of `Compound` that reads and writes parts of a value."""

    kind: ClassVar[str]
    shape: ClassVar[tuple[int, ...]]
    dtype: ClassVar[type]
    size: ClassVar[int]
    __slots__ = ()

    _data: np.ndarray

    @classmethod
    def _of_kind(cls, shape: tuple[int, ...], kind: str = "") -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, index: object) -> Any:
        """A component, a row, or what slices select. Raises `IndexError` outside, `KeyError` for other keys."""
        part = self._part(self._key(index))
        if isinstance(part, np.ndarray):
            return self._of_kind(part.shape).wrap(part)
        return host_number(part)

    def _part(self, key: Any) -> Any:
        try:
            return self._data[key]
        except IndexError:
            extents = " x ".join(map(str, self.shape))
            what = f"index {shown(key)} of a {type(self).__name__} is out of bounds"
            raise OutOfBoundsError(f"{what}\nexpected: below {extents}") from None

    def _key(self, index: object) -> Any:
        """What NumPy selects by: integers and slices, no more than there are dimensions."""
        if type(index) in (int, slice):
            return index
        rank = len(self.shape)
        keys = index if isinstance(index, tuple) and rank > 1 else (index,)
        if not 1 <= len(keys) <= rank or not all(isinstance(k, int | np.integer | slice) for k in keys):
            known = "an integer or a slice" if rank == 1 else "an integer, a slice, or two of these"
            raise ComponentKeyError(f"key {index!r} of a {type(self).__name__}\nexpected: {known}")
        return tuple(int(k) if isinstance(k, bool) else k for k in keys)

    def _line(self, index: object) -> int:
        """The number of a row or column. Raises `ComponentKeyError` for what is no integer, or of a vector."""
        if not isinstance(index, int | np.integer) or len(self.shape) != 2:
            raise ComponentKeyError(f"row or column {shown(index)} of a {type(self).__name__}\nexpected: an integer")
        return int(index)

    def get_row(self, index: int) -> Any:
        """A row of a matrix, as a vector. Raises `IndexError` where there is none."""
        return self[self._line(index)]

    def get_col(self, index: int) -> Any:
        """A column of a matrix, as a vector. Raises `IndexError` where there is none."""
        return self[:, self._line(index)]

    def set_row(self, index: int, value: object) -> None:
        """Give a row of a matrix new entries, or one number for all. Raises `IndexError` where there is none."""
        self[self._line(index)] = value

    def set_col(self, index: int, value: object) -> None:
        """Give a column of a matrix new entries, or one number for all. Raises `IndexError` where there is none."""
        self[:, self._line(index)] = value

    def __setitem__(self, index: object, value: object) -> None:
        """Give components new values: numbers, or as many as are selected.

        Raises `IndexError` outside, `KeyError` for other keys, `TypeError` for what is no number of this type,
        `ValueError` for too few or too many.
        """
        if type(index) is int and type(value) is float and len(self.shape) == 1 and self.dtype in scalars.FLOATS:
            self._data[index] = value  # the usual case, at once
            return
        key = self._key(index)
        at = self._part(key)
        new = self._numbers(value, isinstance(at, np.generic))
        try:
            self._data[key] = new
        except ValueError:
            extents = f"{np.shape(new)}\nexpected: {np.shape(at)}, or one number for all"
            raise ComponentCountError(f"components of a {type(self).__name__} get values of shape {extents}") from None

    def _numbers(self, value: object, one: bool) -> Any:
        """What is written to a component, or to several, as NumPy takes it; or `TypeError`."""
        if type(value) in (float, int) and self.dtype in scalars.FLOATS:
            return value
        new = np.asarray(value)
        if not scalars.holds_numbers(new.dtype) or (one and new.ndim):
            numbers = self.dtype.__name__ if one else f"numbers of type {self.dtype.__name__}"
            raise TypeError(f"a component of a {type(self).__name__} is set to {value!r}\nexpected: {numbers}")
        check_whole(type(self), new.dtype, value)
        with np.errstate(over="ignore"):
            return new if new.dtype == self.dtype else new.astype(self.dtype)

    def __getattr__(self, name: str) -> Any:
        if self.kind == "transform" and name in ("p", "q"):
            return self[0:3] if name == "p" else self._of_kind((4,), "quaternion").wrap(self._data[3:])
        if self.kind in ("vector", "quaternion") and name and all(c in _SWIZZLE for c in name):
            indices = [_SWIZZLE[c] for c in name]
            if max(indices) < self.size and len(indices) <= 4:
                part = self._data[indices]
                return self[indices[0]] if len(indices) == 1 else self._of_kind(part.shape).wrap(part)
        if name == "_data" and isinstance(self, buffers.Array):  # `ctypes` made the value, an element of its arrays
            return buffers.components(self, self.memory, self.shape)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        if self.kind == "transform" and name in ("p", "q"):
            self[slice(0, 3) if name == "p" else slice(3, 7)] = value
        elif self.kind in ("vector", "quaternion") and name and all(c in _SWIZZLE for c in name):
            indices = [_SWIZZLE[c] for c in name]
            if max(indices) >= self.size:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            if len(set(indices)) != len(indices):
                raise AttributeError(f"{name!r} names a component twice\nexpected: each once, to set them")
            self._data[indices] = self._numbers(value, False)
        else:
            object.__setattr__(self, name, value)  # a note of the user's own, which no kernel sees


def check_whole(t: type[Components], source: np.dtype, value: object) -> None:
    """Refuse floats for integers, which would lose what is behind the point."""
    if t.dtype in scalars.INTEGERS and source.kind == "f":
        raise TypeError(
            f"{t.__name__} got {value!r}\nexpected: integers\nhelp: int(x) or x.astype(int) cuts off the fraction"
        )
