"""Gauges of grains in one import; each takes `solver.statistics(state)`, or the network of contacts made of it."""

from ..particles.flow import mass_flow, mass_through
from .heap import angle_of_repose, heap_surface
from .network import ContactNetwork, contact_network, coordination_number, force_chains, grain_stress, rattlers
from .region import bulk_density, solid_fraction
from .wall_pressure import wall_pressure

__all__ = ["ContactNetwork", "angle_of_repose", "bulk_density", "contact_network", "coordination_number"]
__all__ += ["force_chains", "grain_stress", "heap_surface", "mass_flow", "mass_through", "rattlers"]
__all__ += ["solid_fraction", "wall_pressure"]
