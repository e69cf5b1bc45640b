"""`GraphCache`: captured graphs of a solver's steps, by what a step depends on beside the contents of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.runtime.commands.graph import Graph, ScopedCapture, capture_launch
from ..core.runtime.devices.device import Device


class GraphCache:
    """The graphs of the last few kinds of steps. most: how many are kept at once."""

    def __init__(self, device: Device, most: int):
        self._device, self._most = device, most
        self._graphs: dict[Any, Graph | None] = {}

    def run(self, key: Any, step: Callable[[], None], eager: bool = False) -> None:
        """Run a step as the graph of its key, which is captured where there is none.

        key: hashable; equal for steps that launch the same over the same arrays. The graph holds these, so that `id`
        of each may stand for it. eager: the first step of a key runs launch by launch, and the second is captured.
        """
        first = key not in self._graphs
        if first:
            while len(self._graphs) >= self._most:
                del self._graphs[next(iter(self._graphs))]
            self._graphs[key] = None
        if first and eager:
            step()
            return
        graph = self._graphs[key]
        if graph is None:
            with ScopedCapture(device=self._device) as capture:
                step()
            graph = self._graphs[key] = capture.graph
        capture_launch(graph)
