"""What a checked step warns of: numbers that are finite, and no cloth that anybody has seen."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..contact.contacts import Contacts
from ..contact.crossings import deepest_edge, deepest_inside, first_crossing
from ..contact.surface_contacts import SurfaceContacts
from .missed_pairs import first_missed
from .statistics import OVERSTRAINED, XPBDStatistics
from .substeps import CURE, SubstepChoice

if TYPE_CHECKING:
    from ...core.runtime.arrays.array import array
    from ..scene.model import Model
    from ..scene.state import State


class StrainWarning(UserWarning):
    """A spring or a membrane is strained beyond what the warning says."""


class CrossingWarning(UserWarning):
    """A surface has passed through another, or a particle into a shape, or into a particle that contacts missed."""


class SubstepWarning(UserWarning):
    """A step needed more substeps than `AutoSubsteps` lets it have."""


class Alarms:
    """Warns of the first strain, of the first crossings and of too few substeps of a solver's steps, once of each."""

    def __init__(self, model: Model):
        self.model = model
        self.told: set[str] = set()

    def tell_bound(self, step: int, choice: SubstepChoice, stacklevel: int) -> bool:
        """Warn of a step that had fewer substeps than it needed, if it had."""
        if choice.bounded and "substeps" not in self.told:
            self.told.add("substeps")
            problem = f"step {step} has {choice.count} substeps and needs {math.ceil(choice.needed)}: {choice.reason}"
            warnings.warn(f"{problem}\n{CURE}", SubstepWarning, stacklevel=stacklevel + 1)
        return choice.bounded

    def look(
        self, step: int, state: State, poses: array, contacts: Sequence[Contacts | SurfaceContacts], stacklevel: int
    ) -> None:
        """Look at the state after a step. poses: of shapes; contacts: `Contacts` and `SurfaceContacts` of the step."""
        m, q = self.model, state.particle_q
        surfaces = any(isinstance(touching, SurfaceContacts) for touching in contacts)
        balls = [touching for touching in contacts if isinstance(touching, Contacts)]
        looks: dict[str, tuple[type[Warning], Any]] = {
            "strain": (StrainWarning, lambda: XPBDStatistics(m, state).overstrained(OVERSTRAINED)),
            "shapes": (CrossingWarning, lambda: deepest_inside(m, q, poses) or deepest_edge(m, q, poses)),
            "surfaces": (CrossingWarning, lambda: first_crossing(m, q) if surfaces else None),
            "particles": (CrossingWarning, lambda: next(filter(None, (first_missed(one, q) for one in balls)), None)),
        }
        for name, (kind, look) in looks.items():
            problem = None if name in self.told else look()
            if problem:
                self.told.add(name)
                warnings.warn(f"step {step}: {problem}", kind, stacklevel=stacklevel + 1)
