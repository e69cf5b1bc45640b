"""`HostCall`: the step that calls a function of this process, whatever it does. No file can hold it."""

from __future__ import annotations

from collections.abc import Callable

from ..devices.capture import current_graph
from ..devices.device import Device
from .step import Step


class HostCall(Step):
    """A function to call. words: what reports call it, by default the function's own name."""

    def __init__(
        self,
        work: Callable[[], None],
        device: Device | None = None,
        told: Callable[[], None] | None = None,
        words: str = "",
    ):
        self.work, self.told, self.words = work, told, words
        self.device = device if device is not None and device.has_stream else None

    @property
    def name(self) -> str:
        function = getattr(self.work, "func", self.work)
        owner = getattr(function, "__self__", self.work)
        name = self.words or getattr(owner, "name", "") or getattr(function, "__qualname__", type(function).__name__)
        return str(name).replace(".<locals>", "").replace("<lambda>", "a step")

    def run(self) -> None:
        self.work()


def call_or_record(
    work: Callable[[], None], device: Device | None = None, told: Callable[[], None] | None = None, words: str = ""
) -> None:
    """Call a function now, or make that a step of the graph that is captured. Parameters as of `HostCall`."""
    if current_graph() is None:
        work()
    else:
        HostCall(work, device, told, words).submit()
