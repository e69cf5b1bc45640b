"""Host memory of arrays as NumPy arrays: allocated or adopted, checked, and read as elements.

Guarantees of what `allocate` and `memory_of` return: the element's extents are the trailing axes
and lie packed, addresses fit the element type, strides are never negative. `why_unusable` names what
foreign memory lacks of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ArrayError, ArrayTypeError, counted, shown
from ...types import compounds, structs
from ...types.arrays import MAX_NDIM, ArrayType, type_name
from ...types.extents import MAX_EXTENT, integers
from ...types.scalars import as_numbers, canonical, holds_numbers, is_bfloat16
from ..devices.cuda import interop
from ..devices.device import CPU, Device, device_of, get_cuda_devices
from ..devices.device_memory import on_host
from ..devices.float_mode import StandardMode
from ..devices.memory_kinds import MemoryKind, memory_kind
from . import memory_tracker
from .arithmetic import Arithmetic
from .held import Held, owners_of
from .notebook import array_table

if TYPE_CHECKING:
    from .allocation import Allocation
    from .array import array
    from .tag import Tag

ShapeLike = int | np.integer | Sequence[int] | np.ndarray | None
"""What stands for extents in annotations."""


class TypedMemory(Arithmetic):
    """What `array` and `indexedarray` have in common: elements of a type that NumPy can see."""

    dtype: Any
    type: ArrayType
    device: Device
    ndim: int
    shape: tuple[int, ...]
    size: int
    _memory: Allocation
    _held: Held | None
    _tag: Tag

    @property
    def _array(self) -> array:
        """The array that has the memory: this one, or the one behind an indexedarray."""
        raise NotImplementedError

    @property
    def requires_grad(self) -> bool:
        """Whether there is a gradient."""
        raise NotImplementedError

    @property
    def grad(self) -> TypedMemory | None:
        """The gradients of the elements, or None."""
        raise NotImplementedError

    @property
    def memory_kind(self) -> MemoryKind:
        """What kind of memory the elements lie in."""
        return memory_kind(self._array._data)

    def numpy(self) -> np.ndarray:
        raise NotImplementedError

    def _contents(self) -> np.ndarray:
        """What `numpy` returns, for use in here: nobody keeps it and writes to it later."""
        raise NotImplementedError

    def _source(self) -> np.ndarray:
        """The contents where they are: a copy to the same device need not travel over the host."""
        return self._contents()

    def _repr_html_(self) -> str:
        """What Jupyter shows."""
        return array_table(self)


# ----- types and shapes -------------------------------------------------------------------------


def checked_dtype(dtype: object) -> Any:
    """An element type, or `ArrayError`."""
    element = canonical(dtype)
    if isinstance(element, str) or (isinstance(element, np.dtype) and element.names is None):
        try:
            element = canonical(np.dtype(element))
        except TypeError as error:
            raise _not_an_element(dtype) from error
    if not structs.is_field_type(element) or isinstance(element, ArrayType):
        raise _not_an_element(dtype)
    return element


def _not_an_element(dtype: object) -> ArrayTypeError:
    return ArrayTypeError(f"dtype {dtype!r}\nexpected: a scalar, vector, matrix, quaternion, transform or struct type")


def element_rank(element: Any) -> int:
    """How many trailing axes the element takes in NumPy."""
    return len(element.shape) if compounds.is_compound(element) else 0


def normalized_shape(shape: object) -> tuple[int, ...] | None:
    """Extents as a tuple (one may be -1, "what is left"), or `ArrayError`."""
    if shape is None:
        return None
    extents = integers(shape)
    if extents is None:
        raise ArrayTypeError(f"shape {shape!r}\nexpected: an integer or a tuple of integers")
    if any(n < -1 for n in extents) or sum(n == -1 for n in extents) > 1:
        raise ArrayError(f"shape {shape!r} has a negative extent")
    if not 1 <= len(extents) <= MAX_NDIM:
        cure = "" if extents else "\nhelp: shape=1 makes an array of one element"
        raise ArrayError(f"shape {shape!r} has {counted(len(extents), 'dimension')}\nexpected: 1 to {MAX_NDIM}{cure}")
    return extents


def check_extents(shape: tuple[int, ...]) -> None:
    """Raise `ArrayError` for a shape with an extent that no array has."""
    for n in shape:
        if not 0 <= n <= MAX_EXTENT:
            wrong = "a negative extent" if n < 0 else "an extent of 2**31 or more"
            raise ArrayError(f"shape {shape} has {wrong}\nexpected: each from 0 to 2**31 - 1")


def contiguous_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides [bytes] of packed memory, the last index fastest."""
    strides: list[int] = []
    step = itemsize
    for n in reversed(shape):
        strides.insert(0, step)
        step *= n
    return tuple(strides)


