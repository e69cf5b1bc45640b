"""Launches on CUDA devices: on the current stream (see `cuda.function`), by one thread where their order would show."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..devices.cuda.function import MOST_BLOCKS
from ..devices.device import Device
from . import private_sums
from .failed_checks import unread
from .launcher import LaunchCall, Launcher
from .ways import ONE_THREAD, InGrid, Way

if TYPE_CHECKING:
    from ..devices.cuda.device import CudaDevice


class CudaLauncher(Launcher):
    """One form of a kernel compiled for a CUDA device."""

    device: CudaDevice

    def load(self, layouts: tuple[str, ...]) -> None:
        self.code = self.kernel.compile(self.own_types, layouts, self.device, self.variant)
        self.reports = bool(self.code.sites)
        self.shapes: dict[tuple[int | None, int], CudaLauncher] = {(None, 0): self}
        # Launches that the order of threads may show in are looked at one by one.
        self.serial_limit = -1 if self.program.plan.atomics() else 1 << 63
        self._set_shape(None, 0)

    def _set_shape(self, block_dim: int | None, max_blocks: int) -> None:
        self.shape = block_dim, max_blocks
        threads = self.code.checked_block_dim(block_dim, self.kernel.key)
        self.threads = self.threads.in_blocks(threads)
        run = self.code.run
        self.function = lambda block, begin, total, flags: run(block, total, threads, max_blocks)
        self.grid = InGrid(threads, max_blocks)

    def fitting(self, args: Sequence[Any], rank: int = 0) -> tuple[Launcher, list[Any]]:
        launcher, adapted = super().fitting(args, rank)
        return launcher.with_shape(*self.shape), adapted

    def like(self, other: Launcher) -> Launcher:
        assert isinstance(other, CudaLauncher)
        return self.with_shape(*other.shape) if self.asks_for_blocks else self

    def with_shape(self, block_dim: int | None, max_blocks: int) -> Launcher:
        """The same with another number of threads in a block (None: as usual), or of blocks (0: as many as fit)."""
        shape = (block_dim, max(0, min(max_blocks, MOST_BLOCKS)))
        if shape == self.shape:
            return self
        if shape not in self.shapes:
            other = copy.copy(self)
            other._set_shape(*shape)
            other.reverses = {}
            self.shapes[shape] = other
        return self.shapes[shape]

    def variants(self) -> list[Launcher]:
        return list(self.shapes.values())

    def execute(self, call: LaunchCall, in_order: bool = False) -> None:
        if self.reports and not self.settings.verify and not in_order:
            unread(self.device).run(call)
        else:
            super().execute(call, in_order)

    def run(self, call: LaunchCall) -> None:
        self.way_of(call).run(self.code, call.block, call.total)

    def way_of(self, call: LaunchCall) -> Way:
        """By one thread, one element after the other, where the order of threads would show."""
        plan = self.program.plan
        ordered = call.deterministic and private_sums.is_ordered(plan)
        return ONE_THREAD if ordered or (plan.injective and private_sums.any_overlap(call.args)) else self.grid

    def run_in_order(self, call: LaunchCall) -> None:
        ONE_THREAD.run(self.code, call.block, call.total)

    @property
    def stream_device(self) -> Device | None:
        return None if self.reports or self.guard is not None else self.device
