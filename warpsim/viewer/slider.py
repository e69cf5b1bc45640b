"""`Slider`: a number of a running simulation that browsers may change."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .page import ViewError


@dataclass(frozen=True)
class Slider:
    """A number and how it is set: `Slider("wind [m/s]", 7.0, 0.0, 20.0, blow)`.

    label: with the unit, of its own. value: at the beginning, from low to high. set: called with a new value between
    two frames, in the thread of the simulation, never within a step; also after a reset, with a value that was chosen
    before. Raises ViewError for numbers that are not finite, or not in order.
    """

    label: str
    value: float
    low: float
    high: float
    set: Callable[[float], object]

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not callable(self.set):
            raise ViewError(f"a slider has the label {self.label!r} and sets by {self.set!r}\nexpected: text, callable")
        try:
            numbers = [float(x) for x in (self.low, self.value, self.high)]
        except (TypeError, ValueError):
            numbers = [math.nan]
        if not all(map(math.isfinite, numbers)) or not numbers[0] <= numbers[1] <= numbers[2] > numbers[0]:
            raise ViewError(
                f"{self.label}: value {self.value!r} in {self.low!r} to {self.high!r}\n"
                "expected: finite numbers, low <= value <= high, low < high"
            )
