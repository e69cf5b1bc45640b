"""`Search`: the account of a minimisation: best point, history, limits, progress and the file to go on from.

Guarantees: every evaluation of every method passes here, so that the best point is known whatever ends a search.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...atomic_file import AtomicFile
from .error import ProblemError
from .unknowns import Space

_EVERY = 5.0  # [s] between lines of a log, and between writes of the file


@dataclass
class Solution:
    """How a minimisation went, and the best point: the arrays of the problem hold it.

    loss: the least. losses: at the start and after each iteration, those of several starts one after the other.
    gradients: the norms of the gradient beside them, NaN for methods without. values, gradient: by name, the numbers
    of each unknown at the best point and the derivatives by them as the search sees them. terms: of the loss, by
    name, each iteration. recorded: what `record` of `minimize` was at the start and after each iteration.
    starts: the least loss from each start. reason: what ended it: "gradient", "loss", "flat", "unbounded",
    "iterations", "evaluations", "callback", "not finite", "interrupted" or a word of the method's own. notes: what was
    conspicuous.
    """

    method: str
    loss: float = math.inf
    losses: list[float] = field(default_factory=list)
    gradients: list[float] = field(default_factory=list)
    terms: dict[str, list[float]] = field(default_factory=dict)
    recorded: Any = field(default_factory=list)
    values: dict[str, np.ndarray] = field(default_factory=dict)
    gradient: dict[str, np.ndarray] = field(default_factory=dict)
    starts: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    iterations: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    reason: str = ""

    @property
    def converged(self) -> bool:
        """Whether there was nothing left to gain."""
        return self.reason in ("gradient", "loss", "flat", "converged")

    def __str__(self) -> str:
        first = self.losses[0] if self.losses else math.nan
        text = f"{self.method}: loss {first:.6g} -> {self.loss:.6g} in {self.iterations} iterations, "
        text += f"{self.evaluations} evaluations, {self.seconds:.1f} s; stopped by: {self.reason}"
        return "\n".join([text, *(f"note: {note}" for note in self.notes)])


def _extended(recorded: Any, value: Any) -> Any:
    """A list with one more; of values by name, a dict of lists."""
    if isinstance(value, Mapping):
        return {name: [*(recorded[name] if recorded else []), v] for name, v in value.items()}
    return [*recorded, value]


class Stop(Exception):
    """Ends a method. reason: why."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


@dataclass
class Limits:
    """What ends a search: iterations of each start, evaluations in all, a loss low enough, what `callback` says.

    record: returns what shall be remembered of the last rollout.
    """

    iterations: int = 100
    evaluations: int | None = None
    target: float = -math.inf
    callback: Callable[[Solution], Any] | None = None
    show: bool = False
    file: Path | None = None
    record: Callable[[], Any] | None = None


