"""Lanes of launches on the CPU, in numbers and words: how many threads run as one vector, or why they do not."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ..core.emit.cpu.cpu import LARGEST_VECTORIZED
from ..core.emit.native import native
from ..core.ir.nodes import count
from ..core.passes.analysis.cost import estimate
from ..core.passes.analysis.lanes import OneByOne, checked_plan, is_regular

_answers: WeakKeyDictionary[Any, tuple[int, str]] = WeakKeyDictionary()


def lanes_of(launcher: Any) -> tuple[int, str]:
    """How many threads of a launcher's kernel run at a time on a core, 1 for one by one, and why."""
    if launcher.device.alias != "cpu" or launcher.program is None:
        return 0, ""
    if launcher not in _answers:
        _answers[launcher] = _lanes(launcher.program, launcher.settings.lanes, launcher.settings.verify)
    return _answers[launcher]


def _lanes(program: Any, mode: str, verify: bool) -> tuple[int, str]:
    fn, width = program.fn, int(native.lanes())
    if not program.ndim:
        return 1, "its threads do not ask for their index"
    if verify or mode == "off":
        return 1, "indices are checked" if verify else "lanes are switched off"
    if count(fn.body) > LARGEST_VECTORIZED:
        return 1, "it is too large"
    try:
        lanes, why = checked_plan(fn, program.plan, width), "lanes would cost more than they gain"
    except OneByOne as reason:
        lanes, why = None, str(reason)
    if lanes is not None and (lanes.pays or mode == "always"):
        return width, "lanes"
    if not is_regular(fn, program.plan):
        return 1, why
    if estimate(fn).gains_from_vectors:
        return width, "vectors by LLVM"
    return 1, "its elements are too wide for vectors over threads"
