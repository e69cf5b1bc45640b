"""One class per kind of prim: made once with what never changes, then given a sample per frame.

Guarantees at every sample: matching array lengths, finite values, an extent that bounds the shape,
unit normals, and optional arguments in the form of the first sample.  Topology (unless it varies), subdivision (none),
orientation (right-handed) and sidedness are authored once and never sampled.  `moment` is a
`Usd.TimeCode`: a frame, or the default time for a shape that does not move.  Every `write` returns
the bytes it added.
"""

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

from warpsim.usd import checks, topology
from warpsim.usd.checks import UsdError


class MeshPrim:
    """Polygons with smooth normals: cloth, the skin of a soft body, water, an obstacle."""

    def __init__(self, stage: Usd.Stage, path: str, points, faces, counts, double_sided: bool, varying: bool = False):
        self._path = path
        self._varying = varying
        self._mesh = UsdGeom.Mesh.Define(stage, path)
        self._mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        self._mesh.CreateOrientationAttr(UsdGeom.Tokens.rightHanded)
        self._mesh.CreateDoubleSidedAttr(bool(double_sided))
        self._mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
        self._forms = _Forms(path)
        self._up = [float(UsdGeom.GetStageUpAxis(stage) == axis) for axis in "XYZ"]
        if not varying:
            self._author_topology(len(points), faces, counts, Usd.TimeCode.Default())

    def write(self, moment: Usd.TimeCode, points, faces, counts, color, velocities, primvars) -> int:
        """Author points (n, 3), their normals and extent, and what else is given, at `moment`."""
        points = checks.vectors(points, f"{self._path} points")
        size = 0
        if self._varying:
            size = self._author_topology(len(points), faces, counts, moment)
        else:
            self._check_topology(len(points), faces, counts)
        self._forms.check(velocities=velocities)
        normals = topology.vertex_normals(points, self._triangles, self._up)
        size += _author(self._mesh.GetNormalsAttr(), normals, moment)
        size += _author_points(self._mesh, points, velocities, moment)
        self._mesh.GetExtentAttr().Set(UsdGeom.PointBased.ComputeExtent(Vt.Vec3fArray.FromNumpy(points)), moment)
        size += _author_primvars(self._mesh, self._forms, primvars or {}, len(points), moment)
        return size + _author_color(self._mesh, self._forms, color, len(points), moment)

    def _author_topology(self, count: int, faces, counts, moment: Usd.TimeCode) -> int:
        if faces is None:
            raise UsdError(f"{self._path}: its faces vary, and there are none; pass faces with every sample")
        self._topology = checks.topology(faces, counts, count, self._path, empty=self._varying)
        self._triangles = topology.fan(*self._topology)
        self._count, self._known = count, (faces, counts)
        self._mesh.GetFaceVertexCountsAttr().Set(Vt.IntArray.FromNumpy(self._topology[0]), moment)
        self._mesh.GetFaceVertexIndicesAttr().Set(Vt.IntArray.FromNumpy(self._topology[1]), moment)
        return sum(rows.nbytes for rows in self._topology)

    def _check_topology(self, count: int, faces, counts) -> None:
        change = "a mesh keeps its topology, unless its first sample is written with varying=True"
        if count != self._count:
            raise UsdError(
                f"{self._path}: found {count} points, expected {self._count} as in the first sample; {change}"
            )
        if faces is None or (faces is self._known[0] and counts is self._known[1]):
            return
        checked = checks.topology(faces, counts, count, self._path)
        if not all(map(np.array_equal, checked, self._topology)):
            raise UsdError(f"{self._path}: faces differ from those of the first sample; {change}")


class PointsPrim:
    """Balls of given radii: particles, grains, drops; with ids their number may change."""

    def __init__(self, stage: Usd.Stage, path: str):
        self._path = path
        self._points = UsdGeom.Points.Define(stage, path)
        # Not "constant" for equal radii: USD computes no extent from fewer widths than points.
        self._points.SetWidthsInterpolation(UsdGeom.Tokens.vertex)
        self._forms = _Forms(path)
        self._count: int | None = None

    def write(self, moment: Usd.TimeCode, positions, radii, color, velocities, ids) -> int:
        """Author positions (n, 3), widths and extent, and what else is given, at `moment`."""
        positions = checks.vectors(positions, f"{self._path} positions")
        count = len(positions)
        self._forms.check(velocities=velocities, ids=ids)
        widths = Vt.FloatArray.FromNumpy(2.0 * checks.radii(radii, f"{self._path} radii", count))
        self._author_ids(ids, count, moment)
        size = _author_points(self._points, positions, velocities, moment)
        self._points.GetWidthsAttr().Set(widths, moment)
        extent = UsdGeom.Points.ComputeExtent(Vt.Vec3fArray.FromNumpy(positions), widths)
        self._points.GetExtentAttr().Set(extent, moment)
        return size + 12 * count + _author_color(self._points, self._forms, color, count, moment)

    def _author_ids(self, ids, count: int, moment: Usd.TimeCode) -> None:
        if ids is not None:
            ids = checks.ids(ids, f"{self._path} ids", count)
            self._points.GetIdsAttr().Set(Vt.Int64Array.FromNumpy(ids), moment)
        elif count != self._count and self._count is not None:
            raise UsdError(
                f"{self._path}: found {count} points, expected {self._count} as before; "
                "pass ids with every sample when the number of points changes"
            )
        self._count = count


