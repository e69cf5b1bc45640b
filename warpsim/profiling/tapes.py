"""What tapes cost: recording of launches, and backward passes entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.runtime.devices.capture import current_graph
from .host import site
from .launches import REVERSE, run_visibly
from .timeline import CalledAt, OpenSpan, lines


def time_plain_recording(run_plain: Any) -> Callable[..., Any]:
    """Recording on one tape, which refuses what it cannot do before it does anything."""

    def watched(launcher: Any, *fields: Any) -> Any:
        with OpenSpan("recording", launcher.kernel.key) as block:
            ran = run_plain(launcher, *fields)
            block.counts = int(ran)
            return ran

    return watched


def time_recording(run_generally: Any) -> Callable[..., Any]:
    """Recording of any launch."""

    def watched(call: Any, *args: Any) -> Any:
        with OpenSpan("recording", call.launcher.kernel.key):
            return run_generally(call, *args)

    return watched


def time_backward(backward: Any) -> Callable[..., Any]:
    """A backward pass whose launches are counted where the launches that they reverse were called."""

    def watched(self: Any, loss: Any, grads: Any, watch: Any) -> Any:
        if current_graph() is not None or not lines():
            return backward(self, loss, grads, watch)
        with OpenSpan("backward", "Tape.backward", *site()), CalledAt(None):
            return backward(self, loss, grads, watch or run_entry)

    return watched


def run_entry(entry: Any) -> None:
    """Run the reverse of what a tape recorded."""
    if entry.step is not None:
        run_visibly(entry.step, (entry.place.code, entry.place.offset), REVERSE)
