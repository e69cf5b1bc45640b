"""`Problem`: a rollout, its unknowns and its loss; what minimises it, rates its gradient and plans its memory.

Guarantees: an evaluation does what a loop written by hand does, records, goes back, and no more than that; whatever
ends a search, the arrays hold the best point that it saw.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...arguments import checked
from ...core.language import array, zeros
from ...core.runtime.arrays.saved_contents import Paused
from ...core.runtime.tape.tape import Tape
from ...errors import ArgumentTypeError
from ..vectors import gradient_of
from .error import ProblemError
from .jacobian import linearise, split_by_world
from .loops import Planned, loops_run_by
from .methods import NOISY, check_options, run_method
from .plan import Plan, plan_memory
from .report import ProblemReport, rate_gradient
from .sampled import Sampling, sampled_objective
from .search import Limits, Search, Solution
from .unknowns import Space, host_copy


class Problem:
    """A rollout whose unknowns are sought so that its loss is least.

        def fly():
            wp.copy(v, throw, count=1)
            for k in range(steps):
                wp.launch(step, dim=1, inputs=[x, v, k, dt])
            wp.launch(miss, dim=1, inputs=[x, target, loss])

        problem = Problem(fly, throw, loss)
        print(problem.minimize("lbfgs"))

    rollout: a function without arguments that launches kernels or steps solvers, and adds to the loss. What it does
    must follow from the unknowns alone: it begins from the same states each time. unknowns: an array, an `Unknown`,
    a list or, for names, a dict of them; None in it is left out. loss: an array whose elements add up, or several by
    name; they are set to zero before each rollout. weights: of losses by name, 1 for others. residuals: arrays whose
    squares add up to a loss, for method "gauss-newton"; they are zero before each rollout. worlds: how many that do
    not touch each other: each unknown and each residual has as many numbers for one as for another, world after world.

    Raises `ProblemError`, `ArgumentTypeError` or `GradientError` for what does not fit.
    """

    def __init__(
        self, rollout: Callable[[], Any], unknowns: Any, loss: Any = None, *,
        weights: Mapping[str, float] | None = None, residuals: Any = (), worlds: int = 1,
    ):  # fmt: skip
        if not callable(rollout):
            raise ArgumentTypeError(f"rollout is {type(rollout).__name__}\nexpected: a function without arguments")
        self.rollout, self.space = rollout, Space(unknowns)
        self.losses, self.worlds = loss_arrays(loss), worlds
        self.residuals = [residuals] if isinstance(residuals, array) else list(residuals)
        for a in (*self.losses.values(), *self.residuals):
            gradient_of(a)
        if not self.losses and not self.residuals:
            raise ProblemError("neither loss nor residuals\nexpected: an array that the rollout adds to")
        if worlds != 1:
            split_by_world([u.size for u in self.space.unknowns], worlds, "unknowns")
        unknown_names = set(weights or {}) - set(self.losses)
        if unknown_names:
            raise ProblemError(
                f"weights has {', '.join(map(repr, sorted(unknown_names)))}\n"
                f"expected: names of losses: {', '.join(map(repr, self.losses))}"
            )
        self.weights = {name: float((weights or {}).get(name, 1.0)) for name in self.losses}
        self._ones = {name: _filled_like(a, self.weights[name]) for name, a in self.losses.items()}
        self.solution: Solution | None = None
        self.planned: Planned | None = None
        self._is_checked = False
        self.notes: list[str] = []

    # ----- evaluations ------------------------------------------------------------------------

    def start(self) -> np.ndarray:
        """The vector of scaled free numbers that the arrays hold."""
        self.space.refresh()
        return self.space.start()

    def run(self) -> float:
        """The loss with what the arrays hold, by one rollout without a tape; states are those of it then."""
        return self.value(self.start())

    def value(self, z: np.ndarray) -> float:
        """The loss at a vector of scaled free numbers, without a tape; infinite where the rollout diverges."""
        return self._evaluate(z, False)[0]

    def value_and_gradient(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss at a vector of scaled free numbers, and its gradient; not finite where the rollout diverges."""
        loss, gradient, _ = self._evaluate(z, True)
        return loss, gradient

    def record(self, z: np.ndarray) -> tuple[Tape, float]:
        """The tape of a rollout at a vector of scaled free numbers, and the loss."""
        self._set(z)
        with Tape() as tape, loops_run_by(self.planned):
            self.rollout()
        return tape, sum(self.terms().values())

    def seeds(self) -> dict[array, Any]:
        """The gradients that `Tape.backward` starts from."""
        seeds: dict[array, Any] = {a: self._ones[name] for name, a in self.losses.items()}
        for r in self.residuals:
            seeds[r] = array(2.0 * host_copy(r), dtype=r.dtype, device=r.device)
        return seeds

    def terms(self) -> dict[str, float]:
        """The weighted losses by name, as they are now."""
        result = {name: self.weights[name] * float(a.numpy().sum()) for name, a in self.losses.items()}
        if self.residuals:
            result["residuals"] = sum(float((host_copy(r) ** 2).sum()) for r in self.residuals)
        return result

    def _set(self, z: np.ndarray) -> None:
        self.space.put(z)
        for a in (*self.losses.values(), *self.residuals):
            a.zero_()
        for u in self.space.unknowns:
            u.gradient.zero_()

    def _evaluate(self, z: np.ndarray, with_gradient: bool) -> tuple[float, np.ndarray | None, dict[str, float]]:
        z = np.asarray(z, dtype=np.float64)
        try:
            if with_gradient:
                tape, loss = self.record(z)
                terms = self.terms()
                tape.backward(grads=self.seeds())
            else:
                self._set(z)
                with Paused(), loops_run_by(self.planned):
                    self.rollout()
                terms = self.terms()
        except ArithmeticError:  # the rollout says that it diverged: a step too far
            return math.inf, np.full(z.size, math.nan) if with_gradient else None, {}
        loss = sum(terms.values())
        if not with_gradient:
            return loss, None, terms
        gradient = self.space.pull(z)
        if not self._is_checked:
            self._check_first(tape, loss, gradient)
        return loss, gradient, terms

    def _check_first(self, tape: Tape, loss: float, gradient: np.ndarray) -> None:
        """Raise for a loss that cannot be sought; note unknowns that it does not depend on."""
        self._is_checked = True
        used = {id(a._memory) for a in tape.arrays()}
        for u, part in zip(self.space.unknowns, self.space.slices, strict=True):
            if gradient[part].any():
                continue
            if id(u.array._memory) not in used:
                raise ProblemError(
                    f"the rollout does not use {u.name}\nexpected: launches that read the array itself\n"
                    "help: a copy of it that was made before the rollout does not follow it"
                )
            self.notes.append(f"the loss does not depend on {u.name} at the start: its gradient is zero")

    def check_start(self, loss: float, gradient: np.ndarray | None = None) -> None:
        """Raise `ProblemError` unless the loss and its gradient are finite."""
        if math.isfinite(loss) and (gradient is None or np.isfinite(gradient).all()):
            return
        what = f"the loss is {loss}" if not math.isfinite(loss) else "the loss is finite, but its gradient is not,"
        raise ProblemError(
            f"{what} at the start\nexpected: a finite one\n"
            "help: wp.config.verify_fp = True names the first launch that stores a number that is not finite"
        )

    # ----- minimising -------------------------------------------------------------------------

    @checked
    def minimize(
        self, method: str = "lbfgs", iterations: int = 100, *, gradient: str | Sampling = "exact", starts: int = 1,
        evaluations: int | None = None, target: float = -math.inf, callback: Callable[[Solution], Any] | None = None,
        show: bool | None = None, file: str | os.PathLike[str] | None = None,
        record: Any = None, **options: Any,
    ) -> Solution:  # fmt: skip
        """Seek the least loss from what the arrays hold; returns how it went, and the arrays hold the best point.

        method: "lbfgs", "adam", "gradient", "gauss-newton" or "cma"; options are its own, such as lr or first_step,
        in units of scaled numbers. gradient: "exact", "sampled", "mixed", or a `Sampling`. iterations: at most, from
        each start. starts: the first is the present one, others are random: uniform within bounds, else normal with
        a standard deviation of one scaled number. evaluations: at most, in all. target: a loss that is low enough.
        callback: called with the solution so far after each iteration; a true value stops. show: a line of progress,
        by default where stderr is a terminal. file: written every few seconds and in the end; if it exists, the search
        goes on from it. record: an array, a list of them such as a trajectory, or a dict of both; their numbers at the
        start and after each iteration, as the last rollout left them, are in `solution.recorded`: a list, for a dict
        one by each name.

        On Ctrl-C the solution so far is returned. An error of the rollout is raised, with the best point in the
        arrays and `problem.solution`. A rollout that raises an ArithmeticError, as diverging solvers do, or whose
        loss is not finite, counts as a step too far, but not at the start.
        """
        check_options(method, options)
        sampling = gradient if isinstance(gradient, Sampling) else Sampling(gradient)
        self._check_request(method, iterations, starts, sampling, file)
        show = sys.stderr.isatty() if show is None else show
        note = None if record is None else partial(numbers_of, record)
        limits = Limits(iterations, evaluations, target, callback, show, None if file is None else Path(file), note)
        self.space.refresh()
        search = Search(self.space, self._evaluate, limits, method)
        self.solution = search.solution
        if self.residuals:
            search.has_other_terms = bool(self.losses)
            search.linearise = partial(self._linearise, search)
        z = search.resume()
        reason = "error"
        try:
            z = self.space.start() if z is None else z
            reason = self._run_starts(search, method, z, starts, sampling, options)
        except KeyboardInterrupt:
            reason = "interrupted"
        finally:
            if math.isfinite(search.solution.loss):
                search.end(reason)
            search.solution.notes.extend(self.notes)
        return search.solution

    def _check_request(self, method: str, iterations: int, starts: int, sampling: Sampling, file: Any) -> None:
        sampling.check()
        if iterations < 1 or starts < 1:
            raise ProblemError(f"iterations={iterations}, starts={starts}\nexpected: at least 1 of both")
        if sampling.kind != "exact" and method not in NOISY:
            raise ProblemError(
                f"method {method!r} with {sampling.kind} gradients, which are noisy\n"
                f"expected: {' or '.join(map(repr, NOISY))}, or gradient='exact'"
            )
        if starts > 1 and (file is not None or sampling.kind != "exact"):
            why = "a file" if file is not None else f"{sampling.kind} gradients, whose losses cannot be compared,"
            raise ProblemError(f"{why} for {starts} starts\nexpected: starts=1")

    def _run_starts(
        self, search: Search, method: str, z: np.ndarray, starts: int, sampling: Sampling, options: dict[str, Any]
    ) -> str:
        rng, reason = np.random.default_rng(sampling.seed), ""
        for k in range(starts):
            if k:
                z = random_start(self.space, rng)
                search.begin()
            elif sampling.kind == "exact" and method != "cma":
                self.check_start(*search.check(z))
            else:
                self.check_start(self.value(z))
            objective = self._objective(search, sampling)
            reason = run_method(search, method, z, objective, options)
            search.solution.starts.append(search.solution.losses[-1])
            if reason in ("callback", "evaluations", "target"):
                break
        return reason

    def _objective(self, search: Search, sampling: Sampling) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        if sampling.kind == "exact":
            return search.gradient
        smooth = sampled_objective(sampling, self.value, self.value_and_gradient)
        return lambda z: search.smoothed(z, *smooth(z), 2 * max(2, sampling.samples // 2))

    def _linearise(self, search: Search, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        search.solution.evaluations += 1
        return linearise(self, z)

    # ----- looking ----------------------------------------------------------------------------

    @checked
    def report(self, noise: float = 0.05, samples: int = 32, directions: int = 4, seed: int = 0) -> ProblemReport:
        """Whether the gradient at what the arrays hold is any good, see `ProblemReport`.

        noise: standard deviation of scaled numbers, as large as the steps that a search should be led by. samples:
        pairs of rollouts with noise. directions: random ones along which finite differences are taken.
        """
        self.space.refresh()
        return rate_gradient(self, noise, samples, directions, seed)

    @checked
    def plan(self, budget: str | float | None = None) -> Plan:
        """What a rollout takes in memory, by dry runs; with a budget such as "2 GB", chooses the checkpoints of loops.

        Only `warpsim.optim.loop` can be planned. Raises `ProblemError` where no schedule keeps the budget.
        """
        self.space.refresh()
        plan = plan_memory(self, budget)
        self.planned = plan.choice
        return plan

    def picture(self, path: str | os.PathLike[str]) -> None:
        """Draw the loss, its terms, the unknowns and their gradients of the last solution, as a PNG, SVG or PDF."""
        if self.solution is None or not self.solution.losses:
            raise ProblemError("nothing to draw\nexpected: minimize before it")
        importlib.import_module(f"{__package__}.picture").draw(self.solution, Path(path))


def loss_arrays(loss: Any) -> dict[str, array]:
    """Losses by name."""
    if loss is None:
        return {}
    losses = dict(loss) if isinstance(loss, Mapping) else {"loss": loss}
    for name, a in losses.items():
        if not isinstance(a, array):
            raise ArgumentTypeError(
                f"loss {name!r} is {type(a).__name__}\nexpected: an array, or a dict of arrays by name"
            )
    return losses


def numbers_of(record: Any) -> Any:
    """Copies of the numbers of an array, of a list of arrays stacked, or of a dict of both."""
    if isinstance(record, Mapping):
        return {name: numbers_of(value) for name, value in record.items()}
    return np.array([host_copy(a) for a in record]) if isinstance(record, list | tuple) else host_copy(record)


def random_start(space: Space, rng: np.random.Generator) -> np.ndarray:
    """Uniform where there are two bounds, else normal around the start."""
    uniform, normal = rng.random(space.size), rng.normal(size=space.size)
    both = np.isfinite(space.lower) & np.isfinite(space.upper)
    low, high = np.where(both, space.lower, 0.0), np.where(both, space.upper, 0.0)
    return space.clip(np.where(both, low + uniform * (high - low), space.start() + normal))


def _filled_like(a: array, value: float) -> array:
    filled = zeros(a.shape, a.dtype, a.device)
    filled.fill_(value)
    return filled