class Search:
    """Best point and history of one minimisation. evaluate: (z, with a gradient) to loss, gradient and terms."""

    def __init__(self, space: Space, evaluate: Callable[[np.ndarray, bool], Any], limits: Limits, method: str):
        self.space, self.limits, self.solution = space, limits, Solution(method)
        self._evaluate, self._terms = evaluate, {}
        self.best, self.best_gradient = space.start(), None
        self.linearise: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
        self.has_other_terms = False  # beside the squares of residuals
        self.state: dict[str, np.ndarray] = {}  # what the method needs to go on
        self._begin = self._told = self._written = time.monotonic()
        self._first, self._here = 0, self.best
        self._checked: tuple[np.ndarray, float, np.ndarray] | None = None

    # ----- evaluations ------------------------------------------------------------------------

    def loss(self, z: np.ndarray) -> float:
        """The loss, without a gradient."""
        return self._note(z, *self._evaluate(z, False))

    def gradient(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss and its gradient; an infinite loss where a step went too far for the rollout."""
        if self._checked is not None:
            (point, *result), self._checked = self._checked, None
            if np.array_equal(point, z):
                return result[0], result[1]
        loss, gradient, terms = self._evaluate(z, True)
        return self._note(z, loss, gradient, terms), gradient

    def check(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Evaluate a start before a method does, which then does not evaluate it again."""
        loss, gradient = self.gradient(z)
        self._checked = (z, loss, gradient)
        return loss, gradient

    def smoothed(self, z: np.ndarray, loss: float, gradient: np.ndarray, rollouts: int) -> tuple[float, np.ndarray]:
        """Take in a mean over samples around a point. The last one counts: the least of noisy losses is a lucky one."""
        self.solution.evaluations += rollouts - 1
        if math.isfinite(loss):
            self.solution.loss = math.inf
        self._note(z, loss, gradient, {})
        return loss, gradient

    def _note(self, z: np.ndarray, loss: float, gradient: np.ndarray | None, terms: dict[str, float]) -> float:
        solution = self.solution
        solution.evaluations += 1
        if loss < solution.loss and (gradient is None or np.isfinite(gradient).all()):
            solution.loss, self.best, self._terms = loss, np.array(z, dtype=np.float64), terms
            self.best_gradient = None if gradient is None else np.array(gradient)
        if not solution.losses:
            self._append(loss, gradient)
        return loss

    # ----- iterations -------------------------------------------------------------------------

    def begin(self) -> None:
        """A start: iterations are counted anew."""
        self._first = self.solution.iterations

    def iterated(self, z: np.ndarray, loss: float, gradient: np.ndarray | None) -> None:
        """An iteration is over, at a point. Raises `Stop` when a limit is met."""
        solution, limits = self.solution, self.limits
        solution.iterations += 1
        self._here = np.array(z, dtype=np.float64)
        self._append(loss, gradient)
        self._tell()
        self.save(at_once=False)
        if limits.callback is not None and limits.callback(solution):
            raise Stop("callback")
        if solution.loss <= limits.target:
            raise Stop("target")
        if solution.iterations - self._first >= limits.iterations:
            raise Stop("iterations")
        if limits.evaluations is not None and solution.evaluations >= limits.evaluations:
            raise Stop("evaluations")

    def _append(self, loss: float, gradient: np.ndarray | None) -> None:
        solution = self.solution
        solution.losses.append(loss)
        solution.gradients.append(math.nan if gradient is None else float(np.linalg.norm(gradient)))
        for name, value in self._terms.items():
            solution.terms.setdefault(name, []).append(value)
        if self.limits.record is not None:
            solution.recorded = _extended(solution.recorded, self.limits.record())

    def _tell(self) -> None:
        """The line of progress: written again on a terminal, now and then in a log."""
        if not self.limits.show:
            return
        now, live = time.monotonic(), sys.stderr.isatty()
        if now - self._told >= (0.1 if live else _EVERY):
            self._told = now
            print(self.line(), end="\r" if live else "\n", file=sys.stderr, flush=True)

    def line(self) -> str:
        """How far it is, in a line."""
        s = self.solution
        rate = (time.monotonic() - self._begin) / max(s.evaluations, 1)
        return (
            f"{s.method} {s.iterations}: loss {s.losses[-1]:.4e}, best {s.loss:.4e}, |gradient| {s.gradients[-1]:.1e}, "
            f"{rate:.2g} s an evaluation"
        )

    def end(self, reason: str) -> Solution:
        """Set the arrays to the best point, and close the account."""
        solution = self.solution
        solution.reason, solution.seconds = reason, time.monotonic() - self._begin
        solution.values = self.space.by_name(self.best)
        if self.best_gradient is not None:
            parts = zip(self.space.unknowns, self.space.slices, strict=True)
            solution.gradient = {u.name: self.best_gradient[part] for u, part in parts}
        self.space.put(self.best)
        if self.limits.show:
            print(self.line() if solution.losses else solution.method, file=sys.stderr, flush=True)
        self.save(at_once=True)
        return solution

    # ----- the file ---------------------------------------------------------------------------

    def save(self, at_once: bool) -> None:
        """Write what is needed to go on, if there is a file for it and it is time."""
        now = time.monotonic()
        if self.limits.file is None or not (at_once or now - self._written >= _EVERY):
            return
        self._written, s = now, self.solution
        counts = {"counts": [s.iterations, s.evaluations], "losses": s.losses, "gradients": s.gradients}
        points = {"best": self.best, "here": self._here, "loss": s.loss}
        about = {"method": s.method, "names": [f"{u.name}:{u.size}" for u in self.space.unknowns]}
        states = {f"state_{name}": value for name, value in self.state.items()}
        with AtomicFile(self.limits.file, durable=False) as partial, open(partial, "wb") as stream:
            np.savez(stream, **counts, **points, **about, **states)

    def resume(self) -> np.ndarray | None:
        """Where a search that wrote the file stopped; None when there is none yet. Raises `ProblemError`."""
        path = self.limits.file
        if path is None or not path.exists():
            return None
        s = self.solution
        with np.load(path, allow_pickle=False) as data:
            names = [f"{u.name}:{u.size}" for u in self.space.unknowns]
            if str(data["method"]) != s.method or list(data["names"]) != names:
                raise ProblemError(
                    f"{path} holds a search by {data['method']} for {', '.join(data['names'])}\n"
                    f"expected: {s.method} for {', '.join(names)}\nhelp: choose another file, or remove this one"
                )
            s.iterations, s.evaluations = map(int, data["counts"])
            s.losses, s.gradients, s.loss = data["losses"].tolist(), data["gradients"].tolist(), float(data["loss"])
            self.best, self._here = data["best"], data["here"]
            prefix = "state_"
            self.state = {key[len(prefix) :]: data[key] for key in data.files if key.startswith(prefix)}
        return self._here
