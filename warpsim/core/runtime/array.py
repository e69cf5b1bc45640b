"""`array`: typed memory that kernels and NumPy share.

On `cpu` an array is a NumPy array in 64-byte aligned memory plus its element type: a vec3 array of
shape (n,) is a float32 NumPy array of shape (n, 3). Views (slices, reshapes) share memory. Strides
are in bytes and never negative.

`array(dtype=float, ndim=1)` without data is the type of an array, for annotations.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ArrayError, DeviceError
from ..types import compounds, scalars, structs
from ..types.arrays import MAX_NDIM, ArrayType, array_type, type_name
from ..types.scalars import canonical
from .device import Device, get_device

ALIGNMENT = 64
_WORDS = [struct.Struct(f"<{2 + 2 * n}Q") for n in range(MAX_NDIM + 1)]


class Tag:
    """What a compiled kernel must know of an array argument; one object per combination."""

    __slots__ = ("contiguous", "host", "type", "writable")
    _made: dict[tuple[ArrayType, bool, bool, bool], Tag] = {}

    def __new__(cls, t: ArrayType, contiguous: bool, writable: bool, host: bool) -> Tag:
        key = (t, contiguous, writable, host)
        if key not in cls._made:
            tag = super().__new__(cls)
            tag.type, tag.contiguous, tag.writable, tag.host = key
            cls._made[key] = tag
        return cls._made[key]


class _ArrayMeta(type):
    """Lets `array(dtype=float)` and `array[float]` be types."""

    def __call__(cls, data: Any = None, dtype: Any = Any, shape: Any = None, **options: Any) -> Any:
        if data is None and shape is None and options.get("ptr") is None and options.get("length") is None:
            return array_type(dtype, options.get("ndim") or 1)
        return super().__call__(data, dtype, shape, **options)

    def __getitem__(cls, item: Any) -> ArrayType:
        dtype, ndim = item if isinstance(item, tuple) else (item, 1)
        return array_type(dtype, getattr(ndim, "__args__", (ndim,))[0])


class array(metaclass=_ArrayMeta):  # noqa: N801 - the field's name for it
    """Typed memory of rank 1 to 4.

    data: list, tuple, NumPy array, or any object with an array protocol; copied unless `copy=False`
    and the memory fits. dtype: element type, taken from the data when left out. shape: extents.
    Raises `ArrayError` for data that does not fit, `DeviceError` for an unknown device.
    """

    def __init__(
        self, data: Any = None, dtype: Any = Any, shape: Any = None, strides: Any = None, ptr: int | None = None,
        capacity: int | None = None, device: Any = None, pinned: bool = False, copy: bool = True,
        deleter: Callable[[int, int], None] | None = None, ndim: int | None = None, grad: array | None = None,
        requires_grad: bool = False, retain_grad: bool = False, length: int | None = None,
    ):  # fmt: skip
        place = get_device(device)
        element = None if dtype is Any else checked_dtype(dtype)
        extents = normalized_shape(shape if shape is not None else length)
        if ptr is not None:
            memory = memory_at(ptr, element, extents, strides, capacity)
        elif data is not None:
            memory, element = memory_of(data, element, extents, copy)
        else:
            element = element or scalars.float32
            memory = allocate(extents or (0,), element)
        self._adopt(memory, element, place)
        if ndim is not None and ndim != self.ndim:
            raise ArrayError(f"data has rank {self.ndim}\nexpected: rank {ndim}, as ndim says")
        self.pinned, self.retain_grad, self.deleter = pinned, retain_grad, deleter
        self.requires_grad = requires_grad
        if grad is not None:
            self.grad = grad

    @classmethod
    def _wrap(cls, memory: np.ndarray, element: Any, device: Device, owner: Any = None) -> array:
        """An array over memory that already has the layout of `element`."""
        made = cls.__new__(cls)
        made.pinned, made.retain_grad, made.deleter = False, False, None
        made._adopt(memory, element, device)
        made._owner = owner
        return made

    def _adopt(self, memory: np.ndarray, element: Any, device: Device) -> None:
        inner = element_rank(element)
        ndim = memory.ndim - inner
        if not 1 <= ndim <= MAX_NDIM:
            raise ArrayError(f"an array of {type_name(element)} has rank {ndim}\nexpected: 1 to {MAX_NDIM}")
        if any(s < 0 for s in memory.strides):
            raise ArrayError("negative strides\nhelp: copy the data first: np.ascontiguousarray(x)")
        self._data, self.dtype, self.device, self.ndim = memory, element, device, ndim
        self.shape: tuple[int, ...] = memory.shape[:ndim]
        self.strides: tuple[int, ...] = memory.strides[:ndim]
        if any(n >= 2**31 for n in self.shape):
            raise ArrayError(f"shape {self.shape} has an extent of 2**31 or more")
        self.size = int(np.prod(self.shape))
        self.ptr = memory.ctypes.data
        self.is_contiguous = memory.flags.c_contiguous
        self.type = array_type(element, ndim)
        self._tag = Tag(self.type, self.is_contiguous, memory.flags.writeable, device.shares_host_memory)
        self._owner: Any = None
        self._grad: array | None = None
        self._pack()

    def _pack(self) -> None:
        """Refresh the descriptor that launches pass to kernels."""
        grad = self._grad.ptr if self._grad is not None else 0
        self._words = _WORDS[self.ndim].pack(self.ptr, grad, *self.shape, *self.strides)

    # ----- gradients ------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether the array has a gradient array."""
        return self._grad is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if wanted and self._grad is None:
            memory = allocate(self.shape, self.dtype)
            self._grad = array._wrap(memory, self.dtype, self.device)
        elif not wanted:
            self._grad = None
        self._pack()

    @property
    def grad(self) -> array | None:
        """The array of gradients: same shape and dtype, or None."""
        return self._grad

    @grad.setter
    def grad(self, value: array | None) -> None:
        if value is not None and (value.shape != self.shape or value.dtype is not self.dtype):
            raise ArrayError(
                f"gradient of shape {value.shape} and dtype {type_name(value.dtype)}\n"
                f"expected: shape {self.shape} and dtype {type_name(self.dtype)}"
            )
        if value is not None and value.strides != self.strides:
            raise ArrayError(f"gradient with strides {value.strides}\nexpected: {self.strides}, those of the array")
        self._grad = value
        self._pack()

    # ----- NumPy and other frameworks ---------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """The memory as a NumPy array, without a copy: extents of elements are trailing axes."""
        return self._data

    def list(self) -> list:
        """All elements in order, as host values."""
        flat = self._data.reshape((self.size, *self._data.shape[self.ndim :]))
        return [host_element(flat[i], self.dtype) for i in range(self.size)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype is None or np.dtype(dtype) == self._data.dtype:
            return self._data.copy() if copy else self._data
        return self._data.astype(dtype)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._data.__array_interface__

    def __dlpack__(self, **options: Any) -> Any:
        return self._data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._data.__dlpack_device__()

    # ----- indexing ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """A view (slices, leading indices), one element as a host value, or an indexedarray."""
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, array | np.ndarray | list) for k in keys):
            return indexedarray(self, [None if isinstance(k, slice) and k == slice(None) else k for k in keys])
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices for an array of rank {self.ndim}")
        for k in keys:
            if isinstance(k, slice) and k.step is not None and k.step < 0:
                raise ArrayError("negative strides\nhelp: copy the data first: wp.array(a.numpy()[::-1])")
            if not isinstance(k, slice | int | np.integer):
                raise TypeError(f"index {k!r}\nexpected: integers, slices or arrays of integers")
        part = self._data[keys]
        if len(keys) == self.ndim and not any(isinstance(k, slice) for k in keys):
            return host_element(part, self.dtype)
        return self._view(part, lambda g: g[keys])

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self._data.flags.writeable:
            raise ArrayError("the array is read-only")
        if structs.is_struct(self.dtype) and isinstance(value, structs.Struct):
            write_struct(self._data, key, value)
        else:
            self._data[key] = np.asarray(value)

    def _view(self, memory: np.ndarray, same: Callable[[np.ndarray], np.ndarray]) -> array:
        made = array._wrap(memory, self.dtype, self.device, owner=self)
        if self._grad is not None:
            made.grad = array._wrap(same(self._grad._data), self.dtype, self.device, owner=self._grad)
        return made

    def reshape(self, *shape: Any) -> array:
        """The same memory with other extents (one may be -1). Raises `ArrayError` when not contiguous."""
        wanted = normalized_shape(shape[0] if len(shape) == 1 else shape)
        if not self.is_contiguous:
            raise ArrayError("reshape needs a contiguous array\nhelp: a.contiguous().reshape(...)")
        inner = self._data.shape[self.ndim :]
        try:
            return self._view(self._data.reshape((*wanted, *inner)), lambda g: g.reshape((*wanted, *inner)))
        except ValueError as error:
            raise ArrayError(f"an array of {self.size} elements cannot have shape {wanted}") from error

    def flatten(self) -> array:
        """The same memory as one dimension."""
        return self.reshape((self.size,))

    def transpose(self, axes: Sequence[int] | None = None) -> array:
        """The same memory with dimensions in another order (reversed by default)."""
        order = tuple(axes) if axes is not None else tuple(reversed(range(self.ndim)))
        if sorted(order) != list(range(self.ndim)):
            raise ArrayError(f"axes {order}\nexpected: an order of {tuple(range(self.ndim))}")
        full = (*order, *range(self.ndim, self._data.ndim))
        return self._view(self._data.transpose(full), lambda g: g.transpose(full))

    @property
    def T(self) -> array:  # noqa: N802
        return self.transpose()

    def view(self, dtype: Any) -> array:
        """The same memory as elements of another type of equal size. Raises `ArrayError`."""
        element = checked_dtype(dtype)
        new, old = structs.numpy_dtype(element), structs.numpy_dtype(self.dtype)
        if new.itemsize != old.itemsize:
            raise ArrayError(f"{type_name(element)} has {new.itemsize} bytes, {type_name(self.dtype)} {old.itemsize}")
        if not self.is_contiguous:
            raise ArrayError("view needs a contiguous array\nhelp: a.contiguous().view(...)")
        return array._wrap(reinterpreted(self._data, self.shape, new), element, self.device, owner=self)

    def contiguous(self) -> array:
        """This array if it is contiguous, else a contiguous copy."""
        if self.is_contiguous:
            return self
        made = array._wrap(allocate(self.shape, self.dtype), self.dtype, self.device)
        made._data[...] = self._data
        made.requires_grad = self.requires_grad
        return made

    def __str__(self) -> str:
        return str(self._data)

    def __repr__(self) -> str:
        return f"array(shape={self.shape}, dtype={type_name(self.dtype)})"


