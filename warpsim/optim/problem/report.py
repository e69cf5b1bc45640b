"""`ProblemReport`: whether the gradient of a problem is any good for a search, in numbers and in words.

An exact gradient may still mislead: of a loss that jumps it misses the jumps, of a stiff or grazing contact it shows
a slope that holds nowhere else, over long rollouts it explodes or dies. The report compares it with what it should
tell: how the loss changes along directions, and on average around a point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...autograd.report import gradient_report
from .adjoint_norms import AdjointNorms, adjoint_norms
from .sampled import Estimates, draw_estimates

if TYPE_CHECKING:
    from .problem import Problem

_EXPLODES, _DIES, _STEEP = 1e4, 1e-6, 10.0  # growth over all steps, what is left of it, factor of one step
_OFF, _SURE, _SCATTER = 0.1, 4.0, 3.0  # relative differences that count, in standard errors; spread by mean
_JUMP, _OFTEN = 0.5, 0.1  # part of a change of the loss that slopes miss, and of pairs where they do


@dataclass
class Concern:
    """Something that speaks against trusting a gradient. kind: a word; text: what was seen; cure: what to do."""

    kind: str
    text: str
    cure: str

    def __str__(self) -> str:
        return f"[{self.kind}] {self.text}\n    -> {self.cure}"


@dataclass
class ProblemReport:
    """What was measured of a gradient, and the concerns that follow; the truth value says that there are none.

    loss, gradient: at the point, by scaled free numbers. norms: of the adjoint along the rollout. zeros: by unknown,
    the part of its gradient that is zero. slopes: (directions, 3), of random unit directions the slope by the
    gradient, by central differences, and how far the latter can be trusted. first, zero: gradients of the loss
    smoothed by noise, as the mean of gradients and from values alone; scatter: the standard deviation of gradients
    under noise by the norm of their mean; None where noise leaves no finite loss.
    """

    loss: float
    gradient: np.ndarray
    noise: float
    norms: AdjointNorms
    zeros: dict[str, float]
    slopes: np.ndarray
    estimates: Estimates | None = None
    concerns: list[Concern] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.concerns

    @property
    def kinds(self) -> list[str]:
        """The words for the concerns."""
        return [concern.kind for concern in self.concerns]

    @property
    def scatter(self) -> float:
        """The standard deviation of gradients under noise, by the norm of their mean."""
        if self.estimates is None:
            return math.nan
        first = self.estimates.first
        assert first is not None
        spread = math.sqrt(float(first.var(axis=0, ddof=1).sum()))
        mean = float(np.linalg.norm(first.mean(axis=0)))
        return spread / mean if mean > 0.0 else (math.inf if spread > 0.0 else 0.0)

    def __str__(self) -> str:
        lines = [f"loss {self.loss:.6g}, |gradient| {np.linalg.norm(self.gradient):.4g}"]
        for name, part in self.zeros.items():
            lines.append(f"  {name}: {part:.0%} of the gradient is zero")
        if self.norms.steps:
            factor, passage = self.norms.largest
            lines.append(
                f"adjoint over {len(self.norms.steps)} steps: grows to {self.norms.growth:.3g} times its norm, "
                f"arrives with {self.norms.rest:.3g}; largest factor of a step {factor:.3g}, "
                f"by {passage.name} at {passage.place}"
                if passage
                else ""
            )
        lines.append("along random directions, gradient / differences (+- trust):")
        lines += [f"  {a: .5g} / {b: .5g} (+- {c:.1g})" for a, b, c in self.slopes]
        if self.estimates is not None:
            e = self.estimates
            lines.append(
                f"under noise of {self.noise:g}: mean of gradients {np.linalg.norm(e.mean_first):.4g}, "
                f"from values {np.linalg.norm(e.mean_zero):.4g}, their difference "
                f"{np.linalg.norm(e.mean_first - e.mean_zero):.3g}; "
                f"gradients scatter by {self.scatter:.2g} of their mean"
            )
        lines += [str(c) for c in self.concerns] or ["nothing speaks against this gradient"]
        return "\n".join(lines)


def rate_gradient(problem: Problem, noise: float, samples: int, directions: int, seed: int) -> ProblemReport:
    """Measure, judge, and leave the arrays as they were."""
    z, rng = problem.space.start(), np.random.default_rng(seed)
    loss, gradient = problem.value_and_gradient(z)
    problem.check_start(loss, gradient)
    tape, again = problem.record(z)
    cuts = gradient_report(tape, grads=problem.seeds())
    tape, _ = problem.record(z)
    norms = adjoint_norms(tape, problem.seeds())
    parts = zip(problem.space.unknowns, problem.space.slices, strict=True)
    zeros = {u.name: float((gradient[part] == 0.0).mean()) for u, part in parts}
    report = ProblemReport(loss, gradient, noise, norms, zeros, _slopes(problem, z, loss, gradient, directions, rng))
    concerns = report.concerns
    if abs(again - loss) > 1e-5 * abs(loss):
        concerns.append(
            Concern(
                "memory", f"the same unknowns give loss {loss:.6g}, then {again:.6g}",
                "begin every rollout from the same states: copy or make them inside of it, or set `deterministic`",
            )
        )  # fmt: skip
    concerns += [Concern("cut", f"{c.name} at {c.place}: {c.about}", "make it with requires_grad=True")
                 for c in cuts.problems if c.problem == "cut"][:3]  # fmt: skip
    _judge_zeros(report, norms)
    _judge_growth(report, norms)
    _judge_slopes(report)
    if samples:
        try:
            report.estimates = draw_estimates(
                z, noise, samples, rng, problem.value, lambda p: problem.value_and_gradient(problem.space.clip(p))
            )
            _judge_noise(report)
        except ArithmeticError:
            concerns.append(Concern("noise", f"noise of {noise:g} leaves no finite loss", "scale the unknowns"))
    problem.space.put(z)
    return report


def _slopes(
    problem: Problem, z: np.ndarray, loss: float, gradient: np.ndarray, directions: int, rng: np.random.Generator
) -> np.ndarray:
    """Slopes along random unit directions: by the gradient, by differences, and the trust in these.

    Two central differences, of h and h / 2, are extrapolated; what they differ by, and the rounding of the loss, is
    how far they can be trusted.
    """
    rounding = problem.space.rounding
    h = rounding ** (1.0 / 3.0) * max(1.0, float(np.abs(z).max()))
    rows = []
    for d in rng.normal(size=(directions, z.size)):
        d /= np.linalg.norm(d)
        wide, narrow = ((problem.value(z + s * d) - problem.value(z - s * d)) / (2.0 * s) for s in (h, 0.5 * h))
        trust = abs(wide - narrow) + 8.0 * rounding * abs(loss) / h
        rows.append((float(gradient @ d), (4.0 * narrow - wide) / 3.0, trust))
    return np.array(rows).reshape(-1, 3)


def _judge_zeros(report: ProblemReport, norms: AdjointNorms) -> None:
    dead = [name for name, part in report.zeros.items() if part == 1.0]
    if dead:
        stop = next((p for p in norms.passages if p.norm == 0.0), None)
        where = f"; the adjoint is zero from {stop.name} at {stop.place} on" if stop else ""
        report.concerns.append(
            Concern(
                "zero", f"the whole gradient of {', '.join(dead)} is zero{where}",
                "start where the unknown matters (a contact that happens), smooth the loss, or use gradient='sampled'",
            )
        )  # fmt: skip


def _judge_growth(report: ProblemReport, norms: AdjointNorms) -> None:
    factor, passage = norms.largest
    if norms.growth > _EXPLODES:
        report.concerns.append(
            Concern(
                "explodes", f"the adjoint grows to {norms.growth:.2g} times its norm over {len(norms.steps)} steps",
                "shorten the horizon, add damping, or use gradient='mixed' or method='cma'",
            )
        )  # fmt: skip
    elif norms.steps and 0.0 < norms.rest < _DIES:
        report.concerns.append(
            Concern(
                "dies", f"of the adjoint {norms.rest:.1g} is left after {len(norms.steps)} steps",
                "shorten the horizon, add running terms to the loss, lower the damping",
            )
        )  # fmt: skip
    if passage is not None and factor > _STEEP:
        report.concerns.append(
            Concern(
                "steep", f"one step multiplies the adjoint by {factor:.3g}, in {passage.name} at {passage.place}",
                "a grazing or resting contact, or a stiff one: moments of impact lose their derivative there; use the "
                "end of the step for contacts that rest, softer contacts, smaller steps, or gradient='mixed'",
            )
        )  # fmt: skip


def _judge_slopes(report: ProblemReport) -> None:
    size = np.linalg.norm(report.gradient)
    for exact, difference, trust in report.slopes:
        off = abs(exact - difference)
        if not math.isfinite(difference) or (off > 3.0 * trust and off > _OFF * max(abs(difference), 0.1 * size)):
            report.concerns.append(
                Concern(
                    "differences", f"along a direction the gradient says {exact:.4g}, differences {difference:.4g}",
                    "the loss has kinks or jumps here, or something is a constant that should not be: see "
                    "autograd.gradcheck_tape",
                )
            )  # fmt: skip
            return


def _judge_noise(report: ProblemReport) -> None:
    e = report.estimates
    assert e is not None and e.first is not None and e.jumps is not None
    changes = np.diff(e.values.reshape(-1, 2), axis=1).ravel()
    jumps = np.abs(e.jumps)
    often = float(((jumps > _JUMP * np.abs(changes)) & (jumps > _JUMP * np.sqrt((changes**2).mean()))).mean())
    if often > _OFTEN:
        report.concerns.append(
            Concern(
                "jumps", f"in {often:.0%} of the pairs of samples the loss changes by what no slope shows, up to "
                f"{jumps.max():.3g}",
                "the loss jumps or has kinks within the noise: use gradient='mixed' or 'sampled' with this noise, time "
                "of impact, a loss without jumps, or several starts",
            )
        )  # fmt: skip
    difference = e.first - e.zero
    mean = difference.mean(axis=0)
    error = difference.std(axis=0, ddof=1) / math.sqrt(len(difference))
    off, unsure = float(np.linalg.norm(mean)), float(np.linalg.norm(error))
    size = max(float(np.linalg.norm(e.mean_zero)), float(np.linalg.norm(e.mean_first)))
    if off > _SURE * unsure and off > _OFF * size:
        report.concerns.append(
            Concern(
                "biased",
                f"under noise, gradients average to {_few(e.mean_first)}, the loss changes by {_few(e.mean_zero)}",
                "gradients mislead on average: use gradient='mixed' or 'sampled' with this noise",
            )
        )  # fmt: skip
    if report.scatter > _SCATTER * math.sqrt(len(e.first)) / 3.0:
        report.concerns.append(
            Concern(
                "scatters", f"under noise of {report.noise:g}, gradients scatter by {report.scatter:.2g} of their mean",
                "shorten the horizon, soften contacts, use gradient='sampled' or method='cma', or several starts",
            )
        )  # fmt: skip


def _few(vector: np.ndarray) -> str:
    """A vector in a sentence."""
    if vector.size > 4:
        return f"{np.linalg.norm(vector):.3g} (norm)"
    return "(" + ", ".join(f"{v:.3g}" for v in vector) + ")"
