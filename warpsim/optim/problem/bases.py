"""Bases of controls in time: a control of many steps as a combination of few values.

All are B-splines over clamped uniform knots, of degree 0 (piecewise constant), 1 (linear) or 3 (cubic). Guarantees:
the functions are not negative and add up to one at every step, so that bounds of the values bound the control.
"""

from __future__ import annotations

import numpy as np

DEGREES = {"constant": 0, "linear": 1, "cubic": 3}


def basis_matrix(steps: int, count: int, basis: str) -> np.ndarray:
    """Weights (steps, count) of `count` values at the middles of `steps` equal steps (de Boor 1978, chapter IX).

    Of a basis that needs more values than there are, the degree is lowered to count - 1.
    """
    degree = min(DEGREES[basis], count - 1)
    inner = np.linspace(0.0, 1.0, count - degree + 1)
    knots = np.concatenate([np.zeros(degree), inner, np.ones(degree)])
    t = (np.arange(steps) + 0.5) / max(steps, 1)
    if degree and steps > 1:
        t = np.arange(steps) / (steps - 1.0)  # clamped: the first and last values are those of the ends
    cell = np.clip(np.searchsorted(knots, t, side="right") - 1, degree, count - 1)
    weights = np.zeros((steps, len(knots) - 1))
    weights[np.arange(steps), cell] = 1.0
    for d in range(1, degree + 1):
        left, right = knots[: -d - 1], knots[d + 1 :]
        rise = _share(t[:, None] - left, knots[d:-1] - left)
        fall = _share(right - t[:, None], right - knots[1:-d])
        weights = rise * weights[:, :-1] + fall * weights[:, 1:]
    return weights


def _share(numerator: np.ndarray, width: np.ndarray) -> np.ndarray:
    """The quotient, and zero over knots that coincide."""
    return np.where(width > 0.0, numerator / np.where(width > 0.0, width, 1.0), 0.0)
