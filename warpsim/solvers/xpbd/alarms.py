"""What a checked step warns of: numbers that are finite, and no cloth that anybody has seen."""

from __future__ import annotations

import warnings
from typing import Any

from ..crossings import deepest_inside, first_crossing
from .statistics import OVERSTRAINED, XPBDStatistics


class StrainWarning(UserWarning):
    """A spring or a membrane is strained beyond what the warning says."""


class CrossingWarning(UserWarning):
    """A surface has passed through another, or a particle into a shape."""


class Alarms:
    """Warns of the first strain and of the first crossings of a solver's steps, once of each."""

    def __init__(self, model: Any):
        self.model = model
        self.told: set[str] = set()

    def look(self, step: int, state: Any, poses: Any, surfaces: bool, stacklevel: int) -> None:
        """Look at the state after a step. poses: of shapes; surfaces: whether triangles are to keep apart."""
        q = state.particle_q
        looks: dict[str, tuple[type[Warning], Any]] = {
            "strain": (StrainWarning, lambda: XPBDStatistics(self.model, state).overstrained(OVERSTRAINED)),
            "shapes": (CrossingWarning, lambda: deepest_inside(self.model, q, poses)),
            "surfaces": (CrossingWarning, lambda: first_crossing(self.model, q) if surfaces else None),
        }
        for name, (kind, look) in looks.items():
            problem = None if name in self.told else look()
            if problem:
                self.told.add(name)
                warnings.warn(f"step {step}: {problem}", kind, stacklevel=stacklevel + 1)