def checked_strides(strides: Iterable[int], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides [bytes], one per dimension and none negative, or `ArrayError`."""
    try:
        steps = tuple(int(s) for s in strides)
    except (TypeError, ValueError):
        raise ArrayError(f"strides is {shown(strides)}\nexpected: one integer per dimension") from None
    if len(steps) != len(shape):
        raise ArrayError(f"strides {steps} for shape {shape}\nexpected: one stride per dimension")
    if any(s < 0 for s in steps):
        raise ArrayError("negative strides\nhelp: copy the data first")
    return steps


# ----- making memory ----------------------------------------------------------------------------


def allocate(
    shape: tuple[int, ...], element: type, zero: bool = True, device: Device | None = None, pinned: bool = False,
    strides: Iterable[int] | None = None,
) -> np.ndarray:  # fmt: skip
    """Fresh aligned memory of a device, the host's by default, in the layout of `element`.

    pinned: page-locked memory of the host, where there is a CUDA device to copy to or from. strides: bytes from one
    element to the next, per dimension; packed memory without.
    Raises `ArrayError` for a bad size or bad strides, `DeviceMemoryError` for more than the device has.
    """
    check_extents(shape)
    layout = structs.numpy_dtype(element)
    base, inner = layout.base, layout.shape
    zero = zero or structs.holds_arrays(element)  # what a descriptor says is followed
    size = math.prod((*shape, *inner)) * base.itemsize
    if size >= 2**63:
        raise ArrayError(f"shape {shape} of {type_name(element)} needs more than 2**63 bytes")
    home = CPU if device is None else device
    if strides is not None or not size:  # NumPy's strides of nothing are not those of packed memory
        steps = checked_strides(strides, shape) if strides is not None else contiguous_strides(shape, layout.itemsize)
        memory = home.zeros((*shape, *inner), base, (*steps, *contiguous_strides(inner, base.itemsize)))
    elif pinned and home.shares_host_memory and (gpu := next(iter(get_cuda_devices()), None)) is not None:
        memory = gpu.allocate_pinned((*shape, *inner), base, zero)
    else:
        memory = (home.zeros if zero else home.empty)((*shape, *inner), base)
    if memory_tracker.is_tracking():
        memory_tracker.LEDGER.add(memory, home.alias)
    return memory


def allocate_like(memory: np.ndarray) -> np.ndarray:
    """Fresh zeros with the shape and the strides of `memory`, on its device: what a gradient must have."""
    home = device_of(memory)
    fresh = home.zeros(memory.shape, memory.dtype, memory.strides)
    if memory_tracker.is_tracking():
        memory_tracker.LEDGER.add(fresh, home.alias)
    return fresh


# ----- adopting memory --------------------------------------------------------------------------


def memory_of(
    data: object,
    element: type | None,
    shape: tuple[int, ...] | None,
    copy: bool,
    held: dict[bytes, Any],
    device: Device,
) -> tuple[np.ndarray, Any]:
    """Memory of a device with the contents of `data`, and the element type; `held` collects arrays in structs.

    Without `copy` the memory of `data` itself where it fits and is the device's. Raises `ArrayError` for
    data that cannot be elements of the type, and for negative strides without `copy`.
    """
    source, own_type = as_memory(data, device, held)
    if element is None:
        element = own_type if own_type is not None else checked_dtype(source.dtype.type)
    layout = structs.numpy_dtype(element)
    if isinstance(data, list | tuple):
        if source.dtype == np.float64 and layout.base.kind in "iu" and layout.base.itemsize == 8:
            source = _whole_again(data, source, layout.base)
        check_range(source, layout.base)
    if isinstance(data, np.ndarray) and source.dtype == np.uint16 and is_bfloat16(layout.base.type):
        source = source.view(layout.base)  # how libraries without the type pass its bits
    source = fit(source, element, layout, shape)
    if own_type is None and structs.holds_arrays(element):
        held.update(owners_of(on_host(source), element))
    if not copy and source.dtype == layout.base and is_memory_of(source, device):
        problem = why_unusable(source, source.ndim - element_rank(element))
        if problem.startswith("negative"):
            raise ArrayError(problem)
        if not problem:
            return source, element
    memory = allocate(source.shape[: source.ndim - element_rank(element)], element, zero=False, device=device)
    with np.errstate(invalid="ignore", over="ignore"), StandardMode():
        memory[...] = source
    return memory, element


def as_memory(data: object, device: Device, held: dict[bytes, Any]) -> tuple[np.ndarray, Any]:
    """Any array-like as NumPy sees it, left on the device where it is there, and its element type if it has one."""
    if device.shares_host_memory:
        return as_numpy(data, held)
    if isinstance(data, TypedMemory):
        held.update({} if data._held is None else data._held.owners())
        return data._source(), data.dtype
    there = interop.memory_of(data, device)
    return (there, None) if there is not None else as_numpy(data, held)


def _whole_again(data: object, source: np.ndarray, base: np.dtype) -> np.ndarray:
    """Integers of 64 bits too far apart for one type of NumPy, which makes floats of them, as they were."""
    exact = np.asarray(data, object)
    if exact.shape != source.shape or not all(type(x) is int for x in exact.flat):
        return source
    check_range(exact, base)
    return exact.astype(base)


def is_memory_of(memory: np.ndarray, device: Device) -> bool:
    """Whether memory is where arrays of the device have theirs."""
    return device_of(memory).memory_space == device.memory_space


def why_unusable(memory: np.ndarray, ndim: int) -> str:
    """Why an array of rank `ndim` cannot use this memory as it is; nothing when it can."""
    if any(s < 0 for s in memory.strides):
        return "negative strides\nhelp: copy the data first: np.ascontiguousarray(x)"
    if not memory.flags.aligned:
        return (
            f"memory at {memory.ctypes.data:#x} does not fit the alignment of {memory.dtype}"
            "\nhelp: copy the data first: x.copy()"
        )
    if memory.ndim > ndim and memory.size and not memory[(0,) * ndim].flags.c_contiguous:
        return (
            f"the components of elements lie apart: strides {memory.strides}, shape {memory.shape}"
            "\nhelp: copy the data first: np.ascontiguousarray(x)"
        )
    return ""


def as_numpy(data: object, held: dict[bytes, Any] | None = None) -> tuple[np.ndarray, Any]:
    """Any array-like as NumPy, and its element type where it has one of ours.

    Raises `ArrayError` for data that is ragged or not made of numbers.
    """
    if isinstance(data, TypedMemory):
        if held is not None and data._held is not None:
            held.update(data._held.owners())
        return data._contents(), data.dtype
    if isinstance(data, list | tuple):
        return _from_sequence(data, {} if held is None else held)
    if (there := interop.memory_of(data)) is not None:
        return there.host(), None
    if not isinstance(data, np.ndarray | type) and not hasattr(data, "__array__"):
        if hasattr(data, "__array_interface__"):
            return np.asarray(data), None
        if hasattr(data, "__dlpack__"):
            return np.from_dlpack(data), None
    if isinstance(data, type):
        raise ArrayError(
            f"data is the type {data.__name__}\nexpected: a list, a NumPy array or the like"
            f"\nhelp: a parameter of a kernel is annotated wp.array[{data.__name__}] or wp.array(dtype={data.__name__})"
        )
    contents = as_numbers(data)
    if contents.dtype == object:
        raise ArrayError(f"data of type {type(data).__name__} is not numeric")
    return contents, None


def _from_sequence(data: list[Any] | tuple[Any, ...], held: dict[bytes, Any]) -> tuple[np.ndarray, Any]:
    leaf = data
    while isinstance(leaf, list | tuple) and leaf:
        leaf = leaf[0]
    if isinstance(leaf, structs.Struct):
        return _records(data, type(leaf), held), type(leaf)
    try:
        numbers = as_numbers(data)
    except ValueError as error:
        raise ArrayError(f"the {type(data).__name__} is ragged: {error}") from error
    if numbers.dtype == object:
        raise ArrayError(f"the {type(data).__name__} holds something that is not a number")
    return numbers, type(leaf) if isinstance(leaf, compounds.Compound) else None


def _records(data: list[Any] | tuple[Any, ...], t: type[structs.Struct], held: dict[bytes, Any]) -> np.ndarray:
    records = np.zeros(len(data), structs.numpy_dtype(t))
    for i, value in enumerate(data):
        if not isinstance(value, t):
            raise ArrayError(f"element {i} is {type(value).__name__}\nexpected: {type_name(t)}")
        write_struct(records, i, value, held)
    return records


def check_range(source: np.ndarray, base: np.dtype) -> None:
    """Python's integers must fit: `array([300], dtype=int8)` is a mistake, not 44."""
    if source.dtype.kind not in "iuO" or base.kind not in "iu" or not source.size:
        return
    limits = np.iinfo(base)
    low, high = int(source.min()), int(source.max())
    if low < limits.min or high > limits.max:
        wrong = low if low < limits.min else high
        raise ArrayError(f"{wrong} does not fit {base}\nexpected: {limits.min} to {limits.max}")


def fit(source: np.ndarray, element: type, layout: np.dtype, shape: tuple[int, ...] | None) -> np.ndarray:
    """`source` with the element's extents as trailing axes, and the wanted shape in front."""
    inner = layout.shape
    if structs.is_struct(element):
        source = _as_records(source, element, layout)
    elif not holds_numbers(source.dtype):
        raise ArrayError(f"data has dtype {source.dtype}\nexpected: numbers")
    size = math.prod(inner)
    if inner and source.shape[source.ndim - len(inner) :] != inner:
        if source.size % size or source.ndim == 0 or (source.ndim > 1 and source.shape[-1] % size):
            raise ArrayError(
                f"data of shape {source.shape} does not hold elements of {type_name(element)}\n"
                f"expected: trailing extents {inner}"
            )
        outer = source.shape[:-1] if source.ndim > 1 else ()
        groups = source.shape[-1] // size
        source = source.reshape((*outer, *(() if outer and groups == 1 else (groups,)), *inner))
    if source.ndim == len(inner):
        source = source.reshape((1, *inner))
    if shape is not None:
        count = source.size // size
        extents = tuple(count // max(1, -math.prod(shape)) if n == -1 else n for n in shape)
        if math.prod(extents) != count:
            raise ArrayError(f"{counted(count, 'element')} cannot fill shape {shape}")
        source = source.reshape((*extents, *inner))
    return source


def _as_records(source: np.ndarray, element: type, layout: np.dtype) -> np.ndarray:
    """Structured data in the struct's layout; fields are matched by name where padding differs."""
    if source.dtype == layout:
        return source
    if not source.size:  # an empty list has no type
        return np.zeros(source.shape, layout)
    if source.dtype.names is None or set(source.dtype.names) != set(layout.names or ()):
        raise ArrayError(
            f"data has dtype {source.dtype}\nexpected: the layout of struct {type_name(element)}: {layout}"
        )
    records, contents = np.zeros(source.shape, layout), on_host(source)
    for name in source.dtype.names:
        records[name] = contents[name]
    return records


def reinterpret(memory: np.ndarray, ndim: int, layout: np.dtype) -> np.ndarray:
    """The same memory as elements of another layout: of equal size, or made of scalars of equal size.

    What is left of the components becomes trailing extents, and what elements take is taken from these: vec3 (n,) is
    float (n, 3) and back. Raises `ArrayError` where the extents are others.
    """
    inner = layout.shape
    if math.prod(memory.shape[ndim:]) * memory.itemsize != layout.itemsize:
        if inner and memory.shape[-len(inner) :] != inner:
            raise ArrayError(
                f"a view of elements of shape {inner} of memory of shape {memory.shape}\n"
                "expected: the same last extents"
            )
        return memory.view(layout.base)
    outer = memory.shape[:ndim]
    if not memory.size:
        return memory.reshape(0)[:0].view(layout.base).reshape((*outer, *inner))
    packed = memory.reshape((*outer, -1)) if memory.ndim > ndim else memory[..., np.newaxis]
    return packed.view(layout.base).reshape((*outer, *inner))


# ----- elements ---------------------------------------------------------------------------------


def host_element(part: Any, element: Any, held: Held | None = None) -> Any:
    """One element of memory as a host value; array fields are found in `held`."""
    if compounds.is_compound(element):
        return element.wrap(part)
    if structs.is_struct(element):
        value = element()
        for name, t in element.fields.items():
            structs.set_field(value, name, host_element(part[name], t, held))
        return value
    if isinstance(element, ArrayType):
        return None if held is None else held.find(part.tobytes())
    return element(part)


def write_struct(records: np.ndarray, key: int, value: structs.Struct, held: dict[bytes, Any] | None = None) -> None:
    """Write a struct into a record array; array fields become descriptors, noted in `held`."""
    for name, t in type(value).fields.items():
        item = getattr(value, name)
        if structs.is_struct(t):
            write_struct(records[name], key, item, held)
        elif isinstance(t, ArrayType):
            records[name][key] = 0 if item is None else np.frombuffer(item._words, np.uint64)
            if item is not None and held is not None:
                held[item._words] = item
        else:
            records[name][key] = np.asarray(item)


def record_of(value: structs.Struct, held: dict[bytes, Any] | None = None) -> np.ndarray:
    """A struct as one record (rank 0)."""
    record = np.zeros(1, structs.numpy_dtype(type(value)))
    write_struct(record, 0, value, held)
    return record.reshape(())
