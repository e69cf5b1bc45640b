"""Arrays in pieces, as Omniverse's Fabric keeps an attribute of many prims: `fabricarray`, `indexedfabricarray`.

The memory is Fabric's, or whoever's has the interface; nothing is copied. To kernels such an array is a struct: the
array of its pieces, and where each begins in the numbering of the whole. `a[i]` finds the piece by bisection and is an
element like others from there. On the host it can be read, written, filled and copied like an array.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..core.frontend.functions.functions import func
from ..core.ops import where
from ..core.runtime.arrays import saved_contents
from ..core.runtime.devices.memory_range import range_of
from ..core.runtime.arrays.array import array
from ..core.runtime.arrays.foreign import ArrayLayout, memory_at
from ..core.runtime.arrays.gradient import with_gradient
from ..core.runtime.arrays.host_memory import TypedMemory, allocate, checked_dtype
from ..core.runtime.arrays.in_pieces import InPieces, array_of_pieces, give_gradients, selection_table, stretches
from ..core.runtime.arrays.in_pieces import struct_of, type_of_piece
from ..core.runtime.arrays.indexed import indexedarray
from ..core.runtime.devices.device import Device, get_device
from ..core.types import compounds, signatures, structs
from ..core.types.answers import per_type
from ..core.types.arrays import array_type
from ..core.types.scalars import int32
from ..core.types.signatures import Array, Int, PiecesPattern
from ..core.types.structs import StructType
from ..errors import ArrayError
from ..errors import counted as number_of

_MATRICES = ("matrix", "transform", "frame")
_NO_NUMBERS = ("text", "path")


@func
def from_front(starts: Array[int32, 1], index: Int) -> int32:
    """An index from the front; negative ones count from the end."""
    at = int32(index)
    return where(at < 0, at + starts[starts.shape[0] - 1], at)


@func
def piece_at(starts: Array[int32, 1], index: int32) -> int32:
    """The piece that holds an element, by bisection; `starts` ends with the number of all elements."""
    low = int32(0)
    high = starts.shape[0] - 2
    while low < high:
        middle = (low + high + 1) // 2
        if starts[middle] <= index:
            low = middle
        else:
            high = middle - 1
    return low


class FabricArray(InPieces, TypedMemory):
    """A line of elements in pieces that lie apart; `fabricarray` makes them.

    starts: int32, where each piece begins, and at the end the number of all elements. pieces: structs that hold them.
    """

    located = (from_front, piece_at)
    starts: array
    ndim, is_contiguous, _held = 1, False, None

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self.starts.numpy()[-1])

    @property
    def shape(self) -> tuple[int]:
        """The number of elements, as a tuple."""
        return (self.size,)

    def _parts(self) -> Iterator[tuple[TypedMemory, Any]]:
        """Stretches of memory, and which elements of the whole each holds, as arrays are indexed."""
        starts = self.starts.numpy().tolist()
        for begin, end, elements in zip(starts, starts[1:], stretches(self.pieces), strict=False):
            yield elements, slice(begin, end)

    def _recorded_parts(self) -> Iterator[tuple[TypedMemory, Any]]:
        """The parts, for an operation that tapes record."""
        if saved_contents.active():
            give_gradients([self])
        return self._parts()

    def contiguous(self) -> array:
        """The elements in one array, a copy."""
        memory = allocate(self.shape, self.dtype, zero=False, device=self.device)
        packed, parts = array._wrap(memory, self.dtype, self.device), self._recorded_parts()
        packed.requires_grad = self.requires_grad
        for elements, at in parts:
            packed[at].assign(elements)
        return packed

    def assign(self, src: Any) -> None:
        """Copy from an array, NumPy array or list with as many elements. Raises `ArrayError`, `ReadOnlyError`."""
        source = src if isinstance(src, TypedMemory) else array(src, dtype=self.dtype)
        if source.dtype is not self.dtype or source.shape != self.shape:
            raise ArrayError(f"assign from {source!r}\nexpected: {self!r}")
        line = source if isinstance(source, array) else source.contiguous()
        for elements, at in self._recorded_parts():
            elements.assign(line[at])

    def fill_(self, value: object) -> None:
        """Set every element to `value`."""
        for elements, _ in self._recorded_parts():
            elements.fill_(value)

    def zero_(self) -> None:
        """Set every element to zero."""
        for elements, _ in self._recorded_parts():
            elements.zero_()

    def numpy(self) -> np.ndarray:
        """A copy of the elements in order."""
        return self._contents()

    def _contents(self) -> np.ndarray:
        line = np.empty(self.shape, structs.numpy_dtype(self.dtype))
        for elements, at in self._parts():
            line[at if isinstance(at, slice) else at.numpy()] = elements._contents()
        return line

    def list(self) -> list:
        """The elements in order, as host values."""
        return array(self._contents(), dtype=self.dtype).list()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.numpy(), dtype)

    def __getitem__(self, indices: Any) -> FabricArray:
        """The elements at an array of indices, in the same memory."""
        return IndexedFabricArray.of(self, indices)

    def __str__(self) -> str:
        return str(self.numpy())


class IndexedFabricArray(FabricArray):
    """Elements of an array in pieces at a list of indices; `fa[indices]` and `indexedfabricarray` make them."""

    indices: array

    @staticmethod
    def of(fa: FabricArray, indices: Any) -> FabricArray:
        """A selection of an array in pieces, or of another selection. Raises `ArrayError` for indices outside."""
        table = selection_table(fa, indices, FabricArray, "fabricarray")
        return selection_type(fa.dtype)(fa.starts, fa.pieces, table)  # type: ignore[return-value]

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self.indices.size)

    def _parts(self) -> Iterator[tuple[TypedMemory, Any]]:
        chosen = self.indices.numpy()
        for elements, whole in FabricArray._parts(self):
            at = np.flatnonzero((whole.start <= chosen) & (chosen < whole.stop))
            if at.size:
                tables = [array(t, dtype=int32, device=self.device) for t in (chosen[at] - whole.start, at)]
                yield indexedarray(elements, tables[0]), tables[1]


def _fields(dtype: Any) -> dict[str, Any]:
    return {"starts": array_type(int32), "pieces": array_type(type_of_piece(dtype))}


@per_type
def pieces_type(dtype: Any) -> StructType:
    """The type of arrays in pieces of an element type."""
    return struct_of(FabricArray, "fabricarray", dtype, _fields(dtype))


@per_type
def selection_type(dtype: Any) -> StructType:
    """The type of selections of arrays in pieces."""
    fields = _fields(dtype) | {"indices": array_type(int32)}
    return struct_of(IndexedFabricArray, "indexedfabricarray", dtype, fields)


class FabricKind:
    """`fabricarray(data, attrib)` and `fabricarray[float]`: such an array, and the type of one."""

    def __init__(self, name: str, base: type, type_of: Any, make: Any):
        self.__name__, self.base, self.type_of, self.make = name, base, type_of, make

    def __getitem__(self, dtype: Any) -> Any:
        element = dtype[0] if isinstance(dtype, tuple) else dtype
        if signatures.is_generic(element):
            return PiecesPattern(element, self.base)
        return self.type_of(checked_dtype(element))

    def __call__(self, *positional: Any, dtype: Any = Any, **named: Any) -> Any:
        return self.make(*positional, **named) if positional or named else self[dtype]

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self.base)


def attribute_of(data: Any, attrib: str, depth: int) -> tuple[Any, Any, Device]:
    """What an interface tells of an attribute, its element type, its device. Raises `ArrayError`."""
    interface = data if isinstance(data, Mapping) else getattr(data, "__fabric_arrays_interface__", None)
    if not isinstance(interface, Mapping) or attrib not in interface.get("attribs", {}):
        raise ArrayError(f"{type(data).__name__} has no attribute {attrib!r}\nexpected: an interface of Fabric with it")
    about = interface["attribs"][attrib]
    return about, _element(about["type"], attrib, depth), get_device(interface["device"])


def _element(about: Any, attrib: str, expected_depth: int) -> Any:
    """The element type that Fabric tells: (whether it holds numbers, scalar, count, depth of arrays, role)."""
    numbers, scalar, count, depth, role = about
    if not numbers or depth != expected_depth or role in _NO_NUMBERS:
        what = "numbers, vectors or square matrices"
        raise ArrayError(f"attribute {attrib!r} of Fabric is {about}\nexpected: {what}, of depth {expected_depth}")
    base = checked_dtype("?" if scalar == "b" else scalar)
    if count == 1:
        return base
    if role in _MATRICES:
        side = math.isqrt(count)
        if side * side != count:
            raise ArrayError(
                f"attribute {attrib!r} is a {role} of {number_of(count, 'number')}\nexpected: a square matrix"
            )
        return compounds.matrix((side, side), base)
    return compounds.quaternion(base) if (role, count) == ("quat", 4) else compounds.vector(count, base)


def arrays_at(element: Any, device: Device, owner: Any) -> Callable[[int, int], array]:
    """What makes arrays of one element type at addresses, for (address, number of elements); their `owner` is kept.

    In memory of an array that has a gradient they are views of it.
    """
    known = sorted(((*range_of(a), a) for a in with_gradient(device)), key=lambda bounds: bounds[0])
    lows = [low for low, _, _ in known]

    def at(ptr: int, count: int) -> array:
        memory = memory_at(ptr, ArrayLayout(element, (count,)), device, owner)
        k = bisect_right(lows, ptr) - 1
        inside = bool(count) and k >= 0 and ptr + memory.nbytes <= known[k][1]
        a = array._wrap(memory, element, device, owner=known[k][2] if inside else owner)
        if inside:
            a._inherit()
        return a

    return at


def of_interface(data: Any, attrib: str, requires_grad: bool | None = None) -> FabricArray:
    """The array of an attribute in a Fabric interface: a mapping, or what has one as `__fabric_arrays_interface__`.

    requires_grad: whether it has a gradient, `grad`; left out, it has that of the memory, or gets one when a tape
    records a launch with it.
    """
    about, element, device = attribute_of(data, attrib, 0)
    make, numbers = arrays_at(element, device, data), zip(about["pointers"], about["counts"], strict=True)
    parts = [make(int(ptr), int(count)) for ptr, count in numbers if count]
    pieces = array_of_pieces([type_of_piece(element)(a) for a in parts], element, device)
    starts = np.cumsum([0, *(len(a) for a in parts)])
    whole = pieces_type(element)(array(starts, dtype=int32, device=device), pieces)
    if requires_grad is not None:
        whole.requires_grad = requires_grad
    return whole  # type: ignore[return-value]


fabricarray = FabricKind("fabricarray", FabricArray, pieces_type, of_interface)
indexedfabricarray = FabricKind("indexedfabricarray", IndexedFabricArray, selection_type, IndexedFabricArray.of)
