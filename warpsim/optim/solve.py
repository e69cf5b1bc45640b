"""One solve of A x = b: operands are checked, cycles run until the true residual is small, tapes learn of it.

The residual that decides is b - A x as computed from x between cycles, not one updated by recursion. Subproblems of A
are iterated together, and each ends by its own residual.

Under an active `Tape` a solve is differentiated by the implicit function theorem: with w the solution of
transpose(A) w = dx, db is w and dA is -w x^T, where dx is the gradient of x. This costs one more solve, whatever the
number of iterations.
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
from ..errors import ArgumentTypeError, ArrayError, NotConvergedError, NotDifferentiableError, counted, instance, shown
from . import krylov
from .operators import LinearOperator, aslinearoperator
from .state import in_range
from .subproblems import Batches, Whole, norms, subproblems
from .vectors import (
    check_alike,
    check_floats,
    check_not_captured,
    combine,
    components,
    gradient_of,
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
    or "not finite". batches: how each subproblem ended, where the operator has `batch_offsets`; then all else is of the
    one that is farthest from its tolerance, apart from iterations, which are those of the longest.
    """

    reason: str
    batches: tuple[Solve, ...]

    def __new__(
        cls, iterations: int, residual: float, tolerance: float, reason: str, batches: tuple[Solve, ...] = ()
    ) -> Solve:
        result = super().__new__(cls, iterations, residual, tolerance)
        result.reason, result.batches = reason, batches
        return result

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.reason, self.batches)

    @property
    def converged(self) -> bool:
        return self.reason == "converged"

    def checked(self) -> Solve:
        """This outcome, if the solve converged; else raises `NotConvergedError`."""
        if not self.converged:
            bad = [k for k, one in enumerate(self.batches) if not one.converged]
            where = f" in {len(bad)} of {len(self.batches)} subproblems, {shown(bad)}" if bad else ""
            raise NotConvergedError(
                f"a linear solve ended after {self.iterations} iterations{where}: {self.reason}\n"
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
            if isinstance(limit, bool):
                raise ArgumentTypeError(f"{name} is {limit}\nexpected: a number of iterations")
        if self.restart is not None and self.restart < 1:
            raise ValueError(f"restart is {self.restart}\nexpected: at least 1")
        return self

    def tolerance(self, sizes: np.ndarray, dtype: Any) -> np.ndarray:
        """The norms that residuals must reach for right sides of norms `sizes`."""
        if self.tol is None and self.atol is None:
            return sizes * float(np.finfo(dtype).eps ** 0.75)
        return np.maximum(self.atol or 0.0, (self.tol or 0.0) * sizes)


class _Problem(NamedTuple):
    """A x = b from x on, M: the preconditioner; and how it is solved, in which parts."""

    method: Any
    A: LinearOperator
    M: LinearOperator | None
    b: array
    x: array
    target: StopRule
    parts: Whole | Batches


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
    parts = subproblems(operator.batch_offsets, operator.max_batch_length, b)
    target = rule._replace(maxiter=rule.maxiter or 10 * parts.longest)
    problem = _Problem(method, operator, inverse, b, x, target, parts)
    tapes = active()
    x.mark_write()
    with Paused():
        result = _iterate(problem, room)
    if tapes and x.requires_grad:
        _record(tapes, problem, result)
    return result


def _record(tapes: Any, problem: _Problem, result: Solve) -> None:
    """Put a solve on the tape: a product A x, whose adjoint carries -w to what A is made of, and the adjoint solve."""
    method, A, M, b, x, target, parts = problem
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
        _iterate(_Problem(method, turned, inverse, slope, w, target._replace(callback=None), parts)).checked()
        if b.grad is not None:
            combine(components(b.grad), 1.0, components(b.grad), 1.0, components(w))
        combine(components(gradient_of(product)), -1.0, components(w))
        if parts.has_idle:  # components that no subproblem solves for are constants of those that one does
            turned.matvec(w, slope, slope, -1.0, 1.0)
            parts.combine(components(slope), 1.0, components(slope), -np.ones(parts.count), components(slope))
        else:
            slope.zero_()  # what x held before the solve has no influence

    for tape in tapes:
        tape.record_func(backward, [b, x, *used, *A.arrays])


class _Watch:
    """Counts iterations of a solve and says which subproblems have done enough."""

    def __init__(self, target: StopRule, tolerances: np.ndarray):
        self.target, self.tolerances, self.count = target, tolerances, 0

    def __call__(self, sizes: np.ndarray) -> np.ndarray:
        self.count += 1
        if self.target.check_every and self.count % self.target.check_every == 0:
            self.tell(sizes)
        return ~(sizes > self.tolerances) | (self.count >= self.target.maxiter)

    def tell(self, sizes: np.ndarray) -> None:
        """Call the callback with the norm of the residual that is farthest from its tolerance."""
        if self.target.callback is not None:
            worst = _farthest(sizes, self.tolerances)
            self.target.callback(self.count, float(sizes[worst]), float(self.tolerances[worst]))


def _farthest(sizes: np.ndarray, tolerances: np.ndarray) -> int:
    """The subproblem whose residual is the largest multiple of its tolerance, one that is not finite before others."""
    if sizes.size == 1:
        return 0
    multiples = np.divide(sizes, tolerances, out=np.where(sizes > 0.0, np.inf, 0.0), where=tolerances > 0.0)
    return int(np.argmax(np.where(np.isfinite(sizes), multiples, np.inf)))


def _iterate(problem: _Problem, room: krylov.Room | None = None) -> Solve:
    """Run cycles until all true residuals are small enough, or nothing helps; overflow ends in "not finite"."""
    with np.errstate(over="ignore", invalid="ignore"):
        system = krylov.System(problem.A, problem.M, room or krylov.Room(problem.b), problem.parts)
        return _cycles(problem, system)


def _cycles(problem: _Problem, system: krylov.System) -> Solve:
    method, _, _, b, x, target, parts = problem
    right, solution, r = vector(b), vector(x), vector_like(b)
    tolerances = target.tolerance(norms(parts, right.flat), right.flat.dtype)
    watch = system.watch = _Watch(target, tolerances)
    before, reasons = np.full(parts.count, math.inf), np.full(parts.count, "", object)
    while True:
        system.residual(right, solution, r)
        sizes = system.norm(r)
        if method in _SYMMETRIC and target.restart is not None and target.check_every:
            watch.tell(sizes)
        for k in np.flatnonzero(reasons == ""):
            reasons[k] = _reason(problem, system.trouble[k], sizes[k], tolerances[k], before[k], watch.count)
        still = reasons == ""
        if not still.any():
            return _outcome(system, sizes, tolerances, reasons)
        system.begin(still, r)
        before = sizes
        method(system, solution, r, target.restart)


def _reason(problem: _Problem, trouble: str, size: float, tolerance: float, before: float, count: int) -> str:
    """Why a subproblem is not iterated further from a true residual of norm `size`; nothing where it is.

    before: the norm at the start of the cycle, trouble: what ended that.
    """
    if not math.isfinite(size):
        return "not finite"
    if size <= tolerance:
        return "converged"
    if trouble == krylov.INDEFINITE or (trouble not in ("", krylov.RESTART) and not size < 0.5 * before):
        return trouble
    if count >= (problem.target.maxiter or 0):
        return "maxiter"
    if trouble != krylov.RESTART and not size < before * (1.0 if problem.method is krylov.gmres else 0.5):
        return "stagnated"  # the cycle took itself for converged
    return ""


def _outcome(system: krylov.System, sizes: np.ndarray, tolerances: np.ndarray, reasons: np.ndarray) -> Solve:
    """How a solve ended, and each of its subproblems."""
    counts, worst = system.iterations, _farthest(sizes, tolerances)
    ends = [Solve(int(n), float(s), float(t), r) for n, s, t, r in zip(counts, sizes, tolerances, reasons, strict=True)]
    batches = () if isinstance(system.parts, Whole) else tuple(ends)
    return Solve(system.watch.count, *ends[worst][1:], ends[worst].reason, batches)


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
