"""`indexedarray`: elements of an array picked by index tables, readable and writable in kernels.

The memory and the tables are shared, not copied: writing through an indexedarray writes the array,
and a changed table changes the selection (its indices are checked once, when it is given).

`indexedarray(dtype=float, ndim=1)` without data is the type, for annotations.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ArrayError, DeviceError
from ...types import scalars
from ...types.arrays import ArrayType, array_type, type_name
from ..devices.device import CPU, Device, DeviceLike, get_device
from ..steps.move import Move, Piece
from . import allocation, saved_contents
from .array import array
from .host_memory import TypedMemory, allocate, checked_dtype
from .made_of_arrays import holds_gradients
from .seeds import forget_left
from .tag import Tag

if TYPE_CHECKING:
    import numpy.typing as npt


class _IndexedMeta(type):
    """Lets `indexedarray[float]` and `indexedarray[float, 2]` be types."""

    def __getitem__(cls, item: object) -> ArrayType:
        dtype, ndim = item if isinstance(item, tuple) else (item, 1)
        return array_type(dtype, getattr(ndim, "__args__", (ndim,))[0], True)


class indexedarray(TypedMemory, metaclass=_IndexedMeta):
    """An array seen through lists of indices, one per dimension (None: the whole dimension).

    data: an array. indices: one table or a list of them; a table is an int32 array, which is shared,
    or any one-dimensional integers. Raises `ArrayError` for tables that are anything else, or that
    reach outside the array.
    """

    def __new__(cls, data: object = None, indices: object = None, dtype: object = None, ndim: int | None = None) -> Any:
        if data is None:
            return array_type(dtype or Any, ndim or 1, True)
        return super().__new__(cls)

    def __init__(self, data: array, indices: object = None, dtype: object = None, ndim: int | None = None):
        if not isinstance(data, array):
            raise ArrayError(f"data is {type(data).__name__}\nexpected: an array: wp.array(x)")
        given_tables = indices if isinstance(indices, list | tuple) else [indices]
        if len(given_tables) > data.ndim:
            raise ArrayError(f"{len(given_tables)} index tables for an array of rank {data.ndim}")
        if dtype not in (None, Any) and checked_dtype(dtype) is not data.dtype:
            asked, of_data = type_name(checked_dtype(dtype)), type_name(data.dtype)
            raise ArrayError(f"dtype {asked}\nexpected: {of_data}, that of the data")
        if ndim is not None and ndim != data.ndim:
            raise ArrayError(f"data has rank {data.ndim}\nexpected: rank {ndim}, as ndim says")
        tables: list[array | None] = [
            _index_table(i, n, data.device) for i, n in zip(given_tables, data.shape, strict=False)
        ]
        tables += [None] * (data.ndim - len(tables))
        self.data, self.indices = data, tables
        self.dtype, self.ndim, self.device, self._held = data.dtype, data.ndim, data.device, data._held
        self.shape = tuple(n if t is None else t.size for n, t in zip(data.shape, tables, strict=True))
        self.size = math.prod(self.shape)
        self.is_contiguous = False
        self.type = array_type(data.dtype, data.ndim, True)
        self._tag = Tag(self.type, False, data._tag.writable, data.device.memory_space, data._tag.apart)

    @property
    def _array(self) -> array:
        return self.data

    @property
    def _words(self) -> bytes:
        """The descriptor that launches pass to kernels; made anew, as the gradient may change."""
        grad = self.data._gradient._address if self.data._gradient is not None else 0
        words = [self.data._address, grad, *self.shape, *self.data.strides]
        words += [0 if t is None else t._address for t in self.indices]
        words += self.data.shape
        return struct.pack(f"<{len(words)}Q", *words)

    @property
    def requires_grad(self) -> bool:
        """Whether the array behind has a gradient array."""
        return self.data.requires_grad

    @property
    def grad(self) -> indexedarray | None:
        """The gradients of the selected elements, or None."""
        return None if self.data.grad is None else indexedarray(self.data.grad, self.indices)

    @property
    def _picks(self) -> tuple[np.ndarray, ...]:
        """The selection as NumPy indexes it."""
        pairs = zip(self.data.shape, self.indices, strict=True)
        return np.ix_(*[np.arange(n) if t is None else t._data for n, t in pairs])

    def numpy(self) -> np.ndarray:
        """A copy of the selected elements."""
        return self._contents()

    def _contents(self) -> np.ndarray:
        elements: np.ndarray = self.data._data[self._picks]
        return elements

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the elements of an indexedarray lie apart\nhelp: allow a copy: copy=None")
        contents = self.numpy()
        return contents.astype(dtype or contents.dtype, copy=False)

    def list(self) -> list[Any]:
        """All selected elements in order, as host values."""
        return self.contiguous().list()

    def contiguous(self) -> array:
        """A contiguous copy of the selected elements."""
        copy = array._wrap(allocate(self.shape, self.dtype, zero=False, device=self.device), self.dtype, self.device)
        copy.assign(self)
        copy.requires_grad = self.requires_grad
        return copy

    def to(self, device: DeviceLike) -> indexedarray:
        """This array if it is on the device already, else the same selection from a copy of the array there."""
        if get_device(device) is self.device:
            return self
        tables = [None if t is None else t.to(device) for t in self.indices]
        return indexedarray(self.data.to(device), tables)

    def assign(self, src: object) -> None:
        """Copy from an array, NumPy array or list of the same shape into the selected elements."""
        self.data._require_writable()
        if isinstance(src, TypedMemory):
            source = src
        else:
            source = array(src, dtype=self.dtype, device=CPU, requires_grad=holds_gradients(src))
        if source.dtype is not self.dtype or source.shape != self.shape:
            raise ArrayError(f"assign from {source!r}\nexpected: {self!r}")
        self._change(lambda: self._set(source), source)

    def _set(self, source: TypedMemory) -> None:
        owners = {} if source._held is None else source._held.owners()
        if self._held is not None:
            self._held.check(owners)
        self.data._data[self._picks] = source._contents()
        if self._held is not None:
            self._held.add(owners)

    def _change(self, step: Callable[[], None], source: TypedMemory) -> None:
        """Write to the selected elements; tapes record it."""
        forget_left(self.data._memory)
        if saved_contents.alert:
            allocation.about_to_write(self.data, self.data._data, "assign")
        Move(step, lambda: [Piece(self, source)], told=partial(self._change, step, source)).submit()
        for tape in saved_contents.active():
            tape.record_write(self, None, source, "assign")

    def fill_(self, value: Any) -> None:
        """Set every selected element to `value`."""
        filled = array._wrap(allocate(self.shape, self.dtype, device=self.device), self.dtype, self.device)
        filled.fill_(value)
        self.assign(filled)

    def zero_(self) -> None:
        """Set every selected element to zero."""
        self.assign(array._wrap(allocate(self.shape, self.dtype, device=self.device), self.dtype, self.device))

    def __reduce__(self) -> tuple[Any, ...]:
        return indexedarray, (self.data, self.indices)

    def __len__(self) -> int:
        return self.shape[0]

    def __str__(self) -> str:
        return str(self.numpy())

    def __repr__(self) -> str:
        return f"indexedarray(shape={self.shape}, dtype={type_name(self.dtype)}, device={self.device})"


def _index_table(indices: object, extent: int, device: Device) -> array | None:
    if indices is None:
        return None
    if isinstance(indices, array):
        table = indices
    else:
        plain = np.asarray(indices)
        if plain.ndim != 1 or (plain.dtype.kind not in "iu" and plain.size):
            raise ArrayError(
                f"indices are {plain.dtype} of shape {plain.shape}\n"
                "expected: one dimension of integers\nhelp: a mask becomes indices by np.nonzero(mask)[0]"
            )
        table = array(plain, dtype=scalars.int32, device=device)
    if table.ndim != 1 or table.dtype is not scalars.int32:
        raise ArrayError(f"indices are {table!r}\nexpected: one dimension of int32")
    if table.device.memory_space != device.memory_space:
        raise DeviceError(f"indices are on {table.device}\nexpected: {device}, where the data is")
    values = table.numpy()
    if values.size and (values.min() < 0 or values.max() >= extent):
        raise ArrayError(f"indices reach from {values.min()} to {values.max()}\nexpected: 0 to {extent - 1}")
    return table.contiguous()
