"""`Contents`: prims of a stage as simulations use them: shapes, materials of physics, and how they move.

Guarantees: arrays of a prim are finite and fit each other, and indices name what is there. What is not so is a
`UsdError`. Points stay in the prim's own space; `placement`, a matrix (4, 4) for row vectors, leads from there to
metres in the caller's axes. This runs in the process that reads a file, see `reader`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade, UsdSkel

from warpsim.usd.checks import UsdError, check_topology, finite, rate
from warpsim.usd.copies import copies_of, placed_copies
from warpsim.usd.movement import movement_of
from warpsim.usd.physics import physics_of, role_of
from warpsim.usd.scene import matrix_of, points_of
from warpsim.usd.solids import SOLIDS, sizes_of, solid
from warpsim.usd.stage_file import numbers, prims_of, turn_between, unit_of
from warpsim.usd.surfaces import surface_of, velocities_of

KINDS = {
    "copies": UsdGeom.PointInstancer,
    "mesh": UsdGeom.Mesh,
    "tetrahedra": UsdGeom.TetMesh,
    "points": UsdGeom.Points,
    "curves": UsdGeom.Curves,
}
"""Kinds of prims by name, besides "solid": what `SOLIDS` lists."""

_POLE = 1.0e-12  # of a solid's size: so near to an axis, points of rings around it are one
_LAYER = ("metersPerUnit", "kilogramsPerUnit", "upAxis", "framesPerSecond")  # what a layer over a stage must say again


class Contents:
    """The prims of a stage with a shape, and the numbers that put them into the world."""

    def __init__(self, stage: Usd.Stage, name: str, up_axis: str, meters_per_unit: float | None, time: float | None):
        self._stage, self._name = stage, name
        self.unit = unit_of(stage, repr(name), meters_per_unit)
        self._axes = turn_between(str(UsdGeom.GetStageUpAxis(stage)), up_axis, repr(name)) * self.unit
        self._kilograms = UsdPhysics.GetStageKilogramsPerUnit(stage)
        self._fps = rate(stage.GetTimeCodesPerSecond(), f"{name!r} timeCodesPerSecond")
        self._range = [stage.GetStartTimeCode(), stage.GetEndTimeCode()] if stage.HasAuthoredTimeCodeRange() else []
        self._start = float(time if time is not None else self._range[0] if self._range else 0.0)
        if not (math.isfinite(self._start) and np.isfinite(self._range).all() and 0.0 < self._kilograms < math.inf):
            raise UsdError(f"{name!r}: its time range or kilogramsPerUnit is no finite number; export it again")
        self._code = Usd.TimeCode(self._start)
        _bake_skins(stage, name)
        self._prims = list(self._shapes())

    def describe(self) -> dict[str, Any]:
        """All that is known before a prim is read."""
        root = self._stage.GetRootLayer()
        metadata = {key: self._stage.GetMetadata(key) for key in _LAYER if self._stage.HasAuthoredMetadata(key)}
        return {
            "prims": [[str(prim.GetPath()), kind, role_of(prim)] for prim, kind in self._prims],
            "fps": self._fps,
            "start": self._start,
            "range": self._range,
            "unit": self.unit,
            "metadata": metadata,
            "layer": "" if root.anonymous else root.realPath,
            "root": root.defaultPrim,
            "dirty": root.dirty,
        }

    def prim(self, number: int) -> dict[str, Any]:
        """A prim as it is at the start; see `UsdPrim`."""
        prim, kind = self._prims[number]
        path = str(prim.GetPath())
        placement = self._placement(prim, self._start, path)
        with np.errstate(all="ignore"):  # what overflows is refused
            shape = _READERS[kind](prim, self._code, path, np.linalg.det(placement[:3, :3]) < 0.0)
        shape["points"] = np.ascontiguousarray(finite(shape["points"], f"{path} points"), np.float32)
        motion, codes = movement_of(prim, kind, path)
        material = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]
        return {
            **shape,
            "placement": placement,
            "motion": motion,
            "codes": codes,
            "material": str(material.GetPath()) if material else "",
            "physics": physics_of(prim, self.unit, self._kilograms),
            "layered": _layered(prim),
        }

    def moment(self, number: int, code: float, shaped: bool) -> dict[str, Any]:
        """Where a prim is at a time code, and with `shaped` its points."""
        prim, kind = self._prims[number]
        path = str(prim.GetPath())
        moment: dict[str, Any] = {"placement": self._placement(prim, code, path)}
        if shaped:
            with np.errstate(all="ignore"):
                points = _points_at(prim, kind, Usd.TimeCode(code), path)
            moment["points"] = np.ascontiguousarray(finite(points, f"{path} points"), np.float32)
        return moment

    def _shapes(self) -> Iterator[tuple[Usd.Prim, str]]:
        """Prims of the kinds that are read; instances are looked into, prototypes of instancers are not."""
        prims = iter(Usd.PrimRange(self._stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()))
        for prim in prims_of(prims, repr(self._name)):  # type: ignore[arg-type]
            kind = next((k for k, schema in KINDS.items() if prim.IsA(schema)), "")
            if kind == "copies":
                prims.PruneChildren()  # type: ignore[attr-defined]
            if kind or prim.GetTypeName() in SOLIDS:
                yield prim, kind or "solid"

    def _placement(self, prim: Usd.Prim, code: float, path: str) -> np.ndarray:
        """From the prim's space to metres of the world, in the caller's axes."""
        with np.errstate(all="ignore"):
            placement = matrix_of(prim, code)
            placement[:, :3] = placement[:, :3] @ self._axes
        return finite(placement, f"{path}: its transform")


def _bake_skins(stage: Usd.Stage, name: str) -> None:
    """Give meshes that a skeleton moves points of their own, in memory."""
    if any(prim.IsA(UsdSkel.Root) for prim in prims_of(Usd.PrimRange(stage.GetPseudoRoot()), repr(name))):
        with Usd.EditContext(stage, stage.GetSessionLayer()):
            UsdSkel.BakeSkinning(Usd.PrimRange(stage.GetPseudoRoot()))


def _layered(prim: Usd.Prim) -> dict[str, Any]:
    """What a layer over this prim must know: instances to open, normals, and what of it would be out of date."""
    above = list(_ancestors(prim))
    authored = [name for name in ("velocities", "accelerations", "angularVelocities") if _has(prim, name)]
    scheme = prim.GetAttribute("subdivisionScheme").Get() if prim.IsA(UsdGeom.Mesh) else None
    return {
        "instances": [str(p.GetPath()) for p in above if p.IsInstance()],
        "motion": authored,
        "normals": "" if scheme != "none" else "primvars:normals" if _has(prim, "primvars:normals") else "normals",
        "indexed": _has(prim, "primvars:normals:indices"),
        "hints": [str(p.GetPath()) for p in above if _has(p, "extentsHint")],
    }


def _ancestors(prim: Usd.Prim) -> Iterator[Usd.Prim]:
    while prim and not prim.IsPseudoRoot():
        yield prim
        prim = prim.GetParent()


def _has(prim: Usd.Prim, name: str) -> bool:
    attribute = prim.GetAttribute(name)
    return bool(attribute) and attribute.HasAuthoredValue()


# ----- by kind ----------------------------------------------------------------------------------


def _mesh(prim: Usd.Prim, code: Usd.TimeCode, path: str, mirrored: bool) -> dict[str, Any]:
    return surface_of(UsdGeom.Mesh(prim), code, path, mirrored)


def _tetrahedra(prim: Usd.Prim, code: Usd.TimeCode, path: str, mirrored: bool) -> dict[str, Any]:
    """Tetrahedra that are all of one handedness: as the placed points have it, not as the file says."""
    mesh = UsdGeom.TetMesh(prim)
    points = points_of(mesh, code, path)
    rows = numbers(mesh.GetTetVertexIndicesAttr(), code, np.int64, path, 4)
    check_topology(np.full(len(rows), 4), rows.ravel(), len(points), path)
    a, b, c, d = (points[rows[:, k]] for k in range(4))
    below = (np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) < 0.0) != mirrored
    rows[below] = rows[below][:, [0, 2, 1, 3]]
    velocities = velocities_of(mesh, code, len(points), path)
    return {"points": points, "tetrahedra": rows.astype(np.int32), "velocities": velocities}


def _points(prim: Usd.Prim, code: Usd.TimeCode, path: str, mirrored: bool) -> dict[str, Any]:
    points = UsdGeom.Points(prim)
    places = points_of(points, code, path)
    radii = _radii(points, code, len(places), path)
    return {"points": places, "radii": radii, "velocities": velocities_of(points, code, len(places), path)}


def _curves(prim: Usd.Prim, code: Usd.TimeCode, path: str, mirrored: bool) -> dict[str, Any]:
    """Points of curves and the edges (n, 2) between those that follow each other."""
    curves = UsdGeom.Curves(prim)
    points = points_of(curves, code, path)
    counts = numbers(curves.GetCurveVertexCountsAttr(), code, np.int64, path)
    if (counts < 2).any() or counts.sum(dtype=np.int64) != len(points):
        raise UsdError(f"{path}: curveVertexCounts do not fit its {len(points)} points, two or more of each curve")
    ends = np.cumsum(counts)
    first = np.setdiff1d(np.arange(len(points)), ends - 1)
    edges = np.stack([first, first + 1], axis=1)
    basis = UsdGeom.BasisCurves(prim)
    if basis and basis.GetWrapAttr().Get() == UsdGeom.Tokens.periodic:
        rings = counts > 2  # two points are joined by then
        edges = np.concatenate([edges, np.stack([ends - 1, ends - counts], axis=1)[rings]])
    velocities = velocities_of(curves, code, len(points), path)
    radii = _radii(curves, code, len(points), path)
    return {"points": points, "edges": edges.astype(np.int32), "radii": radii, "velocities": velocities}


def _copies(prim: Usd.Prim, code: Usd.TimeCode, path: str, mirrored: bool) -> dict[str, Any]:
    return copies_of(UsdGeom.PointInstancer(prim), code, path, mirrored)


def _solid(prim: Usd.Prim, code: Usd.TimeCode, path: str, mirrored: bool) -> dict[str, Any]:
    points, triangles = solid(prim)
    points = np.where(np.abs(points) < _POLE * np.abs(points).max(initial=0.0), 0.0, points)
    triangles = triangles[:, ::-1] if mirrored else triangles
    return {"points": points, "triangles": np.ascontiguousarray(triangles, np.int32), "sizes": sizes_of(prim)}


_READERS: dict[str, Callable[[Usd.Prim, Usd.TimeCode, str, bool], dict[str, Any]]] = {
    "mesh": _mesh,
    "tetrahedra": _tetrahedra,
    "points": _points,
    "curves": _curves,
    "copies": _copies,
    "solid": _solid,
}


def _points_at(prim: Usd.Prim, kind: str, code: Usd.TimeCode, path: str) -> np.ndarray:
    if kind == "copies":
        return placed_copies(UsdGeom.PointInstancer(prim), code, path)[0]
    return solid(prim)[0] if kind == "solid" else points_of(UsdGeom.PointBased(prim), code, path)


def _radii(prim: Any, code: Usd.TimeCode, count: int, path: str) -> np.ndarray | None:
    """Half of the widths, float64 (count,), None where there are none."""
    widths = finite(numbers(prim.GetWidthsAttr(), code, np.float64, path), f"{path} widths")
    if not len(widths):
        return None
    if len(widths) not in (1, count):
        raise UsdError(f"{path}: found {len(widths)} widths, expected 1 or {count}, one per point; export it again")
    return 0.5 * np.broadcast_to(widths, count)
