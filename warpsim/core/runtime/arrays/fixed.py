"""`Fixed`: the one rule for replacing public attributes of an object, and the checks that hold it.

- Arrays that users give or drive (`replaceable`) may be replaced by others of the same dtype, shape and device. They
  are checked when they are next used, which costs a look at an empty set where all fit.
- Numbers that steer an object (`settings`) are checked when they are set.
- All else stays as the constructor set it: `FixedAttributeError`.
- What is used as an index without a check is the object's own, made and checked when the object was built: a copy, or
  memory that is read-only on the host (`read_only`).

So no public assignment makes native code reach beyond an array.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from types import NoneType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ....errors import ArrayError, FixedAttributeError, WarpsimError, shown
from ....forks import cached_property
from ...types.arrays import type_name
from ..devices.capture import current_graph
from ..devices.device import Device
from . import saved_contents
from .array import array
from .creation import clone
from .tag import Tag

_PART = 1 << 10  # numbers of a copy that are compared at a time


class Layout(NamedTuple):
    """What an array must be like to stand for another one."""

    dtype: Any
    shape: tuple[int, ...]
    device: Device

    @classmethod
    def of(cls, value: object) -> Layout | None:
        """The layout of an array; None for None."""
        return cls(value.dtype, value.shape, value.device) if isinstance(value, array) else None

    def __str__(self) -> str:
        return f"{type_name(self.dtype)} of shape {self.shape} on {self.device}"


class Fixed:
    """An object whose public attributes are set once, but for those that are named here; see the module."""

    replaceable: ClassVar[Collection[str]] = ()
    """Arrays that may be replaced by others of their layout."""
    settings: ClassVar[Mapping[str, Callable[[Any, str], Any]]] = {}
    """Numbers that may be changed: what checks (value, name) and returns the value to set."""
    constant: ClassVar[Collection[str]] = ()
    """Integers that are used as indices: `read_only` from when they are set."""
    unfit: ClassVar[type[WarpsimError]] = ArrayError
    """What is raised for an array that does not fit."""
    _unfit: Set[str] = frozenset()

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self) and vars(self)[name] is value:
            return
        own = getattr(type(self), name, None)
        if name[0] != "_" and (not isinstance(own, property) or own.fset is None):
            value = self._admit(name, value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if name[0] != "_":
            raise FixedAttributeError(f"{type(self).__name__}.{name} cannot be deleted")
        object.__delattr__(self, name)

    def _admit(self, name: str, value: Any) -> Any:
        """What is set in the place of an attribute. Raises `FixedAttributeError` for one that stays."""
        if name in self.settings:
            return self.settings[name](value, name)
        own = vars(self)
        if name in self.constant and name not in own:
            return read_only(value)
        part = _is_part(getattr(type(self), name, None))
        if not part and self._may_replace(name, own.get(name, value)):
            self._note_array(name, value)
        elif part or name in own:
            help = f"{name}.assign(...) writes into it" if isinstance(own.get(name), array) else "make another one"
            raise FixedAttributeError(f"{type(self).__name__}.{name} is fixed\nhelp: {help}")
        return value

    def _may_replace(self, name: str, present: object) -> bool:
        return name in self.replaceable

    def _layout(self, name: str) -> Layout | None:
        """What an attribute must be like; None where it has to stay None."""
        layouts: dict[str, Layout | None] = vars(self)["_layouts"]
        return layouts.get(name)

    def _note_array(self, name: str, value: object) -> None:
        """Remember the layout of an array that is set for the first time, and which later ones do not fit."""
        own = vars(self)
        if name not in own:
            own.setdefault("_layouts", {})[name] = Layout.of(value)
        if Layout.of(value) != self._layout(name) or not isinstance(value, array | NoneType):
            self._unfit = {*self._unfit, name}
        elif name in self._unfit:
            self._unfit = self._unfit - {name}

    def _put(self, **values: object) -> None:
        """Set what the object itself changes."""
        vars(self).update(values)

    def check_replaced(self, label: str) -> None:
        """Raise `unfit` for an array that was replaced by one of another layout. label: what messages call the object.

        Whatever uses arrays of the object calls this first.
        """
        for name in self._unfit:
            check_fits(getattr(self, name), self._layout(name), f"{label}.{name}", self.unfit)


class PrivateCopy:
    """A read-only copy of a user's indices, for launches to work on, and a look at whether those are still the same.

    Of large arrays each look compares another part, so that it costs little beside what it is for; who changes them
    gets what the copy gives until it is found out. Where the host cannot look, only an array that replaces the source
    is compared, once; in captures nothing is.
    """

    def __init__(self, source: array):
        with saved_contents.Paused():
            self.array = read_only(clone(source, requires_grad=False))
        self._source, self._next = source, 0

    def matches(self, source: array) -> bool:
        """Whether an array still holds the numbers of the copy."""
        if current_graph() is not None:
            return True
        if source is not self._source:
            if not np.array_equal(_numbers(self.array), _numbers(source)):
                return False
            self._source = source
        return not source.device.shares_host_memory or self._next_part_matches()

    def _next_part_matches(self) -> bool:
        mine, theirs = self.array._data, self._source._data
        part = slice(self._next, self._next + _PART)
        self._next = part.stop if part.stop < len(mine) else 0
        return np.array_equal(mine[part], theirs[part])


def _numbers(a: array) -> np.ndarray:
    """The numbers of an array, to read and not to keep."""
    return a._data if a.device.shares_host_memory else a.numpy()


def read_only(a: array) -> array:
    """The array, which nobody can write to from now on where the host shares its memory: indices that were checked."""
    if a.device.shares_host_memory:
        a._data.flags.writeable = False
        a._tag = Tag(a.type, a._tag.contiguous, False, a._tag.space, a._tag.apart)
    return a


def _is_part(attribute: object) -> bool:
    return callable(attribute) or isinstance(attribute, property | cached_property)


def check_fits(value: object, layout: Layout | None, name: str, unfit: type[WarpsimError] = ArrayError) -> None:
    """Raise `unfit` for a value that is not laid out as expected."""
    if Layout.of(value) == layout and (layout is not None or value is None):
        return
    there = Layout.of(value) or shown(value)
    help = f"\nhelp: write numbers into the array that is there, {name}.assign(...)" if layout else ""
    raise unfit(f"{name} is {there}\nexpected: {layout}{help}")
