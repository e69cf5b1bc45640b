"""Operations on whole arrays, by NumPy or by steps of a CUDA device, under the eyes of tapes.

`host_step` runs such an operation (or puts it into a graph that is captured), after it told tapes which
arrays it overwrites; tapes that record keep how its gradients move, or that it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ....errors import NotDifferentiableError
from ...types.cotangents import has_cotangent
from ..arrays import saved_contents
from ..arrays.array import array
from ..arrays.call_site import Place
from ..arrays.saved_contents import Read
from ..devices.capture import recorded
from ..devices.device import Device
from .adjoint_needs import Always
from .entry import ArrayUse, Step, TapeEntry

Pull = Callable[[list[np.ndarray]], None]
"""Moves gradients from the results of an operation to its operands, whose contents it is given."""


class StepEntry(TapeEntry):
    """A recorded operation on whole arrays. pull: None when it has no derivative."""

    def __init__(self, name: str, results: list[array], reads: list[tuple[Any, Read]], pull: Pull | None, place: Place):
        self.name, self.results, self.reads, self.pull, self.place = name, results, reads, pull, place
        self.title = f"wp.utils.{name}"

    def uses(self) -> Iterator[ArrayUse]:
        for k, (a, _) in enumerate(self.reads):
            yield ArrayUse(str(k), a._array, reads=True, depends=True)
        for k, a in enumerate(self.results):
            yield ArrayUse(str(k), a, writes=True)

    @property
    def step(self) -> Step | None:  # type: ignore[override]
        return self.run

    def run(self) -> None:
        """Move the gradients of the results, which were overwritten, to the operands that have one."""
        if all(a._slopes is None for a in self.results if has_cotangent(a.dtype)):
            return
        if self.pull is None:
            raise NotDifferentiableError(
                f"wp.utils.{self.name} at {self.place} has no derivative here, and its results have gradients",
                help="do it in a kernel, outside the tape, or with arrays that have no gradient",
            )
        self.pull([a._source() if read.copy is None else read.copy for a, read in self.reads])


def host_step(
    what: str, step: Step, results: list[array], operands: list[Any], pull: Pull | None = None, contents: bool = False,
    device: Device | None = None,
) -> None:  # fmt: skip
    """Run an operation that reads `operands` and writes `results`.

    contents: whether `pull` looks at the contents of the operands. device: see `recorded`.
    """
    again = lambda: host_step(what, step, results, operands, pull, contents, device)  # noqa: E731
    if not saved_contents.alert:
        recorded(step, device, again)
        return
    place, tapes = Place.outside(), saved_contents.active()
    user = Always(f"an argument of wp.utils.{what}") if contents else Never()
    made = [
        StepEntry(what, results, [(a, read_of(a, user, tape.session, place)) for a in operands], pull, place)
        for tape in tapes
    ]
    for a in results:
        saved_contents.about_to_write(a, a._data, f"wp.utils.{what}", recorded)
    recorded(step, device, again)
    for tape, record in zip(tapes, made, strict=True):
        tape.log.append(record)


class Never:
    """A user that needs no contents."""

    @staticmethod
    def needed() -> bool:
        return False


def read_of(a: Any, user: Any, session: Any, place: Place) -> Read:
    """The read of an operand's present contents."""
    owner = a._array
    found: Read = session.current.get(id(owner)) or owner._memory.read(owner, session, place)
    found.add(user)
    return found
