"""Rows of tables of statistics: numbers by name, out of dictionaries and objects that have statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import shown
from ..forks import cached_property
from .body import on_host
from .errors import RecordError

_MOST = 16  # components of a vector
_AXES = ("x", "y", "z")
_NUMBERS = ("float", "int", "bool", float, int, bool)


def row_of(values: Any) -> dict[str, Any]:
    """The numbers of a dictionary or of an object, as a row.

    A dictionary has numbers, None for a missing one, short vectors, which become a column for each component (name_x,
    name_y, name_z of three, else name_0, ...), and objects. Of an object, such as the statistics of a solver, all
    properties and fields count that are declared as one number; in a dictionary they are named NAME.PROPERTY.

    Raises `RecordError` for anything else.
    """
    if values is None:
        return {}
    pairs = values.items() if isinstance(values, Mapping) else _properties(values, "numbers")
    row: dict[str, Any] = {}
    for name, value in pairs:
        for column, number in _columns(str(name), value):
            if column in row or column in ("frame", "time"):
                raise RecordError(f"numbers has two columns {column!r}\nexpected: names of their own; rename one")
            row[column] = number
    return row


def check_columns(row: Mapping[str, Any], columns: Sequence[str], frame: int) -> None:
    """Raise `RecordError` for a row that has not the columns of a table."""
    if row.keys() != set(columns):
        names = sorted(row.keys() ^ set(columns))
        raise RecordError(
            f"the numbers of frame {frame} are {', '.join(row) or 'none'}\nexpected: {', '.join(columns) or 'none'}, "
            f"as in the first frame (they differ in {', '.join(names)})\nhelp: None stands for a number that is missing"
        )


def _columns(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if value is None:
        yield name, None
        return
    if isinstance(value, Mapping) or not _is_numeric(value):
        pairs = value.items() if isinstance(value, Mapping) else _properties(value, name)
        for inner, number in pairs:
            yield from _columns(f"{name}.{inner}", number)
        return
    array = on_host(value)
    if array.ndim == 0:
        yield name, _plain(array[()])
    elif array.ndim == 1 and array.size <= _MOST:
        ends = _AXES if array.size == 3 else tuple(map(str, range(array.size)))
        yield from ((f"{name}_{end}", _plain(x)) for end, x in zip(ends, array, strict=True))
    else:
        raise RecordError(f"{name} has shape {array.shape}\nexpected: a number, or a vector of up to {_MOST}")


def _is_numeric(value: Any) -> bool:
    try:
        return bool(on_host(value).dtype.kind in "fiub")
    except (TypeError, ValueError):
        return False


def _plain(x: Any) -> float | int:
    """A number of Python; truth values are 0 and 1."""
    return float(x) if np.asarray(x).dtype.kind == "f" else int(x)


def _properties(values: Any, what: str) -> list[tuple[str, Any]]:
    """What an object says of itself in single numbers, in the order of its class."""
    names: dict[str, Any] = {}
    for owner in reversed(type(values).__mro__):
        names.update(vars(owner).get("__annotations__", {}))
        for name, member in vars(owner).items():
            function = member.fget if isinstance(member, property) else getattr(member, "func", None)
            if isinstance(member, property | cached_property) and function is not None:
                names[name] = getattr(function, "__annotations__", {}).get("return")
    chosen = [name for name, kind in names.items() if kind in _NUMBERS and name[0] != "_"]
    if not chosen:
        raise RecordError(f"{what} is {shown(values)}\nexpected: numbers by name, or an object with statistics")
    return [(name, getattr(values, name)) for name in chosen]
