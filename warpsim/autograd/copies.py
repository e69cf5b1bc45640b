"""Launch arguments as private copies: what is done to them never reaches the arrays they were made of.

Guarantees: arrays of the arguments that share memory share it in the copies too, gradients included;
strides and alignment stay as they are; `restore` puts back the contents of the moment of the copy.
Arrays that struct *elements* of an array refer to are not copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.language import array
from ..core.runtime.arrays.doubles import Doubles
from ..core.runtime.arrays.indexed import indexedarray
from ..core.runtime.launches.arguments import is_missing
from ..core.runtime.tape.kernel_arrays import arrays_in
from ..core.types import structs


class PrivateCopies:
    """Copies of launch arguments, in `args`."""

    def __init__(self, args: Iterable[Any]):
        originals = list(args)
        arrays = [a for arg in originals for _, a in arrays_in(arg, "")]
        grads = [a.grad for a in arrays if a.grad is not None]
        self._doubles = Doubles([a._data for a in [*arrays, *grads]], contents=True)
        self._made: dict[int, array] = {}
        self.args = [self._copy(arg) for arg in originals]

    def restore(self) -> None:
        """Contents and gradients as they were when the copies were made."""
        self._doubles.restore()

    def _copy(self, value: Any) -> Any:
        if isinstance(value, array):
            if is_missing(value):
                return value
            if id(value) not in self._made:
                self._made[id(value)] = self._copied_array(value)
            return self._made[id(value)]
        if isinstance(value, indexedarray):
            return indexedarray(self._copy(value.data), value.indices)
        if isinstance(value, structs.Struct):
            return structs.of_fields(type(value), {n: self._copy(getattr(value, n)) for n in type(value).fields})
        return value

    def _copied_array(self, original: array) -> array:
        copied = array._wrap(self._doubles.of(original._data), original.dtype, original.device)
        copied._held = original._held
        if original.grad is not None:
            copied.grad = array._wrap(self._doubles.of(original.grad._data), original.dtype, original.device)
        copied.retain_grad = original.retain_grad
        return copied
