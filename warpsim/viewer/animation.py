"""An animation as a viewer takes it: bodies with points in metres of the world, frame by frame, from a USD stage."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

from ..usd.checks import UsdError, check_topology, finite, pxr_errors
from ..usd.meshes import opened
from ..usd.topology import triangulate
from .page import embedded, framed
from .solids import SOLIDS, solid

GREY = (0.45, 0.45, 0.45)  # linear RGB of what has no color

_LOOKS = 24  # frames that tell how far a scene reaches
_LOOKED_AT = 4_000_000  # points of a body that are looked at for that, in three frames at least


@dataclass
class Moment:
    """A body in one frame.

    points: (n, 3) float32 [m], corners of a mesh, centres of balls or of instances. color: linear RGB, (3,) or (n, 3).
    radii: (n,) [m] of balls. turns: (n, 4) quaternions x, y, z, w, and sizes: (n, 3), of instances.
    """

    points: np.ndarray
    color: np.ndarray
    radii: np.ndarray | None = None
    turns: np.ndarray | None = None
    sizes: np.ndarray | None = None

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest corner (3,) [m] of the points; infinite and turned round if there are none."""
        if not len(self.points):
            return np.full(3, np.inf), np.full(3, -np.inf)
        columns = self.points.T  # one after the other, which takes a tenth of the time of all three at once
        return np.array([x.min() for x in columns]), np.array([x.max() for x in columns])


@dataclass(eq=False)
class Body:
    """Something to draw: a mesh, balls, or instances of a mesh.

    triangles: (m, 3) int32 of a mesh, or of the prototype of instances, whose corners are `shape` (k, 3) [m].
    """

    name: str
    kind: str
    prims: Any = field(repr=False)
    moving: bool = True
    triangles: np.ndarray | None = None
    shape: np.ndarray | None = None


