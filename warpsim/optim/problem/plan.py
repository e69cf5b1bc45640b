"""`Plan`: the memory of a rollout with its gradient, known before it runs, and the checkpoints that keep a budget.

Short dry runs measure what a step and a checkpoint take; the rest is arithmetic (Griewank and Walther 2000). What is
counted is what an evaluation adds, on the host, to the arrays that the program holds already.
"""

from __future__ import annotations

import gc
import math
import re
import tracemalloc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentTypeError
from .error import ProblemError
from .loops import Planned

if TYPE_CHECKING:
    from .problem import Problem

_SHORT, _LONG = 8, 24  # steps of dry runs: in their first few, solvers meet fewer neighbours than later
_UNITS = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


@dataclass
class Plan:
    """What a rollout takes [bytes]. steps: of its longest loop.

    full: recording all steps; per_step: a step of that; state: a checkpoint; expected: with the choice. choice: how
    loops are run; None for recording all.
    """

    steps: int
    full: float
    per_step: float
    state: float
    expected: float
    choice: Planned | None = None

    def __str__(self) -> str:
        lines = [f"{self.steps} steps, all recorded: {in_words(self.full)} ({in_words(self.per_step)} a step)"]
        if self.choice is not None:
            lines.append(
                f"chosen: schedule {self.choice.schedule!r} with {self.choice.slots} checkpoints of "
                f"{in_words(self.state)}: {in_words(self.expected)}"
            )
        return "\n".join(lines)


def plan_memory(problem: Problem, budget: str | float | None) -> Plan:
    """Dry runs, and the choice that keeps a budget with the fewest steps run again."""
    limit = math.inf if budget is None else bytes_of(budget)
    before, problem.planned = problem.planned, Planned(limit=_SHORT)
    try:
        measure(problem)  # kernels are compiled
        steps = list(problem.planned.steps)
        if not steps:
            problem.planned = None
            return _without_loops(measure(problem), limit)
        total, longest = sum(steps), max(steps)
        short, there = measure(problem), sum(min(n, _SHORT) for n in steps)
        problem.planned = Planned(limit=_LONG)
        long, more = measure(problem), sum(min(n, _LONG) for n in steps)
        per_step = (long - short) / (more - there) if more > there else long / max(more, 1)
        full = long + per_step * (total - more)
        if full <= limit:
            return Plan(longest, full, per_step, 0.0, full)
        if len(steps) > 1:
            raise ProblemError(f"{len(steps)} loops in a rollout\nexpected: one, for a plan that keeps a budget")
        return _choose(problem, longest, full, per_step, limit)
    finally:
        problem.planned = before
        problem.space.put(problem.space.start())


def _choose(problem: Problem, steps: int, full: float, per_step: float, limit: float) -> Plan:
    """The schedule that keeps the budget with the fewest steps run again."""
    problem.planned = Planned("sqrt", 2, _LONG)
    measure(problem)
    base = measure(problem)
    state = float(problem.planned.reports[-1].state_bytes)
    fixed = base - 2.0 * state - math.ceil(min(steps, _LONG) / 2) * per_step

    def even(slots: int) -> float:
        return fixed + slots * state + math.ceil(steps / slots) * per_step

    best = min(range(1, steps + 1), key=even)
    if even(best) <= limit:
        return Plan(steps, full, per_step, state, even(best), Planned("sqrt", best))
    slots = min(steps, math.floor((limit - fixed - per_step) / max(state, 1.0)))
    if slots < 1:
        least = fixed + state + per_step
        raise ProblemError(
            f"a budget of {in_words(limit)}, but one checkpoint and one step take {in_words(least)}\n"
            "expected: at least that\nhelp: fewer particles, or states of float32"
        )
    return Plan(steps, full, per_step, state, fixed + slots * state + per_step, Planned("binomial", slots))


def _without_loops(full: float, limit: float) -> Plan:
    if full > limit:
        raise ProblemError(
            f"the rollout takes {in_words(full)}, the budget is {in_words(limit)}\n"
            "expected: a loop that can have checkpoints\nhelp: write its steps as optim.loop(step, state, steps, ...)"
        )
    return Plan(1, full, full, 0.0, full)


def measure(problem: Problem) -> float:
    """The most memory that an evaluation adds [bytes]."""
    gc.collect()
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start(1)
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        problem.value_and_gradient(problem.space.start())
        return float(tracemalloc.get_traced_memory()[1] - before)
    finally:
        if not running:
            tracemalloc.stop()


def bytes_of(budget: Any) -> float:
    """A budget in bytes. Raises `ProblemError` or `ArgumentTypeError`."""
    if isinstance(budget, str):
        parts = re.fullmatch(r"\s*([0-9.]+)\s*([kMGT]?B)\s*", budget, re.IGNORECASE)
        if parts is None:
            raise ProblemError(f"budget is {budget!r}\nexpected: bytes, or a text such as '2 GB' or '500 MB'")
        return float(parts[1]) * _UNITS[parts[2].upper()]
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise ArgumentTypeError(f"budget is {type(budget).__name__}\nexpected: bytes, or a text such as '2 GB'")
    return float(budget)


def in_words(size: float) -> str:
    """Bytes with a unit."""
    unit = next((u for u in ("GB", "MB", "KB") if abs(size) >= _UNITS[u]), "B")
    return f"{size / _UNITS[unit]:.3g} {unit}"
