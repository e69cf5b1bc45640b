"""Stream capture: the graph that a thread captures, which takes its work as steps (see `Step.submit`)."""

from __future__ import annotations

import threading
from typing import Any

from ....forks import fork_safe
from . import device as devices
from .device import Device

running = 0
"""How many threads capture a graph: while none does, nobody need ask whether this one does."""

_counting = fork_safe(threading.Lock())
_state = threading.local()


def current_graph() -> Any:
    """The graph that this thread captures, in whose time it acts; None: now."""
    return getattr(_state, "graph", None)


def set_current_graph(graph: object) -> None:
    """Let this thread act in the time of a graph, or (None) now."""
    global running
    with _counting:
        running += (graph is not None) - (current_graph() is not None)
    _state.graph = graph


def _captures(on: Device) -> bool:
    graph = current_graph()
    return graph is not None and graph.device is on


devices.captures = _captures
