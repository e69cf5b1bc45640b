"""Writing elements of an array from the host: items, fills, assignments.

Everything here is checked first, then done at once or, while a graph is captured, recorded. Tapes are
told before memory changes, and what they need to run it in reverse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ArrayError, OutOfBoundsError, ReadOnlyError
from ...types import structs
from ...types.arrays import type_name
from ...types.scalars import holds_numbers
from ..devices.capture import current_graph
from ..devices.cuda import interop
from ..devices.device import CPU, Device
from ..devices.device_memory import DeviceMemory, on_host
from ..devices.float_mode import in_standard_mode
from ..devices.memory_range import MemoryRange
from ..steps.move import Move, Piece
from . import allocation, made_of_arrays, saved_contents
from .held import Held, owners_of
from .host_memory import TypedMemory, as_numpy, check_range, record_of
from .keys import keys_of
from .seeds import forget_left

if TYPE_CHECKING:
    from .array import array

Select = Callable[[np.ndarray], np.ndarray]
_WORDS = {"fill_": "fill", "zero_": "fill"}
"""What reports call writes, where that is not a copy."""
"""Takes the part that is written out of memory that lies like the array's."""


def _whole(memory: np.ndarray) -> np.ndarray:
    return memory


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether NumPy repeats something of a shape over another one."""
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


class Writable(TypedMemory):
    """The writing half of `array`."""

    _data: np.ndarray
    _address: int
    _range: MemoryRange | None
    is_contiguous: bool

    def _of_same_type(self, values: object, device: Device, requires_grad: bool) -> array:
        """An array of elements of the same type, made of values."""
        raise NotImplementedError

    @classmethod
    def _wrap(cls, memory: np.ndarray, element: type, device: Device, owner: object = None) -> array:
        raise NotImplementedError

    def __setitem__(self, key: object, value: Any) -> None:
        """Copy a number, an element or an array-like of fitting shape into the selection.

        Raises `ReadOnlyError`, `OutOfBoundsError`, and `ArrayError` for values that do not fit.
        """
        self._require_writable()
        keys = keys_of(key, self.ndim)
        if not all(isinstance(k, slice | int | np.integer) for k in keys):
            raise TypeError("elements at index tables are not set by brackets\nhelp: a[indices].assign(values)")
        try:
            place = (*keys, ...)
            target = self._data[place]
        except IndexError as error:
            raise OutOfBoundsError(f"{error}, for an array of shape {self.shape}") from None
        self._write(target, value, "__setitem__", lambda grad: grad[place])

    def fill_(self, value: Any) -> None:
        """Set every element to `value`: a number for all components, or one element.

        Raises `ReadOnlyError`, and `ArrayError` for a value of another shape.
        """
        self._require_writable()
        inner = self._data.shape[self.ndim :]
        if isinstance(value, list | tuple | np.ndarray) and np.shape(value) == (math.prod(inner),):
            value = np.reshape(value, inner)  # the entries of a matrix row by row
        if not isinstance(value, structs.Struct) and np.shape(value) not in ((), inner):
            raise ArrayError(f"fill value of shape {np.shape(value)}\nexpected: a number or {type_name(self.dtype)}")
        self._write(self._data, value, "fill_", _whole)

    def zero_(self) -> None:
        """Set every element to zero. Raises `ReadOnlyError`."""
        self._require_writable()
        nothing = np.zeros((), self._data.dtype)
        self._change(lambda: self._store(self._data, nothing, None), nothing, self._data, "zero_", _whole)

    def assign(self, src: object) -> None:
        """Copy from an array, NumPy array or list of the same number of elements.

        Raises `ReadOnlyError`, and `ArrayError` when dtypes of arrays, or numbers of elements differ.
        """
        self._require_writable()
        if src is None:
            raise ArrayError("assign from None\nexpected: an array, a NumPy array or a list")
        if isinstance(src, TypedMemory):
            source = src
        else:
            there = interop.is_device_array(src) or self._held is not None  # structs there may refer to arrays there
            follows = made_of_arrays.holds_gradients(src)
            source = self._of_same_type(src, self.device if there else CPU, follows)
        if source.dtype is not self.dtype:
            raise ArrayError(
                f"assign from {type_name(source.dtype)} to {type_name(self.dtype)}\n"
                "expected: equal dtypes\nhelp: wp.utils.array_cast converts"
            )
        if source.size != self.size:
            raise ArrayError(f"assign from shape {source.shape} to shape {self.shape}")
        shape = self._data.shape
        step = lambda: self._store(self._data, source._source().reshape(shape), source._held)  # noqa: E731
        self._change(step, source, self._data, "assign", _whole, source)

    def _write(self, target: np.ndarray, value: object, what: str, select: Select) -> None:
        """Copy a value into a part of the memory, which `select` finds in the gradient."""
        owners: dict[bytes, Any] = {}
        if made_of_arrays.holds_gradients(value):
            value = self._of_same_type(value, self.device, True)
        source = value._source() if isinstance(value, TypedMemory) else self._source_of(value, owners)
        numbers = holds_numbers(source.dtype) and self._data.dtype.names is None
        if not numbers and source.dtype != self._data.dtype:
            raise ArrayError(f"value {value!r}\nexpected: {type_name(self.dtype)}")
        if not _broadcasts(source.shape, target.shape):
            raise ArrayError(
                f"a value of shape {source.shape} does not fit shape {target.shape}\n"
                f"expected: {type_name(self.dtype)}, or an array of them"
            )
        if isinstance(value, TypedMemory):  # read when the copy is made, which may be in a later replay
            self._change(lambda: self._store(target, value._source(), value._held), value, target, what, select, value)
        else:
            self._change(lambda: self._store(target, source, owners), source, target, what, select)

    def _change(
        self,
        store: Callable[[], None],
        values: Any,
        target: np.ndarray,
        what: str,
        select: Select,
        source: TypedMemory | None = None,
    ) -> None:
        """Write values to a part of the memory; tapes record it. source: the array that has them, None for others."""
        if self._memory.left is not None:
            forget_left(self._memory)
        if saved_contents.alert:
            allocation.about_to_write(self, target, what)
        if current_graph() is None:
            store()
        else:
            device = self.device if source is None or source.device is self.device else None
            told = partial(self._change, store, values, target, what, select, source)
            moves = partial(self._moves, target, values)
            Move(store, moves, _WORDS.get(what, "copy"), device, told, bare=self._held is None).submit()
        for tape in saved_contents.active():
            tape.record_write(self, select, source, what)

    def _moves(self, target: np.ndarray, values: Any) -> list[Piece] | None:
        """What `_change` comes down to. Constants that refer to arrays are arrays themselves, on the host alone."""
        if self._held is None or isinstance(values, TypedMemory) or not values.tobytes().strip(b"\0"):
            return [Piece(target, values)]
        if not self.device.shares_host_memory:
            return None
        return [Piece(target, self._wrap(np.atleast_1d(values), self.dtype, self.device))]

    def _source_of(self, value: object, owners: dict[bytes, Any]) -> np.ndarray:
        """A copy of a value as it is now; `references` gets the arrays that structs in it refer to."""
        if isinstance(value, structs.Struct):
            return record_of(value, owners)
        memory, element = as_numpy(value, owners)
        source = np.array(memory)
        if element is None and self._held is not None and source.dtype == self._data.dtype:
            owners.update(owners_of(source, self.dtype))
        if isinstance(value, int | list | tuple):
            check_range(source, self._data.dtype)
        return source

    def _require_writable(self) -> None:
        if not self._data.flags.writeable:
            raise ReadOnlyError(
                "the array is read-only memory\nexpected: a writable array\nhelp: make a copy: wp.array(x)"
            )

    @in_standard_mode
    def _store(self, target: np.ndarray, source: Any, references: dict[bytes, Any] | None) -> None:
        owners = references.owners() if isinstance(references, Held) else references or {}
        if self._held is not None:
            self._held.check(owners)
        # What does not fit is converted as C does; NumPy's warnings would come at odd places.
        with np.errstate(invalid="ignore", over="ignore"):
            target[...] = source if isinstance(target, DeviceMemory) else on_host(source)
        if self._held is not None:
            self._held.add(owners)
