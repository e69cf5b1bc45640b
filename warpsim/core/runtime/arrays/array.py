"""`array`: typed memory that kernels and NumPy share.

On `cpu` an array is a NumPy array in 64-byte aligned memory plus its element type: a vec3 array of
shape (n,) is a float32 NumPy array of shape (n, 3). Views (slices, reshapes) share memory. Strides
are in bytes and never negative. On a CUDA device the NumPy array knows addresses of the GPU (see
`device_memory`), and what the host reads are copies.

`array(dtype=float, ndim=1)` without data is the type of an array, for annotations.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ....arguments import refuse_keywords
from ....errors import ArrayError, ArrayTypeError, AxisError, OutOfBoundsError, counted, shown, user_frames
from ...types import compounds, scalars, structs
from ...types.arrays import MAX_NDIM, ArrayType, array_annotation, array_type, type_name
from ..devices.cuda import interop
from ..devices.cuda.memory import CudaMemory
from ..devices.device import Device, DeviceLike, get_device
from ..devices.device_memory import DeviceMemory, on_host
from ..devices.memory_range import MemoryRange, span_of
from . import saved_contents
from .allocation import Allocation, foreign_allocation
from .foreign import ArrayLayout, memory_at
from .gradient import Differentiable
from .held import Held
from .host_memory import (
    ShapeLike,
    allocate,
    check_extents,
    checked_dtype,
    element_rank,
    host_element,
    memory_of,
    normalized_shape,
    reinterpret,
    why_unusable,
)
from .keys import is_table, keys_of, table_of
from .made_of_arrays import follow
from .self_overlap import meets_itself
from .tag import Tag

if TYPE_CHECKING:
    import numpy.typing as npt


_OLDER = {"owner": "leave it out: memory given by ptr= is let go of by deleter=, if there is one"}
_WORDS = [struct.Struct(f"<{2 + 2 * n}Q") for n in range(MAX_NDIM + 1)]


class _ArrayMeta(type):
    """Lets `array(dtype=float)` and `array[float]` be types."""

    __iter__ = None  # `array[k]` is a type for every k

    if not TYPE_CHECKING:  # to them `array[float]` is a generic class, and a call makes an array

        @user_frames
        def __call__(cls, data: object = None, dtype: object = Any, shape: object = None, **options: Any) -> Any:
            sources = (data, shape, options.get("ptr"), options.get("length"))
            if all(source is None for source in sources):
                return array_annotation(dtype, options.get("ndim") or 1)
            return super().__call__(data, dtype, shape, **options)

        def __getitem__(cls, item: object) -> ArrayType:
            dtype, ndim = item if isinstance(item, tuple) else (item, 1)
            return array_type(dtype, getattr(ndim, "__args__", (ndim,))[0])


class array(Differentiable, metaclass=_ArrayMeta):
    """Typed memory of rank 1 to 4.

    data: list, tuple, NumPy array, or any object with an array protocol; copied unless `copy=False`
    and the memory fits. dtype: element type, taken from the data when left out. shape: extents.
    ptr: an address instead of data, with `dtype`, `shape` and optionally `strides` and `capacity`
    [bytes]; `deleter(ptr, bytes)` is called when nothing uses the memory any more.
    Raises `ArrayError` for data that does not fit, `DeviceError` for an unknown device.
    """

    _room: int | None = None  # bytes from the first element on, where memory of others goes on behind the last one
    _range: MemoryRange | None = None  # its addresses, when somebody asked

    def __init__(
        self, data: Any = None, dtype: object = Any, shape: ShapeLike = None, strides: Iterable[int] | None = None,
        ptr: int | None = None, capacity: int | None = None, device: DeviceLike = None, pinned: bool = False,
        copy: bool = True, deleter: Callable[[int, int], None] | None = None, ndim: int | None = None,
        grad: array | None = None, requires_grad: bool = False, retain_grad: bool = False, length: int | None = None,
        **older: object,
    ):  # fmt: skip
        refuse_keywords("wp.array", older, _OLDER)
        device = get_device(device)
        element = None if dtype is Any else checked_dtype(dtype)
        extents = normalized_shape(shape if shape is not None else length)
        if ptr is None and data is None and capacity == 0:
            ptr = 0  # what an empty array says of its memory
        if ptr is None and (capacity is not None or deleter is not None or (strides is not None and data is not None)):
            raise ArrayError("strides=, capacity= and deleter= describe memory given by ptr=, strides= new memory too")
        held: dict[bytes, Any] = {}
        if ptr is not None:
            memory = memory_at(ptr, ArrayLayout(element, extents, strides), device, None, capacity, deleter)
            assert element is not None  # else `memory_at` raises
        elif data is not None:
            memory, element = memory_of(data, element, extents, copy, held, device)
            if ndim is not None and extents is None and not memory.size:  # an empty list has no rank
                memory = memory.reshape((0,) * ndim + structs.numpy_dtype(element).shape)
        else:
            element = element or scalars.float32
            memory = allocate(extents or (0,), element, device=device, pinned=pinned, strides=strides)
        self._adopt(memory, element, device)
        if isinstance(data, array) and not copy and memory.ctypes.data == data._address:
            self._share(data)
        elif ptr is not None or (not copy and data is not None):
            self._memory, self._room = foreign_allocation(memory), capacity
            self._memory.aliased = True
        if self._held is not None:
            self._held.add(held)
        self.pinned, self.deleter = pinned, deleter
        self.requires_grad = requires_grad
        if grad is not None:
            self.grad = grad
        self.retain_grad = retain_grad
        follow(self, data)

    @classmethod
    def _wrap(cls, memory: np.ndarray, element: type, device: Device, owner: object = None) -> array:
        """An array over memory that already has the layout of `element`."""
        a = cls.__new__(cls)
        a.pinned, a.deleter = False, None
        a._adopt(memory, element, device)
        a._owner = owner
        if owner is not None:
            if isinstance(owner, array):
                a._memory = owner._memory
            elif saved_contents.alert:  # else nobody asks before this array is gone
                a._memory = foreign_allocation(memory)
        return a

    @property
    def _array(self) -> array:
        return self

    def _of_same_type(self, values: object, device: Device, requires_grad: bool) -> array:
        return type(self)(values, dtype=self.dtype, device=device, requires_grad=requires_grad)

    def _adopt(self, memory: np.ndarray, element: type, device: Device) -> None:
        ndim = memory.ndim - element_rank(element)
        if not 1 <= ndim <= MAX_NDIM:
            raise ArrayError(f"an array of {type_name(element)} has rank {ndim}\nexpected: 1 to {MAX_NDIM}")
        if problem := why_unusable(memory, ndim):
            raise ArrayError(problem)
        self._data, self.dtype, self.device, self.ndim = memory, element, device, ndim
        self.shape: tuple[int, ...] = memory.shape[:ndim]
        self.strides: tuple[int, ...] = memory.strides[:ndim]
        check_extents(self.shape)
        self.size = math.prod(self.shape)
        self._address = memory.ctypes.data
        self.is_contiguous = memory.flags.c_contiguous
        self.type = array_type(element, ndim)
        apart = self.is_contiguous or not meets_itself(memory)
        self._tag = Tag(self.type, self.is_contiguous, memory.flags.writeable, device.memory_space, apart)
        self._owner: Any = None
        self._held = Held(memory, element, device) if structs.holds_arrays(element) else None
        self._grad: array | None = None
        self._memory = Allocation()
        self._pack()

    def _pack(self) -> None:
        """Refresh the descriptor that launches pass to kernels."""
        grad = self._grad._address if self._grad is not None else 0
        self._words = _WORDS[self.ndim].pack(self._address, grad, *self.shape, *self.strides)

    @property
    def ptr(self) -> int | None:
        """Address of the first element; None where there is no memory: of empty arrays that are no views of others."""
        return self._address if self.size or root(self).size else None

    @ptr.setter
    def ptr(self, address: None) -> None:
        """None makes an empty view one that is of no other array. Raises `ArrayError` for all else."""
        if address is not None or self.size:
            raise ArrayError(f"ptr of {self!r} is set to {address}\nexpected: None, of an empty array")
        self._owner = None

    @property
    def capacity(self) -> int:
        """Bytes from the first element to the end of the memory, which is that of the array this one is a view of."""
        whole = root(self)
        memory = whole._data
        room = span_of(memory.shape, memory.strides, memory.itemsize) if whole._room is None else whole._room
        return whole._address + room - self._address

    # ----- NumPy and other frameworks ---------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """The memory as a NumPy array, without a copy: extents of elements are trailing axes.

        Of an array on a CUDA device a copy, once the work on the current stream is done.
        """
        if not self.device.shares_host_memory:
            return self._contents()
        if self._held is not None:  # what it refers to is looked at before launches, for ever
            self._memory.expose(self._data)
            return self._data
        return self._memory.export(self._data, self._address)

    def _contents(self) -> np.ndarray:
        return self._data.host() if isinstance(self._data, DeviceMemory) else self._data

    def _source(self) -> np.ndarray:
        return self._data

    def list(self) -> list[Any]:
        """All elements in order, as host values; numbers are Python's."""
        flat = self._contents().reshape((self.size, *self._data.shape[self.ndim :]))
        if scalars.is_scalar(self.dtype):
            return [x.item() for x in flat] if scalars.is_bfloat16(self.dtype) else flat.tolist()
        return [host_element(flat[i], self.dtype, self._held) for i in range(self.size)]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False and dtype is not None and np.dtype(dtype) != self._data.dtype:
            raise ValueError(f"{self!r} as {np.dtype(dtype)} needs a copy\nhelp: allow it: copy=None")
        if copy is False and not self.device.shares_host_memory:
            raise ValueError(f"{self!r} is on {self.device}, which NumPy cannot see\nhelp: allow a copy: copy=None")
        contents = self.numpy()
        return contents.astype(dtype or contents.dtype, copy=bool(copy))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._data.dtype.names is not None:
            # NumPy would read padding as fields; without this attribute it asks __array__.
            raise AttributeError("arrays of structs have no __array_interface__\nhelp: a.numpy() shares the memory")
        if not self.device.shares_host_memory:
            raise AttributeError(f"an array on {self.device} has no __array_interface__\nhelp: a.numpy() copies it")
        self._memory.expose(self._data)
        interface = self._data.__array_interface__
        if not self.size:  # NumPy would make up strides
            interface["strides"] = self._data.strides
        return interface

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device.shares_host_memory or self._data.dtype.names is not None:
            what = f"on {self.device}" if self.device.shares_host_memory else "of structs"
            raise AttributeError(f"arrays {what} have no __cuda_array_interface__")
        self._memory.expose(self._data)
        assert isinstance(self._data, CudaMemory)
        return interop.interface(self._data)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if not self.device.shares_host_memory:
            self._memory.expose(self._data)
            assert isinstance(self._data, CudaMemory)
            return interop.export(self._data, stream, max_version, dl_device, copy)
        memory = self._memory.export(self._data, self._address)
        if scalars.is_bfloat16(self._data.dtype.type):  # NumPy has no form for it
            return interop.on_host(memory, max_version, copy)
        return memory.__dlpack__(
            stream=stream, **_without_none(max_version=max_version, dl_device=dl_device, copy=copy)
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return (interop.HOST, 0) if self.device.shares_host_memory else (interop.CUDA, self.device.ordinal)

    # ----- parts ------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: object) -> Any:
        """A view (slices, leading indices), one element as a host value, or an indexedarray.

        Raises `OutOfBoundsError` for an index outside, `ArrayError` for a negative step.
        """
        keys = keys_of(key, self.ndim)
        if any(is_table(k) for k in keys):
            return self._gather(keys)
        try:
            part = self._data[keys]
        except IndexError as error:
            raise OutOfBoundsError(f"{error}, for an array of shape {self.shape}") from None
        if len(keys) == self.ndim and not any(isinstance(k, slice) for k in keys):
            return host_element(on_host(part), self.dtype, self._held)
        return self._view(part, lambda g: g[keys])

    def _gather(self, keys: tuple[Any, ...]) -> Any:
        """An indexedarray: index tables stay, integers take a view first, slices become tables."""
        numbers = [isinstance(k, int | np.integer) for k in keys]
        view = tuple(k if number else slice(None) for k, number in zip(keys, numbers, strict=True))
        base = self[view] if any(numbers) else self
        rest = [k for k, number in zip(keys, numbers, strict=True) if not number]
        tables = [table_of(k, n) for k, n in zip(rest, base.shape, strict=False)]
        made_of_this = import_module("warpsim.core.runtime.arrays.indexed")
        return made_of_this.indexedarray(base, tables)

    def _view(self, memory: np.ndarray, same: Callable[[np.ndarray], np.ndarray]) -> array:
        view = array._wrap(memory, self.dtype, self.device, owner=self)
        view._held = self._held
        if self._gradient is not None:
            assert self._grad is not None
            grad = array._wrap(same(self._grad._data), self.dtype, self.device, owner=self._grad)
            view._grad, view._inherited = grad, True
            view._pack()
        self._known_view(view)
        return view

    def _view_at(self, words: bytes) -> array:
        """The view of this array that a descriptor stands for."""
        numbers = [int.from_bytes(words[k : k + 8], "little") for k in range(0, len(words), 8)]
        n = len(numbers) // 2 - 1
        layout = ArrayLayout(self.dtype, tuple(numbers[2 : 2 + n]), tuple(numbers[2 + n :]))
        memory = memory_at(numbers[0], layout, self.device)
        return array._wrap(memory, self.dtype, self.device, owner=self)

    # ----- other shapes of the same memory -----------------------------------------------------

    def reshape(self, *extents: ShapeLike, shape: ShapeLike = None) -> array:
        """The same memory with other extents (one may be -1), in a row, as a tuple or by name.

        Raises `ArrayError` when the number of elements differs or memory is not contiguous.
        """
        lengths = normalized_shape(shape if not extents else extents[0] if len(extents) == 1 else extents)
        if lengths is None or (extents and shape is not None):
            what = "None" if lengths is None else f"{extents} and {shape}"
            raise ArrayError(f"reshape to {what}\nexpected: an integer or a tuple of integers")
        if not self.is_contiguous:
            raise ArrayError("reshape needs a contiguous array\nhelp: a.contiguous().reshape(...)")
        full = (*lengths, *self._data.shape[self.ndim :])
        try:
            return self._view(self._data.reshape(full), lambda g: g.reshape(full))
        except ValueError as error:
            raise ArrayError(f"an array of {counted(self.size, 'element')} cannot have shape {lengths}") from error

    def flatten(self) -> array:
        """The same memory as one dimension."""
        return self.reshape((self.size,))

    def transpose(self, axes: Sequence[int] | None = None) -> array:
        """The same memory with dimensions in another order (reversed by default); negative axes count from the end."""
        if axes is not None and not (isinstance(axes, Sequence) and all(isinstance(k, int) for k in axes)):
            raise ArrayError(f"axes {shown(axes)}\nexpected: an order of {tuple(range(self.ndim))}")
        order = tuple(reversed(range(self.ndim))) if axes is None else tuple(axes)
        for axis in order:
            if isinstance(axis, int) and not -self.ndim <= axis < self.ndim:
                raise AxisError(f"axis {axis} is out of bounds for array of dimension {self.ndim}")
        order = tuple(axis + self.ndim if isinstance(axis, int) and axis < 0 else axis for axis in order)
        if set(order) != set(range(self.ndim)) or len(order) != self.ndim:
            raise ArrayError(f"axes {order}\nexpected: an order of {tuple(range(self.ndim))}")
        full = (*order, *range(self.ndim, self._data.ndim))
        return self._view(self._data.transpose(full), lambda g: g.transpose(full))

    @property
    def T(self) -> array:
        return self.transpose()

    def contiguous(self) -> array:
        """This array if it is contiguous, else a contiguous copy."""
        return self if self.is_contiguous else self._copy_to(self.device, self.requires_grad)

    def to(self, device: DeviceLike, requires_grad: bool | None = None) -> array:
        """This array if it is on the device already, else a copy there."""
        device = get_device(device)
        if device is self.device:
            return self
        return self._copy_to(device, self.requires_grad if requires_grad is None else requires_grad)

    def _copy_to(self, device: Device, requires_grad: bool) -> array:
        copy = array._wrap(allocate(self.shape, self.dtype, zero=False, device=device), self.dtype, device)
        copy.assign(self)
        copy.requires_grad = requires_grad
        return copy

    def view(self, dtype: object) -> array:
        """The same memory as elements of another type, of equal size or made of scalars of equal size.

        An array of vec3 with n elements is one of floats of shape (n, 3), and back. Raises `ArrayError`, of types that
        do not fit `ArrayTypeError`, which is a `TypeError` too.
        """
        element = checked_dtype(dtype)
        new, old = structs.numpy_dtype(element), structs.numpy_dtype(self.dtype)
        numbers = new.names is None and old.names is None and new.base.itemsize == old.base.itemsize
        if new.itemsize != old.itemsize and not numbers:
            raise ArrayTypeError(
                f"{type_name(element)} has {new.itemsize} bytes, {type_name(self.dtype)} {old.itemsize}"
                "\nexpected: elements of equal size, or vectors, matrices and numbers with scalars of equal size"
            )
        if element is not self.dtype and (structs.holds_arrays(element) or self._held is not None):
            raise ArrayTypeError(
                f"a view of {type_name(self.dtype)} as {type_name(element)}\nexpected: types without arrays in them, "
                "as numbers that are taken for an array lead anywhere"
            )
        view = array._wrap(reinterpret(self._data, self.ndim, new), element, self.device, owner=self)
        if self._grad is not None:
            view._grad = self._grad.view(element)
            view._pack()
        return view

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`, and copies where nothing records: contents and gradient, in fresh contiguous memory."""
        if self._held is not None:
            raise TypeError("arrays of structs that refer to arrays are not pickled\nhelp: pickle the arrays they hold")
        compound = element_rank(self.dtype) > 0
        element = (self.dtype.kind, self.dtype.shape, self.dtype.dtype) if compound else self.dtype
        grads = self._grad and np.array(self._grad._contents())
        return _restore, (np.array(self._contents()), element, str(self.device), grads)

    def __str__(self) -> str:
        return str(self._contents())

    def __repr__(self) -> str:
        gradient = ", requires_grad=True" if self.requires_grad else ""
        return f"array(shape={self.shape}, dtype={type_name(self.dtype)}, device={self.device}{gradient})"


def _restore(
    contents: np.ndarray, element: tuple[str, tuple[int, ...], type] | type, device: str, grad: np.ndarray | None
) -> array:
    dtype = compounds.compound_type(*element) if isinstance(element, tuple) else element
    restored = array(contents, dtype=dtype, device=device, requires_grad=grad is not None)
    if grad is not None:
        assert restored._grad is not None
        restored._grad._data[...] = grad
    return restored


def _without_none(**options: object) -> dict[str, Any]:
    """Options that were named: NumPy before 2.1 knows none of them."""
    return {name: value for name, value in options.items() if value is not None}


def root(a: array) -> array:
    """The array that a view is a view of, however many views lie between them; another array itself."""
    while isinstance(a._owner, array):
        a = a._owner
    return a
