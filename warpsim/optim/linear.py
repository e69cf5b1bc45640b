"""Iterative solvers of A x = b: `cg`, `cr`, `bicgstab`, `gmres`.

Guarantees: the residual that is returned, and that decides convergence, is b - A x as computed from the returned x, not
one updated by recursion; a solve never raises because it does not converge. `Solve` says how it ended.

Under an active `Tape` a solve is differentiated by the implicit function theorem: with w the solution of
transpose(A) w = dx, db is w and dA is -w x^T, where dx is the gradient of x. This costs one more solve, whatever the
number of iterations. Gradients reach `b` and the entries of A: dense and CSR arrays, and all that the launches of a
user's `matvec` work with. They are those of the exact solution: `backward` raises `NotConvergedError` where one of the
two solves did not converge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.language import array, clone, zeros_like
from ..core.runtime.arrays.array import overlap
from ..core.runtime.arrays.saved_contents import Paused, active
from ..core.types import compounds
from ..core.types.arrays import type_name
from ..errors import ArrayError, NotConvergedError, NotDifferentiableError
from . import krylov
from .operators import CsrMatrix, LinearOperator, aslinearoperator, preconditioner
from .state import in_range
from .vectors import check_alike, check_floats, combine, components, gradient_of, norm, vector, vector_like

__all__ = [
    "CsrMatrix", "LinearOperator", "Solve", "aslinearoperator", "bicgstab", "cg", "cr", "gmres", "preconditioner",
]  # fmt: skip

_SYMMETRIC = (krylov.cg, krylov.cr)
_EXPLAINED = {
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
                f"help: {_EXPLAINED[self.reason]}"
            )
        return self

    def __repr__(self) -> str:
        numbers = f"iterations={self.iterations}, residual={self.residual:.3g}, tolerance={self.tolerance:.3g}"
        return f"Solve({numbers}, reason={self.reason!r})"


def cg(
    A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, maxiter: int | None = 0,
    M: Any = None, callback: Callable[[int, float, float], Any] | None = None, check_every: int = 10,
    use_cuda_graph: bool = True,
) -> Solve:  # fmt: skip
    """Solve A x = b for symmetric positive definite A by conjugate gradients; x holds the first guess and the solution.

    A: whatever `aslinearoperator` takes. b, x: 1-D arrays of floats or vectors of floats, alike. tol: relative to the
    norm of b, by default eps^(3/4) of the dtype (6e-6 for float32, 2e-12 for float64). atol: absolute; the larger of
    the two decides. maxiter: 0 or None for ten times the number of unknowns. M: approximates the inverse of A, for
    instance `preconditioner(A)`; symmetric positive definite. callback(iteration, residual, tolerance) is called
    every `check_every` iterations. use_cuda_graph: taken for scripts written for Warp; the CPU has no use for it.

    Raises `ArgumentTypeError` or `ArrayError` for operands that do not fit.
    """
    return _solve(krylov.cg, A, b, x, tol, atol, maxiter, M, callback, check_every)


def cr(
    A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, maxiter: int | None = 0,
    M: Any = None, callback: Callable[[int, float, float], Any] | None = None, check_every: int = 10,
    use_cuda_graph: bool = True,
) -> Solve:  # fmt: skip
    """Solve A x = b for symmetric A, indefinite ones too, by conjugate residuals; arguments as of `cg`."""
    return _solve(krylov.cr, A, b, x, tol, atol, maxiter, M, callback, check_every)


def bicgstab(
    A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, maxiter: int | None = 0,
    M: Any = None, callback: Callable[[int, float, float], Any] | None = None, check_every: int = 10,
    use_cuda_graph: bool = True,
) -> Solve:  # fmt: skip
    """Solve A x = b for any regular A by stabilised biconjugate gradients; arguments as of `cg`, M any operator."""
    return _solve(krylov.bicgstab, A, b, x, tol, atol, maxiter, M, callback, check_every)


def gmres(
    A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, restart: int = 31,
    maxiter: int | None = 0, M: Any = None, callback: Callable[[int, float, float], Any] | None = None,
    check_every: int = 31, use_cuda_graph: bool = True,
) -> Solve:  # fmt: skip
    """Solve A x = b for any regular A by generalised minimal residuals, restarted every `restart` iterations.

    Needs `restart` vectors of memory. Other arguments as of `bicgstab`.
    """
    if restart < 1:
        raise ValueError(f"restart is {restart}\nexpected: at least 1")
    return _solve(krylov.gmres, A, b, x, tol, atol, maxiter, M, callback, check_every, restart)


def _solve(
    method: Any, A: Any, b: array, x: array, tol: float | None, atol: float | None, maxiter: int | None, M: Any,
    callback: Any, check_every: int, restart: int = 31,
) -> Solve:  # fmt: skip
    """Check the operands, iterate, and record what backward needs."""
    for value, name in ((tol or 0.0, "tol"), (atol or 0.0, "atol"), (maxiter or 0, "maxiter")):
        in_range(value, name)
    check_floats(b, "b")
    check_alike(x, b, "x", "b")
    if overlap(x, b):
        raise ArrayError("x shares memory with b\nhelp: give the solution an array of its own")
    operator, inverse = aslinearoperator(A), M if M is None else aslinearoperator(M)
    for name, one in (("A", operator), ("M", inverse)):
        if one is not None:
            _check_operator(one, b, name)
    unknowns = b.size * compounds.size_of(b.dtype)
    target = StopRule(tol, atol, maxiter or 10 * unknowns, callback, check_every, restart)
    tapes = active()
    x.mark_write()
    with Paused():
        result = _iterate(method, operator, inverse, b, x, target)
    if tapes and x.requires_grad:
        _record(tapes, method, operator, inverse, b, x, target, result)
    return result


def _record(
    tapes: Any, method: Any, A: LinearOperator, M: LinearOperator | None, b: array, x: array, target: StopRule,
    result: Solve,
) -> None:  # fmt: skip
    """Put a solve on the tape: a product A x, whose adjoint carries -w to what A is made of, and the adjoint solve."""
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
        _iterate(method, turned, inverse, slope, w, target._replace(callback=None)).checked()
        if b.grad is not None:
            combine(components(b.grad), 1.0, components(b.grad), 1.0, components(w))
        combine(components(gradient_of(product)), -1.0, components(w))
        slope.zero_()  # what x held before the solve has no influence

    for tape in tapes:
        tape.record_func(backward, [b, x, *used, *A.arrays])


class StopRule(NamedTuple):
    """What to reach, and who wants to know."""

    tol: float | None
    atol: float | None
    maxiter: int
    callback: Any
    check_every: int
    restart: int

    def tolerance(self, size: float, dtype: Any) -> float:
        """The norm that the residual must reach for a right side of norm `size`."""
        if self.tol is None and self.atol is None:
            return size * float(np.finfo(dtype).eps ** 0.75)
        return float(max(self.atol or 0.0, (self.tol or 0.0) * size))


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


def _iterate(method: Any, A: LinearOperator, M: Any, b: array, x: array, target: StopRule) -> Solve:
    """Run cycles until the true residual is small enough, or nothing helps; overflow ends in "not finite"."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _cycles(method, A, M, b, x, target)