class RankedArray:
    """`array2d(dtype=float)` and `array2d[float]`: the type of an array of fixed rank, or such an array."""

    def __init__(self, ndim: int):
        self.ndim, self.__name__ = ndim, f"array{ndim}d"

    def __call__(self, *args: Any, **options: Any) -> Any:
        return array(*args, **{"ndim": self.ndim, **options})

    def __getitem__(self, dtype: Any) -> ArrayType:
        return array_type(dtype, self.ndim)


array1d, array2d, array3d, array4d = (RankedArray(n) for n in (1, 2, 3, 4))


class indexedarray:  # noqa: N801
    """An array seen through lists of indices, one per dimension (None: the whole dimension).

    Raises `ArrayError` for indices that are not 1-D int32, or outside the array.
    """

    def __new__(cls, data: Any = None, indices: Any = None, dtype: Any = None, ndim: int | None = None) -> Any:
        if data is None:
            return array_type(dtype or Any, ndim or 1, True)
        return super().__new__(cls)

    def __init__(self, data: array, indices: Any = None, dtype: Any = None, ndim: int | None = None):
        given = indices if isinstance(indices, list | tuple) else [indices]
        tables = [None if i is None else _index_table(i, n) for i, n in zip(given, data.shape, strict=False)]
        tables += [None] * (data.ndim - len(tables))
        self.data, self.indices = data, tables
        self.dtype, self.ndim, self.device = data.dtype, data.ndim, data.device
        self.shape = tuple(n if t is None else t.size for n, t in zip(data.shape, tables, strict=True))
        self.size = int(np.prod(self.shape))
        self.type = array_type(data.dtype, data.ndim, True)
        self._tag = Tag(self.type, False, data._tag.writable, data.device.shares_host_memory)
        self.requires_grad = data.requires_grad
        words = [data.ptr, data.grad.ptr if data.grad else 0, *self.shape, *data.strides]
        words += [0 if t is None else t.ptr for t in tables]
        self._words = struct.pack(f"<{len(words)}Q", *words)

    def numpy(self) -> np.ndarray:
        """A copy of the selected elements."""
        picks = [np.arange(n) if t is None else t.numpy() for n, t in zip(self.data.shape, self.indices, strict=True)]
        return self.data.numpy()[np.ix_(*picks)]

    def contiguous(self) -> array:
        """A contiguous copy of the selected elements."""
        return array(self.numpy(), dtype=self.dtype, device=self.device)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"indexedarray(shape={self.shape}, dtype={type_name(self.dtype)})"


