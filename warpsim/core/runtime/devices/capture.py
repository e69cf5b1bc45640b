"""Stream capture: the graph that a thread captures, which takes its work as steps (see `Step.submit`)."""

from __future__ import annotations

import threading
from typing import Any

from . import device as devices
from .device import Device

_state = threading.local()


def current_graph() -> Any:
    """The graph that this thread captures, in whose time it acts; None: now."""
    return getattr(_state, "graph", None)


def set_current_graph(graph: object) -> None:
    """Let this thread act in the time of a graph, or (None) now."""
    _state.graph = graph


def _captures(on: Device) -> bool:
    graph = current_graph()
    return graph is not None and graph.device is on


devices.captures = _captures
