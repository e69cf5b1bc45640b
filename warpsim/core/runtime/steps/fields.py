"""Values out of the description of a graph, with their types and ranges checked: a file may say anything."""

from __future__ import annotations

from typing import Any

from .refusals import damage_error

_MOST = 1 << 62


class Fields:
    """An object of the description. place: where it stands, for messages."""

    def __init__(self, value: object, place: str = "the description"):
        self.value, self.place = _check_kind(value, dict, place), place

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    def integer(self, name: str, low: int = 0, high: int = _MOST) -> int:
        """A number from `low` to `high`."""
        return in_range(self._get(name, int), low, high, f"{self.place}.{name}")

    def flag(self, name: str) -> bool:
        return bool(self._get(name, bool))

    def text(self, name: str) -> str:
        return str(self._get(name, str))

    def content(self, name: str) -> bytes:
        """Bytes in hexadecimal."""
        try:
            return bytes.fromhex(self.text(name))
        except ValueError as error:
            raise damage_error(f"{self.place}.{name}", "no hexadecimal digits") from error

    def part(self, name: str) -> Fields:
        return Fields(self._get(name, dict), f"{self.place}.{name}")

    def parts(self, name: str) -> list[Fields]:
        """A list of objects."""
        return [Fields(v, f"{self.place}.{name}[{k}]") for k, v in enumerate(self._get(name, list))]

    def optional_parts(self, name: str) -> list[Fields | None]:
        """A list of objects, some of which may be missing."""
        values = enumerate(self._get(name, list))
        return [None if v is None else Fields(v, f"{self.place}.{name}[{k}]") for k, v in values]

    def integers(self, name: str) -> list[int]:
        return _integers(self._get(name, list), f"{self.place}.{name}")

    def place_in_memory(self, name: str) -> list[int]:
        """Region, offset, bytes."""
        return _place(self._get(name, list), f"{self.place}.{name}")

    def points(self, name: str) -> list[tuple[int, list[int]]]:
        """Pairs of an offset and a place in memory."""
        place = f"{self.place}.{name}"
        return [(in_range(at, 0, _MOST, place), _place(to, place)) for at, to in self._pairs(name)]

    def pairs_of_places(self, name: str) -> list[tuple[list[int], list[int]]]:
        place = f"{self.place}.{name}"
        return [(_place(at, place), _place(to, place)) for at, to in self._pairs(name)]

    def pairs(self, name: str) -> list[tuple[int, int]]:
        """Pairs of numbers."""
        place = f"{self.place}.{name}"
        return [(in_range(a, 0, _MOST, place), in_range(b, 0, _MOST, place)) for a, b in self._pairs(name)]

    def _pairs(self, name: str) -> list[list[Any]]:
        rows = [_check_kind(row, list, f"{self.place}.{name}") for row in self._get(name, list)]
        if any(len(row) != 2 for row in rows):
            raise damage_error(f"{self.place}.{name}", "a list of something else than pairs")
        return rows

    def _get(self, name: str, kind: type) -> Any:
        return _check_kind(self.value.get(name), kind, f"{self.place}.{name}")


def in_range(value: object, low: int, high: int, place: str) -> int:
    """A number in a range."""
    if type(value) is not int or not low <= value <= high:
        raise damage_error(place, f"{value!r}, and no number from {low} to {high}")
    return value


def _integers(values: list[Any], place: str) -> list[int]:
    return [in_range(v, 0, _MOST, place) for v in values]


def _place(values: object, place: str) -> list[int]:
    numbers = _integers(_check_kind(values, list, place), place)
    if len(numbers) != 3:
        raise damage_error(place, f"{numbers}, and no place in memory")
    return numbers


def _check_kind(value: object, kind: type, place: str) -> Any:
    if type(value) is not kind:
        raise damage_error(place, f"{type(value).__name__}, and no {kind.__name__}")
    return value
