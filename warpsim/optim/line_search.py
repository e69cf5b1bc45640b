"""A step length along a line that decreases a function enough and flattens its slope enough.

Guarantees: the point returned was evaluated, is finite, and satisfies the strong Wolfe conditions, or
`StepLength.problem` says why not; values that are not finite count as too far.

Bracketing and zoom follow Nocedal and Wright 2006, algorithms 3.5 and 3.6, with their cubic interpolation (3.59).
Near a minimum the values of a loss differ by less than its rounding; there the approximate conditions of Hager and
Zhang 2005 decide, which need slopes only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

DECREASE, CURVATURE = 1.0e-4, 0.9  # c1 and c2 of the Wolfe conditions, as quasi-Newton methods take them
GROWTH, LONGEST = 4.0, 1.0e12  # from try to try, and of all tries
NEAREST, FARTHEST = 0.05, 0.75  # parts of an interval between which the next length is taken


@dataclass(frozen=True)
class Point:
    """A step length with the value and the slope of the function there."""

    length: float
    value: float
    slope: float

    @property
    def finite(self) -> bool:
        return math.isfinite(self.value) and math.isfinite(self.slope)


@dataclass(frozen=True)
class StepLength:
    """The chosen point, how many were evaluated, and what is wrong with it (empty: nothing)."""

    point: Point
    evaluations: int
    problem: str = ""


def strong_wolfe(
    phi: Callable[[float], tuple[float, float]],
    value: float,
    slope: float,
    first: float,
    noise: float,
    limit: int = 25,
    longest: float = math.inf,
) -> StepLength:
    """A step length for `phi`, which gives value and slope at a length.

    value, slope: at length 0; the slope is negative. first: the length to try first. noise: by how much values
    may err. limit: most evaluations. longest: no length beyond is tried. When none satisfies the conditions, the point
    of least value is returned with the problem: "limit", "flat" (the interval left to try is down to rounding) or
    "unbounded".
    """
    return _Search(phi, Point(0.0, value, slope), noise, limit).run(first, min(longest, LONGEST * first))


class _Search:
    """Points seen so far along one line."""

    def __init__(self, phi: Callable[[float], tuple[float, float]], start: Point, noise: float, limit: int):
        self.phi, self.start, self.noise, self.limit = phi, start, noise, limit
        self.best, self.count = start, 0

    def at(self, length: float) -> Point:
        """Evaluate; remember the point of least value."""
        point = Point(length, *self.phi(length))
        self.count += 1
        if point.finite and point.value < self.best.value:
            self.best = point
        return point

    def run(self, first: float, longest: float) -> StepLength:
        before, length = self.start, first
        while self.count < self.limit:
            point = self.at(length)
            if self.accepts(point):
                return StepLength(point, self.count)
            if self.too_high(point) or point.value > before.value + self.noise:
                return self.zoom(before, point)
            if point.slope >= 0.0:
                return self.zoom(point, before)
            if length > longest / GROWTH:
                return self.failure("unbounded")
            before, length = point, GROWTH * length
        return self.failure("limit")

    def zoom(self, low: Point, high: Point) -> StepLength:
        """Shrink an interval that holds acceptable points; `low` is its better end."""
        while self.count < self.limit:
            length = inside(low, high)
            width = abs(high.length - low.length)
            if length in (low.length, high.length) or -width * self.start.slope < self.noise:
                return self.failure("flat")
            point = self.at(length)
            if self.accepts(point):
                return StepLength(point, self.count)
            if self.too_high(point) or point.value > low.value + self.noise:
                high = point
            else:
                if point.slope * (high.length - low.length) >= 0.0:
                    high = low
                low = point
        return self.failure("limit")

    def failure(self, problem: str) -> StepLength:
        return StepLength(self.best, self.count, problem)

    def accepts(self, point: Point) -> bool:
        """The strong Wolfe conditions, or the approximate ones where values are only noise apart."""
        if not point.finite:
            return False
        if not self.too_high(point) and abs(point.slope) <= -CURVATURE * self.start.slope:
            return True
        steep = -(1.0 - 2.0 * DECREASE) * self.start.slope
        close = abs(point.value - self.start.value) <= self.noise
        return close and CURVATURE * self.start.slope <= point.slope <= steep

    def too_high(self, point: Point) -> bool:
        """Whether the value violates the condition of sufficient decrease."""
        limit = self.start.value + DECREASE * point.length * self.start.slope
        return not (point.finite and point.value <= limit)


def inside(low: Point, high: Point) -> float:
    """A length inside the interval: where a cubic through both ends is least, kept away from the ends."""
    width = high.length - low.length
    if not high.finite:
        return low.length + NEAREST * width
    nearest = cubic_minimum(low, high)
    part = 0.5 if nearest is None else (nearest - low.length) / width
    return low.length + min(max(part, NEAREST), FARTHEST) * width


def cubic_minimum(a: Point, b: Point) -> float | None:
    """Where the cubic with the values and slopes of two points has its minimum; Nocedal and Wright (3.59)."""
    d1 = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.length - b.length)
    root = d1 * d1 - a.slope * b.slope
    if not root >= 0.0:
        return None
    d2 = math.copysign(math.sqrt(root), b.length - a.length)
    below = b.slope - a.slope + 2.0 * d2
    return None if below == 0.0 else b.length - (b.length - a.length) * (b.slope + d2 - d1) / below
