"""`LBFGS`: minimise a smooth function of many parameters from its value and gradient.

Guarantees: the loss of accepted steps never rises by more than its rounding; after `minimize` the parameters hold the
best point found; all work on vectors is launches on the device of the parameters.

Not SciPy's L-BFGS-B behind NumPy arrays, by measurement: for 10^5 and 10^6 parameters on two cores that took 4 to 25
times as long for as many iterations, as it works on one core and on the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..arguments import checked
from ..core.language import array, float32, float64, kernel, tid, zeros
from ..core.runtime.arrays.fixed import Fixed
from ..errors import ArrayError, DeviceError, counted
from .history import History
from .line_search import strong_wolfe
from .state import in_range
from .vectors import as_list, check_not_captured, combine, components, convert, gradient_of, inner, largest, run

Closure = Callable[[], Any]

_LAST = ("gradient", "loss", "flat", "unbounded", "not finite")
"""Reasons after which there is nothing to gain; the others are limits that someone set."""


@dataclass
class Minimum:
    """How a minimisation went.

    loss: at the parameters as they are left. losses: before the first iteration and after each. gradient: largest
    component of the gradient. evaluations: calls of the closure. reason: "gradient" (below its tolerance),
    "loss" (no longer falls), "flat" (no lower point along the direction), "unbounded", "iterations", "evaluations",
    "callback" (asked to stop) or "not finite" (the loss at the start). converged: reason is "gradient" or "loss".
    """

    loss: float = math.nan
    gradient: float = math.nan
    iterations: int = 0
    evaluations: int = 0
    reason: str = ""
    losses: list[float] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        return self.reason in ("gradient", "loss")


@kernel
def _move(start: array(dtype=Any), length: Any, direction: array(dtype=Any), offset: int, x: array(dtype=Any)):
    i = tid()
    j = offset + i
    x[i] = x.dtype(start[j] + length * direction[j])


@kernel
def _advance(
    start: array(dtype=Any),
    length: Any,
    direction: array(dtype=Any),
    new: array(dtype=Any),
    old: array(dtype=Any),
    s: array(dtype=Any),
    y: array(dtype=Any),
):
    """Take the step: s and y become the changes of position and gradient, as rounding left them."""
    i = tid()
    moved = start[i] + length * direction[i]
    s[i] = moved - start[i]
    y[i] = new[i] - old[i]
    start[i] = moved
    old[i] = new[i]


class LBFGS(Fixed):
    """Limited-memory BFGS with a strong Wolfe line search (Nocedal and Wright 2006, chapters 3 and 7).

    params: arrays of floats, vectors or matrices with `requires_grad=True`, on one device. A *closure* without
    arguments computes the loss at the current parameters, leaves its gradient in the `.grad` of each, and returns the
    loss, a number or an array of one element::

        def closure():
            with wp.Tape() as tape:
                simulate(params, loss)
            tape.backward(loss)
            return loss

        result = LBFGS([velocity]).minimize(closure)

    Gradients of the parameters are zeroed before each call. A loss that is not finite counts as a step too far.

    history: pairs of steps and gradient changes to remember. first_step: length of the first trial step, in units of
    the parameters. tolerance_grad: stop when no component of the gradient is larger. tolerance_loss: stop when an
    iteration lowers the loss by less than this part of it; None: by less than its rounding in the precision of
    the parameters. Vectors are float64 if any parameter is, else float32.

    Raises `ArgumentTypeError`, `ArrayError` or `DeviceError` for parameters that do not fit, `GradientError` for one
    without a gradient.
    """

    def __init__(
        self,
        params: Sequence[array],
        history: int = 10,
        first_step: float = 1.0,
        tolerance_grad: float = 1e-7,
        tolerance_loss: float | None = None,
    ):
        self.params = as_list(params, "params")
        if not self.params or not isinstance(history, int) or history < 1 or not 0.0 < first_step < math.inf:
            raise ValueError(
                f"{counted(len(self.params), 'parameter')}, history={history}, first_step={first_step}\n"
                "expected: one parameter or more, history an integer of at least 1, first_step finite and above zero"
            )
        in_range(tolerance_grad, "tolerance_grad")
        in_range(tolerance_loss or 0.0, "tolerance_loss")
        for x in self.params:
            gradient_of(x)
        if any(x.device is not self.params[0].device for x in self.params):
            raise DeviceError("parameters on several devices\nexpected: all on one")
        wide = any(components(x).dtype is float64 for x in self.params)
        self.dtype, self.device = float64 if wide else float32, self.params[0].device
        self.rounding, self.longest = float(np.finfo(self.dtype).eps), float(np.finfo(self.dtype).max)
        self.first_step, self.tolerance_grad = first_step, tolerance_grad
        self.tolerance_loss = self.rounding if tolerance_loss is None else tolerance_loss
        self._flat = [components(x) for x in self.params]
        ends = np.cumsum([x.size for x in self._flat]).tolist()
        self._offsets = [0, *ends[:-1]]
        self._history = History(ends[-1], history, self.dtype, self.device)
        self._start, self._direction, self._gradient = (zeros(ends[-1], self.dtype, self.device) for _ in range(3))
        self.reset_internal_state()

    def reset_internal_state(self) -> None:
        """Forget all curvature: the next step is a first one."""
        self._history.forget()
        self._result = Minimum()

    @property
    def result(self) -> Minimum:
        """An account of all steps so far, as it is now."""
        return replace(self._result, losses=list(self._result.losses))

    @checked
    def minimize(
        self,
        closure: Closure,
        max_iterations: int = 100,
        max_evaluations: int | None = None,
        callback: Callable[[Minimum], Any] | None = None,
    ) -> Minimum:
        """Iterate until converged or a limit is met; returns how it went, and `params` hold the minimum.

        callback: called with the result so far after every iteration, the parameters being those of the iteration;
        a true value that it returns stops. max_evaluations is looked at between iterations.
        """
        if max_iterations < 1:
            raise ValueError(f"max_iterations is {max_iterations}\nexpected: at least 1")
        self.reset_internal_state()
        while not self._result.reason:
            self.step(closure)
            result = self._result
            if result.reason in ("not finite", "flat", "unbounded") or result.iterations == 0:
                break
            if callback is not None and callback(self.result):
                result.reason = result.reason or "callback"
            elif not result.reason and result.iterations >= max_iterations:
                result.reason = "iterations"
            elif not result.reason and max_evaluations is not None and result.evaluations >= max_evaluations:
                result.reason = "evaluations"
        return self.result

    @checked
    def step(self, closure: Closure) -> float:
        """One iteration: a direction and a search along it; returns the loss at the new parameters.

        `self.result` holds the account of all steps so far. When its reason is set, nothing more is to be gained: a
        further step changes nothing and calls nothing. `reset_internal_state` begins anew, at the parameters of then.
        Raises `LaunchError` while a graph is captured.
        """
        check_not_captured("LBFGS.step()")
        result = self._result
        if result.reason in _LAST:
            return result.loss
        result.reason = ""
        if not result.losses and not self._begin(closure):
            return result.loss
        slope = self._history.direction(self._direction)
        if not -math.inf < slope < 0.0:  # the square of the gradient underflows or overflows
            result.reason = "flat"
            return result.loss
        first = 1.0 if self._history.order else self.first_step / math.sqrt(-slope)
        noise = 4.0 * self.rounding * abs(result.loss)
        phi = partial(self._evaluate, closure)
        search = strong_wolfe(phi, result.loss, slope, min(first, self.longest), noise, longest=self.longest)
        result.evaluations += search.evaluations
        if search.point.length == 0.0:
            self._place(0.0)
            if -slope * first <= noise or not self._history.order:
                result.reason = "loss" if -slope * first <= noise else "flat"
                return result.loss
            self._history.forget()  # curvature that misleads: once more, down the gradient
            return self.step(closure)
        if search.problem:
            self._evaluate(closure, search.point.length)  # the best point need not be the last
            result.evaluations += 1
        self._take(search.point.length, search.point.value)
        if search.problem == "unbounded":
            result.reason = "unbounded"
        return result.loss

    def _begin(self, closure: Closure) -> bool:
        """Evaluate where the parameters are; returns whether there is anything to do."""
        result, history = self._result, self._history
        for x, offset in zip(self._flat, self._offsets, strict=True):
            convert(x, self._start[offset : offset + x.size])
        result.loss = self._loss(closure)
        result.evaluations += 1
        result.losses.append(result.loss)
        combine(history.gradient, 1.0, self._gradient)
        history.refresh()
        result.gradient = largest(self._gradient)
        if not (math.isfinite(result.loss) and math.isfinite(result.gradient)):
            result.reason = "not finite"
        elif result.gradient <= self.tolerance_grad:
            result.reason = "gradient"
        return not result.reason

    def _take(self, length: float, loss: float) -> None:
        """Move to the point just evaluated and remember what it showed."""
        result, history = self._result, self._history
        s, y = history.rows[history.slot], history.rows[history.pairs + history.slot]
        vectors = [self._direction, self._gradient, history.gradient, s, y]
        run(_advance, self._start.size, [self._start, self.dtype(length), *vectors], self.device)
        history.refresh()
        history.accept()
        fallen = result.loss - loss
        result.loss, result.gradient = loss, largest(self._gradient)
        result.iterations += 1
        result.losses.append(loss)
        if result.gradient <= self.tolerance_grad:
            result.reason = "gradient"
        elif fallen <= self.tolerance_loss * abs(loss):
            result.reason = "loss"

    def _evaluate(self, closure: Closure, length: float) -> tuple[float, float]:
        """Loss and slope at a length along the direction; leaves parameters and gradient there."""
        self._place(length)
        loss = self._loss(closure)
        return loss, inner(self._gradient, self._direction)

    def _place(self, length: float) -> None:
        """Put the parameters at a length along the direction."""
        for x, offset in zip(self._flat, self._offsets, strict=True):
            run(_move, x.size, [self._start, self.dtype(length), self._direction, offset, x], self.device)

    def _loss(self, closure: Closure) -> float:
        """Call the closure and gather the gradient."""
        for x in self.params:
            gradient_of(x).zero_()
        loss = closure()
        for x, flat, offset in zip(self.params, self._flat, self._offsets, strict=True):
            convert(components(gradient_of(x)), self._gradient[offset : offset + flat.size])
        return number(loss)


def number(loss: Any) -> float:
    """A loss as a number; raises `ArrayError` for an array of more or less than one element."""
    if not isinstance(loss, array):
        return float(loss)
    if loss.size != 1:
        raise ArrayError(f"the closure returned a loss of shape {loss.shape}\nexpected: a number, or one element")
    return float(loss._data.reshape(-1)[0])
