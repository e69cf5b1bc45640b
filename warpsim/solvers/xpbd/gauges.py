"""Gauges of cloth in one import; each takes `solver.statistics(state)`."""

from .drape import drape_coefficient, shadow_area
from .tension import membrane_tension, principal_stretches, spring_tension

__all__ = ["drape_coefficient", "membrane_tension", "principal_stretches", "shadow_area", "spring_tension"]
