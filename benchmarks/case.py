"""What a workload hands to the worker: something to time, and the values it produced.

Guarantees nothing by itself; the worker runs every timed part once before ``values`` is asked,
so the values belong to exactly one run from a fresh state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Timed:
    """One thing to time: ``run()`` does the work of ``units`` units; seconds are given per unit.

    ``before``, if given, is called before every run and is not timed; ``again`` says that a run may
    also follow another one. ``host``: what is timed is the calls, not the work that they start on a GPU.
    """

    run: Callable[[], object]
    units: int = 1
    before: Callable[[], object] | None = None
    host: bool = False
    again: bool = False


@dataclass(frozen=True)
class Case:
    """A workload that is ready to run in one framework.

    ``timed`` maps a metric to its work; ``values`` returns the outputs as NumPy arrays by name;
    ``note`` tells a reader what differs here.
    """

    timed: dict[str, Timed]
    values: Callable[[], dict[str, np.ndarray]]
    note: str = ""


def single(
    run: Callable[[], object],
    values: Callable[[], dict[str, np.ndarray]],
    *,
    units: int = 1,
    note: str = "",
    host: bool = False,
) -> Case:
    """A case with the one metric ``time``."""
    return Case({"time": Timed(run, units, host=host)}, values, note)
