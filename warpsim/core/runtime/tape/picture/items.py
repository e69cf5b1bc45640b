"""A recording as nested items: one step for every record, in the scopes that were open.

A launch reads and writes what its program reads and writes, whichever list its arguments were given in;
an argument that the kernel never touches is tied to it without a direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ...arrays.call_site import Place
from ..array_step import StepRecord
from ..entries import FuncRecord, LaunchRecord, WriteRecord, arrays_at, base
from ..traffic import of_needs
from .repeats import Item, Scope, Step


def items_of(records: Sequence[Any], marks: Sequence[Any]) -> list[Item]:
    """Steps and scopes; a mark has the number of records before it, and a name or None for an end."""
    opened: list[list[Item]] = [[]]
    position = 0
    for mark in marks:
        opened[-1] += [step_of(record) for record in records[position : mark.index]]
        position = mark.index
        if mark.name is None:
            opened.pop()
        else:
            scope = Scope(mark.name, [])
            opened[-1].append(scope)
            opened.append(scope.items)
    opened[-1] += [step_of(record) for record in records[position:]]
    return opened[0]


def step_of(record: LaunchRecord | WriteRecord | StepRecord | FuncRecord) -> Step:
    """One record with its arrays."""
    place = _text(record.place)
    if isinstance(record, LaunchRecord):
        return _launch(record, place)
    if isinstance(record, WriteRecord):
        source = [] if record.source is None else [("source", base(record.source))]
        return Step(record.what, place, reads=source, writes=[("dest", base(record.dest))])
    if isinstance(record, StepRecord):
        reads = [(str(k), base(a)) for k, (a, _) in enumerate(record.reads)]
        return Step(record.what, place, reads=reads, writes=[(str(k), base(a)) for k, a in enumerate(record.results)])
    name = getattr(record.backward, "__name__", type(record.backward).__name__)
    given = [(str(k), base(a)) for k, a in enumerate(record.given)]
    written = [(str(k), a) for k, a in enumerate(record.written())]
    return Step(name, place, reads=given, writes=written) if written else Step(name, place, linked=given)


@lru_cache(1024)
def _text(place: Place) -> str:
    """A place as text: its line is found once, however many records a loop made there."""
    return str(place)


def _launch(record: LaunchRecord, place: str) -> Step:
    step = Step(record.kernel.key, place, f"dim={record.dim}")
    traffic = of_needs(record.needs)
    for path, name in record.needs.name.items():
        sides = [side for side, names in ((step.reads, traffic.read), (step.writes, traffic.written)) if name in names]
        for _, a in arrays_at(record.args, path, tables=False):
            for side in sides or [step.linked]:
                side.append((name, a))
    return step
