"""Making, filling, copying and importing arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArrayError, DeviceError
from ..types import compounds, scalars, structs
from ..types.arrays import type_name
from . import graph
from .array import (
    allocate, array, checked_dtype, indexedarray, normalized_shape, write_struct,
)  # fmt: skip
from .device import get_device


def recorded(step: Any) -> None:
    """Run a host operation now, or put it into the graph being captured."""
    capture = graph.active()
    if capture is None:
        step()
    else:
        capture.add(step)


def empty(
    shape: Any = None, dtype: Any = float, device: Any = None, requires_grad: bool = False, pinned: bool = False,
    retain_grad: bool = False, **kwargs: Any,
) -> array:  # fmt: skip
    """An array of undefined contents. shape: an integer or extents; `length=n` is accepted too."""
    extents = _extents(shape, kwargs)
    element = checked_dtype(dtype)
    made = array._wrap(allocate(extents, element, zero=False), element, get_device(device))
    made.requires_grad, made.pinned, made.retain_grad = requires_grad, pinned, retain_grad
    return made


def zeros(
    shape: Any = None, dtype: Any = float, device: Any = None, requires_grad: bool = False, pinned: bool = False,
    retain_grad: bool = False, **kwargs: Any,
) -> array:  # fmt: skip
    """An array of zeros. In a kernel: a zeroed array of constant shape on the thread's stack."""
    extents = _extents(shape, kwargs)
    element = checked_dtype(dtype)
    made = array._wrap(allocate(extents, element), element, get_device(device))
    made.requires_grad, made.pinned, made.retain_grad = requires_grad, pinned, retain_grad
    return made


zeros.kernel_form = "local_array"  # type: ignore[attr-defined]


def full(
    shape: Any = None, value: Any = 0, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pinned: bool = False, retain_grad: bool = False, **kwargs: Any,
) -> array:  # fmt: skip
    """An array filled with `value`; without dtype its type is that of the value (int32, float32, vec3, ...)."""
    element = dtype if dtype is not None else _type_of(value)
    made = empty(shape, element, device, requires_grad, pinned, retain_grad, **kwargs)
    fill(made, value)
    return made


def ones(
    shape: Any = None, dtype: Any = float, device: Any = None, requires_grad: bool = False, pinned: bool = False,
    retain_grad: bool = False, **kwargs: Any,
) -> array:  # fmt: skip
    """An array of ones (every component of every element)."""
    return full(shape, 1, dtype, device, requires_grad, pinned, retain_grad, **kwargs)


def _extents(shape: Any, kwargs: dict[str, Any]) -> tuple[int, ...]:
    given = shape if shape is not None else kwargs.pop("length", kwargs.pop("n", None))
    if kwargs:
        raise TypeError(f"unexpected keyword {next(iter(kwargs))!r}\nexpected: shape, dtype, device, requires_grad, pinned")
    found = normalized_shape(0 if given is None else given)
    assert found is not None
    if any(n < 0 for n in found):
        raise ArrayError(f"shape {found} has a negative extent")
    return found


