"""What a saved scene keeps of a solver of fluids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..neighbours.verlet_list import vector_of
from ..scene.memory import Memory, refill

if TYPE_CHECKING:
    from .solver import SolverSPH


def arguments(solver: SolverSPH) -> dict[str, Any]:
    """See `Savable`."""
    own = ("model", "fluid", "dim", "kernel", "no_slip", "substeps", "period", "spacing", "overlaps", "check")
    compressible = {"density": solver.density, "suction": solver.suction, "streams": solver._streams}
    more = {"smoothing": solver._smoothing, "bounds": solver._bounds}
    return {**{name: getattr(solver, name) for name in own}, **more, **compressible}


def memory(solver: SolverSPH) -> Memory:
    """See `Savable`: particles in their order with lists, walls and barriers, streams, and what statistics tell."""
    numbers = {"steps": solver.steps, "checked_dt": solver._checked_dt, "origin": tuple(map(float, solver.origin))}
    parts = {"particles": solver.particles.memory(), "barriers": solver.barriers.memory()}
    arrays = {"fluid_numbers": solver.fluid_numbers, "shape_force": solver.shape_force, "poses": solver._pose}
    return {**numbers, **parts, **arrays, "streams": tuple(nozzle.memory() for nozzle in solver.streams)}


def recall(solver: SolverSPH, memory: Mapping[str, Any]) -> None:
    """See `Savable`."""
    origin = vector_of(memory["origin"], solver.model.dtype)
    solver._put(steps=int(memory["steps"]), _checked_dt=float(memory["checked_dt"]), origin=origin)
    solver.particles.recall(memory["particles"])
    solver.barriers.recall(memory["barriers"])
    solver.fluid_numbers = memory["fluid_numbers"]
    solver.check_replaced("solver")
    refill("shape_force", solver.shape_force, memory["shape_force"])
    refill("poses", solver._pose, memory["poses"])
    for nozzle, about in zip(solver.streams, memory["streams"], strict=True):
        nozzle.recall(about)
