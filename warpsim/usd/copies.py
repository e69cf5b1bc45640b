"""Copies of a point instancer as one surface, in the instancer's own space."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

from warpsim.usd.checks import UsdError, finite
from warpsim.usd.scene import transform, within
from warpsim.usd.solids import SOLIDS, solid
from warpsim.usd.stage_file import numbers, prims_of
from warpsim.usd.surfaces import surface_of, velocities_of

MOST_POINTS = 50_000_000  # of all copies together


def copies_of(instancer: UsdGeom.PointInstancer, code: Usd.TimeCode, path: str, mirrored: bool) -> dict[str, Any]:
    """Points and triangles of all copies, and positions (n, 3) of the copies themselves."""
    points, triangles, radii = placed_copies(instancer, code, path, mirrored)
    positions = finite(numbers(instancer.GetPositionsAttr(), code, np.float64, path, 3), f"{path} positions")
    velocities = velocities_of(instancer, code, len(positions), path)
    shape = {"points": points, "triangles": triangles, "radii": radii}
    return {**shape, "positions": positions, "velocities": velocities}


def placed_copies(
    instancer: UsdGeom.PointInstancer, code: Usd.TimeCode, path: str, mirrored: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (n, 3) float64 and triangles (m, 3) int32 of all copies that are there, one prototype after the other, and
    how far the shape of each copy reaches from its position, (k,)."""
    kinds = numbers(instancer.GetProtoIndicesAttr(), code, np.int64, path)
    matrices = np.array(
        instancer.ComputeInstanceTransformsAtTime(
            code, code, UsdGeom.PointInstancer.ExcludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
        )
    ).reshape(-1, 4, 4)
    if not len(matrices) == len(kinds) == len(instancer.GetPositionsAttr().Get(code) or ()):
        raise UsdError(f"{path}: found {len(matrices)} copies with a place, expected {len(kinds)} as of protoIndices")
    mask = np.array(instancer.ComputeMaskAtTime(code), bool)
    shown = mask if len(mask) else np.ones(len(kinds), bool)
    points, triangles, count, radii = [np.empty((0, 3))], [np.empty((0, 3), np.int32)], 0, np.zeros(len(kinds))
    for number, target in enumerate(instancer.GetPrototypesRel().GetTargets()):
        for shape, faces in _parts(instancer.GetPrim().GetStage(), target, code, path, mirrored):
            chosen = np.flatnonzero(shown & (kinds == number))
            each = matrices[chosen]
            if count + len(each) * len(shape) > MOST_POINTS:
                raise UsdError(f"{path}: its copies have more than {MOST_POINTS} points; leave it out")
            around = np.einsum("pi,nij->npj", shape, each[:, :3, :3])
            radii[chosen] = np.maximum(radii[chosen], np.linalg.norm(around, axis=2).max(axis=1, initial=0.0))
            starts = count + len(shape) * np.arange(len(each))
            triangles.append((faces + starts[:, None, None]).reshape(-1, 3).astype(np.int32))
            points.append((around + each[:, None, 3, :3]).reshape(-1, 3))
            count += len(each) * len(shape)
    return np.concatenate(points), np.concatenate(triangles), radii


def _parts(stage: Usd.Stage, target: Any, code: Usd.TimeCode, path: str, mirrored: bool) -> Any:
    """Points in the instancer's space and triangles of each mesh or solid of a prototype."""
    root = stage.GetPrimAtPath(target)
    for part in prims_of(Usd.PrimRange(root), path) if root else ():
        if part.IsA(UsdGeom.Mesh):
            surface = surface_of(UsdGeom.Mesh(part), Usd.TimeCode.EarliestTime(), str(part.GetPath()), mirrored)
            shape, triangles = surface["points"], surface["triangles"]
        elif part.GetTypeName() in SOLIDS:
            shape, triangles = solid(part)
        else:
            continue
        yield transform(shape, within(part, root, path)), triangles
