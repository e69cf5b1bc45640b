"""Launches on the CPU: few threads on the calling thread, many in chunks that all cores take.

The boundaries of chunks depend on the number of threads of the launch alone. Float atomics that scatter go to private
copies (see `private_sums`), so results do not depend on scheduling.
"""

from __future__ import annotations

from ...emit.cuda.code import KERNEL
from . import pool, private_sums
from .launcher import LaunchCall, Launcher
from .ways import InChunks, InOrder, Way


class CpuLauncher(Launcher):
    """One form of a kernel as machine code of the CPU."""

    def load(self, layouts: tuple[str, ...]) -> None:
        self.code = self.kernel.compile(self.own_types, layouts, self.device, self.variant)
        self.function = self.code.native.function(KERNEL, pool.KERNEL_PROTOTYPE)
        self.reports = bool(self.code.sites)
        self.cost = max(0.25, self.program.nanoseconds)
        self.serial_limit = serial_limit(self.cost)
        if self.has_atomics:
            plan = self.program.plan
            self.sums = private_sums.SumsOf(self.program, self.types)
            if private_sums.scatters(plan):
                self.serial_limit = max(self.serial_limit, int(private_sums.LEAST_WORK / self.cost))

    def run(self, call: LaunchCall) -> None:
        way = self.way_of(call)
        if isinstance(way, InOrder):
            self.run_in_order(call)
        else:
            way.run(self.code, call.block, call.total)

    def way_of(self, call: LaunchCall) -> Way:
        """How a launch runs, which its arguments decide."""
        if call.total <= self.serial_limit:
            return InOrder()
        size = pool.chunk_size(call.total, self.cost)
        return private_sums.way_of(call, size) if self.has_atomics else InChunks(size)

    def run_in_order(self, call: LaunchCall) -> None:
        self.function(call.block, 0, call.total, 0)

    def command(self, call: LaunchCall) -> bytes | None:
        whole = call.total <= self.serial_limit
        if self.reports or self.guard is not None or not (whole or self._chunks_are_free(call)):
            return None
        return self._command(call, call.total if whole else pool.chunk_size(call.total, self.cost))

    def _chunks_are_free(self, call: LaunchCall) -> bool:
        """Whether no thread of a chunk meets one of another: atomics, if any, go to elements of their own."""
        lone = self.program.plan.injective.issuperset(self.program.plan.atomics())
        return not self.has_atomics or (lone and not private_sums.any_overlap(call.args))

    def _command(self, call: LaunchCall, size: int) -> bytes:
        return pool.COMMAND.pack(self.code.address, pool.address_of(call.block), 0, call.total, size, 0)


def serial_limit(cost: float) -> int:
    """The largest launch that `pool.chunk_size` leaves whole."""
    low, high = 0, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pool.chunk_size(middle, cost) >= middle else (low, middle)
    return low
