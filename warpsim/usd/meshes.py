"""Read one triangle mesh from any USD stage, in metres and in the caller's up axis.

Guarantees: finite points, indices in range, triangles that turn counter-clockwise seen from outside
whatever the file's orientation or a mirroring transform says.  What it does not do: subdivide (the
control cage is read as it is), read materials or primvars, weld points, drop degenerate triangles.
"""

import os
from dataclasses import dataclass

import numpy as np
from pxr import Tf, Usd, UsdGeom

from warpsim.usd.checks import UsdError, check_topology, finite
from warpsim.usd.topology import triangulate

# Row-vector rotations that carry the first up axis to the second; both keep x and handedness.
_TURN = {
    ("Z", "Y"): np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    ("Y", "Z"): np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}
_LISTED = 8


@dataclass(frozen=True)
class TriangleMesh:
    """points: float32 (n, 3) [m]; triangles: int32 (m, 3), counter-clockwise seen from outside."""

    points: np.ndarray
    triangles: np.ndarray


def read_mesh(
    path,
    prim_path: str | None = None,
    time: float | None = None,
    *,
    up_axis: str = "Y",
    meters_per_unit: float | None = None,
) -> TriangleMesh:
    """Read the mesh `prim_path`, or the only mesh, of a USD file (.usd, .usda, .usdc, .usdz).

    `prim_path` may name a mesh, a prim with exactly one mesh beneath it, or a GeomSubset of faces:
    then these faces are read, with the points they use.  Instances are looked into.  `time` is a
    time code; without it the earliest sample is read.  World transforms are applied, the stage is
    turned so that `up_axis` ("Y" or "Z") is up, and lengths become metres by the stage's
    `metersPerUnit`; a stage without one counts in centimetres, as the USD standard says, unless
    `meters_per_unit` overrides it.

    Raises FileNotFoundError for a missing file, UsdError for anything in it that is not a usable
    mesh.
    """
    if up_axis not in ("Y", "Z"):
        raise UsdError(f"read_mesh: up_axis is {up_axis!r}, expected 'Y' or 'Z'")
    stage = _open(path)
    mesh, subset = _find_mesh(stage, os.fspath(path), prim_path)
    moment = Usd.TimeCode.EarliestTime() if time is None else Usd.TimeCode(float(time))
    what = f"{os.fspath(path)}{(subset or mesh).GetPath()}"
    points, counts, indices = _arrays(mesh, subset, moment, what)
    triangles = triangulate(points, counts, indices)
    world = np.array(UsdGeom.XformCache(moment).GetLocalToWorldTransform(mesh.GetPrim()))
    points = (points @ world[:3, :3] + world[3, :3]) * _unit(stage, meters_per_unit, what)
    stage_up = str(UsdGeom.GetStageUpAxis(stage))
    if stage_up != up_axis:
        points = points @ _TURN[stage_up, up_axis]
    left_handed = mesh.GetOrientationAttr().Get(moment) == UsdGeom.Tokens.leftHanded
    mirrored = np.linalg.det(world[:3, :3]) < 0.0
    if left_handed != mirrored:  # each alone turns the winding; both together cancel
        triangles = np.ascontiguousarray(triangles[:, ::-1])
    with np.errstate(over="ignore"):
        points = points.astype(np.float32)
    return TriangleMesh(finite(points, f"{what} points in metres"), triangles)


def _open(path) -> Usd.Stage:
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise FileNotFoundError(f"read_mesh: {name!r} does not exist or is not a file")
    try:
        return Usd.Stage.Open(name)
    except Tf.ErrorException as error:
        reason = str(error).rpartition(" : ")[2].strip().strip("'")
        raise UsdError(
            f"read_mesh: {name!r} is not a USD file that can be read ({reason}); "
            "expected .usd, .usda, .usdc or .usdz, export the mesh again"
        ) from None


def _unit(stage: Usd.Stage, override: float | None, what: str) -> float:
    unit = UsdGeom.GetStageMetersPerUnit(stage) if override is None else float(override)
    if not (np.isfinite(unit) and unit > 0.0):
        raise UsdError(
            f"{what}: metersPerUnit is {unit:g}, expected a positive number; pass meters_per_unit"
        )
    return unit


