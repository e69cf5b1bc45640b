"""`Branch` and `Repeat`: steps that run graphs by what an array holds when the step runs, each time anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from ..devices.device_memory import on_host
from .fields import Fields
from .refusals import damage_error
from .step import GraphReader, GraphWriter, Json, Step, Use


class Steps(Protocol):
    """A graph, as far as steps are concerned."""

    def launch(self) -> None:
        """Run its steps."""


class Branch(Step):
    """The step that chooses one of two graphs, of which each may be missing."""

    name = "capture_if"

    def __init__(self, condition: np.ndarray, on_true: Steps | None, on_false: Steps | None):
        self.condition, self.on_true, self.on_false = condition, on_true, on_false

    def run(self) -> None:
        chosen = self.on_true if holds(self.condition) else self.on_false
        if chosen is not None:
            chosen.launch()

    def uses(self) -> list[Use]:
        """The condition; the graphs tell for themselves."""
        return [Use(self.condition)]

    def save(self, file: GraphWriter) -> Iterator[Json]:
        branches = {"then": file.steps(self.on_true), "else": file.steps(self.on_false)}
        yield {"do": "branch", "if": file.view(self.condition), **branches}

    @classmethod
    def read(cls, part: Fields, file: GraphReader) -> Step:
        return cls(_condition(part, "if", file), file.graph(part, "then"), file.graph(part, "else"))


class Repeat(Step):
    """The step that runs a graph as long as a condition holds."""

    name = "capture_while"

    def __init__(self, condition: np.ndarray, body: Steps | None):
        self.condition, self.body = condition, body

    def run(self) -> None:
        while holds(self.condition):
            if self.body is not None:
                self.body.launch()

    def uses(self) -> list[Use]:
        """The condition; the graph tells for itself."""
        return [Use(self.condition)]

    def save(self, file: GraphWriter) -> Iterator[Json]:
        yield {"do": "repeat", "while": file.view(self.condition), "steps": file.steps(self.body)}

    @classmethod
    def read(cls, part: Fields, file: GraphReader) -> Step:
        return cls(_condition(part, "while", file), file.graph(part, "steps"))


def holds(condition: np.ndarray) -> bool:
    """Whether the first number in memory, of any device, is not zero now."""
    return bool(on_host(condition).reshape(-1)[0])


def _condition(part: Fields, name: str, file: GraphReader) -> np.ndarray:
    memory: np.ndarray = file.memory.view(part.part(name))
    if not memory.size:
        raise damage_error(part.place, "a condition without a number")
    return memory
