"""What a saved scene keeps of a solver of cloth and soft bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..scene.memory import Memory

if TYPE_CHECKING:
    from .solver import SolverXPBD


def arguments(solver: SolverXPBD) -> dict[str, Any]:
    """See `Savable`."""
    own = {name: getattr(solver, name) for name in ("model", "substeps", "iterations", "bending", "check", "order")}
    depth, density = float(solver.contact.depth), float(solver.aerodynamics.density)
    own["shape_forces"] = solver.workspace.feels
    rest = {"damping": float(solver.damping), "relaxation": solver.relaxation}
    return {**own, **rest, "contact_depth": depth, "air_density": density}


def memory(solver: SolverXPBD) -> Memory:
    """See `Savable`."""
    told = tuple(sorted(solver._alarms.told))
    return {"steps": solver.steps, "told": told, "choices": solver._chooser.choices()}


def recall(solver: SolverXPBD, memory: Mapping[str, Any]) -> None:
    """See `Savable`."""
    solver._put(steps=int(memory["steps"]))
    solver._alarms.told.update(memory["told"])
    solver._chooser.recall(memory["choices"])
