"""`InstancesPrim`: copies of a few shapes that move and turn, as a `UsdGeom.PointInstancer`."""

import numpy as np
from pxr import Sdf, Usd, UsdGeom, Vt

from warpsim.usd import checks
from warpsim.usd.checks import UsdError
from warpsim.usd.prims import MeshPrim


class InstancesPrim:
    """Copies of shapes: which of them each copy is, and how many there are, never changes."""

    def __init__(self, stage: Usd.Stage, path: str, shapes, kinds, count: int):
        self._path, self._count = path, count
        self._instancer = UsdGeom.PointInstancer.Define(stage, path)
        targets, self._reach = [], np.zeros(max(len(shapes), 1))
        for k, (points, triangles, color) in enumerate(shapes):
            target = f"{path}/shape_{k}"
            mesh = MeshPrim(stage, target, checks.vectors(points, f"{target} points"), triangles, None, False)
            mesh.write(Usd.TimeCode.Default(), points, triangles, None, color, None, None)
            self._reach[k] = np.linalg.norm(points, axis=1).max(initial=0.0)
            targets.append(Sdf.Path(target))
        self._kinds = self._checked_kinds(kinds, len(targets))
        self._instancer.CreatePrototypesRel().SetTargets(targets)
        self._instancer.CreateProtoIndicesAttr(Vt.IntArray.FromNumpy(self._kinds))
        self._moving: tuple[bool, bool] | None = None

    def write(self, moment: Usd.TimeCode, positions, rotations, sizes, velocities, spins) -> int:
        """Author positions (n, 3), rotations (n, 4), scales, extent, and what else is given, at `moment`."""
        positions = checks.vectors(positions, f"{self._path} positions", self._count)
        sizes = checks.radii(sizes, f"{self._path} sizes", self._count)
        moving = (velocities is not None, spins is not None)
        if self._moving not in (None, moving):
            raise UsdError(f"{self._path}: velocities and spins come with every sample or never")
        self._moving = moving
        turns = self._checked_rotations(rotations)
        self._instancer.GetPositionsAttr().Set(Vt.Vec3fArray.FromNumpy(positions), moment)
        self._instancer.GetOrientationsAttr().Set(Vt.QuathArray.FromNumpy(turns.astype(np.float16)), moment)
        scales = np.repeat(sizes[:, None], 3, axis=1)
        self._instancer.GetScalesAttr().Set(Vt.Vec3fArray.FromNumpy(scales), moment)
        for values, attribute, unit in (
            (velocities, self._instancer.GetVelocitiesAttr(), 1.0),
            (spins, self._instancer.GetAngularVelocitiesAttr(), 180.0 / np.pi),  # degrees a second
        ):
            if values is not None:
                rows = checks.vectors(values, f"{attribute.GetPath()}", self._count) * np.float32(unit)
                attribute.Set(Vt.Vec3fArray.FromNumpy(rows), moment)
        self._instancer.GetExtentAttr().Set(self._extent(positions, sizes), moment)
        return positions.nbytes * (2 + sum(moving)) + 8 * self._count

    def _extent(self, positions: np.ndarray, sizes: np.ndarray) -> Vt.Vec3fArray:
        """A box around all copies however they are turned."""
        if not self._count:
            return Vt.Vec3fArray.FromNumpy(np.zeros((2, 3), np.float32))
        reach = (sizes * self._reach[self._kinds])[:, None]
        box = np.stack([(positions - reach).min(axis=0), (positions + reach).max(axis=0)])
        return Vt.Vec3fArray.FromNumpy(box.astype(np.float32))

    def _checked_kinds(self, kinds, shapes: int) -> np.ndarray:
        """Which shape each copy has, int32 (n,)."""
        chosen = np.zeros(self._count, np.int32) if kinds is None else np.asarray(kinds)
        if chosen.shape != (self._count,) or chosen.dtype.kind not in "iu":
            raise UsdError(
                f"{self._path} kinds: found {chosen.dtype} of shape {chosen.shape}, expected integers ({self._count},)"
            )
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < shapes:
            raise UsdError(f"{self._path} kinds: found {chosen.min()} to {chosen.max()}, expected 0 to {shapes - 1}")
        return np.ascontiguousarray(chosen, np.int32)

    def _checked_rotations(self, rotations) -> np.ndarray:
        """Unit quaternions, float64 (n, 4)."""
        turns = np.asarray(rotations, np.float64)
        if turns.shape != (self._count, 4):
            raise UsdError(f"{self._path} rotations: found shape {turns.shape}, expected ({self._count}, 4)")
        length = np.linalg.norm(checks.finite(turns, f"{self._path} rotations"), axis=1, keepdims=True)
        if not (length > 0.0).all():
            raise UsdError(f"{self._path} rotations: found a quaternion of zeros, expected one of length 1")
        return turns / length
