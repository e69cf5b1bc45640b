"""Solvers of A x = b that keep their operands and vectors: made once, run as often as a simulation steps.

`solver = CG(A, b, x)` prepares, `solver()` runs from what x holds on, `solver(b=...)` with another b like the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..core.language import array
from . import krylov
from .solve import Solve, StopRule, solve
from .vectors import check_alike, check_floats

Callback = Callable[[int, float, float], Any]


class LinearSolverState:
    """A solver with its operands and room for its vectors; a base of `CG`, `CR`, `BiCGSTAB` and `GMRES`.

    Calling it runs the solver. What is given then stands in for an operand of the constructor, in that call only; b and
    x must be like the first ones: shape, dtype, device. Raises as `warpsim.optim.linear.cg` does.
    """

    _method: ClassVar[Any]

    def __init__(self, A: Any, b: array, x: array, M: Any, rule: StopRule):
        if type(self) is LinearSolverState:
            raise TypeError("LinearSolverState is the base of solvers\nexpected: CG, CR, BiCGSTAB or GMRES")
        self._rule = rule.validate()
        check_floats(b, "b")
        check_alike(x, b, "x", "b")
        self._operands = A, b, x, M
        self._room = krylov.Room(b)

    def __call__(self, A: Any = None, b: array | None = None, x: array | None = None, M: Any = None) -> Solve:
        """Solve; None stands for the operand of the constructor."""
        pairs = zip(self._operands, (A, b, x, M), strict=True)
        A, right, solution, M = (old if new is None else new for old, new in pairs)
        check_alike(right, self._operands[1], "b", "the first b")
        return solve(type(self)._method, A, right, solution, M, self._rule, self._room)


class CG(LinearSolverState):
    """Conjugate gradients, prepared; arguments as of `cg`."""

    _method = krylov.cg

    def __init__(
        self, A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, maxiter: int | None = 0,
        M: Any = None, callback: Callback | None = None, check_every: int = 10, use_cuda_graph: bool = True, *,
        restart: int | None = None,
    ):  # fmt: skip
        super().__init__(A, b, x, M, StopRule(tol, atol, maxiter, callback, check_every, restart))


class CR(CG):
    """Conjugate residuals, prepared; arguments as of `cr`."""

    _method = krylov.cr


class BiCGSTAB(LinearSolverState):
    """Stabilised biconjugate gradients, prepared; arguments as of `bicgstab`."""

    _method = krylov.bicgstab

    def __init__(
        self, A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, maxiter: int | None = 0,
        M: Any = None, callback: Callback | None = None, check_every: int = 10, use_cuda_graph: bool = True,
        is_left_preconditioner: bool = False,
    ):  # fmt: skip
        super().__init__(A, b, x, M, StopRule(tol, atol, maxiter, callback, check_every))


class GMRES(LinearSolverState):
    """Generalised minimal residuals, prepared; arguments as of `gmres`."""

    _method = krylov.gmres

    def __init__(
        self, A: Any, b: array, x: array, tol: float | None = None, atol: float | None = None, restart: int = 31,
        maxiter: int | None = 0, M: Any = None, callback: Callback | None = None, check_every: int = 31,
        use_cuda_graph: bool = True, is_left_preconditioner: bool = False,
    ):  # fmt: skip
        super().__init__(A, b, x, M, StopRule(tol, atol, maxiter, callback, check_every, restart))