def _index_table(indices: Any, extent: int) -> array:
    table = indices if isinstance(indices, array) else array(np.asarray(indices, np.int32), dtype=scalars.int32)
    if table.ndim != 1 or table.dtype is not scalars.int32:
        raise ArrayError(f"indices are {table!r}\nexpected: one dimension of int32")
    values = table.numpy()
    if values.size and (values.min() < 0 or values.max() >= extent):
        raise ArrayError(f"indices reach from {values.min()} to {values.max()}\nexpected: 0 to {extent - 1}")
    return table.contiguous()


# ----- memory ---------------------------------------------------------------------------------


def checked_dtype(dtype: Any) -> Any:
    """An element type, or `ArrayError`."""
    element = canonical(dtype)
    if isinstance(element, str) or (isinstance(element, np.dtype) and element.names is None):
        element = np.dtype(element).type
    if not structs.is_field_type(element) or isinstance(element, ArrayType):
        raise ArrayError(f"dtype {dtype!r}\nexpected: a scalar, vector, matrix, quaternion, transform or struct type")
    return element


def element_rank(element: Any) -> int:
    """How many trailing axes the element takes in NumPy."""
    return len(element.shape) if compounds.is_compound(element) else 0


def normalized_shape(shape: Any) -> tuple[int, ...] | None:
    if shape is None:
        return None
    extents = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if not all(isinstance(n, int | np.integer) for n in extents):
        raise ArrayError(f"shape {shape!r}\nexpected: an integer or a tuple of integers")
    if any(n < 0 for n in extents) and extents.count(-1) != sum(n < 0 for n in extents):
        raise ArrayError(f"shape {shape!r} has a negative extent")
    if len(extents) > MAX_NDIM:
        raise ArrayError(f"shape {shape!r} has {len(extents)} dimensions\nexpected: at most {MAX_NDIM}")
    return tuple(int(n) for n in extents)