class SpherePrim:
    """A ball that may move: an obstacle or a tool."""

    def __init__(self, stage: Usd.Stage, path: str, radius: float, color):
        self._path = path
        self._radius = checks.positive(radius, f"{path} radius")
        sphere = UsdGeom.Sphere.Define(stage, path)
        sphere.CreateRadiusAttr(self._radius)
        sphere.CreateExtentAttr([(-self._radius,) * 3, (self._radius,) * 3])
        _author_color(sphere, _Forms(path), color, 0, Usd.TimeCode.Default())
        self._translate = sphere.AddTranslateOp()

    def write(self, moment: Usd.TimeCode, center, radius: float) -> int:
        """Author the centre (3,) at `moment`."""
        center = checks.vectors(np.reshape(center, (1, -1)), f"{self._path} center")[0]
        if float(radius) != self._radius:
            raise UsdError(
                f"{self._path} radius: found {radius:g}, expected {self._radius:g} "
                "as in the first sample; write a ball that grows as points"
            )
        self._translate.Set(Gf.Vec3d(*map(float, center)), moment)
        return center.nbytes


class _Forms:
    """Optional arguments keep the form of the first sample, so that no sample lacks an array."""

    def __init__(self, path: str):
        self._path = path
        self._first: dict[str, str] = {}

    def check(self, **arguments) -> None:
        for name, value in arguments.items():
            self.compare(name, "nothing" if value is None else f"a {np.ndim(value)}-D array")

    def compare(self, name: str, form: str) -> None:
        """Raise unless an argument has the form that it had in the first sample."""
        first = self._first.setdefault(name, form)
        if form != first:
            raise UsdError(
                f"{self._path} {name}: found {form}, expected {first} as in the first sample; "
                "pass it the same way with every sample or never"
            )


def _author(attribute: Usd.Attribute, rows: np.ndarray, moment: Usd.TimeCode) -> int:
    attribute.Set(Vt.Vec3fArray.FromNumpy(rows), moment)
    return rows.nbytes


def _author_points(prim: UsdGeom.PointBased, points: np.ndarray, velocities, moment: Usd.TimeCode) -> int:
    size = _author(prim.GetPointsAttr(), points, moment)
    if velocities is None:
        return size
    velocities = checks.vectors(velocities, f"{prim.GetPath()} velocities", len(points))
    return size + _author(prim.GetVelocitiesAttr(), velocities, moment)


def _author_primvars(prim: UsdGeom.Gprim, forms: _Forms, primvars: dict, count: int, moment: Usd.TimeCode) -> int:
    """Numbers per point, by name, sampled."""
    forms.compare("primvars", ", ".join(primvars) or "nothing")
    size = 0
    for name, values in primvars.items():
        rows = np.asarray(values, dtype=np.float32).reshape(-1)
        if len(rows) != count or not np.isfinite(rows).all():
            raise UsdError(f"{prim.GetPath()} {name}: found {len(rows)} numbers, expected {count}, all finite")
        primvar = UsdGeom.PrimvarsAPI(prim).CreatePrimvar(
            checks.identifier(name), Sdf.ValueTypeNames.FloatArray, UsdGeom.Tokens.vertex
        )
        primvar.Set(Vt.FloatArray.FromNumpy(rows), moment)
        size += rows.nbytes
    return size


def _author_color(prim: UsdGeom.Gprim, forms: _Forms, color, count: int, moment: Usd.TimeCode) -> int:
    """A color per prim holds for the whole run; colors per point are sampled."""
    if color is not None:
        color = checks.color(color, f"{prim.GetPath()} color", count)
    forms.check(color=color)
    if color is None:
        return 0
    primvar = prim.GetDisplayColorPrimvar()
    first = not primvar.HasAuthoredValue()
    if first:
        each = color.ndim == 2
        prim.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex if each else UsdGeom.Tokens.constant)
    if color.ndim == 2:
        return _author(primvar.GetAttr(), color, moment)
    if first:
        return _author(primvar.GetAttr(), color[None], Usd.TimeCode.Default())
    if not np.array_equal(np.asarray(primvar.Get())[0], color):
        raise UsdError(f"{prim.GetPath()} color: one color per prim cannot change in time; pass one per point")
    return 0