def _find_mesh(stage: Usd.Stage, name: str, prim_path: str | None):
    """The mesh that `prim_path` stands for, and the subset of it, or None for all of it."""
    root = stage.GetPseudoRoot()
    if prim_path is not None:
        root = _named_prim(stage, name, prim_path)
    if root.IsA(UsdGeom.Subset) and root.GetParent().IsA(UsdGeom.Mesh):
        return UsdGeom.Mesh(root.GetParent()), UsdGeom.Subset(root)
    where = name if prim_path is None else f"{name}{prim_path}"
    meshes = [p for p in Usd.PrimRange(root, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh)]
    if not meshes:
        kinds = sorted({str(p.GetTypeName()) for p in Usd.PrimRange(root)} - {""})
        raise UsdError(
            f"{where}: found no Mesh, only {', '.join(kinds) or 'empty prims'}; "
            "export the object as a mesh"
        )
    if len(meshes) > 1:
        raise UsdError(
            f"{where}: found {len(meshes)} meshes ({_listing(meshes)}); "
            "pass prim_path to choose one"
        )
    return UsdGeom.Mesh(meshes[0]), None


def _named_prim(stage: Usd.Stage, name: str, prim_path: str) -> Usd.Prim:
    try:
        prim = stage.GetPrimAtPath(prim_path)
    except Tf.ErrorException:
        prim = Usd.Prim()
    if not prim:
        meshes = [p for p in stage.Traverse(Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh)]
        raise UsdError(
            f"{name}: has no prim {prim_path!r}; its meshes are: {_listing(meshes) or 'none'}"
        )
    return prim


def _listing(prims) -> str:
    names = [str(p.GetPath()) for p in prims[:_LISTED]]
    return ", ".join(names) + (f", and {len(prims) - _LISTED} more" if len(prims) > _LISTED else "")


def _arrays(mesh: UsdGeom.Mesh, subset: UsdGeom.Subset | None, moment: Usd.TimeCode, what: str):
    """Points (n, 3) float64, counts and indices int64 at `moment`, all checked."""
    points, counts, indices, holes = (
        attribute.Get(moment)
        for attribute in (
            mesh.GetPointsAttr(),
            mesh.GetFaceVertexCountsAttr(),
            mesh.GetFaceVertexIndicesAttr(),
            mesh.GetHoleIndicesAttr(),
        )
    )
    if not points:
        raise UsdError(
            f"{what}: the mesh has no points at time {moment}; choose another time or prim"
        )
    points = finite(np.asarray(points, dtype=np.float64), f"{what} points")
    counts = np.asarray(counts or (), dtype=np.int64)
    indices = np.asarray(indices or (), dtype=np.int64)
    check_topology(counts, indices, len(points), what)
    keep = np.ones(len(counts), dtype=bool)
    if subset is not None:
        keep[:] = False
        keep[_subset_faces(subset, moment, len(counts), what)] = True
    if holes:
        keep[_face_numbers(holes, len(counts), f"{what}: holeIndices name")] = False
    if keep.all():
        return points, counts, indices
    if not keep.any():
        raise UsdError(
            f"{what}: no face is left, as every one is a hole or outside of the subset, expected "
            "at least one"
        )
    counts, indices = counts[keep], indices[np.repeat(keep, counts)]
    if subset is not None:
        used, indices = np.unique(indices, return_inverse=True)
        points = points[used]
    return points, counts, indices


def _subset_faces(subset: UsdGeom.Subset, moment: Usd.TimeCode, count: int, what: str) -> np.ndarray:
    kind = subset.GetElementTypeAttr().Get()
    if kind != UsdGeom.Tokens.face:
        raise UsdError(f"{what}: is a subset of {kind}s, expected one of faces; choose another prim")
    return _face_numbers(subset.GetIndicesAttr().Get(moment) or (), count, f"{what}: the subset names")


def _face_numbers(values, count: int, names: str) -> np.ndarray:
    faces = np.asarray(values, dtype=np.int64)
    outside = faces[(faces < 0) | (faces >= count)]
    if len(outside):
        raise UsdError(f"{names} face {outside[0]}, but there are {count} faces")
    return faces
