"""Read one triangle mesh from any USD stage, in metres and in the caller's up axis.

Guarantees: finite points, indices in range, triangles that turn counter-clockwise seen from outside
whatever the file's orientation or a mirroring transform says.  What it does not do: subdivide (the
control cage is read as it is), read materials or primvars, weld points, drop degenerate triangles.
"""

import itertools
import os
from dataclasses import dataclass

import numpy as np
from pxr import Ar, Sdf, Usd, UsdGeom

from warpsim.usd.checks import UsdError, check_topology, finite, pxr_errors
from warpsim.usd.crate import check_file
from warpsim.usd.topology import triangulate

# Row-vector rotations that carry the first up axis to the second; both keep x and handedness.
_TURN = {
    ("Z", "Y"): np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    ("Y", "Z"): np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}
_LISTED = 8
_MOST_PRIMS = 1_000_000  # that a search for meshes visits


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
    max_bytes: int = 1 << 30,
) -> TriangleMesh:
    """Read the mesh `prim_path`, or the only mesh, of a USD file (.usd, .usda, .usdc, .usdz).

    `prim_path` may name a mesh, a prim with exactly one mesh beneath it, or a GeomSubset of faces:
    then these faces are read, with the points they use.  Instances are looked into.  `time` is a
    time code; without it the earliest sample is read.  World transforms are applied, the stage is
    turned so that `up_axis` ("Y" or "Z") is up, and lengths become metres by the stage's
    `metersPerUnit`; a stage without one counts in centimetres, as the USD standard says, unless
    `meters_per_unit` overrides it.

    Binary files are compressed, some a thousandfold: one with an array, or a table, that takes more
    than `max_bytes` (1 GiB) is refused before that is read, and so is a layer it refers to. Reading
    takes a few times the memory of the largest array. No more than a million prims are searched.
    pxr reads the file in this process, and may end it where a damaged one leads it astray: read
    files of strangers in a process of their own.

    Raises FileNotFoundError for a missing file, UsdError for anything in it that is not a usable
    mesh, also for what pxr cannot read.
    """
    if up_axis not in ("Y", "Z"):
        raise UsdError(f"read_mesh: up_axis is {up_axis!r}, expected 'Y' or 'Z'")
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise FileNotFoundError(f"read_mesh: {name!r} does not exist or is not a file")
    moment = Usd.TimeCode.EarliestTime() if time is None else Usd.TimeCode(float(time))
    with pxr_errors(f"read_mesh: {name!r}"):
        stage = opened(name, max_bytes)
        return _read(stage, name, prim_path, moment, up_axis, meters_per_unit)


def _read(stage: Usd.Stage, name: str, prim_path, moment, up_axis, meters_per_unit) -> TriangleMesh:
    mesh, subset = _find_mesh(stage, name, prim_path)
    what = f"{name}{(subset or mesh).GetPath()}"
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


def opened(name: str, max_bytes: int) -> Usd.Stage:
    """The stage of a file. Its tables are checked before it is opened, and all arrays before one is read."""
    check_file(name, max_bytes)
    stage = Usd.Stage.Open(name)
    for layer in stage.GetUsedLayers():
        place = Ar.SplitPackageRelativePathOuter(layer.realPath)[0]
        if place != os.path.realpath(name) and os.path.isfile(place):
            check_file(place, max_bytes)
    return stage


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
    meshes = _meshes(root, where)
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
    prim = stage.GetPrimAtPath(prim_path) if Sdf.Path.IsValidPathString(prim_path) else None
    if not prim:
        meshes = _listing(_meshes(stage.GetPseudoRoot(), name)) or "none"
        raise UsdError(f"{name}: has no prim {prim_path!r}; its meshes are: {meshes}")
    return prim


def _meshes(root: Usd.Prim, where: str) -> list[Usd.Prim]:
    prims = iter(Usd.PrimRange(root, Usd.TraverseInstanceProxies()))
    meshes = [p for p in itertools.islice(prims, _MOST_PRIMS) if p.IsA(UsdGeom.Mesh)]
    if next(prims, None) is not None:
        raise UsdError(
            f"{where}: holds more than {_MOST_PRIMS} prims, its instances counted; pass prim_path to choose a mesh"
        )
    return meshes


def _listing(prims) -> str:
    names = [str(p.GetPath()) for p in prims[:_LISTED]]
    return ", ".join(names) + (f", and {len(prims) - _LISTED} more" if len(prims) > _LISTED else "")


def _arrays(mesh: UsdGeom.Mesh, subset: UsdGeom.Subset | None, moment: Usd.TimeCode, what: str):
    """Points (n, 3) float64, counts and indices int64 at `moment`, all checked."""
    points = _numbers(mesh.GetPointsAttr(), moment, np.float64, what)
    counts = _numbers(mesh.GetFaceVertexCountsAttr(), moment, np.int64, what)
    indices = _numbers(mesh.GetFaceVertexIndicesAttr(), moment, np.int64, what)
    holes = _numbers(mesh.GetHoleIndicesAttr(), moment, np.int64, what)
    if not len(points):
        raise UsdError(
            f"{what}: the mesh has no points at time {moment}; choose another time or prim"
        )
    points = finite(points.reshape(-1, 3), f"{what} points")
    check_topology(counts, indices, len(points), what)
    keep = np.ones(len(counts), dtype=bool)
    if subset is not None:
        keep[:] = False
        keep[_subset_faces(subset, moment, len(counts), what)] = True
    if len(holes):
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


def _numbers(attribute: Usd.Attribute, moment: Usd.TimeCode, kind: type, what: str) -> np.ndarray:
    """The array of an attribute, whose type a file may have made another one."""
    value = attribute.Get(moment)
    try:
        return np.asarray(() if value is None else value, dtype=kind)
    except (TypeError, ValueError):
        name, type_name = attribute.GetName(), attribute.GetTypeName()
        raise UsdError(f"{what}: {name} is a {type_name}, expected an array of numbers; export it again") from None


def _subset_faces(subset: UsdGeom.Subset, moment: Usd.TimeCode, count: int, what: str) -> np.ndarray:
    kind = subset.GetElementTypeAttr().Get()
    if kind != UsdGeom.Tokens.face:
        raise UsdError(f"{what}: is a subset of {kind}s, expected one of faces; choose another prim")
    faces = _numbers(subset.GetIndicesAttr(), moment, np.int64, what)
    return _face_numbers(faces, count, f"{what}: the subset names")


def _face_numbers(faces: np.ndarray, count: int, names: str) -> np.ndarray:
    outside = faces[(faces < 0) | (faces >= count)]
    if len(outside):
        raise UsdError(f"{names} face {outside[0]}, but there are {count} faces")
    return faces