class Animation:
    """Bodies and frames of a USD file (.usd, .usda, .usdc, .usdz); `moment(body, frame)` reads what is drawn.

    Lengths are metres; `up` is "Y" or "Z". Frames stand where anything has a sample, `fps` time codes a second. Meshes,
    points, point instancers and the simple solids are read; what is invisible or a guide is left out. `max_bytes`
    bounds the largest array, as of `read_mesh`. Raises FileNotFoundError for a missing file, UsdError for one that is
    damaged or holds nothing to draw.
    """

    def __init__(self, path: str | os.PathLike[str], max_bytes: int = 1 << 30):
        self.name = os.fspath(path)
        self._colored: dict[str, bool] = {}
        if not os.path.isfile(self.name):
            raise FileNotFoundError(f"{self.name!r} does not exist or is not a file")
        with pxr_errors(f"{self.name!r}"):
            self._stage = opened(self.name, max_bytes)
            self.up = str(UsdGeom.GetStageUpAxis(self._stage))
            self._unit = UsdGeom.GetStageMetersPerUnit(self._stage)
            self.fps = float(self._stage.GetTimeCodesPerSecond())
            self.bodies = [body for prim in self._stage.Traverse() for body in self._bodies_of(prim)]
            self.codes = self._time_codes()
        if not self.bodies:
            raise UsdError(f"{self.name!r}: found nothing to draw, expected meshes, points, instances or simple solids")

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def seconds(self) -> float:
        """How long it plays [s]."""
        return len(self) / self.fps

    def moment(self, body: Body, frame: int) -> Moment:
        """A body in a frame, 0 to `len(self) - 1`. Raises UsdError for arrays that contradict each other."""
        code = self.codes[frame]
        with pxr_errors(f"{self.name!r}"):
            return _READERS[body.kind](self, body, code)

    def box(self, body: Body, frames: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest corner (3,) [m] of a body in some frames; infinite and turned round if it is empty."""
        boxes = [self.moment(body, frame).box() for frame in (frames if body.moving else (0,))]
        return np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)

    def colored(self, body: Body) -> bool:
        """Whether each point of a body has its own color in the first frame, and so in all that are shown."""
        if body.name not in self._colored:
            self._colored[body.name] = self.moment(body, 0).color.ndim == 2
        return self._colored[body.name]

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest corner (3,) [m] of what moves, or of all if nothing does, in frames here and there."""
        boxes = []
        for body in [body for body in self.bodies if body.moving] or self.bodies:
            looks = int(np.clip(_LOOKED_AT / max(1, len(self.moment(body, 0).points)), 3, _LOOKS))
            low, high = self.box(body, sorted({round(k) for k in np.linspace(0, len(self) - 1, looks)}))
            reach = self._reach(body)
            boxes.append((low - reach, high + reach))
        low, high = np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)
        return (low, high) if np.isfinite(low).all() else (np.zeros(3), np.ones(3))

    def _reach(self, body: Body) -> float:
        """How far balls or instances reach beyond their points [m], by the first frame."""
        first = self.moment(body, 0)
        if first.radii is not None:
            return float(first.radii.max(initial=0.0))
        if first.sizes is not None and body.shape is not None:
            return float(np.linalg.norm(body.shape, axis=1).max(initial=0.0) * first.sizes.max(initial=0.0))
        return 0.0

    def grounds(self) -> list[Body]:
        """Bodies that stand still and are flat, such as a floor."""
        low, high = self.bounds()
        still = [body for body in self.bodies if not body.moving and body.kind == "mesh"]
        along = [self.moment(body, 0).points[:, "XYZ".index(self.up)] for body in still]
        return [b for b, x in zip(still, along, strict=True) if len(x) and np.ptp(x) < 1.0e-3 * (high - low).max()]

    def _repr_html_(self) -> str:
        """The animation as a notebook shows it: the page of the viewer."""
        return framed(embedded(self))

    # ----- finding --------------------------------------------------------------------------

    def _bodies_of(self, prim: Usd.Prim) -> list[Body]:
        image = UsdGeom.Imageable(prim)
        if not image or image.ComputeVisibility() == "invisible" or image.ComputePurpose() == "guide":
            return []
        if _inside_prototypes(prim):
            return []
        path = str(prim.GetPath())
        if prim.IsA(UsdGeom.Mesh):
            return [self._mesh_body(prim, path)]
        if prim.IsA(UsdGeom.Points):
            return [Body(path, "points", prim, _varies(prim))]
        if prim.IsA(UsdGeom.PointInstancer):
            return self._instanced(prim, path)
        if prim.GetTypeName() in SOLIDS:
            shape, triangles = solid(prim)
            return [Body(path, "mesh", prim, _varies(prim), triangles, shape)]
        return []

    def _mesh_body(self, prim: Usd.Prim, path: str) -> Body:
        return Body(path, "mesh", prim, _varies(prim), _triangles(UsdGeom.Mesh(prim), path))

    def _instanced(self, prim: Usd.Prim, path: str) -> list[Body]:
        """One body for each mesh or solid of each prototype."""
        bodies = []
        for number, target in enumerate(UsdGeom.PointInstancer(prim).GetPrototypesRel().GetTargets()):
            root = self._stage.GetPrimAtPath(target)
            for part in Usd.PrimRange(root) if root else ():
                if part.IsA(UsdGeom.Mesh):
                    mesh = UsdGeom.Mesh(part)
                    shape, triangles = _points(mesh, Usd.TimeCode.EarliestTime(), path), _triangles(mesh, path)
                elif part.GetTypeName() in SOLIDS:
                    shape, triangles = solid(part)
                else:
                    continue
                within = _matrix(part, None) @ np.linalg.inv(_matrix(root.GetParent(), None))
                placed = (_moved(shape, within) * self._unit).astype(np.float32)
                name = f"{path}/{part.GetName()}"
                bodies.append(Body(name, "instances", (prim, number, part), True, triangles, placed))
        return bodies

    def _time_codes(self) -> list[float]:
        samples: set[float] = set()
        for body in self.bodies:
            prim = body.prims[0] if isinstance(body.prims, tuple) else body.prims
            while prim and not prim.IsPseudoRoot():
                samples.update(*(a.GetTimeSamples() for a in prim.GetAttributes()))
                prim = prim.GetParent()
        if self._stage.HasAuthoredTimeCodeRange():
            first, last = self._stage.GetStartTimeCode(), self._stage.GetEndTimeCode()
            samples = {code for code in samples if first <= code <= last}
        return sorted(samples) or [0.0]


def _varies(prim: Usd.Prim) -> bool:
    """Whether anything of a prim, or where it stands, changes with time."""
    while prim and not prim.IsPseudoRoot():
        if any(attribute.ValueMightBeTimeVarying() for attribute in prim.GetAttributes()):
            return True
        prim = prim.GetParent()
    return False


def _inside_prototypes(prim: Usd.Prim) -> bool:
    """Whether a prim belongs to a point instancer, which draws it elsewhere."""
    parent = prim.GetParent()
    while parent and not parent.IsPseudoRoot():
        if parent.IsA(UsdGeom.PointInstancer):
            return True
        parent = parent.GetParent()
    return False


