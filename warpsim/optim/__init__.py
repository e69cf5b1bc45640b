"""Optimizers: `SGD`, `Adam` and `LBFGS` of arrays of parameters; iterative linear solvers in `warpsim.optim.linear`.

`Problem` is the language of trajectory optimisation on top of them: a rollout, its unknowns and its loss.
"""

from .adam import Adam
from .lbfgs import LBFGS, Minimum
from .problem import (
    Plan,
    Problem,
    ProblemError,
    ProblemReport,
    Sampling,
    Solution,
    Unknown,
    add_squares,
    loop,
    set_residuals,
)
from .sgd import SGD

__all__ = ["LBFGS", "SGD", "Adam", "Minimum", "Plan", "Problem", "ProblemError"]
__all__ += ["ProblemReport", "Sampling", "Solution", "Unknown", "add_squares", "loop", "set_residuals"]
