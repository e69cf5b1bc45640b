"""`Scene`: what a stage shows, body by body and frame by frame, as plain arrays in metres of the world.

Guarantees: units, rates and the up axis are usable, every number is finite and within `FARTHEST` of zero, the arrays of
a body fit each other, and faces name points that are there in every frame. What is not so is a `UsdError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

from warpsim.usd.checks import UsdError, check_topology, finite, rate
from warpsim.usd.solids import SOLIDS, solid
from warpsim.usd.stage_file import numbers, prims_of, unit_of
from warpsim.usd.topology import triangulate

GREY = (0.45, 0.45, 0.45)  # linear RGB of what has no color
FARTHEST = 1.0e18  # metres: squares of distances further away overflow float32
MOST_FRAMES = 1_000_000


@dataclass(eq=False)
class _Body:
    """A prim that is drawn, with its triangles and points where they never change.

    Instances have the number of their prototype in the instancer, and `part`, the prim of the prototype. Of a mesh that
    is `varying` every frame has triangles of its own.
    """

    name: str
    kind: str
    prim: Usd.Prim
    moving: bool
    triangles: np.ndarray | None = None
    shape: np.ndarray | None = None
    number: int = 0
    part: Usd.Prim | None = None
    varying: bool = False


class Scene:
    """The bodies and time codes of a stage."""

    def __init__(self, stage: Usd.Stage, name: str):
        self._stage, self._name = stage, name
        self.up = str(UsdGeom.GetStageUpAxis(stage))
        self.fps = rate(stage.GetTimeCodesPerSecond(), f"{name!r} timeCodesPerSecond")
        if self.up not in ("Y", "Z"):
            raise UsdError(f"{name!r}: upAxis is {self.up!r}, expected 'Y' or 'Z'")
        self._unit = unit_of(stage, repr(name))
        self._bodies = [body for prim in self._visible_prims() for body in self._bodies_of(prim)]
        if not self._bodies:
            raise UsdError(f"{name!r}: found nothing to draw, expected meshes, points, instances or simple solids")
        self._codes = self._time_codes()

    def describe(self) -> dict[str, Any]:
        """All that is known before the first frame."""
        bodies = [
            {**{k: getattr(b, k) for k in ("name", "kind", "moving", "triangles", "shape", "varying")}}
            for b in self._bodies
        ]
        return {"up": self.up, "fps": self.fps, "codes": self._codes, "bodies": bodies}

    def moment(self, number: int, frame: int) -> dict[str, Any]:
        """The arrays of a body in a frame, see `warpsim.viewer.Moment`."""
        body, code = self._bodies[number], self._codes[frame]
        with np.errstate(all="ignore"):  # what overflows is refused
            moment = _READERS[body.kind](self, body, code)
        return {name: None if array is None else _near(array, body.name) for name, array in moment.items()}

    # ----- finding --------------------------------------------------------------------------

    def _visible_prims(self) -> Iterator[Usd.Prim]:
        """Prims with a shape that are visible, but for prototypes of point instancers, which are drawn elsewhere."""
        prims = iter(self._stage.Traverse())
        for prim in prims_of(prims, repr(self._name)):
            if prim.IsA(UsdGeom.PointInstancer):
                prims.PruneChildren()
            if prim.IsA(UsdGeom.Boundable) and _is_visible(prim):
                yield prim

    def _bodies_of(self, prim: Usd.Prim) -> list[_Body]:
        path = str(prim.GetPath())
        if prim.IsA(UsdGeom.Mesh):
            mesh = UsdGeom.Mesh(prim)
            if mesh.GetFaceVertexCountsAttr().ValueMightBeTimeVarying() or (
                mesh.GetFaceVertexIndicesAttr().ValueMightBeTimeVarying()
            ):
                return [_Body(path, "mesh", prim, True, varying=True)]
            return [_Body(path, "mesh", prim, _varies(prim), _triangles(mesh, path))]
        if prim.IsA(UsdGeom.Points):
            return [_Body(path, "points", prim, _varies(prim))]
        if prim.IsA(UsdGeom.PointInstancer):
            return self._instancer_bodies(prim, path)
        if prim.GetTypeName() in SOLIDS:
            shape, triangles = solid(prim)
            return [_Body(path, "mesh", prim, _varies(prim), triangles, finite(shape, path))]
        return []

    def _instancer_bodies(self, prim: Usd.Prim, path: str) -> list[_Body]:
        """One body for each mesh or solid of each prototype."""
        bodies = []
        for number, target in enumerate(UsdGeom.PointInstancer(prim).GetPrototypesRel().GetTargets()):
            root = self._stage.GetPrimAtPath(target)
            for part in prims_of(Usd.PrimRange(root), path) if root else ():
                if part.IsA(UsdGeom.Mesh):
                    mesh = UsdGeom.Mesh(part)
                    shape, triangles = points_of(mesh, Usd.TimeCode.EarliestTime(), path), _triangles(mesh, path)
                elif part.GetTypeName() in SOLIDS:
                    shape, triangles = solid(part)
                else:
                    continue
                with np.errstate(all="ignore"):
                    placed = (transform(shape, within(part, root, path)) * self._unit).astype(np.float32)
                name = f"{path}/{part.GetName()}"
                bodies.append(_Body(name, "instances", prim, True, triangles, _near(placed, name), number, part))
        return bodies

    def _time_codes(self) -> list[float]:
        samples: set[float] = set()
        seen = set()
        for body in self._bodies:
            prim = body.prim
            while prim and not prim.IsPseudoRoot() and prim.GetPath() not in seen:
                seen.add(prim.GetPath())
                samples.update(*(a.GetTimeSamples() for a in prim.GetAttributes()))
                prim = prim.GetParent()
        if self._stage.HasAuthoredTimeCodeRange():
            first, last = self._stage.GetStartTimeCode(), self._stage.GetEndTimeCode()
            samples = {code for code in samples if first <= code <= last}
        if len(samples) > MOST_FRAMES:
            raise UsdError(f"{self._name!r}: has samples at {len(samples)} times, expected at most {MOST_FRAMES}")
        return sorted(samples) or [0.0]

    # ----- reading --------------------------------------------------------------------------

    def _mesh(self, body: _Body, code: float) -> dict[str, Any]:
        shape = points_of(UsdGeom.Mesh(body.prim), code, body.name) if body.shape is None else body.shape
        last = -1 if body.triangles is None else int(body.triangles.max(initial=-1))
        if last >= len(shape):
            raise UsdError(f"{body.name}: a frame has {len(shape)} points, but its faces name point {last}")
        moment = {"points": self._place(shape, body.prim, code), "color": _color(body.prim, code, len(shape))}
        return {**moment, "triangles": _triangles(UsdGeom.Mesh(body.prim), body.name, code)} if body.varying else moment

    def _balls(self, body: _Body, code: float) -> dict[str, Any]:
        points = UsdGeom.Points(body.prim)
        places = self._place(points_of(points, code, body.name), body.prim, code)
        widths = numbers(points.GetWidthsAttr(), code, np.float32, body.name)
        if len(widths) not in (1, len(places)):
            widths = np.full(1, 0.01 / self._unit, np.float32)
        radii = np.broadcast_to(0.5 * widths * self._unit, len(places)).astype(np.float32)
        return {"points": places, "color": _color(body.prim, code, len(places)), "radii": radii}

    def _copies(self, body: _Body, code: float) -> dict[str, Any]:
        """Copies of one prototype."""
        instancer = UsdGeom.PointInstancer(body.prim)
        kinds = numbers(instancer.GetProtoIndicesAttr(), code, np.int64, body.name)
        count = len(kinds)

        def rows(attribute: Usd.Attribute, row: tuple[float, ...], kind: Any) -> np.ndarray:
            array = numbers(attribute, code, kind, body.name)
            if not array.size and row:
                return np.tile(np.array(row, kind), (count, 1))
            if array.size != count * (len(row) or 3):
                name = attribute.GetName()
                raise UsdError(f"{body.name}: found {len(array)} {name}, expected {count} as of protoIndices")
            return array.reshape(count, len(row) or 3)

        places = finite(rows(instancer.GetPositionsAttr(), (), np.float64), body.name)
        turns = rows(instancer.GetOrientationsAttr(), (0.0, 0.0, 0.0, 1.0), np.float32)  # x, y, z, w
        sizes = rows(instancer.GetScalesAttr(), (1.0, 1.0, 1.0), np.float32)
        color = _color(body.prim, code, count, _color(body.part, code, 1))
        chosen = kinds == body.number
        return {
            "points": self._place(places, body.prim, code)[chosen],
            "turns": turns[chosen],
            "sizes": sizes[chosen],
            "color": color[chosen] if color.ndim == 2 else color,
        }

    def _place(self, points: np.ndarray, prim: Usd.Prim, code: float) -> np.ndarray:
        """Points of a prim in metres of the world."""
        return (transform(points, matrix_of(prim, code)) * self._unit).astype(np.float32)


_READERS = {"mesh": Scene._mesh, "points": Scene._balls, "instances": Scene._copies}


def _is_visible(prim: Usd.Prim) -> bool:
    image = UsdGeom.Imageable(prim)
    return image.ComputeVisibility() != "invisible" and image.ComputePurpose() != "guide"


def _varies(prim: Usd.Prim) -> bool:
    """Whether anything of a prim, or where it stands, changes with time."""
    while prim and not prim.IsPseudoRoot():
        if any(attribute.ValueMightBeTimeVarying() for attribute in prim.GetAttributes()):
            return True
        prim = prim.GetParent()
    return False


def _triangles(mesh: UsdGeom.Mesh, what: str, code: float | None = None) -> np.ndarray:
    """Triangles (m, 3) int32 at a time code, where there may be none; without one, the first."""
    early = Usd.TimeCode.EarliestTime() if code is None else Usd.TimeCode(code)
    points = points_of(mesh, early, what)
    counts = numbers(mesh.GetFaceVertexCountsAttr(), early, np.int64, what)
    indices = numbers(mesh.GetFaceVertexIndicesAttr(), early, np.int64, what)
    if code is not None and len(counts) == len(indices) == 0:
        return np.empty((0, 3), np.int32)
    check_topology(counts, indices, len(points), what)
    return np.ascontiguousarray(triangulate(points, counts, indices), np.int32)


def points_of(prim: Any, code: Any, what: str) -> np.ndarray:
    return finite(numbers(prim.GetPointsAttr(), code, np.float64, what, 3), f"{what} points")


def _near(array: np.ndarray, what: str) -> np.ndarray:
    """An array of a moment if a viewer can draw what is there."""
    if not (np.abs(array) <= FARTHEST).all():  # not for NaN either
        raise UsdError(
            f"{what}: found numbers up to {np.abs(array).max():g}, expected at most {FARTHEST:g} (metres); "
            "check units and transforms"
        )
    return array


def matrix_of(prim: Usd.Prim, code: Any) -> np.ndarray:
    """Local to world, for row vectors (4, 4), in units of the stage."""
    moment = Usd.TimeCode.EarliestTime() if code is None else Usd.TimeCode(code)
    return np.array(UsdGeom.XformCache(moment).GetLocalToWorldTransform(prim))


def within(part: Usd.Prim, root: Usd.Prim, what: str) -> np.ndarray:
    """From the space of a part of a prototype to that of the instancer."""
    try:
        return matrix_of(part, None) @ np.linalg.inv(matrix_of(root.GetParent(), None))
    except np.linalg.LinAlgError:
        raise UsdError(f"{what}: the transform of a prototype has no inverse; check its scale") from None


def transform(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    if np.array_equal(matrix, np.eye(4)):
        return points
    return points @ matrix[:3, :3] + matrix[3, :3]


def _color(prim: Usd.Prim | None, code: Any, count: int, default: Any = GREY) -> np.ndarray:
    """Linear RGB (3,), or (count, 3) where each point has its own."""
    attribute = UsdGeom.Gprim(prim).GetDisplayColorAttr() if prim.IsA(UsdGeom.Gprim) else None
    if attribute is None:
        primvar = UsdGeom.PrimvarsAPI(prim).GetPrimvar("displayColor")
        attribute = primvar.GetAttr() if primvar else None
    values = numbers(attribute, code, np.float32, str(prim.GetPath()), 3) if attribute else np.empty((0, 3), np.float32)
    values = np.clip(np.nan_to_num(values), 0.0, 1.0)
    if len(values) == count and count > 1:
        return values
    return values[0] if len(values) else np.float32(default)