def _type_of(value: Any) -> Any:
    if isinstance(value, bool):
        return scalars.bool_
    if isinstance(value, (compounds.Compound, structs.Struct, np.generic)):
        return type(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        return compounds.vector(len(value), scalars.canonical(np.asarray(value).dtype.type))
    return scalars.float32 if isinstance(value, float) else scalars.int32


def zeros_like(src: Any, device: Any = None, requires_grad: bool | None = None, pinned: bool | None = None) -> array:
    """Zeros of the shape and dtype of `src`."""
    made = empty_like(src, device, requires_grad, pinned)
    made._data[...] = np.zeros((), made._data.dtype)
    return made


def empty_like(src: Any, device: Any = None, requires_grad: bool | None = None, pinned: bool | None = None) -> array:
    """Undefined contents in the shape and dtype of `src`."""
    place = src.device if device is None else device
    wants_grad = src.requires_grad if requires_grad is None else requires_grad
    return empty(src.shape, src.dtype, place, wants_grad, bool(pinned))


def full_like(
    src: Any, value: Any, device: Any = None, requires_grad: bool | None = None, pinned: bool | None = None
) -> array:
    """`value` everywhere, in the shape and dtype of `src`."""
    made = empty_like(src, device, requires_grad, pinned)
    fill(made, value)
    return made


def ones_like(src: Any, device: Any = None, requires_grad: bool | None = None, pinned: bool | None = None) -> array:
    """Ones in the shape and dtype of `src`."""
    return full_like(src, 1, device, requires_grad, pinned)


def clone(
    src: Any, device: Any = None, requires_grad: bool | None = None, pinned: bool | None = None, retain_grad: bool = False
) -> array:
    """A copy of an array, gradient not included."""
    made = empty_like(src, device, requires_grad, pinned)
    source = src.contiguous() if isinstance(src, indexedarray) else src
    recorded(lambda: np.copyto(made._data, source._data))
    return made


def fill(target: array, value: Any) -> None:
    """Set every element to `value` (a number, or a value of the element type)."""
    if not target._data.flags.writeable:
        raise ArrayError("the array is read-only")
    if structs.is_struct(target.dtype):
        if not isinstance(value, target.dtype):
            raise ArrayError(f"fill value {value!r}\nexpected: {type_name(target.dtype)}")
        recorded(lambda: write_struct(target._data, ..., value))
        return
    plain = np.asarray(value)
    inner = target._data.shape[target.ndim :]
    if plain.shape not in ((), inner):
        raise ArrayError(f"fill value of shape {plain.shape}\nexpected: a number or {type_name(target.dtype)}")
    recorded(lambda: target._data.__setitem__(..., plain))


def copy(
    dest: Any, src: Any, dest_offset: int = 0, src_offset: int = 0, count: int = 0, stream: Any = None
) -> None:
    """Copy elements of `src` to `dest`: all, or `count` elements between offsets of flat arrays.

    Raises `ArrayError` when types or extents do not fit, or a range leaves an array.
    """
    source = src.contiguous() if isinstance(src, indexedarray) else src
    if dest.dtype is not source.dtype:
        raise ArrayError(f"copy of {type_name(source.dtype)} to {type_name(dest.dtype)}\nexpected: equal dtypes")
    if isinstance(dest, indexedarray):
        _copy_to_indexed(dest, source)
        return
    if dest_offset == src_offset == count == 0 and dest.shape == source.shape:
        recorded(lambda: np.copyto(dest._data, source._data))
        return
    number = count or source.size
    for name, a, offset in (("source", source, src_offset), ("destination", dest, dest_offset)):
        if offset < 0 or number < 0 or offset + number > a.size:
            raise ArrayError(f"copy of {number} elements at {offset} leaves the {name} of {a.size} elements")
        if not a.is_contiguous:
            raise ArrayError(f"copy with offsets needs a contiguous {name}")
    to = dest.flatten()._data[dest_offset : dest_offset + number]
    start = source.flatten()._data[src_offset : src_offset + number]
    recorded(lambda: np.copyto(to, start))


def _copy_to_indexed(dest: indexedarray, source: array) -> None:
    if dest.shape != source.shape:
        raise ArrayError(f"copy of shape {source.shape} to shape {dest.shape}")
    axes = [np.arange(n) if t is None else t.numpy() for n, t in zip(dest.data.shape, dest.indices, strict=True)]
    recorded(lambda: dest.data._data.__setitem__(np.ix_(*axes), source._data))


def assign(self: array, src: Any) -> None:
    """Copy from an array, NumPy array or list of the same number of elements."""
    source = src if isinstance(src, (array, indexedarray)) else array(src, dtype=self.dtype, device=self.device)
    if source.shape != self.shape and source.size == self.size:
        source = source.reshape(self.shape)
    if source.shape != self.shape:
        raise ArrayError(f"assign from shape {source.shape} to shape {self.shape}")
    copy(self, source)


def to(self: array, device: Any, requires_grad: bool | None = None) -> array:
    """This array if it is on the device already, else a copy there."""
    place = get_device(device)
    return self if place is self.device else clone(self, place, requires_grad)


array.zero_ = lambda self: recorded(lambda: self._data.__setitem__(..., np.zeros((), self._data.dtype)))  # type: ignore[attr-defined]
array.fill_ = fill  # type: ignore[attr-defined]
array.assign = assign  # type: ignore[attr-defined]
array.to = to  # type: ignore[attr-defined]
indexedarray.zero_ = lambda self: self.fill_(0)  # type: ignore[attr-defined]


def _fill_indexed(self: indexedarray, value: Any) -> None:
    copy(self, full(self.shape, value, self.dtype))


indexedarray.fill_ = _fill_indexed  # type: ignore[attr-defined]


# ----- import -----------------------------------------------------------------------------------


def from_numpy(
    arr: np.ndarray, dtype: Any = None, shape: Any = None, device: Any = None, requires_grad: bool = False,
    retain_grad: bool = False,
) -> array:  # fmt: skip
    """An array with the contents of a NumPy array (copied).

    Without dtype, trailing extents of 2 to 4 are read as vectors and pairs of them as matrices, as in
    Warp: shape (n, 3) becomes n elements of vec3. Raises `ArrayError` for dtypes without a type.
    """
    arr = np.asarray(arr)
    if dtype is None:
        dtype = _inferred(arr) if shape is None else scalars.canonical(arr.dtype.type)
    return array(arr, dtype=dtype, shape=shape, device=device, requires_grad=requires_grad)


def _inferred(arr: np.ndarray) -> Any:
    base = checked_dtype(arr.dtype.type)
    if base is scalars.bool_ or arr.ndim < 2:
        return base
    if arr.ndim > 2 and arr.shape[-1] == arr.shape[-2] and 2 <= arr.shape[-1] <= 4:
        return compounds.matrix((arr.shape[-2], arr.shape[-1]), base)
    return compounds.vector(arr.shape[-1], base) if 2 <= arr.shape[-1] <= 4 else base


def from_ptr(ptr: int, length: int, dtype: Any = None, shape: Any = None, device: Any = None) -> array:
    """An array over foreign memory, which the caller keeps alive."""
    return array(ptr=ptr, dtype=dtype or scalars.float32, shape=shape or (length,), device=device)


def from_dlpack(source: Any, dtype: Any = None) -> array:
    """An array over the memory of any object with `__dlpack__`, without copying.

    Raises `DeviceError` for memory that is not on this CPU.
    """
    try:
        memory = np.from_dlpack(source)
    except (BufferError, RuntimeError) as error:
        raise DeviceError(f"memory of {type(source).__name__} cannot be shared: {error}") from error
    return array(memory, dtype=dtype or checked_dtype(memory.dtype.type), copy=False)


def dtype_from_numpy(numpy_dtype: Any) -> Any:
    """The element type of a NumPy dtype. Raises `ArrayError` when there is none."""
    return checked_dtype(np.dtype(numpy_dtype).type)


def dtype_to_numpy(dtype: Any) -> Any:
    """The NumPy dtype of an element type: the scalar class, or a structured dtype for structs."""
    element = checked_dtype(dtype)
    return structs.numpy_dtype(element) if structs.is_struct(element) else np.dtype(compounds.scalar_of(element)).type


