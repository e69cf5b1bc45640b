"""Central differences in the precision of the data, with a step for every number and an estimate of the error.

The step: a given `eps` is used as it is. Otherwise several are tried, eightfold apart, around the cube root of
the machine epsilon (of the coarser of the two types) times max(|x|, 1), which balances truncation O(h^2) and
rounding O(1/h) of a well-scaled function (Press et al. 2007, Numerical Recipes, section 5.7), and down to that
root times |x| where x is small. A quotient counts that the next smaller step confirms; where none does, the one
with the least estimated error. Quotients that disagree betray truncation, rounding, a kink or the edge of the
domain (the idea of Ridders 1982, Adv. Eng. Software 4, 75). Steps never grow far beyond that, whatever rounding
hides: across a period of the function a quotient means nothing.

Several steps may be confirmed at different values: below the resolution of an intermediate result, say
`1 + x * x` in float32, a function has other slopes than it should have. A check then takes the nearest.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from ..core.runtime.arrays.saved_contents import Paused
from ..errors import JacobianError
from .components import Components
from .subjects import Subject

_FACTOR = 8.0  # between neighbouring steps
_STEPS = 4
_SMALLER_STEPS = 4  # at most, for small arguments
_AGREEMENT, _ROUGH_AGREEMENT = 0.01, 0.1  # share by which one that confirms may differ, beside rounding
_GOOD = 5e-4  # share of a quotient that its error may be when no smaller step is looked at

Tried = tuple[np.ndarray, np.ndarray]
"""Quotients by one number, and how far rounding, or all errors, may have moved each."""


class Differences(NamedTuple):
    """Quotients of one output by one input, both (output numbers, input numbers); NaN where not evaluated.

    errors: how far rounding of the function's values, and the step, may have moved each quotient.
    """

    values: np.ndarray
    errors: np.ndarray


def central_differences(
    subject: Subject,
    pairs: Collection[tuple[str, str]],
    limit: int,
    eps: float | None,
    near: Mapping[tuple[str, str], np.ndarray] | None = None,
) -> dict[tuple[str, str], Differences]:
    """Difference quotients of pairs of (input, output) names, by at most `limit` numbers per input (-1: all).

    near: matrices to compare with; of several confirmed quotients the nearest is taken. Works in the arrays of
    the subject and restores them. Raises `JacobianError` for a step that is not positive.
    """
    if eps is not None and not (np.isfinite(eps) and eps > 0.0):
        raise JacobianError(f"eps is {eps!r}\nexpected: a positive step, or None to choose one for every number")
    differences: dict[tuple[str, str], Differences] = {}
    for name in dict.fromkeys(source for source, _ in pairs):
        targets = [target for source, target in pairs if source == name]
        _by_one_input(subject, name, targets, limit, eps, near or {}, differences)
    subject.restore()
    return differences


def _by_one_input(
    subject: Subject,
    name: str,
    targets: list[str],
    limit: int,
    eps: float | None,
    near: Mapping[tuple[str, str], np.ndarray],
    differences: dict[tuple[str, str], Differences],
) -> None:
    source = Components(subject.inputs[name])
    columns = source.size if limit <= 0 else min(limit, source.size)
    for target in targets:
        rows = Components(subject.outputs[target]).size
        nothing = np.full((rows, source.size), np.nan)
        differences[name, target] = Differences(nothing, nothing.copy())
    for k in range(columns):
        steps = _steps(subject, name, targets, k) if eps is None else [eps]
        tried = [_quotients(subject, name, targets, k, step) for step in steps]
        for target in targets:
            column, close = differences[name, target], near.get((name, target))
            best = _best([t[target] for t in tried], None if close is None else close[:, k])
            column.values[:, k], column.errors[:, k] = best


def _steps(subject: Subject, name: str, targets: list[str], k: int) -> list[float]:
    """Falling steps for one number, from the coarsest type that takes part."""
    subject.restore()
    source = Components(subject.inputs[name])
    size = abs(float(source[k]))
    epsilon = max(float(source.precision(k).eps), *(float(_epsilons(subject, t).max()) for t in targets))
    middle = epsilon ** (1.0 / 3.0) * max(size, 1.0)
    smaller = math.ceil(-math.log(size, _FACTOR)) if 0.0 < size < 1.0 else 0
    return [middle * _FACTOR ** (1 - level) for level in range(_STEPS + min(smaller, _SMALLER_STEPS))]


def _quotients(subject: Subject, name: str, targets: list[str], k: int, step: float) -> dict[str, Tried]:
    """Differences over the distance of the two points as they are stored, which is not quite 2 * step."""
    above, high = _values(subject, name, targets, k, step)
    below, low = _values(subject, name, targets, k, -step)
    gap = high - low
    with np.errstate(all="ignore"):
        return {
            target: (
                (above[target] - below[target]) / gap,
                _epsilons(subject, target) * (np.abs(above[target]) + np.abs(below[target])) / gap,
            )
            for target in targets
        }


def _values(
    subject: Subject, name: str, targets: list[str], k: int, shift: float
) -> tuple[dict[str, np.ndarray], float]:
    """The outputs with one number of one input shifted, and the value that it then had."""
    subject.restore()
    source = Components(subject.inputs[name])
    source[k] = float(source[k]) + shift
    moved = float(source[k])
    with Paused():
        subject.evaluate()
    return {target: Components(subject.outputs[target]).read() for target in targets}, moved


def _epsilons(subject: Subject, target: str) -> np.ndarray:
    return Components(subject.outputs[target]).precisions()


def _best(tried: list[Tried], near: np.ndarray | None) -> Tried:
    """Of quotients at falling steps one for every row, and its estimated error.

    A quotient errs by its rounding, and by as much as it differs from the one of the next smaller step.
    """
    quotients, rounding = (np.stack(part) for part in zip(*tried, strict=True))
    if len(quotients) == 1:
        return quotients[0], rounding[0]
    with np.errstate(all="ignore"):
        change = np.abs(np.diff(quotients, axis=0))
        error = np.concatenate([change, change[-1:]]) + rounding
        error = np.where(quotients == 0.0, np.maximum(error, _larger_step(quotients)), error)
        error[~np.isfinite(error)] = np.inf
        if near is not None:
            rank = np.abs(quotients - near)
        else:  # the largest step that is good enough, else the one with the least error
            rank = np.where(error <= _GOOD * np.abs(quotients), np.arange(len(error))[:, None] - len(error), error)
        confirmed = _confirm(quotients, rounding, change)
    some = confirmed.any(axis=0)
    rank = np.where(some, np.where(confirmed, rank, np.inf), error)
    rank[~np.isfinite(error) | np.isnan(rank)] = np.inf
    chosen = np.argmin(rank, axis=0)
    rows = np.arange(quotients.shape[1])
    return quotients[chosen, rows], error[chosen, rows]


def _larger_step(quotients: np.ndarray) -> np.ndarray:
    """The last quotient of a larger step that is not zero: what a zero below the resolution may hide."""
    larger = np.zeros(quotients.shape)
    for k in range(1, len(quotients)):
        larger[k] = np.where(quotients[k - 1] != 0.0, np.abs(quotients[k - 1]), larger[k - 1])
    return np.nan_to_num(larger)


def _confirm(quotients: np.ndarray, rounding: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Which quotients the next smaller step confirms, roughly where no three in a row agree well.

    Exact zeros do not count where others are confirmed: below the resolution of the function nothing changes.
    """
    larger = np.maximum(np.abs(quotients[:-1]), np.abs(quotients[1:]))
    noise = rounding[:-1] + rounding[1:]
    well = change <= _AGREEMENT * larger + noise
    roughly = change <= _ROUGH_AGREEMENT * larger + noise
    certain = (well[:-1] & well[1:]).any(axis=0)
    agrees = np.concatenate([np.where(certain, well, roughly), np.zeros((1, quotients.shape[1]), bool)])
    others = agrees & (quotients != 0.0)
    return np.where(others.any(axis=0), others, agrees)
