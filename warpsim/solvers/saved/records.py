"""Records: objects of a scene as JSON values and arrays, and back.

A value that JSON has none for is a dictionary with one key that says what it is: {"ref": 3} is the fourth object,
{"tuple": [...]}, {"number": "inf"}. An object is a record: its kind, the arguments that make it, and its memory. Only
kinds of a table are ever made (`kinds.KINDS`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.language import array
from ...core.types.compounds import is_compound
from ...errors import SceneFileError, WarpsimError, shown
from ..scene.memory import ByObject
from .archive import ArchiveReader, ArchiveWriter
from .kinds import kind_named, kind_of
from .words import generator_of, state_of, type_of, words_of

_IMPOSSIBLE = (WarpsimError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""What constructors and conversions raise for what no scene has."""

_SCALARS = {
    t.__name__: t
    for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32)
}
"""Numbers of NumPy that Python does not have itself."""


class Recorder:
    """Turns values into JSON; objects and arrays become records, one each however often they are met."""

    def __init__(self) -> None:
        self.archive = ArchiveWriter()
        self.records: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        self._members: dict[int, str] = {}
        self._alive: list[Any] = []  # so that no id is used twice
        self._later: list[tuple[list[Any], ByObject]] = []

    def finish(self) -> list[dict[str, Any]]:
        """All records, with what belongs to objects that have one."""
        for rows, values in self._later:
            for owner, value in values.pairs:
                if id(owner) in self._numbers:
                    rows.append([self.encode(owner, "owner"), self.encode(value, "value")])
        return self.records

    def encode(self, value: Any, label: str) -> Any:
        """The JSON of a value. Raises `SceneFileError` for what no file can hold; label: what to call it."""
        if isinstance(value, array):
            number = self._numbers.get(id(value))
            return {"ref": self._array(value, label) if number is None else number}
        if value is None or isinstance(value, bool | str | int):
            return value
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            if value.dtype.name in _SCALARS:
                return {"scalar": [value.dtype.name, self.encode(value.item(), label)]}
            value = value.item()
            if isinstance(value, bool | int):
                return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"number": repr(value)}
        if isinstance(value, list | tuple | dict | range):
            return self._encode_collection(value, label)
        if isinstance(value, ByObject):
            rows: list[Any] = []
            self._later.append((rows, value))
            return {"by_object": rows}
        if isinstance(value, np.ndarray):
            return self._encode_numpy(value, label)
        if isinstance(value, type):
            return {"type": words_of(value, label)}
        if is_compound(type(value)):
            numbers = np.array(value, dtype=np.float64).ravel().tolist()
            return {"vector": [words_of(type(value), label), self.encode(numbers, label)]}
        if isinstance(value, np.random.Generator):
            return {"generator": self.encode(state_of(value, label), label)}
        return {"ref": self._record(value, label)}

    def _encode_collection(self, value: Any, label: str) -> Any:
        if isinstance(value, range):
            return {"range": [value.start, value.stop, value.step]}
        if isinstance(value, dict):
            wrong = [key for key in value if not isinstance(key, str)]
            if wrong:
                raise SceneFileError(f"{label} has the key {shown(wrong[0])}\nexpected: texts as keys")
            return {"dict": {key: self.encode(item, f"{label}.{key}") for key, item in value.items()}}
        items = [self.encode(item, label) for item in value]
        return items if isinstance(value, list) else {"tuple": items}

    def _encode_numpy(self, values: np.ndarray, label: str) -> dict[str, Any]:
        if values.dtype.kind not in "biufc":
            raise SceneFileError(f"{label} is an array of {values.dtype}\nexpected: numbers")
        if id(values) not in self._members:
            self._members[id(values)] = self.archive.add(label, values)
            self._alive.append(values)
        return {"numpy": self._members[id(values)]}

    def _record(self, value: Any, label: str) -> int:
        """The number of the record of an object."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._append(value, {})
            self.records[number].update(self._record_of(value, label))
        return number

    def _append(self, value: Any, record: dict[str, Any]) -> int:
        number = self._numbers[id(value)] = len(self.records)
        self._alive.append(value)
        self.records.append(record)
        return number

    def _record_of(self, value: Any, label: str) -> dict[str, Any]:
        kind = kind_of(value)
        if kind is None:
            name = type(value).__qualname__
            raise SceneFileError(f"{label} is a {name}, which a scene cannot hold\nhelp: leave it out; make it anew")
        words = {name: self.encode(item, f"{label}.{name}") for name, item in kind.arguments(value).items()}
        memory = {name: self.encode(item, f"{label}.{name}") for name, item in kind.memory(value).items()}
        return {"kind": kind.name, "arguments": words, "memory": memory}

    def _array(self, a: array, label: str) -> int:
        """The number of the record of an array, which is a new one."""
        words = words_of(a.dtype, label)
        if a.device.shares_host_memory:  # nobody gets it to write to, so that tapes need not know
            values = a._data
            member = self.archive.add(label, values, not values.flags.writeable and not a._memory.exposed)
        else:
            member = self.archive.add(label, a.numpy())
        record = {"array": member, "type": words, "shape": list(a.shape), "requires_grad": bool(a.requires_grad)}
        return self._append(a, record)


class Reader:
    """Makes the objects of an archive anew, on a device. Raises `SceneFileError` for records that nobody wrote."""

    def __init__(self, archive: ArchiveReader, device: Any):
        self.archive, self.device = archive, device
        records = archive.content.get("objects")
        if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
            raise archive.broken("its objects are no list of records")
        self._records: list[dict[str, Any]] = records
        self._objects: dict[int, Any] = {}
        self._unfinished: list[int] = []
        self._begun: set[int] = set()
        self._members: dict[str, np.ndarray] = {}

    def read(self, values: Any) -> dict[str, Any]:
        """The things of a scene by name, with all that they remember."""
        if not isinstance(values, dict):
            raise self.archive.broken("it has no things")
        try:
            things = {name: self.decode(value) for name, value in values.items()}
            while self._unfinished:
                self._remember(self._unfinished.pop())
        except _IMPOSSIBLE as error:
            if isinstance(error, SceneFileError) and str(self.archive.path) in str(error):
                raise
            reason = error if isinstance(error, WarpsimError) else f"{type(error).__name__}: {error}"
            raise self.archive.broken(f"what it says makes no scene: {reason}") from error
        return things

    def decode(self, value: Any) -> Any:
        """The value that some JSON stands for."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) != 1:
            raise self.archive.broken(f"a value is {shown(value)}")
        ((what, content),) = value.items()
        if what == "ref":
            return self._object(content)
        if what == "tuple":
            return tuple(self.decode(item) for item in content)
        if what == "dict":
            return {key: self.decode(item) for key, item in content.items()}
        if what == "number":
            return float(content)
        if what == "range":
            return range(*content)
        if what == "scalar":
            return _SCALARS[content[0]](self.decode(content[1]))
        if what == "numpy":
            return self._numpy(content)
        if what == "vector":
            return type_of(content[0])(*self.decode(content[1]))
        if what == "type":
            return type_of(content)
        if what == "generator":
            return generator_of(self.decode(content))
        if what == "by_object":
            return [(self.decode(owner), self.decode(item)) for owner, item in content]
        raise self.archive.broken(f"a value is {shown(value)}")

    def _numpy(self, name: Any) -> np.ndarray:
        """An array of NumPy: the same one wherever the file names it."""
        if name not in self._members:
            self._members[name] = self.archive.array(name)
        return self._members[name]

    def _object(self, number: Any) -> Any:
        if number not in self._objects:
            if not isinstance(number, int) or not 0 <= number < len(self._records) or number in self._begun:
                raise self.archive.broken(f"it names an object {shown(number)}, which it does not have")
            self._begun.add(number)
            record = self._records[number]
            if "array" in record:
                self._objects[number] = self._array(record)
            else:
                kind = kind_named(record["kind"])
                words = {name: self.decode(item) for name, item in record["arguments"].items()}
                self._objects[number] = kind.make(words, self.device)
                self._unfinished.append(number)
        return self._objects[number]

    def _remember(self, number: int) -> None:
        record = self._records[number]
        memory = {name: self.decode(item) for name, item in record["memory"].items()}
        kind_named(record["kind"]).recall(self._objects[number], memory)

    def _array(self, record: dict[str, Any]) -> array:
        dtype, values = type_of(record["type"]), self.archive.array(record["array"])
        extents = tuple(int(extent) for extent in record["shape"])
        own = dtype.shape if is_compound(dtype) else ()
        if values.shape != (*extents, *own):
            raise self.archive.broken(f"an array has {values.shape} numbers for the shape {extents}")
        options = {"dtype": dtype, "device": self.device, "requires_grad": bool(record["requires_grad"])}
        return array(values, **options) if values.size else array(shape=extents, **options)
