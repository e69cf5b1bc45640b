"""`InstancesPrim`: copies of a few shapes that move and turn, as a `UsdGeom.PointInstancer`."""

from typing import Any, NamedTuple

import numpy as np
from pxr import Sdf, Usd, UsdGeom, Vt

from warpsim.usd import checks
from warpsim.usd.checks import UsdError
from warpsim.usd.prims import MeshPrim


class Copies(NamedTuple):
    """Copies of shapes at one moment, see `UsdWriter.instances`."""

    positions: Any
    rotations: Any
    sizes: Any
    kinds: Any
    velocities: Any
    spins: Any
    ids: Any


class InstancesPrim:
    """Copies of shapes, which may come and go; ids say who stays."""

    def __init__(self, stage: Usd.Stage, path: str, shapes):
        self._path = path
        self._instancer = UsdGeom.PointInstancer.Define(stage, path)
        targets, self._reach = [], np.zeros(max(len(shapes), 1))
        for k, (points, triangles, color) in enumerate(shapes):
            target = f"{path}/shape_{k}"
            mesh = MeshPrim(stage, target, checks.vectors(points, f"{target} points"), triangles, None, False)
            mesh.write(Usd.TimeCode.Default(), points, triangles, None, color, None, None)
            self._reach[k] = np.linalg.norm(points, axis=1).max(initial=0.0)
            targets.append(Sdf.Path(target))
        self._shapes = len(targets)
        self._instancer.CreatePrototypesRel().SetTargets(targets)
        self._kinds: np.ndarray | None = None
        self._form: tuple[bool, bool, bool] | None = None

    def write(self, moment: Usd.TimeCode, copies: Copies) -> int:
        """Author positions (n, 3), rotations (n, 4), scales, extent, and what else is given, at `moment`."""
        positions, rotations, sizes, kinds, velocities, spins, ids = copies
        positions = checks.vectors(positions, f"{self._path} positions")
        count = len(positions)
        sizes = checks.radii(sizes, f"{self._path} sizes", count)
        form = (velocities is not None, spins is not None, ids is not None)
        if self._form not in (None, form):
            raise UsdError(f"{self._path}: velocities, spins and ids come with every sample or never")
        self._form = form
        turns = self._checked_rotations(rotations, count)
        self._author_kinds(self._checked_kinds(kinds, count), moment)
        if ids is not None:
            ids = checks.ids(ids, f"{self._path} ids", count)
            self._instancer.GetIdsAttr().Set(Vt.Int64Array.FromNumpy(ids), moment)
        self._instancer.GetPositionsAttr().Set(Vt.Vec3fArray.FromNumpy(positions), moment)
        self._instancer.GetOrientationsAttr().Set(Vt.QuathArray.FromNumpy(turns.astype(np.float16)), moment)
        scales = np.repeat(sizes[:, None], 3, axis=1)
        self._instancer.GetScalesAttr().Set(Vt.Vec3fArray.FromNumpy(scales), moment)
        for values, attribute, unit in (
            (velocities, self._instancer.GetVelocitiesAttr(), 1.0),
            (spins, self._instancer.GetAngularVelocitiesAttr(), 180.0 / np.pi),  # degrees a second
        ):
            if values is not None:
                rows = checks.vectors(values, f"{attribute.GetPath()}", count) * np.float32(unit)
                attribute.Set(Vt.Vec3fArray.FromNumpy(rows), moment)
        self._instancer.GetExtentAttr().Set(self._extent(positions, sizes), moment)
        return positions.nbytes * (2 + sum(form[:2])) + (12 + 8 * form[2]) * count

    def _author_kinds(self, kinds: np.ndarray, moment: Usd.TimeCode) -> None:
        """Which shapes there are: once, and from the first change on whenever they change."""
        attribute = self._instancer.GetProtoIndicesAttr()
        if self._kinds is None:
            attribute.Set(Vt.IntArray.FromNumpy(kinds))
            self._first = moment
        elif not np.array_equal(kinds, self._kinds):
            if not attribute.GetNumTimeSamples():
                attribute.Set(Vt.IntArray.FromNumpy(self._kinds), self._first)
            attribute.Set(Vt.IntArray.FromNumpy(kinds), moment)
        self._kinds = kinds

    def _extent(self, positions: np.ndarray, sizes: np.ndarray) -> Vt.Vec3fArray:
        """A box around all copies however they are turned."""
        if not len(positions):
            return Vt.Vec3fArray.FromNumpy(np.zeros((2, 3), np.float32))
        reach = (sizes * self._reach[self._kinds])[:, None]
        box = np.stack([(positions - reach).min(axis=0), (positions + reach).max(axis=0)])
        return Vt.Vec3fArray.FromNumpy(box.astype(np.float32))

    def _checked_kinds(self, kinds, count: int) -> np.ndarray:
        """Which shape each copy has, int32 (n,)."""
        chosen = np.zeros(count, np.int32) if kinds is None or not count else np.asarray(kinds)
        if chosen.shape != (count,) or chosen.dtype.kind not in "iu":
            raise UsdError(
                f"{self._path} kinds: found {chosen.dtype} of shape {chosen.shape}, expected integers ({count},)"
            )
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < self._shapes:
            raise UsdError(
                f"{self._path} kinds: found {chosen.min()} to {chosen.max()}, expected 0 to {self._shapes - 1}"
            )
        return np.ascontiguousarray(chosen, np.int32)

    def _checked_rotations(self, rotations, count: int) -> np.ndarray:
        """Unit quaternions, float64 (n, 4)."""
        turns = np.asarray(rotations, np.float64)
        if turns.shape != (count, 4):
            raise UsdError(f"{self._path} rotations: found shape {turns.shape}, expected ({count}, 4)")
        length = np.linalg.norm(checks.finite(turns, f"{self._path} rotations"), axis=1, keepdims=True)
        if not (length > 0.0).all():
            raise UsdError(f"{self._path} rotations: found a quaternion of zeros, expected one of length 1")
        return turns / length
