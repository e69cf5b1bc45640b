"""`ArrayRef`: an array that comes with a parameter, by the parameter and the fields that lead to it.

It names arrays from the analyses of programs to the arguments of launches. Numbers whose derivatives move beside those
of arrays are named in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .arrays import ArrayType
from .structs import Struct, holds_arrays, is_struct

Fields = tuple[str, ...]
"""Names of fields, from a struct inwards."""


class ArrayRef(NamedTuple):
    """An array among the parameters of a program.

    position: of the parameter. path: the fields that lead from it to the array. is_grad: its gradient array is meant.
    in_elements: any of the arrays that elements of the parameter refer to.
    """

    position: int
    path: Fields = ()
    is_grad: bool = False
    in_elements: bool = False

    def name(self, names: Sequence[str]) -> str:
        """The array in words (`s.x`), for parameters of these names."""
        of_what = "[]" * self.in_elements + ".grad" * self.is_grad
        return ".".join((names[self.position], *self.path)) + of_what

    def of(self, args: Sequence[Any]) -> Any:
        """What is meant among arguments, but for gradients and elements."""
        return member_at(args[self.position], self.path)


def member_at(value: object, path: Fields) -> Any:
    """The field at the end of a path."""
    for name in path:
        value = getattr(value, name)
    return value


def array_fields(t: type[Struct], path: Fields = ()) -> Iterator[tuple[Fields, ArrayType]]:
    """The arrays in a struct type, by the fields that lead to them."""
    for name, field in t.fields.items():
        if is_struct(field):
            yield from array_fields(field, (*path, name))
        elif isinstance(field, ArrayType):
            yield (*path, name), field


def array_refs(types: Sequence[Any]) -> dict[ArrayRef, ArrayType]:
    """Every array among parameters of these types, in order."""
    refs: dict[ArrayRef, ArrayType] = {}
    for k, t in enumerate(types):
        if isinstance(t, ArrayType):
            refs[ArrayRef(k)] = t
        elif holds_arrays(t):
            refs.update((ArrayRef(k, path), inner) for path, inner in array_fields(t))
    return refs


def element_refs(types: Sequence[Any]) -> tuple[ArrayRef, ...]:
    """Of parameters whose elements refer to arrays, these arrays."""
    return tuple(ArrayRef(k, in_elements=True) for k, t in enumerate(types) if refers(t))


def refers(t: object) -> bool:
    """Whether elements refer to arrays: those of an array of structs that hold some, or of one in a struct."""
    if is_struct(t):
        return any(map(refers, t.fields.values()))
    return isinstance(t, ArrayType) and holds_arrays(t.dtype)
