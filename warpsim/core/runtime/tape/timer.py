"""`ScopedTimer`: how long a block took."""

from __future__ import annotations

import cProfile
import time
from typing import Any

from ..arrays.saved_contents import active
from ..devices.device import synchronize


class ScopedTimer:
    """`with ScopedTimer("step"):` prints the time of the block in milliseconds.

    active: measure at all. print: print the result. detailed: also print a profile of Python calls.
    dict: append the time to the list under `name`. synchronize: wait for devices before and after. skip_tape: open no
    scope on tapes. Accepted without effect: use_nvtx and color, of NVIDIA's profilers, and cuda_filter and report_func,
    of pieces of work, which `timing_begin` tells, so that `timing_results` stays empty here. Inside of `profile` the
    block is a row of its table.

    elapsed: the time [ms], known when the block is over. extra_msg: what is printed behind it.
    """

    indent = 0

    def __init__(
        self, name: str, active: bool = True, print: bool = True, detailed: bool = False,
        dict: dict[str, list[float]] | None = None, use_nvtx: bool = False, color: object = "rapids",
        synchronize: bool = False, cuda_filter: int = 0, report_func: object = None, skip_tape: bool = False,
    ):  # fmt: skip
        self.name, self.active, self.print, self.dict = name, active, print, dict
        self.detailed, self.synchronize, self.skip_tape = detailed, synchronize, skip_tape
        self.use_nvtx, self.color, self.cuda_filter, self.report_func = use_nvtx, color, cuda_filter, report_func
        self.profile = cProfile.Profile() if detailed and active else None
        self.elapsed, self.extra_msg = 0.0, ""
        self.timing_results: list[Any] = []
        self.tapes: tuple[Any, ...] = ()

    def __enter__(self) -> ScopedTimer:
        self.tapes = () if self.skip_tape else active()
        for tape in self.tapes:
            tape.record_scope_begin(self.name)
        if self.active:
            if self.synchronize:
                synchronize()
            ScopedTimer.indent += 1
            if self.profile is not None:
                self.profile.enable()
            self.start = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        for tape in self.tapes:
            tape.record_scope_end()
        if not self.active:
            return
        if self.synchronize:
            synchronize()
        self.elapsed = (time.perf_counter() - self.start) * 1000.0
        ScopedTimer.indent -= 1
        if self.profile is not None:
            self.profile.disable()
            self.profile.print_stats(sort="tottime")
        if self.dict is not None:
            self.dict.setdefault(self.name, []).append(self.elapsed)
        if self.print:
            text = f"{'    ' * ScopedTimer.indent}{self.name} took {self.elapsed:.2f} ms {self.extra_msg}"
            print(text.rstrip())
