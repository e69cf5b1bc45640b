"""The method of Gauss and Newton, damped after Levenberg and Marquardt, for losses that are sums of squares.

Guarantees: the loss of accepted points falls; bounds are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .error import ProblemError
from .search import Search

_UP, _DOWN, _MOST = 4.0, 0.3, 1e12  # of the damping, and where it has left nothing of a step


def gauss_newton(
    search: Search, z: np.ndarray, objective: Callable[..., Any], *, damping: float = 1e-3, tolerance: float = 1e-7
) -> str:
    """Levenberg-Marquardt (Nocedal and Wright 2006, chapter 10): (J^T J + damping diag(J^T J)) s = -J^T r.

    Numbers at a bound that would leave it stay in a step; others end at the bound. tolerance: the loss has
    converged when an accepted step lowers it by less than this part, or when a step that raises it should have.
    """
    linearise = search.linearise
    if linearise is None:
        raise ProblemError(
            "method 'gauss-newton' for a problem without residuals\nexpected: Problem(..., residuals=array)\n"
            "help: residuals are the numbers whose squares the loss sums up"
        )
    space = search.space
    loss, gradient = objective(z)
    if not math.isfinite(loss):
        return "not finite"
    jacobian, residual = linearise(z)
    while True:
        slope = 2.0 * jacobian.T @ residual
        rest = gradient - slope  # of terms of the loss that are no squares
        at_bound = ((z <= space.lower) & (gradient > 0.0)) | ((z >= space.upper) & (gradient < 0.0))
        free = np.flatnonzero(~at_bound)
        if not free.size or not np.abs(gradient[free]).max() > 0.0:
            return "gradient"
        normal = 2.0 * jacobian[:, free].T @ jacobian[:, free]
        weights = np.maximum(np.diag(normal), 1e-12 * max(float(np.diag(normal).max()), 1e-300))
        before = loss
        while True:
            step = np.zeros_like(z)
            step[free] = -np.linalg.solve(normal + np.diag(damping * weights), (slope + rest)[free])
            gain = -float(gradient @ step) - 0.5 * float(step[free] @ normal @ step[free])
            trial = space.clip(z + step)
            loss = search.loss(trial)
            if loss < before:
                break
            if gain <= tolerance * abs(before):
                return "loss"
            damping *= _UP
            if damping > _MOST:
                return "flat"
        damping = max(_DOWN * damping, 1e-12)
        z = trial
        jacobian, residual = linearise(z)
        if search.has_other_terms:
            loss, gradient = objective(z)
        else:
            gradient = 2.0 * jacobian.T @ residual
            search.best_gradient = gradient
        search.iterated(z, loss, gradient)
        if before - loss <= tolerance * abs(before):
            return "loss"
