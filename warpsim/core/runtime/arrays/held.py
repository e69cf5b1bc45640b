"""Keep-alive references to the arrays in elements of structs, and their lookup by descriptor.

An element holds a descriptor, which is words and keeps nothing alive. So all memory of such elements has a `Held`,
which views and copies of the memory share or take over. Guarantees: a descriptor that the host writes is that of
an array that is kept; what kernels store is that of an array, or of a view of one, that is kept; what comes in
through NumPy is looked up among the arrays that are in such memory already, and refused when it is none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from ....errors import ArrayError, DeviceError
from ...types import structs
from ...types.arrays import ArrayType, type_name
from ..devices.device import Device
from ..devices.device_memory import on_host

if TYPE_CHECKING:
    from .array import array


_SLACK = 64

_KNOWN: WeakValueDictionary[bytes, Any] = WeakValueDictionary()
"""Arrays that memory refers to, by descriptor."""


class Held(dict[bytes, Any]):
    """The arrays that the elements of some memory refer to, by descriptor."""

    def __init__(self, memory: np.ndarray, element: type[structs.Struct], device: Device):
        super().__init__()
        self.memory, self.element, self.device = memory, element, device
        self._dtypes = set(_dtypes(element))
        self.loose: dict[int, Any] = {}
        """Arrays of which kernels may have stored views, by `id`."""
        self.grads: dict[bytes, Any] = {}  # their gradients, whose addresses are in the descriptors, too
        self.locked = False  # whether one of them was ever read-only
        self._limit = _SLACK
        self._seen: list[np.ndarray] = []  # descriptors that were checked last

    def check(self, owners: dict[bytes, Any]) -> None:
        """Raise `DeviceError` for arrays that kernels which read the memory cannot reach."""
        for a in owners.values():
            if not self.device.can_access(a.device):
                raise DeviceError(
                    f"elements of {type_name(self.element)} that refer to an array on {a.device}\n"
                    f"expected: arrays on {self.device}, where the elements are\n"
                    "help: make structs of arrays there: a.to(device)"
                )

    def add(self, owners: dict[bytes, Any]) -> None:
        """Note arrays; let go of those that no element refers to any more when they become many."""
        self.check(owners)
        self.update(owners)
        for words, a in owners.items():
            _KNOWN[words] = a
            self.locked |= not a._tag.writable
            if (grad := a._array._gradient) is not None:
                self.grads[words] = grad
        if len(self) > 2 * self.memory.size + _SLACK:
            present = self.present()
            for words in [w for w in self if w not in present]:
                del self[words]
                self.grads.pop(words, None)

    def trim(self) -> None:
        """Let go of arrays of which earlier launches stored no view, when they become many."""
        if len(self.loose) > self._limit:
            self.settle()
            self.loose.clear()
            self._limit = 2 * len(self) + _SLACK

    def hold(self, arrays: Iterable[Any]) -> None:
        """Keep arrays whose descriptors, or those of views of them, a kernel is about to store."""
        for a in arrays:
            if a.dtype in self._dtypes:
                self.loose[id(a)] = a
                self.locked |= not a._tag.writable

    def settle(self) -> None:
        """Note what kernels have stored. A launch that is about to store may follow, so all candidates stay."""
        if not self.loose:
            return
        exact = {a._words: a for a in self.loose.values()}
        stored = {}
        for words in self.present() - self.keys():
            owner = exact.get(words) or next((a for a in self.loose.values() if _is_view(words, a)), None)
            if owner is not None:
                stored[words] = owner if words in exact else owner._view_at(words)
        self.add(stored)

    def owners(self) -> dict[bytes, Any]:
        """All arrays that elements refer to, by descriptor."""
        self.verify()
        return self

    def arrays(self) -> list[Any]:
        """All arrays that elements may refer to."""
        self.settle()
        return list(self.values())

    def find(self, words: bytes) -> Any:
        """The array of a descriptor, None for one that stands for nothing."""
        if words not in self:
            self.settle()
        return self.get(words)

    def check_writable(self, fields: Iterable[str | None]) -> str:
        """The name of a field whose arrays a kernel writes to and of which one is read-only, or nothing."""
        if self.locked:
            self.settle()
            for field in fields:
                if any(not self[w]._tag.writable for w in self.present(field) & self.keys()):
                    return field or "an array"
        return ""

    def present(self, field: str | None = None) -> set[bytes]:
        """The descriptors in the memory; field: of arrays under this name alone."""
        return set(descriptors(on_host(self.memory).reshape(-1), self.element, field))

    def verify(self) -> None:
        """Take up what was written through NumPy. Raises `ArrayError` for descriptors of no array that is known."""
        self.settle()
        columns = list(_columns(on_host(self.memory), self.element))
        if len(self._seen) != len(columns) or not all(map(np.array_equal, self._seen, columns)):
            self.add(_owners(self.present() - self.keys(), self.element))
            self._seen = [c.copy() for c in columns]


def owners_of(records: np.ndarray, element: type[structs.Struct]) -> dict[bytes, Any]:
    """The arrays that records refer to. Raises `ArrayError` for descriptors of no array that is known."""
    return _owners(set(descriptors(records.reshape(-1), element)), element)


def _owners(present: set[bytes], element: type[structs.Struct]) -> dict[bytes, Any]:
    owners = {words: _KNOWN.get(words) for words in present if any(words)}
    if None in owners.values():
        raise ArrayError(
            f"records of {type_name(element)} refer to an array that is gone, or is not known\n"
            f"expected: records whose arrays are in other arrays of {type_name(element)} that exist\n"
            f"help: make them of structs: wp.array([{type_name(element)}(...), ...])"
        )
    return owners


def descriptors(records: np.ndarray, element: type[structs.Struct], field: str | None = None) -> Iterator[bytes]:
    """The descriptors in records of a struct, each once for each field."""
    for column in _columns(records, element, field):
        words = np.ascontiguousarray(column.reshape(-1, column.shape[-1]))
        for row in np.unique(words, axis=0):
            yield row.tobytes()


def _columns(records: np.ndarray, element: type[structs.Struct], field: str | None = None) -> Iterator[np.ndarray]:
    for name, t in element.fields.items():
        if isinstance(t, ArrayType) and field in (None, name):
            yield records[name]
        elif structs.is_struct(t):
            yield from _columns(records[name], t, field)


def _dtypes(element: type[structs.Struct]) -> Iterator[Any]:
    """The element types of arrays in a struct."""
    for t in element.fields.values():
        if isinstance(t, ArrayType):
            yield t.dtype
        elif structs.is_struct(t):
            yield from _dtypes(t)


def _is_view(words: bytes, a: array) -> bool:
    """Whether a descriptor may be that of a view of an array."""
    start, base = int.from_bytes(words[:8], "little"), a._array
    reach = sum((n - 1) * step for n, step in zip(base.shape, base.strides, strict=True))
    return bool(base.size and base._address <= start <= base._address + reach)
