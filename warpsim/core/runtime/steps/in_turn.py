"""`InTurn`: steps one after the other that are one step of a tape, or of an operation on a device."""

from __future__ import annotations

from collections.abc import Sequence

from ..devices.capture import current_graph
from ..devices.cuda.addresses import is_gpu
from ..devices.device import Device
from .step import Step, StepWatcher


class InTurn(Step):
    """Several steps. device: on whose stream they are work; a graph of CUDA's holds them if all of them are."""

    def __init__(self, parts: Sequence[Step], device: Device | None = None):
        self.parts, self.device = parts, device
        self.needs_host = device is not None and any(part.device is None for part in parts)

    def run(self) -> None:
        """Do it. Raises `NeedsHost`, before anything is done, where a graph of CUDA's cannot hold it."""
        if self.needs_host and is_gpu(self.device):
            self.device.needs_host()
        for part in self.parts:
            part.run()

    def run_watched(self, watcher: StepWatcher) -> None:
        for part in self.parts:
            part.run_watched(watcher)

    def submit(self) -> None:
        """Run now, or become steps of the graph that is captured, where launches may be fused with others."""
        if current_graph() is None:
            self.run()
            return
        for part in self.parts:
            part.submit()
