"""Sampled gradients: of a loss smoothed by Gaussian noise, from values alone, from gradients, or from both.

First-order estimates, means of gradients, are biased where the loss jumps and have a large variance where it is
stiff; zero-order ones, of values, are neither, but noisy (Suh, Simchowitz, Zhang and Tedrake 2022). Noise comes in
pairs w and -w, which removes the even part of the loss from the latter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .error import ProblemError

KINDS = ("exact", "sampled", "mixed")
Evaluate = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass
class Sampling:
    """How gradients are sampled. noise: standard deviation of scaled numbers. samples: rollouts of one gradient.

    kind: "exact", one rollout without noise; "sampled", zero-order; "mixed", alpha times first-order plus (1 - alpha)
    times zero-order. tolerance: how far the mix may lie from the right gradient, by the confidence of two standard
    errors; infinity for the mix of least variance.
    """

    kind: str = "exact"
    noise: float = 0.05
    samples: int = 32
    tolerance: float = math.inf
    seed: int = 0

    def check(self) -> None:
        """Raise `ProblemError` for what does not fit."""
        if self.kind not in KINDS:
            raise ProblemError(f"gradient is {self.kind!r}\nexpected: one of {', '.join(map(repr, KINDS))}")
        if not 0.0 < self.noise < math.inf or self.samples < 2 or not self.tolerance >= 0.0:
            raise ProblemError(
                f"noise={self.noise}, samples={self.samples}, tolerance={self.tolerance}\n"
                "expected: finite noise above zero, two samples or more, a tolerance that is not negative"
            )


@dataclass
class Estimates:
    """Gradients of the smoothed loss by pairs of samples, (pairs, n) each: first and zero order; the values (2 pairs,).

    first, jumps are None where gradients were not asked for. jumps: of each pair, by how much the loss changes that the
    slopes at its two ends do not account for.
    """

    values: np.ndarray
    zero: np.ndarray
    first: np.ndarray | None
    jumps: np.ndarray | None

    @property
    def mean_zero(self) -> np.ndarray:
        """The zero-order gradient."""
        mean: np.ndarray = self.zero.mean(axis=0)
        return mean

    @property
    def mean_first(self) -> np.ndarray:
        """The first-order gradient."""
        assert self.first is not None
        mean: np.ndarray = self.first.mean(axis=0)
        return mean


def draw_estimates(
    z: np.ndarray, noise: float, pairs: int, rng: np.random.Generator,
    value: Callable[[np.ndarray], float], gradient: Evaluate | None,
) -> Estimates:  # fmt: skip
    """Sample around a point. Samples whose loss is not finite are left out with their partners."""
    values, zero, first, jumps = [], [], [], []
    for w in rng.normal(0.0, noise, (pairs, z.size)):
        if gradient is None:
            up, down = value(z + w), value(z - w)
            slope = np.zeros_like(z)
        else:
            (up, g_up), (down, g_down) = gradient(z + w), gradient(z - w)
            slope = 0.5 * (g_up + g_down)
        if math.isfinite(up) and math.isfinite(down) and np.isfinite(slope).all():
            values += [up, down]
            zero.append((up - down) * w / (2.0 * noise * noise))
            first.append(slope)
            jumps.append(up - down - 2.0 * float(w @ slope))
    if len(zero) < 2:
        raise ProblemError(
            f"of {pairs} pairs of samples, {len(zero)} had a finite loss\nexpected: at least two\nhelp: less noise"
        )
    if gradient is None:
        return Estimates(np.array(values), np.array(zero), None, None)
    return Estimates(np.array(values), np.array(zero), np.array(first), np.array(jumps))


def mixing_weight(estimates: Estimates, tolerance: float) -> float:
    """alpha by the interval rule: of least variance, as long as the bias stays within the tolerance.

    With e the confidence of the zero-order mean and B the distance of both means: the weight of least variance if
    alpha B + e <= tolerance; else the largest that keeps this; 0 where e alone is larger (Suh et al. 2022, section 4).
    """
    assert estimates.first is not None
    n = len(estimates.zero)
    variance_zero = float(estimates.zero.var(axis=0, ddof=1).sum()) / n
    variance_first = float(estimates.first.var(axis=0, ddof=1).sum()) / n
    total = variance_zero + variance_first
    alpha = variance_zero / total if total > 0.0 else 1.0
    if tolerance == math.inf:
        return alpha
    distance = float(np.linalg.norm(estimates.mean_first - estimates.mean_zero))
    room = tolerance - 2.0 * math.sqrt(variance_zero)
    if room <= 0.0:
        return 0.0
    return alpha if alpha * distance <= room else room / distance


def sampled_objective(sampling: Sampling, value: Callable[[np.ndarray], float], gradient: Evaluate) -> Evaluate:
    """The loss smoothed by noise, with its gradient as `sampling` says; new noise at each call."""
    rng = np.random.default_rng(sampling.seed)
    pairs = max(2, sampling.samples // 2)

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        mixed = gradient if sampling.kind == "mixed" else None
        estimates = draw_estimates(z, sampling.noise, pairs, rng, value, mixed)
        slope = estimates.mean_zero
        if mixed is not None:
            alpha = mixing_weight(estimates, sampling.tolerance)
            slope = alpha * estimates.mean_first + (1.0 - alpha) * slope
        return float(estimates.values.mean()), slope

    return objective
