"""Stream capture: operations of a capturing thread become steps of a graph instead of running.

Everything that a thread does outside of launches goes through `recorded`, which runs it or hands it to the graph.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from . import device as devices
from .device import Device

_state = threading.local()


def current_graph() -> Any:
    """The graph that this thread captures, in whose time it acts; None: now."""
    return getattr(_state, "graph", None)


def set_current_graph(graph: Any) -> None:
    """Let this thread act in the time of a graph, or (None) now."""
    _state.graph = graph


def recorded(step: Callable[[], None], device: Device | None = None, told: Callable[[], None] | None = None) -> None:
    """Run a host operation now, or put it into the graph being captured.

    device: the CUDA device on whose current stream the operation is done, if it is nothing else. told: does the
    same and tells tapes, or the capture of another graph; None for what is no concern of theirs.
    """
    capture = current_graph()
    if capture is None:
        step()
    else:
        capture.add(HostWork(step, device if device is not None and device.is_cuda else None, told))


def _captures(on: Device) -> bool:
    graph = current_graph()
    return graph is not None and graph.device is on


devices.captures = _captures


class HostWork(NamedTuple):
    """A host operation in a graph, as `recorded` takes it."""

    run: Callable[[], None]
    device: Device | None = None
    told: Callable[[], None] | None = None
    command = None  # for the pool of threads: there is none

    def replay(self) -> None:
        """Run now, or become a step of the graph that is captured; tapes are told."""
        if self.told is not None:
            self.told()
        else:
            recorded(self.run, self.device)
