"""`Publication`: the step after which the id of a structure stands for other arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..launches.handles import Record
from .fields import Fields
from .step import GraphReader, GraphWriter, Json, Step, Use


class Publication(Step):
    """Graphs fill the arrays of their capture, and the structure takes these. content: as the record takes it."""

    name = "new arrays of a structure"

    def __init__(self, record: Record, content: Any):
        self.record, self.content = record, content

    def run(self) -> None:
        self.record.take(self.content)

    def uses(self) -> list[Use]:
        return [Use(self.record.content, writes=True)]

    def save(self, file: GraphWriter) -> Iterator[Json]:
        yield {"do": "publish", **file.publication(self.record, self.content)}

    @classmethod
    def read(cls, part: Fields, file: GraphReader) -> Step:
        return cls(*file.publication(part))
