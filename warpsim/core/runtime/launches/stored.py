"""`StoredLauncher`: a kernel as machine code that came without its program, out of a file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ...emit.program import PRIMAL
from ..devices.device import Device
from .launcher import LaunchCall, Launcher
from .ways import InCopies, InGrid, Way


class StoredLauncher(Launcher):
    """Runs one launch in the way that was stored with it. checked: whether its threads may report failed checks."""

    written = frozenset()

    def __init__(self, name: str, code: Any, device: Device, way: Way, checked: bool):
        self.kernel: Any = SimpleNamespace(key=name, patterns={})
        self.code, self.device, self.way, self.reports = code, device, way, checked
        self.program: Any = None
        self.form, self.guard = PRIMAL, None

    def run(self, call: LaunchCall) -> None:
        self.way.run(self.code, call.block, call.total)

    def way_of(self, call: LaunchCall) -> Way:
        """The way that was stored."""
        return self.way

    def command(self, call: LaunchCall) -> bytes | None:
        if self.reports or isinstance(self.way, InCopies | InGrid):
            return None
        return self.way.command(self.code, call.block, call.total)

    @property
    def stream_device(self) -> Device | None:
        return self.device if self.device.has_stream and not self.reports else None
