"""Read one triangle mesh from any USD stage, in metres and in the caller's up axis.

Guarantees: finite points, indices in range, triangles that turn counter-clockwise seen from outside
whatever the file's orientation or a mirroring transform says.  What it does not do: subdivide (the
control cage is read as it is), read materials or primvars, weld points, drop degenerate triangles.
"""

import os
from dataclasses import dataclass

import numpy as np
from pxr import Sdf, Usd, UsdGeom

from warpsim.arguments import checked
from warpsim.usd.checks import UsdError, check_topology, finite
from warpsim.usd.reader import MAX_BYTES, MAX_SECONDS, Reader
from warpsim.usd.stage_file import AXES, numbers, prims_of, turn_between, unit_of
from warpsim.usd.topology import triangulate

_LISTED = 8


@dataclass(frozen=True)
class TriangleMesh:
    """points: float32 (n, 3) [m]; triangles: int32 (m, 3), counter-clockwise seen from outside."""

    points: np.ndarray
    triangles: np.ndarray


@checked
def read_mesh(
    path: str | os.PathLike[str],
    prim_path: str | None = None,
    time: float | None = None,
    *,
    up_axis: str = "Y",
    meters_per_unit: float | None = None,
    max_bytes: int = MAX_BYTES,
    max_seconds: float = MAX_SECONDS,
) -> TriangleMesh:
    """Read the mesh `prim_path`, or the only mesh, of a USD file (.usd, .usda, .usdc, .usdz).

    `prim_path` may name a mesh, a prim with exactly one mesh beneath it, or a GeomSubset of faces:
    then these faces are read, with the points they use.  Instances are looked into.  `time` is a
    time code; without it the earliest sample is read.  World transforms are applied, the stage is
    turned so that `up_axis` ("Y" or "Z") is up, and lengths become metres by the stage's
    `metersPerUnit`; a stage without one counts in centimetres, as the USD standard says, unless
    `meters_per_unit` overrides it.

    Files need not be trusted: another process reads them, see `warpsim.usd.reader`, and UsdError is what is left of one
    that pxr cannot stand.  An array, or a table of a binary file, that takes more than `max_bytes` (1 GiB) is refused
    before it is read, also in a layer that the file refers to; the process may take eight times as much and 1 GiB.
    Reading that takes more than `max_seconds` [s] is given up.  No more than a million prims, 1,000 levels deep, are
    searched.  The first file takes about 0.3 s longer than those that follow, as pxr is loaded.

    Raises FileNotFoundError for a missing file, UsdError for anything in it that is not a usable
    mesh, also for what pxr cannot read.
    """
    if up_axis not in AXES:
        raise UsdError(f"read_mesh: up_axis is {up_axis!r}, expected 'Y' or 'Z'")
    name = os.fsdecode(path)
    if not os.path.isfile(name):
        raise FileNotFoundError(f"read_mesh: {name!r} does not exist or is not a file")
    choice = {
        "prim_path": None if prim_path is None else str(prim_path),
        "time": None if time is None else float(time),
        "meters_per_unit": None if meters_per_unit is None else float(meters_per_unit),
    }
    with Reader(name, max_bytes, max_seconds) as reader:
        return TriangleMesh(**reader.ask("mesh", up_axis=up_axis, **choice))


# ----- in the process that reads ----------------------------------------------------------------


def find_mesh(
    stage: Usd.Stage, name: str, prim_path: str | None, time: float | None, up_axis: str, meters_per_unit: float | None
) -> dict[str, np.ndarray]:
    """Points and triangles of one mesh of the stage of a file; arguments as of `read_mesh`."""
    moment = Usd.TimeCode.EarliestTime() if time is None else Usd.TimeCode(time)
    mesh, subset = _find_prim(stage, name, prim_path)
    what = f"{name}{(subset or mesh).GetPath()}"
    points, counts, indices = _arrays(mesh, subset, moment, what)
    triangles = triangulate(points, counts, indices)
    world = np.array(UsdGeom.XformCache(moment).GetLocalToWorldTransform(mesh.GetPrim()))
    with np.errstate(all="ignore"):  # what overflows is refused below
        points = (points @ world[:3, :3] + world[3, :3]) * unit_of(stage, what, meters_per_unit)
        stage_up = str(UsdGeom.GetStageUpAxis(stage))
        if stage_up != up_axis:
            points = points @ turn_between(stage_up, up_axis, what)
        mirrored = np.linalg.det(world[:3, :3]) < 0.0
        points = points.astype(np.float32)
    left_handed = mesh.GetOrientationAttr().Get(moment) == UsdGeom.Tokens.leftHanded
    if left_handed != mirrored:  # each alone turns the winding; both together cancel
        triangles = np.ascontiguousarray(triangles[:, ::-1])
    return {"points": finite(points, f"{what} points in metres"), "triangles": triangles}


