"""What a saved scene keeps of a solver of grains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..neighbours.verlet_list import vector_of
from ..scene.memory import Memory, refill

if TYPE_CHECKING:
    from .solver import SolverDEM


def arguments(solver: SolverDEM) -> dict[str, Any]:
    """See `Savable`."""
    own = ("model", "substeps", "law", "rolling", "force_limit", "overlaps", "check")
    lists, kinds = solver.neighbours, {"materials": solver._kinds, "particle_material": solver._number}
    about = {"period": lists.period, "skin": lists.skin, "streams": solver._streams}
    return {**{name: getattr(solver, name) for name in own}, **kinds, **about}


def memory(solver: SolverDEM) -> Memory:
    """See `Savable`."""
    numbers = {"steps": solver.steps, "checked_dt": solver._checked_dt, "origin": tuple(map(float, solver.origin))}
    parts = {"lists": solver.neighbours.memory(), "grains": solver._grains.memory()}
    arrays = {"materials": solver.materials.memory(), "shape_force": solver.shape_force}
    return {**numbers, **parts, **arrays, "streams": tuple(nozzle.memory() for nozzle in solver.streams)}


def recall(solver: SolverDEM, memory: Mapping[str, Any]) -> None:
    """See `Savable`."""
    origin = vector_of(memory["origin"], solver.model.dtype)
    solver._put(steps=int(memory["steps"]), _checked_dt=float(memory["checked_dt"]), origin=origin, _recalled=True)
    solver.neighbours.recall(memory["lists"])
    solver._grains.recall(memory["grains"], solver.neighbours, solver.materials.count)
    solver.materials.recall(memory["materials"])
    refill("shape_force", solver.shape_force, memory["shape_force"])
    for nozzle, about in zip(solver.streams, memory["streams"], strict=True):
        nozzle.recall(about)
