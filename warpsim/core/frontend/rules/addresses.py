"""`wp.address_of(x)`: an address for native functions, in a parameter of type `wp.uint64`.

Kernels have no addresses as numbers: what the call gives is known when the kernel is compiled, goes to native functions
(through others as well), and names what they may change. Of an element of an array, or a field or component of one, it
is where that lies, so that text finds its neighbours; of a local it is that of a copy, which the local becomes
afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....errors import KernelCallError
from ...ir.nodes import Constant, Value
from ...ops import memory
from ...ops.registry import TABLE
from ...types import scalars
from ..translate.conversions import converted_scalar
from ..translate.scope import typed_value
from ..translate.translator import Translator


class Address:
    """The address of a place that a target names: of an element of `array`, or of a copy of a local."""

    def __init__(self, place: Any, array: Value | None = None, indices: Sequence[Any] = ()):
        self.place, self.array, self.indices = place, array, indices

    def __repr__(self) -> str:
        return "an address"


def address_of(x: object) -> Any:
    """In a kernel: the address of a local, a field, a component or an element of an array, for a native function.

    It goes to a parameter of type `wp.uint64` of a function made by `func_native`, whose text takes it for a pointer
    (`*(float *)p`); an array's own is `a.ptr`. Other functions hand those of elements on. There are no gradients
    through addresses: `wp.ref[T]` has them.
    """
    cure = "array.ptr is the address of an array on the host"
    raise KernelCallError(f"wp.address_of works inside kernels only\nhelp: {cure}")


def array_address(array: Value) -> Address:
    """`a.ptr`: where the elements of an array begin."""
    return Address(None, array, [0] * array.type.ndim)


def native_operands(tr: Translator, name: str, address: Address) -> tuple[list[tuple[str, Value]], str]:
    """What native text is given for an address in memory, parameters and their values, and the line that makes it."""
    assert address.array is not None
    own = f"{name}_array"
    at = [(f"{name}_at_{k}", from_start(tr, address.array, k, i)) for k, i in enumerate(address.indices)]
    element = f"{own}({', '.join(n for n, _ in at)})" if len(at) > 1 else f"{own}[{at[0][0]}]"
    return [(own, address.array), *at], f"const uint64_t {name} = (uint64_t)&{element};"


def from_start(tr: Translator, array: Value, axis: int, index: object) -> Value:
    """An index that counts from the start, as native text does."""
    index = typed_value(index)
    if (isinstance(index, Constant) and int(index.value) >= 0) or not scalars.is_signed(index.type):
        return index
    extent = converted_scalar(tr, tr.emit(memory.shape, array, axis=axis), index.type)
    below = tr.emit(TABLE["lt"], index, 0)
    chosen: Value = tr.emit(TABLE["where"], below, tr.emit(TABLE["add"], index, extent), index)
    return chosen


address_of.kernel_form = "address_of"  # type: ignore[attr-defined]