def _find_prim(stage: Usd.Stage, name: str, prim_path: str | None):
    """The mesh that `prim_path` stands for, and the subset of it, or None for all of it."""
    root = stage.GetPseudoRoot()
    if prim_path is not None:
        root = _named_prim(stage, name, prim_path)
    if root.IsA(UsdGeom.Subset) and root.GetParent().IsA(UsdGeom.Mesh):
        return UsdGeom.Mesh(root.GetParent()), UsdGeom.Subset(root)
    where = name if prim_path is None else f"{name}{prim_path}"
    meshes = _meshes(root, where)
    if not meshes:
        kinds = sorted({str(p.GetTypeName()) for p in Usd.PrimRange(root)} - {""})
        raise UsdError(f"{where}: found no Mesh, only {', '.join(kinds) or 'empty prims'}; export the object as a mesh")
    if len(meshes) > 1:
        raise UsdError(f"{where}: found {len(meshes)} meshes ({_listing(meshes)}); pass prim_path to choose one")
    return UsdGeom.Mesh(meshes[0]), None


def _named_prim(stage: Usd.Stage, name: str, prim_path: str) -> Usd.Prim:
    prim = stage.GetPrimAtPath(prim_path) if Sdf.Path.IsValidPathString(prim_path) else None
    if not prim:
        meshes = _listing(_meshes(stage.GetPseudoRoot(), name)) or "none"
        raise UsdError(f"{name}: has no prim {prim_path!r}; its meshes are: {meshes}")
    return prim


def _meshes(root: Usd.Prim, where: str) -> list[Usd.Prim]:
    return [p for p in prims_of(Usd.PrimRange(root, Usd.TraverseInstanceProxies()), where) if p.IsA(UsdGeom.Mesh)]


def _listing(prims) -> str:
    names = [str(p.GetPath()) for p in prims[:_LISTED]]
    return ", ".join(names) + (f", and {len(prims) - _LISTED} more" if len(prims) > _LISTED else "")


def _arrays(mesh: UsdGeom.Mesh, subset: UsdGeom.Subset | None, moment: Usd.TimeCode, what: str):
    """Points (n, 3) float64, counts and indices int64 at `moment`, all checked."""
    points = numbers(mesh.GetPointsAttr(), moment, np.float64, what, 3)
    counts = numbers(mesh.GetFaceVertexCountsAttr(), moment, np.int64, what)
    indices = numbers(mesh.GetFaceVertexIndicesAttr(), moment, np.int64, what)
    holes = numbers(mesh.GetHoleIndicesAttr(), moment, np.int64, what)
    if not len(points):
        raise UsdError(f"{what}: the mesh has no points at time {moment}; choose another time or prim")
    points = finite(points, f"{what} points")
    check_topology(counts, indices, len(points), what)
    keep = np.ones(len(counts), dtype=bool)
    if subset is not None:
        keep[:] = False
        keep[subset_faces(subset, moment, len(counts), what)] = True
    if len(holes):
        keep[face_numbers(holes, len(counts), f"{what}: holeIndices name")] = False
    if keep.all():
        return points, counts, indices
    if not keep.any():
        raise UsdError(
            f"{what}: no face is left, as every one is a hole or outside of the subset, expected at least one"
        )
    counts, indices = counts[keep], indices[np.repeat(keep, counts)]
    if subset is not None:
        used, indices = np.unique(indices, return_inverse=True)
        points = points[used]
    return points, counts, indices


def subset_faces(subset: UsdGeom.Subset, moment: Usd.TimeCode, count: int, what: str) -> np.ndarray:
    kind = subset.GetElementTypeAttr().Get()
    if kind != UsdGeom.Tokens.face:
        raise UsdError(f"{what}: is a subset of {kind}s, expected one of faces; choose another prim")
    faces = numbers(subset.GetIndicesAttr(), moment, np.int64, what)
    return face_numbers(faces, count, f"{what}: the subset names")


def face_numbers(faces: np.ndarray, count: int, names: str) -> np.ndarray:
    outside = faces[(faces < 0) | (faces >= count)]
    if len(outside):
        raise UsdError(f"{names} face {outside[0]}, but there are {count} faces")
    return faces
