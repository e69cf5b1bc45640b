"""Kinds of objects that a saved scene can hold, and how each is taken apart and made again.

Classes of solvers say so themselves (`memory.Savable`), dataclasses by their fields; for the others there are adapters
in this folder. A file can name these kinds and no others. Modules load when a scene has something of theirs.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

from ...errors import SceneFileError, shown
from ..scene.memory import Memory

_SOLVERS = __package__.rpartition(".")[0]
_CLASSES = {
    "State": "scene.state", "Control": "scene.control", "ShapeConfig": "scene.shape_builder",
    "Contacts": "contact.contacts", "SurfaceContacts": "contact.surface_contacts",
    "SolverXPBD": "xpbd.solver", "AutoSubsteps": "xpbd.substeps",
    "SolverBodies": "bodies.solver", "Coupling": "coupling.coupling",
    "SolverDEM": "dem.solver", "Material": "dem.materials", "GrainStream": "dem.stream",
    "SolverSPH": "sph.solver", "SolverDFSPH": "sph.dfsph", "Fluid": "sph.fluid", "FluidStream": "sph.stream",
    "Ocean": "ocean.ocean", "Sea": "ocean.ocean", "Foam": "ocean.foam",
    "SolverOcean": "ocean.solver",
    "Surface": ".plot.scene", "Balls": ".plot.scene",
}  # fmt: skip
"""Savable classes and dataclasses, by the module of each, from that of solvers."""
_ADAPTERS = {
    "Model": "models",
    "Mesh": "geometry",
    "Volume": "geometry",
    "Spectrum": "seas",
    "SeaState": "seas",
    "Spreading": "seas",
}
"""Other classes, by the module of this folder that has a table `KINDS` with them."""


@dataclass(frozen=True)
class Kind:
    """How objects of one class are saved. make: one, of arguments and a device; recall: give it its memory."""

    owner: type
    arguments: Callable[[Any], Mapping[str, Any]]
    make: Callable[[Mapping[str, Any], Any], Any]
    memory: Callable[[Any], Memory] = lambda value: {}
    recall: Callable[[Any, Mapping[str, Any]], None] = lambda value, memory: None

    @property
    def name(self) -> str:
        """What files call it."""
        return self.owner.__name__


def kind_of(value: Any) -> Kind | None:
    """The kind of an object; None for one that no scene can hold."""
    name = type(value).__name__
    kind = kind_named(name) if name in _CLASSES or name in _ADAPTERS else None
    return kind if kind is not None and type(value) is kind.owner else None


def kind_named(name: Any) -> Kind:
    """The kind that a file names. Raises `SceneFileError` for a name of none."""
    if isinstance(name, str) and name in _ADAPTERS:
        kind: Kind = importlib.import_module(f"{__package__}.{_ADAPTERS[name]}").KINDS[name]
        return kind
    if isinstance(name, str) and name in _CLASSES:
        return _kind(getattr(importlib.import_module(f".{_CLASSES[name]}", _SOLVERS), name))
    raise SceneFileError(f"an object is of the kind {shown(name)}, which this warpsim does not know")


@cache
def _kind(owner: Any) -> Kind:
    """Of a class that says itself what is saved of it, or of a dataclass."""
    somewhere = "device" in inspect.signature(owner).parameters

    def make(words: Mapping[str, Any], device: Any) -> Any:
        return owner(**words, device=device) if somewhere else owner(**words)

    if is_dataclass(owner):
        names = [field.name for field in fields(owner)]
        return Kind(owner, lambda value: {name: getattr(value, name) for name in names}, make)
    return Kind(owner, owner.arguments, make, owner.memory, owner.recall)
