"""Solvers of physics on a common ground of models, states, controls and shapes; SI units throughout.

    from warpsim.solvers import ModelBuilder

    builder = ModelBuilder()
    builder.add_cloth_grid(...)
    builder.add_ground_plane()
    model = builder.finalize()
    state, control = model.state(), model.control()

A solver is made for a model, and `solver.step(state_in, state_out, control, contacts, dt)` maps one state to another;
both may be the same. `import warpsim` loads none of this, and no solver loads another.
"""

from __future__ import annotations

import importlib
from typing import Any

from .contact.contacts import Contacts
from .particles.statistics import ParticleStatistics
from .scene import cloth as cloth
from .scene import soft as soft
from .scene.builder import RIGID, ModelBuilder, lame
from .scene.control import Control
from .scene.joint_builder import JointAxis
from .scene.joint_kind import JointKind
from .scene.model import Model
from .scene.shape_builder import ShapeConfig
from .scene.shapes import ShapeType
from .scene.state import State

SOLVERS = {
    "SolverBodies": "bodies.solver",
    "Coupling": "coupling.coupling",
    "SolverDEM": "dem.solver",
    "GrainStream": "dem.stream",
    "Material": "dem.materials",
    "SolverOcean": "ocean.solver",
    "SolverSPH": "sph.solver",
    "SolverDFSPH": "sph.dfsph",
    "Fluid": "sph.fluid",
    "FluidStream": "sph.stream",
    "SolverXPBD": "xpbd.solver",
    "AutoSubsteps": "xpbd.substeps",
    "SurfaceContacts": "contact.surface_contacts",
    "Scene": "saved.scene",
    "StrainWarning": "xpbd.alarms",
    "CrossingWarning": "xpbd.alarms",
    "SubstepWarning": "xpbd.alarms",
    "LeakWarning": "sph.barriers",
    "DivergenceWarning": "bodies.alarms",
    "PairsWarning": "bodies.contact_reports",
    "CouplingWarning": "coupling.stability",
    "StartWarning": "scene.start_warning",
}
"""What loads when it is asked for: solvers, what only some need and warn of, and the module of each."""

__all__ = ["RIGID", "Contacts", "Control", "JointAxis", "JointKind", "Model", "ModelBuilder", "ParticleStatistics"]
__all__ += ["ShapeConfig", "ShapeType", "State", "lame", *SOLVERS]


def __getattr__(name: str) -> Any:
    if name not in SOLVERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f".{SOLVERS[name]}", __name__), name)
    return value
