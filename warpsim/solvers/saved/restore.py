"""Restoring in place: a program that has made its scene anew gets what a file holds of it, in the very same objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.language import array
from ...errors import SceneFileError
from ..scene.memory import has_gradient
from .kinds import kind_of
from .records import Reader
from .words import state_of


class Restorer(Reader):
    """Reads a scene into things that are there already: arrays keep their identity, and so do lists and generators.

    Things of the file and things that are there are walked side by side; where both have an object of a kind, that
    stands for the one of the file.
    """

    def restore(self, things: dict[str, Any], values: Any) -> dict[str, Any]:
        """What each thing of the file is now. Raises `SceneFileError` where another kind of thing is there."""
        if not isinstance(values, dict):
            raise self.archive.broken("it has no things")
        self._contents: list[tuple[array, int]] = []
        for name, value in values.items():
            if name in things:
                self._bind(things[name], value, name)
        for target, number in self._contents:
            self._fill(target, self.archive.array(self._records[number]["array"]))
        restored = self.read(values)
        return {name: _in_place(things.get(name), value) for name, value in restored.items()}

    def _bind(self, there: Any, value: Any, label: str) -> None:
        """Let what is there stand for what the file has in the same place."""
        if isinstance(value, list) and isinstance(there, list):
            self._bind_all(there, value, label)
        elif isinstance(value, dict) and len(value) == 1:
            ((what, content),) = value.items()
            if what == "ref" and isinstance(content, int) and 0 <= content < len(self._records):
                self._bind_object(there, content, label)
            elif what == "tuple" and isinstance(there, tuple):
                self._bind_all(there, content, label)
            elif what == "dict" and isinstance(there, dict):
                for key in there.keys() & content.keys():
                    self._bind(there[key], content[key], f"{label}.{key}")

    def _bind_all(self, there: Any, values: Any, label: str) -> None:
        for item, value in zip(there, values, strict=False):
            self._bind(item, value, label)

    def _bind_object(self, there: Any, number: int, label: str) -> None:
        if number in self._objects or there is None:
            return
        record = self._records[number]
        if "array" in record:
            self._bind_array(there, number, label)
            return
        kind = kind_of(there)
        if kind is None or kind.name != record.get("kind"):
            raise self._other(f"has a {record.get('kind')} for {label}, where a {type(there).__name__} is")
        self._objects[number] = there
        self._unfinished.append(number)
        for parts, words in ((kind.arguments(there), record["arguments"]), (kind.memory(there), record["memory"])):
            for name in parts.keys() & words.keys():
                self._bind(parts[name], words[name], f"{label}.{name}")

    def _bind_array(self, there: Any, number: int, label: str) -> None:
        """Indices that a step changes are left to the object that remembers them, which checks them."""
        index = isinstance(there, array) and not has_gradient(there) and bool(there.numpy().flags.writeable)
        if "." in label and index:
            return
        shape = self._records[number]["shape"]
        if isinstance(there, array) and list(there.shape) == shape:
            self._objects[number] = there
            self._contents.append((there, number))
        elif ".columns." in label:
            raise self._other(f"has {shape} elements in {label}, where {list(there.shape)} are")

    def _other(self, problem: str) -> SceneFileError:
        help = "restore a file into the scene that wrote it"
        return SceneFileError(f"{str(self.archive.path)!r} {problem}\nhelp: {help}")

    def _fill(self, target: array, values: np.ndarray) -> None:
        """Write what the file has into an array; one that nobody may write to has to be the same."""
        if not target.size:
            return
        if target.numpy().flags.writeable:
            target.assign(values)
        elif not np.array_equal(target.numpy(), values):
            raise self._other("is of a model with other topology")


def _in_place(there: Any, value: Any) -> Any:
    """What is there with the content of a value, where it can have that; else the value."""
    if isinstance(there, list) and isinstance(value, list):
        there[:] = value
    elif isinstance(there, dict) and isinstance(value, dict):
        there.clear()
        there.update(value)
    elif isinstance(there, np.ndarray) and isinstance(value, np.ndarray) and there.shape == value.shape:
        there[...] = value
    elif isinstance(there, np.random.Generator) and isinstance(value, np.random.Generator):
        there.bit_generator.state = state_of(value, "a generator")
    else:
        return value
    return there
