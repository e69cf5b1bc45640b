"""The types of textures, for fields of structs and parameters that stay empty: sampling textures is not here yet."""

from __future__ import annotations

from typing import Any

from ..language import uint64
from ..types.structs import Struct, struct


def _type(name: str, dimensions: int) -> Any:
    """A struct type for textures of so many dimensions, whose only value is the empty one.

    Raises `NotImplementedError` when it is given contents.
    """
    body = {
        "__annotations__": {"id": uint64},
        "__module__": __name__,
        "__qualname__": name,
        "__doc__": f"A texture in {dimensions}-D, of which only the empty one, `{name}()`, is here.",
    }
    texture = struct(type(name, (), body))

    def begin(self: Any, *data: Any, **options: Any) -> None:
        if data or options:
            raise NotImplementedError(f"{name} is given contents\nexpected: nothing, textures are not here yet")
        Struct.__init__(self)

    texture.__init__ = begin  # type: ignore[misc]
    return texture


Texture1D = _type("Texture1D", 1)
Texture2D = _type("Texture2D", 2)
Texture3D = _type("Texture3D", 3)
