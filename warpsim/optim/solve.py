"""One solve of A x = b: operands are checked, cycles run until the true residual is small, tapes learn of it.

The residual that decides is b - A x as computed from x between cycles, not one updated by recursion. Under an active
`Tape` a solve is differentiated by the implicit function theorem: with w the solution of transpose(A) w = dx, db is w
and dA is -w x^T, where dx is the gradient of x. This costs one more solve, whatever the number of iterations.
"""

from __future__ import annotations

import math
from numbers import Integral
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from ..core.language import array, clone, zeros_like
from ..core.runtime.arrays.saved_contents import Paused, active
from ..core.runtime.devices.memory_range import overlap
from ..core.types import compounds
from ..core.types.arrays import type_name
from ..errors import ArrayError, NotConvergedError, NotDifferentiableError, counted, instance
from . import krylov
from .operators import LinearOperator, aslinearoperator
from .state import in_range
from .vectors import (
    check_alike,
    check_floats,
    check_not_captured,
    combine,
    components,
    gradient_of,
    norm,
    vector,
    vector_like,
)

_SYMMETRIC = (krylov.cg, krylov.cr)
REASONS = {
    "converged": "the residual is within the tolerance",
    "maxiter": "more iterations are needed, or a preconditioner",
    "indefinite": "A or M is not symmetric positive definite; cr, bicgstab or gmres may do",
    "breakdown": "the method cannot go on: A is singular, or another method is needed",
    "stagnated": "rounding keeps the residual from falling further: allow a larger tol, or use float64",
    "not finite": "A, M, b or x hold NaN or infinity, or the iteration overflowed",
}


class _Outcome(NamedTuple):
    iterations: int
    residual: float
    tolerance: float


class Solve(_Outcome):
    """How a solve ended: (iterations, residual, tolerance), and `reason` in a word.

    residual and tolerance are Euclidean norms. reason: "converged", "maxiter", "indefinite", "breakdown", "stagnated"
    or "not finite".
    """

    reason: str

    def __new__(cls, iterations: int, residual: float, tolerance: float, reason: str) -> Solve:
        result = super().__new__(cls, iterations, residual, tolerance)
        result.reason = reason
        return result

    def __getnewargs__(self) -> tuple[int, float, float, str]:
        return (*self, self.reason)

    @property
    def converged(self) -> bool:
        return self.reason == "converged"

    def checked(self) -> Solve:
        """This outcome, if the solve converged; else raises `NotConvergedError`."""
        if not self.converged:
            raise NotConvergedError(
                f"a linear solve ended after {self.iterations} iterations: {self.reason}\n"
                f"found: a residual of {self.residual:.3g}\nexpected: at most {self.tolerance:.3g}\n"
                f"help: {REASONS[self.reason]}"
            )
        return self

    def __repr__(self) -> str:
        numbers = f"iterations={self.iterations}, residual={self.residual:.3g}, tolerance={self.tolerance:.3g}"
        return f"Solve({numbers}, reason={self.reason!r})"


class StopRule(NamedTuple):
    """What to reach, and who wants to know."""

    tol: float | None
    atol: float | None
    maxiter: int | None
    callback: Any
    check_every: int
    restart: int | None = None

    def validate(self) -> StopRule:
        """This rule; raises `ValueError` for numbers that are out of range."""
        for value, name in ((self.tol, "tol"), (self.atol, "atol"), (self.maxiter, "maxiter")):
            if value is not None:
                in_range(value, name)
        for limit, name in ((self.restart, "restart"), (self.check_every, "check_every")):
            instance(limit, (Integral, NoneType), name)
        if self.restart is not None and self.restart < 1:
            raise ValueError(f"restart is {self.restart}\nexpected: at least 1")
        return self

    def tolerance(self, size: float, dtype: Any) -> float:
        """The norm that the residual must reach for a right side of norm `size`."""
        if self.tol is None and self.atol is None:
            return size * float(np.finfo(dtype).eps ** 0.75)
        return float(max(self.atol or 0.0, (self.tol or 0.0) * size))


class _Problem(NamedTuple):
    """A x = b from x on, M: the preconditioner; and how it is solved."""

    method: Any
    A: LinearOperator
    M: LinearOperator | None
    b: array
    x: array
    target: StopRule


