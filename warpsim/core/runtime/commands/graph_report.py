"""The report of `Graph.report`: which launches of a graph run as one loop, and why others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .command import Launch
from .fusion import loops


@dataclass(frozen=True)
class GraphPart:
    """What runs in one piece.

    kernels: in order, none for work of the host or another device. strip: how many threads of a loop go through all
    kernels at a time, 0 for a single launch. why: why it is not one loop with what stands before.
    """

    what: str
    kernels: tuple[str, ...] = ()
    threads: int = 0
    strip: int = 0
    why: str = ""

    def __str__(self) -> str:
        names = ", ".join(f"{n} x {key}" if n > 1 else key for key, n in Counter(self.kernels).items())
        strips = f", {min(self.strip, self.threads)} at a time" if self.strip else ""
        threads = f" over {self.threads} threads{strips}: {names}" if self.kernels else ""
        return f"  {self.what}{threads}" + (f"\n    apart: {self.why}" if self.why else "")


@dataclass(frozen=True)
class GraphReport:
    """The parts of a graph in the order in which they run."""

    parts: tuple[GraphPart, ...]

    @property
    def fused(self) -> int:
        """How many launches run in loops with others."""
        return sum(len(part.kernels) for part in self.parts if part.strip)

    def __str__(self) -> str:
        launches = sum(len(part.kernels) for part in self.parts)
        head = f"{len(self.parts)} parts, {launches} launches, {self.fused} of them in {self._loops} loops"
        return "\n".join([head, *map(str, self.parts)])

    @property
    def _loops(self) -> int:
        return sum(part.strip > 0 for part in self.parts)


def parts_of(kind: Any, steps: Sequence[Any]) -> Iterator[GraphPart]:
    """The parts that neighbouring steps of one kind make; kind: as graphs group them."""
    if kind is not True and kind is not False:
        yield GraphPart(f"{len(steps)} steps on {kind}")
    elif kind is False:
        yield from map(_lone_part, steps)
    else:
        for loop in loops(step.ready.call for step in steps):
            kernels, several = tuple(call.launcher.kernel.key for call in loop.calls), len(loop.calls) > 1
            what, strip = ("loop", loop.strip) if several else ("launch", 0)
            yield GraphPart(what, kernels, loop.calls[0].total, strip, loop.apart)


def _lone_part(step: Any) -> GraphPart:
    """A step that is no native launch, or more than that."""
    if not isinstance(step, Launch):
        return GraphPart("work of the host")
    why = "more than machine code is to run: checks, sums in parts, or another device"
    return GraphPart("launch", (step.kernel.key,), step.ready.call.total, 0, why)