def _cycles(method: Any, A: LinearOperator, M: Any, b: array, x: array, target: StopRule) -> Solve:
    right, solution, r = vector(b), vector(x), vector_like(b)
    tolerance = target.tolerance(norm(right.flat), right.flat.dtype)
    watch = _Watch(target, tolerance)
    system = krylov.System(A, M, b, watch)
    before, problem = math.inf, ""
    while True:
        system.residual(right, solution, r)
        size = norm(r.flat)
        if not math.isfinite(size):
            reason = "not finite"
        elif size <= tolerance:
            reason = "converged"
        elif problem == krylov.INDEFINITE or (problem and not size < 0.5 * before):
            reason = problem
        elif watch.count >= target.maxiter:
            reason = "maxiter"
        elif not size < before * (1.0 if method is krylov.gmres else 0.5):
            reason = "stagnated"  # the cycle took itself for converged
        else:
            before, problem = size, method(system, solution, r, target.restart)
            continue
        return Solve(watch.count, size, tolerance, reason)


def _check_operator(one: LinearOperator, b: array, name: str) -> None:
    """Raise unless an operator applies to vectors like b."""
    parts = compounds.size_of(b.dtype)
    if one.shape[0] not in (b.size, b.size * parts):
        raise ArrayError(
            f"{name} has shape {one.shape}\nexpected: ({b.size}, {b.size}), for b of {b.size} elements"
            + (f", or {parts} times as many components" if parts > 1 else "")
        )
    scalar = compounds.scalar_of(b.dtype)
    if compounds.scalar_of(one.dtype) is not scalar:
        raise ArrayError(f"{name} has dtype {type_name(one.dtype)}\nexpected: numbers of {type_name(scalar)}, as b")
    if one.device is not b.device:
        raise ArrayError(f"{name} is on {one.device}\nexpected: {b.device}, as b")
