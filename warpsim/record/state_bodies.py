"""`StateBodies`: the parts of a state as bodies: free particles, cloth, soft bodies, shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import counted
from .body import Body, on_host, rows_of
from .errors import RecordError
from .shapes import ShapeBodies

if TYPE_CHECKING:
    from ..solvers.scene.control import Control
    from ..solvers.scene.model import Model
    from ..solvers.scene.state import State

_COLORS = {"particles": (0.72, 0.48, 0.20), "cloth": (0.55, 0.16, 0.10), "soft": (0.16, 0.35, 0.45)}


class StateBodies:
    """Bodies of the states of a model.

    "particles": those that are no corner of a triangle or tetrahedron. "cloth": triangles, but for the faces of
    tetrahedra. "soft": tetrahedra. "shapes", "vessels", "planes": obstacles as meshes. What a model lacks is left out.
    arrays: names of fields to write besides velocity and radius. present: which particles of a state there are.
    """

    def __init__(self, model: Model, arrays: Sequence[str], present: Callable[[State], np.ndarray] | None):
        self.model, self._arrays, self._present = model, arrays, present
        triangles, tetrahedra = (on_host(a).reshape(-1, k) for a, k in ((model.tri_indices, 3), (model.tet_indices, 4)))
        solid = np.zeros(model.particle_count, bool)
        solid[tetrahedra] = True
        sheet = np.flatnonzero(~solid[triangles].all(axis=1))
        free = ~solid
        free[triangles] = False
        self._free = np.flatnonzero(free)
        self._parts = [
            _Part(name, per, cells, rows)
            for name, per, cells, rows in (
                ("cloth", "tri", triangles, sheet),
                ("soft", "tet", tetrahedra, np.arange(len(tetrahedra))),
            )
            if len(rows)
        ]
        self._shapes = ShapeBodies(model) if model.shape_count else None

    def bodies(self, state: State, control: Control | None, more: Mapping[str, Any]) -> list[Body]:
        """All but planes. more: numbers of particles (particles, ...) by name."""
        values = self._values(state, control, more)
        parts = [part.body(values, self.model.particle_count) for part in self._parts]
        if self._free.size:
            parts.insert(0, self._particles(state, values))
        return parts + (self._shapes.solids(state, control, values.get("shape", {})) if self._shapes else [])

    def planes(self, state: State, control: Control | None, box: np.ndarray) -> list[Body]:
        """Planes as far as a box (2, 3) [m] reaches."""
        return self._shapes.planes(state, control, box) if self._shapes else []

    def _values(
        self, state: State, control: Control | None, more: Mapping[str, Any]
    ) -> dict[str, dict[str, np.ndarray]]:
        """Numbers by the group that they are of, and by name."""
        values: dict[str, dict[str, np.ndarray]] = {"particle": {"velocity": on_host(state.particle_qd)}}
        for name in self._arrays:
            per, array = self._field(name, state, control)
            values.setdefault(per, {})[name] = on_host(array)
        for name, array in more.items():
            values["particle"][name] = rows_of(array, name, self.model.particle_count)
        values["particle"]["points"] = on_host(state.particle_q)
        return values

    def _field(self, name: str, state: State, control: Control | None) -> tuple[str, Any]:
        """Of what a field has one each, and its array. Raises `RecordError` for what has no field or no place."""
        for owner in (state, self.model, control):
            field = owner.fields.get(name) if owner is not None else None
            if field is not None and field.per in ("particle", "tri", "tet", "shape"):
                return field.per, getattr(owner, name)
        more = self.model.state_fields.get(name)
        if more is not None and more.count == self.model.particle_count:
            return "particle", getattr(state, name)
        raise RecordError(f"arrays names {name!r}\nexpected: {', '.join(self._known())}")

    def _known(self) -> list[str]:
        """Names of all fields that can be recorded."""
        from_tables = [
            name
            for table in (self.model.fields, self.model.state_fields)
            for name, f in table.items()
            if getattr(f, "per", "particle") in ("particle", "tri", "tet", "shape")
        ]
        return sorted({"particle_f", *from_tables} - {"particle_q", "particle_qd", "particle_radius"})

    def _particles(self, state: State, values: dict[str, dict[str, np.ndarray]]) -> Body:
        rows, ids = self._free, None
        if self._present is not None:
            there = on_host(self._present(state))
            if there.shape != (self.model.particle_count,) or there.dtype != bool:
                particles = counted(self.model.particle_count, "particle")
                raise RecordError(
                    f"present gives {there.dtype} of shape {there.shape}\nexpected: a truth value for {particles}"
                )
            rows = ids = rows[there[rows]]
        arrays = _chosen({**values["particle"], "radius": on_host(self.model.particle_radius)}, rows)
        points, velocities, radii = (arrays.pop(name) for name in ("points", "velocity", "radius"))
        return Body("particles", points, None, radii, velocities, arrays, ids=ids, color=_COLORS["particles"])


class _Part:
    """Cells of a model with the particles that are their corners. rows: which of all cells."""

    def __init__(self, name: str, per: str, cells: np.ndarray, rows: np.ndarray):
        self.name, self.per, self.rows = name, per, rows
        self.corners, local = np.unique(cells[rows], return_inverse=True)
        self.cells = local.reshape(-1, cells.shape[1]).astype(np.int32)

    def body(self, values: dict[str, dict[str, np.ndarray]], count: int) -> Body:
        arrays = _chosen(values["particle"], self.corners)
        points, velocities = arrays.pop("points"), arrays.pop("velocity")
        of_cells = _chosen(values.get(self.per, {}), self.rows)
        return Body(self.name, points, self.cells, None, velocities, arrays, of_cells, color=_COLORS[self.name])


def _chosen(arrays: Mapping[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    """Some rows of arrays, in their order; the arrays themselves where that is all."""
    return {name: a if len(rows) == len(a) else a[rows] for name, a in arrays.items()}
