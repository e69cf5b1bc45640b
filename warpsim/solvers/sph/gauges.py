"""Gauges of fluids in one import; those of a state take `solver.statistics(state)`, with the world where it matters."""

from ..particles.flow import mass_flow, mass_through
from .body_forces import drag_and_lift, force_coefficient
from .surface_height import run_up, surface_height
from .volume_flow import volume_flow

__all__ = ["drag_and_lift", "force_coefficient", "mass_flow", "mass_through", "run_up", "surface_height", "volume_flow"]
