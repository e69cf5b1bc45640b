"""`loop`: the steps of a rollout, which a problem may run with checkpoints that `Problem.plan` chose.

Guarantees: outside of a problem, and without a plan, the steps are just run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...core.language import array
from ...core.runtime.rollout.checkpoint import checkpoint
from ...core.runtime.rollout.rollout import takes_state


@dataclass
class Planned:
    """How loops are run. schedule: of checkpoints, None for none. slots: states to keep. limit: steps, at most.

    reports: of the loops that ran with checkpoints; steps: of all loops that ran, as they asked for.
    """

    schedule: str | None = None
    slots: int | None = None
    limit: int | None = None
    steps: list[int] = field(default_factory=list)
    reports: list[Any] = field(default_factory=list)


class _Current(threading.local):
    plan: Planned | None = None


_current = _Current()


@contextmanager
def loops_run_by(plan: Planned | None) -> Iterator[None]:
    """Loops of the block are run as a plan says."""
    before, _current.plan = _current.plan, plan
    if plan is not None:
        plan.steps, plan.reports = [], []
    try:
        yield
    finally:
        _current.plan = before


def loop(
    step: Callable[..., Any], state: Any, steps: int, *, parameters: Iterable[array] = (),
    outputs: Iterable[array] = (), scratch: Iterable[array] = (),
) -> None:  # fmt: skip
    """Run `step` for k = 0 ... steps - 1, with the checkpoints that a problem planned; see `checkpoint`.

    Without a plan all is recorded, and only the state's type matters: `step(k)`, or `step(state, k)`.
    """
    plan = _current.plan
    count = steps
    if plan is not None:
        plan.steps.append(steps)
        count = steps if plan.limit is None else min(steps, plan.limit)
    if plan is not None and plan.schedule is not None:
        declared = {"parameters": parameters, "outputs": outputs, "scratch": scratch}
        slots = None if plan.slots is None else min(plan.slots, count)
        plan.reports.append(checkpoint(step, state, count, schedule=plan.schedule, slots=slots, **declared))
        return
    with_state = takes_state(step)
    for k in range(count):
        if with_state:
            step(state, k)
        else:
            step(k)