def allocate(shape: tuple[int, ...], element: Any, zero: bool = True) -> np.ndarray:
    """Fresh aligned memory in the layout of `element`."""
    if any(n < 0 for n in shape):
        raise ArrayError(f"shape {shape} has a negative extent")
    layout = structs.numpy_dtype(element)
    base, inner = (layout.base, layout.shape)
    count = int(np.prod(shape, dtype=object)) * int(np.prod(inner, dtype=object))
    if count * base.itemsize >= 2**63:
        raise ArrayError(f"shape {shape} of {type_name(element)} needs more than 2**63 bytes")
    size = count * base.itemsize
    raw = (np.zeros if zero else np.empty)(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(base).reshape((*shape, *inner))


def memory_of(data: Any, element: Any, shape: tuple[int, ...] | None, copy: bool) -> tuple[np.ndarray, Any]:
    """Memory with the contents of `data`, and the element type."""
    source, found = as_numpy(data)
    if element is None:
        element = found if found is not None else checked_dtype(source.dtype.type)
    layout = structs.numpy_dtype(element)
    source = fitted(source, element, layout, shape)
    if not copy and source.dtype == layout.base and all(s >= 0 for s in source.strides):
        return source, element
    memory = allocate(source.shape[: source.ndim - element_rank(element)], element, zero=False)
    memory[...] = source
    return memory, element


def as_numpy(data: Any) -> tuple[np.ndarray, Any]:
    """Any array-like as NumPy, and its element type where it has one of ours."""
    if isinstance(data, array | indexedarray):
        return data.numpy(), data.dtype
    if isinstance(data, list | tuple) and data and isinstance(data[0], structs.Struct):
        t = type(data[0])
        records = np.zeros(len(data), structs.numpy_dtype(t))
        for i, value in enumerate(data):
            write_struct(records, i, value)
        return records, t
    if isinstance(data, list | tuple) and data and isinstance(data[0], compounds.Compound):
        return np.array([v.numpy() for v in data]), type(data[0])
    if not isinstance(data, np.ndarray | list | tuple) and not hasattr(data, "__array__"):
        if hasattr(data, "__array_interface__"):
            return np.asarray(data), None
        if hasattr(data, "__dlpack__"):
            return np.from_dlpack(data), None
    found = np.asarray(data)
    if found.dtype == object:
        raise ArrayError(f"data of type {type(data).__name__} is ragged or not numeric")
    return found, None


def fitted(source: np.ndarray, element: Any, layout: np.dtype, shape: tuple[int, ...] | None) -> np.ndarray:
    """`source` with the element's extents as trailing axes, and the wanted shape in front."""
    inner = layout.shape
    if structs.is_struct(element):
        if source.dtype != layout:
            raise ArrayError(f"data has dtype {source.dtype}\nexpected: the layout of struct {type_name(element)}: {layout}")
    elif source.dtype.kind not in "biuf":
        raise ArrayError(f"data has dtype {source.dtype}\nexpected: numbers")
    size = int(np.prod(inner))
    if inner and source.shape[source.ndim - len(inner) :] != inner:
        if source.size % size or source.ndim == 0 or (source.ndim > 1 and source.shape[-1] % size):
            raise ArrayError(
                f"data of shape {source.shape} does not hold elements of {type_name(element)}\n"
                f"expected: trailing extents {inner}"
            )
        source = source.reshape((*source.shape[:-1], source.shape[-1] // size, *inner))
    if source.ndim == len(inner):
        source = source.reshape((1, *inner))
    if shape is not None:
        count = source.size // size
        wanted = tuple(count // max(1, -int(np.prod(shape))) if n == -1 else n for n in shape)
        if int(np.prod(wanted)) != count:
            raise ArrayError(f"{count} elements do not fill shape {shape}")
        source = source.reshape((*wanted, *inner))
    return source


def memory_at(ptr: int, element: Any, shape: Any, strides: Any, capacity: int | None) -> np.ndarray:
    """Foreign memory at an address; the caller keeps it alive."""
    if element is None or shape is None:
        raise ArrayError("memory given by ptr= needs dtype= and shape=")
    layout = structs.numpy_dtype(element)
    steps = tuple(strides) if strides is not None else contiguous_strides(shape, layout.itemsize)
    if any(s < 0 for s in steps):
        raise ArrayError("negative strides\nhelp: copy the data first")
    span = layout.itemsize + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) if all(shape) else 0
    if capacity is not None and span > capacity:
        raise ArrayError(f"shape {shape} with strides {steps} spans {span} bytes, capacity is {capacity}")
    inner = contiguous_strides(layout.shape, layout.base.itemsize)
    interface = {
        "data": (ptr, False), "shape": (*shape, *layout.shape), "strides": (*steps, *inner),
        "typestr": layout.base.str if layout.names is None else f"|V{layout.itemsize}", "version": 3,
    }  # fmt: skip
    holder = type("Memory", (), {"__array_interface__": interface})()
    found = np.asarray(holder)
    return found.view(layout) if layout.names is not None else found


def contiguous_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.insert(0, step)
        step *= n
    return tuple(strides)


def reinterpreted(memory: np.ndarray, shape: tuple[int, ...], layout: np.dtype) -> np.ndarray:
    flat = memory.reshape(-1).view(np.uint8) if memory.size else memory.reshape(-1).view(layout.base)
    return flat.view(layout.base).reshape((*shape, *layout.shape))


def host_element(part: Any, element: Any) -> Any:
    """One element of memory as a host value."""
    if compounds.is_compound(element):
        return element.wrap(part)
    if structs.is_struct(element):
        value = element()
        for name, t in element.fields.items():
            if not isinstance(t, ArrayType):
                setattr(value, name, host_element(part[name], t))
        return value
    return element(part)


def write_struct(records: np.ndarray, key: Any, value: structs.Struct) -> None:
    """Write a struct into a record array; array fields become descriptors."""
    for name, t in value.fields.items():
        item = getattr(value, name)
        if structs.is_struct(t):
            write_struct(records[name], key, item)
        elif isinstance(t, ArrayType):
            records[name][key] = np.frombuffer(item._words, np.uint64) if item is not None else 0
        else:
            records[name][key] = np.asarray(item)


def overlap(a: Any, b: Any) -> bool:
    """Whether two arrays may share memory."""
    return np.may_share_memory(a._data if isinstance(a, array) else a.data._data, b._data if isinstance(b, array) else b.data._data)


def require_host(device: Any) -> Device:
    """A device whose memory NumPy can see."""
    found = get_device(device)
    if not found.shares_host_memory:
        raise DeviceError(f"{found} memory is not visible to NumPy")
    return found
