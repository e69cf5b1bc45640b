"""Optimizers: `SGD`, `Adam` and `LBFGS` of arrays of parameters; iterative linear solvers in `warpsim.optim.linear`."""

from .adam import Adam
from .lbfgs import LBFGS, Minimum
from .sgd import SGD

__all__ = ["LBFGS", "SGD", "Adam", "Minimum"]