def solve(method: Any, A: Any, b: array, x: array, M: Any, rule: StopRule, room: krylov.Room | None = None) -> Solve:
    """Check the operands, iterate from x on, and record what backward needs. `room` is used again by the next solve."""
    rule.validate()
    check_not_captured(f"{method.__name__}(...)")
    check_floats(b, "b")
    check_alike(x, b, "x", "b")
    if overlap(x, b):
        raise ArrayError("x shares memory with b\nhelp: give the solution an array of its own")
    operator, inverse = aslinearoperator(A), M if M is None else aslinearoperator(M)
    for name, one in (("A", operator), ("M", inverse)):
        if one is not None:
            _check_operator(one, b, name)
    target = rule._replace(maxiter=rule.maxiter or 10 * b.size * compounds.size_of(b.dtype))
    problem = _Problem(method, operator, inverse, b, x, target)
    tapes = active()
    x.mark_write()
    with Paused():
        result = _iterate(problem, room)
    if tapes and x.requires_grad:
        _record(tapes, problem, result)
    return result


def _record(tapes: Any, problem: _Problem, result: Solve) -> None:
    """Put a solve on the tape: a product A x, whose adjoint carries -w to what A is made of, and the adjoint solve."""
    method, A, M, b, x, target = problem
    turned = A if method in _SYMMETRIC else A.transposed()
    with Paused():
        product, fixed, nothing = zeros_like(b, requires_grad=True), clone(x), zeros_like(b)
        fixed.requires_grad = nothing.requires_grad = False
    count = len(tapes[-1].records)
    A.matvec(fixed, nothing, product, 1.0, 0.0)
    # All that the product works with: the adjoint solve must find it as it is now.
    used = [use.array for entry in tapes[-1].records[count:] for use in entry.uses() if use.direct]

    def backward() -> None:
        result.checked()
        if turned is None:
            raise NotDifferentiableError(
                f"the transpose of {A!r} is not known, and {method.__name__} was differentiated\n"
                "help: give the LinearOperator adjoint=, the product with its transpose"
            )
        w, slope = zeros_like(b, requires_grad=False), gradient_of(x)
        inverse = M if method in _SYMMETRIC or M is None else M.transposed()
        _iterate(_Problem(method, turned, inverse, slope, w, target._replace(callback=None))).checked()
        if b.grad is not None:
            combine(components(b.grad), 1.0, components(b.grad), 1.0, components(w))
        combine(components(gradient_of(product)), -1.0, components(w))
        slope.zero_()  # what x held before the solve has no influence

    for tape in tapes:
        tape.record_func(backward, [b, x, *used, *A.arrays])


class _Watch:
    """Counts iterations of a solve and says when a cycle has done enough."""

    def __init__(self, target: StopRule, tolerance: float):
        self.target, self.tolerance, self.count = target, tolerance, 0

    def __call__(self, size: float) -> bool:
        self.count += 1
        target = self.target
        if target.callback is not None and target.check_every and self.count % target.check_every == 0:
            target.callback(self.count, size, self.tolerance)
        return not size > self.tolerance or self.count >= target.maxiter


def _iterate(problem: _Problem, room: krylov.Room | None = None) -> Solve:
    """Run cycles until the true residual is small enough, or nothing helps; overflow ends in "not finite"."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _cycles(problem, krylov.System(problem.A, problem.M, room or krylov.Room(problem.b)))


def _cycles(problem: _Problem, system: krylov.System) -> Solve:
    method, _, _, b, x, target = problem
    right, solution, r = vector(b), vector(x), vector_like(b)
    tolerance = target.tolerance(norm(right.flat), right.flat.dtype)
    watch = system.enough = _Watch(target, tolerance)
    before, trouble = math.inf, ""
    while True:
        system.residual(right, solution, r)
        size = norm(r.flat)
        if not math.isfinite(size):
            reason = "not finite"
        elif size <= tolerance:
            reason = "converged"
        elif trouble == krylov.INDEFINITE or (trouble not in ("", krylov.RESTART) and not size < 0.5 * before):
            reason = trouble
        elif watch.count >= target.maxiter:
            reason = "maxiter"
        elif trouble != krylov.RESTART and not size < before * (1.0 if method is krylov.gmres else 0.5):
            reason = "stagnated"  # the cycle took itself for converged
        else:
            system.room.reuse()
            before, trouble = size, method(system, solution, r, target.restart)
            continue
        return Solve(watch.count, size, tolerance, reason)


def _check_operator(one: LinearOperator, b: array, name: str) -> None:
    """Raise unless an operator applies to vectors like b."""
    parts = compounds.size_of(b.dtype)
    if one.shape[0] not in (b.size, b.size * parts):
        raise ArrayError(
            f"{name} has shape {one.shape}\nexpected: ({b.size}, {b.size}), for b of {counted(b.size, 'element')}"
            + (f", or {parts} times as many components" if parts > 1 else "")
        )
    scalar = compounds.scalar_of(b.dtype)
    if compounds.scalar_of(one.dtype) is not scalar:
        raise ArrayError(f"{name} has dtype {type_name(one.dtype)}\nexpected: numbers of {type_name(scalar)}, as b")
    if one.device is not b.device:
        raise ArrayError(f"{name} is on {one.device}\nexpected: {b.device}, as b")
