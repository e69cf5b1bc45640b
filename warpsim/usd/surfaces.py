"""Surfaces of meshes for simulations: triangles that know their faces, with texture coordinates and subsets."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

from warpsim.usd.checks import UsdError, check_topology, finite
from warpsim.usd.meshes import face_numbers, subset_faces
from warpsim.usd.scene import points_of
from warpsim.usd.stage_file import numbers
from warpsim.usd.topology import triangulate

_COORDINATES = ("st", "UVMap", "uv", "map1")  # names of texture coordinates, as tools write them


def surface_of(mesh: UsdGeom.Mesh, code: Usd.TimeCode, path: str, mirrored: bool) -> dict[str, Any]:
    """Points (n, 3), triangles (m, 3) counter-clockwise seen from outside in the world, uvs (m, 3, 2) or None, subsets
    as numbers of triangles, velocities or None."""
    points = points_of(mesh, code, path)
    counts = numbers(mesh.GetFaceVertexCountsAttr(), code, np.int64, path)
    indices = numbers(mesh.GetFaceVertexIndicesAttr(), code, np.int64, path)
    check_topology(counts, indices, len(points), path)
    corners = triangulate(points[indices], counts, np.arange(len(indices)))
    faces = np.repeat(np.arange(len(counts)), counts - 2)
    holes = face_numbers(numbers(mesh.GetHoleIndicesAttr(), code, np.int64, path), len(counts), f"{path}: holeIndices")
    there = ~np.isin(faces, holes)
    corners, faces = corners[there], faces[there]
    if (mesh.GetOrientationAttr().Get(code) == UsdGeom.Tokens.leftHanded) != mirrored:
        corners = corners[:, ::-1]
    return {
        "points": points,
        "triangles": np.ascontiguousarray(indices[corners], np.int32),
        "uvs": _uvs(mesh, code, indices, corners, faces, path),
        "subsets": _subsets(mesh, code, len(counts), faces, path),
        "velocities": velocities_of(mesh, code, len(points), path),
    }


def velocities_of(prim: Any, code: Usd.TimeCode, count: int, path: str) -> np.ndarray | None:
    """Velocities (count, 3) in the prim's space [1/s], None where there are none."""
    rows = finite(numbers(prim.GetVelocitiesAttr(), code, np.float64, path, 3), f"{path} velocities")
    if len(rows) not in (0, count):
        raise UsdError(f"{path}: found {len(rows)} velocities, expected {count}, one per point; export it again")
    return rows if len(rows) else None


def _uvs(
    mesh: UsdGeom.Mesh, code: Usd.TimeCode, indices: np.ndarray, corners: np.ndarray, faces: np.ndarray, path: str
) -> np.ndarray | None:
    """Texture coordinates of the corners of triangles, float64 (m, 3, 2)."""
    primvars = UsdGeom.PrimvarsAPI(mesh)
    primvar = next(
        (p for p in map(primvars.FindPrimvarWithInheritance, _COORDINATES) if p and p.HasAuthoredValue()), None
    )
    if primvar is None:
        return None
    name = f"{path} {primvar.GetName()}"
    values = finite(numbers(primvar.GetAttr(), code, np.float64, path, 2), name)
    form = primvar.GetInterpolation()
    seats = {"faceVarying": corners, "uniform": np.repeat(faces[:, None], 3, axis=1)}.get(form, indices[corners])
    seats = np.zeros_like(seats) if form == UsdGeom.Tokens.constant else seats
    if primvar.IsIndexed():
        table = numbers(primvar.GetIndicesAttr(), code, np.int64, path)
        seats = table[_within(seats, len(table), name)]
    return values[_within(seats, len(values), name)]


def _within(seats: np.ndarray, count: int, what: str) -> np.ndarray:
    """Indices, if all of them name one of `count` rows."""
    if seats.size and not 0 <= seats.min() <= seats.max() < count:
        raise UsdError(f"{what}: found {count} rows, but corners of faces name {seats.min()} to {seats.max()}")
    return seats


def _subsets(mesh: UsdGeom.Mesh, code: Usd.TimeCode, count: int, faces: np.ndarray, path: str) -> dict[str, np.ndarray]:
    """Numbers of triangles by the name of each subset of faces."""
    subsets = {}
    for subset in UsdGeom.Subset.GetAllGeomSubsets(mesh):
        if subset.GetElementTypeAttr().Get() == UsdGeom.Tokens.face:
            chosen = subset_faces(subset, code, count, f"{path}/{subset.GetPrim().GetName()}")
            subsets[subset.GetPrim().GetName()] = np.flatnonzero(np.isin(faces, chosen)).astype(np.int32)
    return subsets
