"""`ByName`: what `pickle` refers to by its name in a module, as it does with functions and classes of Python."""

from __future__ import annotations

import pickle
import sys
from typing import Any, TypeVar

Named = TypeVar("Named", bound="ByName")


class ByName:
    """An object that other processes find where it is defined; a copy of it is itself."""

    __module__: str
    place: tuple[str, str]
    """The module and the qualified name of its definition."""

    def __reduce__(self) -> str:
        """For `pickle`: its name. Raises `pickle.PicklingError` where the module has something else of that name."""
        module, name = self.place
        named: Any = sys.modules.get(module)
        for part in name.split("."):
            named = getattr(named, part, None)
        if named is not self:
            raise pickle.PicklingError(
                f"{self!r} is not pickled: pickle refers to it by name, and {module} has no {name!r} that is this one\n"
                "help: define it once, at the top level of a module that other processes can import"
            )
        return name

    def __copy__(self: Named) -> Named:
        return self

    def __deepcopy__(self: Named, memo: dict[int, Any]) -> Named:
        return self