def _triangles(mesh: UsdGeom.Mesh, what: str) -> np.ndarray:
    early = Usd.TimeCode.EarliestTime()
    points = _points(mesh, early, what)
    counts = np.asarray(mesh.GetFaceVertexCountsAttr().Get(early) or (), np.int64)
    indices = np.asarray(mesh.GetFaceVertexIndicesAttr().Get(early) or (), np.int64)
    check_topology(counts, indices, len(points), what)
    return np.ascontiguousarray(triangulate(np.asarray(points, np.float64), counts, indices), np.int32)


# ----- reading ------------------------------------------------------------------------------


def _mesh_moment(scene: Animation, body: Body, code: float) -> Moment:
    if body.shape is not None:
        points = body.shape
    else:
        points = _points(UsdGeom.Mesh(body.prims), code, body.name)
    placed = _moved(points, _matrix(body.prims, code)) * scene._unit
    _check_reach(body, len(points))
    return Moment(placed.astype(np.float32), _color(body.prims, code, len(points)))


def _points_moment(scene: Animation, body: Body, code: float) -> Moment:
    points, prim = UsdGeom.Points(body.prims), body.prims
    places = _moved(_points(points, code, body.name), _matrix(prim, code)) * scene._unit
    widths = np.asarray(points.GetWidthsAttr().Get(code) or (), np.float32)
    if len(widths) not in (1, len(places)):
        widths = np.full(1, 0.01 / scene._unit, np.float32)
    radii = np.broadcast_to(0.5 * widths * scene._unit, len(places)).astype(np.float32)
    return Moment(places.astype(np.float32), _color(prim, code, len(places)), radii)


def _instances_moment(scene: Animation, body: Body, code: float) -> Moment:
    prim, number, part = body.prims
    instancer = UsdGeom.PointInstancer(prim)
    chosen = np.asarray(instancer.GetProtoIndicesAttr().Get(code) or (), np.int64) == number
    places = finite(np.asarray(instancer.GetPositionsAttr().Get(code) or (), np.float64).reshape(-1, 3), body.name)
    if len(places) != len(chosen):
        raise UsdError(f"{body.name}: found {len(places)} positions, expected {len(chosen)} as of protoIndices")
    turns = np.tile(np.float32([0.0, 0.0, 0.0, 1.0]), (len(places), 1))
    if authored := instancer.GetOrientationsAttr().Get(code):
        turns = np.asarray(authored, np.float32)  # x, y, z, w
    sizes = np.ones((len(places), 3), np.float32)
    if authored := instancer.GetScalesAttr().Get(code):
        sizes = np.asarray(authored, np.float32)
    if len(turns) != len(places) or len(sizes) != len(places):
        raise UsdError(f"{body.name}: orientations or scales have another length than the {len(places)} positions")
    moved = (_moved(places, _matrix(prim, code)) * scene._unit).astype(np.float32)
    color = _color(prim, code, len(places), _color(part, code, 1))
    color = color[chosen] if color.ndim == 2 else color
    return Moment(moved[chosen], color, None, turns[chosen], sizes[chosen])


_READERS = {"mesh": _mesh_moment, "points": _points_moment, "instances": _instances_moment}


def _points(prim: Any, code: Any, what: str) -> np.ndarray:
    return finite(np.asarray(prim.GetPointsAttr().Get(code) or (), np.float64).reshape(-1, 3), f"{what} points")


def _check_reach(body: Body, count: int) -> None:
    if body.triangles is not None and body.triangles.size and body.triangles.max() >= count:
        raise UsdError(f"{body.name}: a frame has {count} points, but its faces name point {body.triangles.max()}")


def _matrix(prim: Usd.Prim, code: Any) -> np.ndarray:
    """Local to world, for row vectors (4, 4), in units of the stage."""
    moment = Usd.TimeCode.EarliestTime() if code is None else Usd.TimeCode(code)
    return np.array(UsdGeom.XformCache(moment).GetLocalToWorldTransform(prim))


def _moved(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    if np.array_equal(matrix, np.eye(4)):
        return points
    return points @ matrix[:3, :3] + matrix[3, :3]


def _color(prim: Usd.Prim, code: Any, count: int, default: Any = GREY) -> np.ndarray:
    """Linear RGB (3,), or (count, 3) where each point has its own."""
    attribute = UsdGeom.Gprim(prim).GetDisplayColorAttr() if prim.IsA(UsdGeom.Gprim) else None
    if attribute is None:
        primvar = UsdGeom.PrimvarsAPI(prim).GetPrimvar("displayColor")
        attribute = primvar.GetAttr() if primvar else None
    values = np.asarray((attribute.Get(code) if attribute else None) or (), np.float32).reshape(-1, 3)
    values = np.clip(np.nan_to_num(values), 0.0, 1.0)
    if len(values) == count and count > 1:
        return values
    return values[0] if len(values) else np.float32(default)
