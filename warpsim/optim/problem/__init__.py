"""Trajectory optimisation: `Problem`, and what it is made of."""

from .error import ProblemError
from .loops import loop
from .misfit import add_squares, set_residuals
from .plan import Plan
from .problem import Problem
from .report import ProblemReport
from .sampled import Sampling
from .search import Solution
from .unknowns import Unknown

__all__ = ["Plan", "Problem", "ProblemError", "ProblemReport", "Sampling", "Solution", "Unknown"]
__all__ += ["add_squares", "loop", "set_residuals"]
