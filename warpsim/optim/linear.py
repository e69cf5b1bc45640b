"""Iterative solvers of A x = b: `cg`, `cr`, `bicgstab`, `gmres`, and the same with operands and vectors kept, `CG` ...

Guarantees: the residual that is returned, and that decides convergence, is b - A x as computed from the returned x, not
one updated by recursion; a solve never raises because it does not converge. `Solve` says how it ended. An operator with
`batch_offsets` is many systems: they are iterated together, each until its own residual is small enough.

Under an active `Tape` a solve is differentiated by the implicit function theorem, at the cost of one more solve.
Gradients reach `b` and the entries of A: dense and CSR arrays, the blocks of a `BsrMatrix`, and all that the launches
of a user's `matvec` work with. They are those of the exact solution: `backward` raises `NotConvergedError` where one of
the two solves did not converge.
"""

from __future__ import annotations

from typing import Any

from ..core.language import array
from .fsai import FSAI
from .operators import CsrMatrix, LinearOperator, aslinearoperator
from .preconditioners import preconditioner
from .prepared import CG, CR, GMRES, BiCGSTAB, Callback, LinearSolverState
from .solve import Solve

__all__ = ["CG", "CR", "FSAI", "GMRES", "BiCGSTAB", "CsrMatrix", "LinearOperator", "LinearSolverState", "Solve"]
__all__ += ["aslinearoperator", "bicgstab", "cg", "cr", "gmres", "preconditioner"]


def cg(
    A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, maxiter: int | None = 0,
    M: Any = None, callback: Callback | None = None, check_every: int = 10, use_cuda_graph: bool = True,
    run: bool = True, *, restart: int | None = None,
) -> Any:  # fmt: skip
    """Solve A x = b for symmetric positive definite A by conjugate gradients; x holds the first guess and the solution.

    A: whatever `aslinearoperator` takes. b, x: 1-D arrays of floats or vectors of floats, alike. tol: relative to the
    norm of b, by default eps^(3/4) of the dtype (6e-6 for float32, 2e-12 for float64). atol: absolute; the larger of
    the two decides. maxiter: 0 or None for ten times the number of unknowns. M: approximates the inverse of A, for
    instance `preconditioner(A)`; symmetric positive definite. callback(iteration, residual, tolerance) is called
    every `check_every` iterations. restart: begin anew from b - A x after so many iterations, against drift; then
    residuals are looked at, and the callback is called, in the end of these cycles only, and before the first.
    use_cuda_graph: taken for scripts written for Warp; the CPU has no use for it.

    Returns a `Solve`; with `run=False` the solver, a `CG`, to be called. Raises `ArgumentTypeError` or `ArrayError` for
    operands that do not fit, `LaunchError` while a graph is captured.
    """
    solver = CG(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, restart=restart)
    return solver() if run else solver


def cr(
    A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, maxiter: int | None = 0,
    M: Any = None, callback: Callback | None = None, check_every: int = 10, use_cuda_graph: bool = True,
    run: bool = True, *, restart: int | None = None,
) -> Any:  # fmt: skip
    """Solve A x = b for symmetric A, indefinite ones too, by conjugate residuals; arguments as of `cg`."""
    solver = CR(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, restart=restart)
    return solver() if run else solver


def bicgstab(
    A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, maxiter: int | None = 0,
    M: Any = None, callback: Callback | None = None, check_every: int = 10, use_cuda_graph: bool = True,
    is_left_preconditioner: bool = False, run: bool = True,
) -> Any:  # fmt: skip
    """Solve A x = b for any regular A by stabilised biconjugate gradients; arguments as of `cg`, M any operator.

    M stands on the right, so that residuals are those of A x = b; is_left_preconditioner is taken for scripts written
    for Warp, and changes nothing.
    """
    solver = BiCGSTAB(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph)
    return solver() if run else solver


def gmres(
    A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, restart: int = 31,
    maxiter: int | None = 0, M: Any = None, callback: Callback | None = None, check_every: int = 31,
    use_cuda_graph: bool = True, is_left_preconditioner: bool = False, run: bool = True,
) -> Any:  # fmt: skip
    """Solve A x = b for any regular A by generalised minimal residuals, restarted every `restart` iterations.

    Needs `restart` vectors of memory. Other arguments as of `bicgstab`.
    """
    solver = GMRES(A, b, x, tol, atol, restart, maxiter, M, callback, check_every, use_cuda_graph)
    return solver() if run else solver
