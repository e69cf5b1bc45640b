"""Making, filling, copying and importing arrays.

While a graph is captured, memory is allocated at once, and what is done to its contents is recorded:
a replayed `zeros` zeroes again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ArgumentTypeError, ArrayError, ArrayTypeError, DeviceError, counted, shown, user_frames
from ...types import compounds, scalars, structs
from ...types.arrays import type_name
from ..devices.capture import current_graph
from ..devices.cuda import interop
from ..devices.device import DeviceLike, device_of, get_device
from ..devices.stream import ScopedStream, Stream
from .array import array
from .host_memory import ShapeLike, TypedMemory, allocate, check_extents, checked_dtype, normalized_shape, why_unusable
from .made_of_arrays import follow

if TYPE_CHECKING:
    import numpy.typing as npt

    from .indexed import indexedarray


__all__ = ["clone", "copy", "dtype_from_numpy", "dtype_to_numpy", "empty", "empty_like", "from_dlpack", "from_numpy"]
__all__ += ["from_ptr", "full", "full_like", "ones", "ones_like", "to_dlpack", "zeros", "zeros_like"]


# ----- new arrays -------------------------------------------------------------------------------


def empty(
    shape: ShapeLike = None,
    dtype: object = float,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    strides: Iterable[int] | None = None,
    **kwargs: Any,
) -> array:
    """An array of undefined contents.

    shape: an integer, or a tuple of up to four extents; `length=n` is accepted too, and `ndim`, if it fits. dtype: of
    the elements: a number, vector, matrix, quaternion, transform or struct. device: where, default: the current one.
    requires_grad: with an array of gradients, `.grad`, of zeros. pinned: memory of the host that copies to a GPU need
    not wait for. strides: bytes from one element to the next, for each dimension.

    Raises `ArrayError` for a shape or dtype that no array has, `DeviceError` for an unknown device.
    """
    a = _new_array(_extents(shape, kwargs), dtype, device, False, pinned, strides)
    a.requires_grad, a.retain_grad = requires_grad, retain_grad
    return a


def zeros(
    shape: ShapeLike = None,
    dtype: object = float,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    strides: Iterable[int] | None = None,
    **kwargs: Any,
) -> array:
    """An array of zeros; arguments and errors are those of `empty`.

    In a kernel, `wp.zeros(shape=8, dtype=float)` is an array of zeros on the thread's stack; its shape is constant.
    """
    a = _new_array(_extents(shape, kwargs), dtype, device, True, pinned, strides)
    a.requires_grad, a.retain_grad = requires_grad, retain_grad
    if current_graph() is not None:
        a.zero_()
    return a


zeros.kernel_form = "local_array"  # type: ignore[attr-defined]


def full(
    shape: ShapeLike = None,
    value: object = 0,
    dtype: object = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """An array filled with `value`; other arguments and errors are those of `empty`.

    dtype: default: the type of the value. A Python int makes int32 and a float float32, a list makes a vector, nested
    lists a matrix.
    """
    element = dtype if dtype is not None else _type_of(value)
    a = empty(shape, element, device, requires_grad, pinned, retain_grad, **kwargs)
    a.fill_(value)
    return a


def ones(
    shape: ShapeLike = None,
    dtype: object = float,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """An array whose elements have the value 1 in every component; arguments and errors are those of `empty`."""
    return full(shape, 1, dtype, device, requires_grad, pinned, retain_grad, **kwargs)


def _new_array(
    extents: tuple[int, ...], dtype: object, device: DeviceLike, zero: bool, pinned: bool, strides: Iterable[int] | None
) -> array:
    element = checked_dtype(dtype)
    device = get_device(device)
    a = array._wrap(allocate(extents, element, zero, device, pinned, strides), element, device)
    a.pinned = pinned
    return a


def _extents(shape: ShapeLike, kwargs: dict[str, Any]) -> tuple[int, ...]:
    size = shape if shape is not None else kwargs.pop("length", kwargs.pop("n", None))
    rank = kwargs.pop("ndim", None)
    if kwargs:
        raise TypeError(
            f"unexpected keyword {next(iter(kwargs))!r}\nexpected: shape, dtype, device, requires_grad, pinned, strides"
        )
    extents = normalized_shape(0 if size is None else size)
    assert extents is not None
    if rank is not None and rank != len(extents):
        raise ArrayError(f"shape {extents} with ndim={rank}\nexpected: ndim={len(extents)}, or none")
    check_extents(extents)
    return extents


def _type_of(value: object) -> Any:
    if isinstance(value, bool):
        return scalars.bool_
    if isinstance(value, (compounds.Compound, structs.Struct, np.generic)):
        return type(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        numbers = np.asarray(value)
        base = checked_dtype(numbers.dtype.type)
        if not isinstance(value, np.ndarray):
            base = {scalars.int64: scalars.int32, scalars.float64: scalars.float32}.get(base, base)
        if numbers.ndim not in (1, 2):
            raise ArrayError(f"value of shape {numbers.shape}\nexpected: a number, a vector or a matrix")
        return compounds.vector(len(numbers), base) if numbers.ndim == 1 else compounds.matrix(numbers.shape, base)
    return scalars.float32 if isinstance(value, float) else scalars.int32


# ----- arrays like others -----------------------------------------------------------------------


def empty_like(
    src: array | indexedarray,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool = False,
) -> array:
    """An array of undefined contents with the shape and dtype of `src`.

    device, requires_grad: default: those of `src`. Raises `ArgumentTypeError` where `src` is no array.
    """
    _require_array(src, "src")
    device = src.device if device is None else device
    wants_grad = src.requires_grad if requires_grad is None else requires_grad
    return empty(src.shape, src.dtype, device, wants_grad, bool(pinned), retain_grad)


def zeros_like(
    src: array | indexedarray,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool = False,
) -> array:
    """An array of zeros with the shape and dtype of `src`; arguments are those of `empty_like`."""
    a = empty_like(src, device, requires_grad, pinned, retain_grad)
    a.zero_()
    return a


def full_like(
    src: array | indexedarray,
    value: object,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool = False,
) -> array:
    """An array filled with `value`, with the shape and dtype of `src`; other arguments are those of `empty_like`."""
    a = empty_like(src, device, requires_grad, pinned, retain_grad)
    a.fill_(value)
    return a


def ones_like(
    src: array | indexedarray,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool = False,
) -> array:
    """An array of ones with the shape and dtype of `src`; arguments are those of `empty_like`."""
    return full_like(src, 1, device, requires_grad, pinned, retain_grad)


def clone(
    src: array | indexedarray,
    device: DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
    retain_grad: bool = False,
) -> array:
    """A contiguous copy of an array, without its gradient; arguments are those of `empty_like`. Tapes record it."""
    cloned = empty_like(src, device, requires_grad, pinned, retain_grad)
    cloned.assign(src)
    return cloned


# ----- copying ----------------------------------------------------------------------------------


def copy(
    dest: array | indexedarray,
    src: array | indexedarray,
    dest_offset: int = 0,
    src_offset: int = 0,
    count: int = 0,
    stream: Stream | None = None,
) -> None:
    """Copy all elements of `src` to `dest`, or `count` of them from `src_offset` to `dest_offset`. Tapes record it.

    Offsets count elements of the flattened arrays; a `count` of 0 stands for all. The arrays may be on different
    devices. stream: where the copy runs; default: the current streams of the devices. Raises `ArrayError` where dtypes
    or extents differ or a range leaves an array, `ReadOnlyError` for a destination that may not be written.
    """
    _require_array(dest, "dest")
    _require_array(src, "src")
    if dest.dtype is not src.dtype:
        raise ArrayError(
            f"copy of {type_name(src.dtype)} to {type_name(dest.dtype)}\nexpected: equal dtypes\n"
            "help: wp.utils.array_cast converts"
        )
    with ScopedStream(stream, sync_enter=False):
        _copy_elements(dest, src, dest_offset, src_offset, count)


def _copy_elements(
    dest: array | indexedarray, src: array | indexedarray, dest_offset: int, src_offset: int, count: int
) -> None:
    if dest_offset == src_offset == count == 0 and dest.shape == src.shape:
        dest.assign(src)
        return
    number = count or src.size
    for name, a, offset in (("source", src, src_offset), ("destination", dest, dest_offset)):
        if offset < 0 or number < 0 or offset + number > a.size:
            whole = counted(a.size, "element")
            raise ArrayError(f"copy of {counted(number, 'element')} at {offset} leaves the {name} of {whole}")
    if not dest.is_contiguous and not (isinstance(dest, array) and dest.ndim == 1):
        raise ArrayError("copy with offsets needs a destination that is contiguous, or has one dimension")
    _stretch(dest, dest_offset, number).assign(_stretch(src, src_offset, number))


def _stretch(a: array | indexedarray, offset: int, number: int) -> array:
    """Elements in a row, as a view; of a copy where elements of several dimensions lie apart."""
    line = a if isinstance(a, array) and a.ndim == 1 else a.contiguous().flatten()
    elements: array = line[offset : offset + number]
    return elements


def _require_array(value: object, name: str) -> None:
    if not isinstance(value, TypedMemory):
        raise ArgumentTypeError(f"{name} is {type(value).__name__}\nexpected: an array\nhelp: wp.array(x) makes one")


# ----- import -----------------------------------------------------------------------------------


def from_numpy(
    arr: np.ndarray,
    dtype: object = None,
    shape: ShapeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    retain_grad: bool = False,
) -> array:
    """An array with the contents of a NumPy array (copied).

    Without dtype and shape, data of rank 2 is read as vectors along its last axis, and data of
    higher rank as matrices in its last two axes: (n, 3) becomes n elements of vec3,
    (n, 2, 2) n of mat22. Raises `ArrayError` for data without a type.
    """
    contents = np.asarray(arr)
    if dtype is None:
        dtype = _infer_dtype(contents) if shape is None else checked_dtype(contents.dtype.type)
    a = array(contents, dtype=dtype, shape=shape, device=device, requires_grad=requires_grad, retain_grad=retain_grad)
    follow(a, arr)
    return a


def _infer_dtype(arr: np.ndarray) -> Any:
    base = checked_dtype(arr.dtype.type)
    try:
        if arr.ndim == 2:
            return compounds.vector(arr.shape[1], base)
        return compounds.matrix(arr.shape[-2:], base) if arr.ndim > 2 else base
    except ValueError as error:
        raise ArrayError(
            f"data of shape {arr.shape} as vectors or matrices: {error}\n"
            "help: name the element type: wp.from_numpy(x, dtype=float)"
        ) from error


@user_frames
def from_ptr(
    ptr: int | None, length: int, dtype: object = None, shape: ShapeLike = None, device: DeviceLike = None
) -> array:
    """An array over foreign memory, which the caller keeps alive; `ptr` may be None where there are no elements.

    Raises `ArrayError` for what is no address.
    """
    return array(ptr=ptr or 0, dtype=dtype or scalars.float32, shape=shape or (length,), device=device)


def from_dlpack(source: object, dtype: object = None) -> array:
    """An array over the memory of any object with `__dlpack__`, or of a bare capsule, without copying.

    It is on the device that the memory is on; see `cuda.interop` for the order of work there. Raises `DeviceError`
    for memory on a device that is not there, `ArrayError` for memory that `dtype` does not fit, `ArgumentTypeError`
    for what is no memory of the host or of a CUDA device. Elements of one size may be taken for each other, bool for
    uint8 for example.
    """
    memory = _memory_from(source)
    if dtype is not None and memory.dtype.names is None:
        memory = _reinterpret(memory, structs.numpy_dtype(checked_dtype(dtype)).base)
    a = array(memory, dtype=dtype or checked_dtype(memory.dtype.type), device=device_of(memory), copy=False)
    if memory.size and not np.may_share_memory(a._data, memory):
        why = why_unusable(memory, memory.ndim) or f"{memory.dtype} memory of shape {memory.shape}"
        raise ArrayError(f"cannot be shared as {type_name(a.dtype)}: {why}")
    return a


def _memory_from(source: object) -> np.ndarray:
    if type(source).__name__ == "PyCapsule":
        return interop.memory_of_capsule(source)
    kind = interop.device_kind(source)
    if kind[0] not in interop.KNOWN:
        raise ArgumentTypeError(f"memory on DLPack device {kind}\nexpected: a CPU or a CUDA device")
    there = interop.memory_of(source)
    if there is not None:
        return there
    if isinstance(source, np.ndarray):
        return source
    try:
        capsule = _host_capsule(source)
    except (AttributeError, BufferError, RuntimeError, TypeError) as error:
        raise DeviceError(f"memory of {type(source).__name__} cannot be shared: {error}") from error
    return interop.memory_of_capsule(capsule)


def _host_capsule(source: Any) -> Any:
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:  # a producer from before DLPack 1.0
        return source.__dlpack__()


def _reinterpret(memory: np.ndarray, base: np.dtype) -> np.ndarray:
    """Memory of booleans or integers as another type of the same size; other memory as it is."""
    alike = memory.dtype.kind in "biu" and base.kind in "biu" and memory.dtype.itemsize == base.itemsize
    return memory.view(base) if alike else memory


def to_dlpack(wp_array: array) -> Any:
    """A DLPack capsule of an array's memory, which it keeps alive; `from_dlpack` of any framework takes it once."""
    if not isinstance(wp_array, array):
        raise ArrayError(f"to_dlpack: found {shown(wp_array)}\nexpected: an array of warpsim")
    return wp_array.__dlpack__()


def dtype_from_numpy(numpy_dtype: npt.DTypeLike) -> Any:
    """The element type of a NumPy dtype. Raises `ArrayError` when there is none."""
    try:
        dtype = np.dtype(numpy_dtype)
    except (TypeError, ValueError):
        raise ArrayTypeError(f"{shown(numpy_dtype)} is no NumPy dtype\nexpected: one, such as np.float32") from None
    return checked_dtype(dtype.type)


def dtype_to_numpy(warp_dtype: object) -> Any:
    """The NumPy dtype of an element type: the scalar class, or a structured dtype for structs."""
    element = checked_dtype(warp_dtype)
    return structs.numpy_dtype(element) if structs.is_struct(element) else np.dtype(compounds.scalar_of(element)).type
