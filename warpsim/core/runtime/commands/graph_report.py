"""The report of `Graph.report`: what runs, which launches run as one loop, and why others do not."""

from __future__ import annotations

from dataclasses import dataclass

from ....errors import counted
from ..steps.step import GraphPart


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
        parts, loops = counted(len(self.parts), "part"), counted(self._loops, "loop")
        head = f"{parts}, {counted(launches, 'launch')}, {self.fused} of them in {loops}"
        return "\n".join([head, *map(str, self.parts)])

    @property
    def _loops(self) -> int:
        return sum(part.strip > 0 for part in self.parts)
