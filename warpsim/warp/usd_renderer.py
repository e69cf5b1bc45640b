"""`UsdRenderer`: shapes, meshes, points and lines as they come, frame by frame, into a USD stage.

It takes what a script draws in whatever order, and samples of a frame may be missing; `warpsim.usd.UsdWriter` is the
stricter way to the same format, which checks that every moving thing is there in every frame.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

from ..arguments import checked
from ..core.language import array
from ..errors import ArgumentTypeError
from ..usd.layer import whole_code
from ..usd.saving import save

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ROOT, _TEMPLATES = "/root", "/root/_templates"
_IDENTITY = (0.0, 0.0, 0.0, 1.0)
_AXES = "XYZ"


class UsdRenderer:
    """Draws into a USD stage; lengths are multiplied by `scaling`.

        renderer = wp.render.UsdRenderer("drop.usd", fps=60)
        renderer.begin_frame(time)
        renderer.render_points("grains", points, radius=0.1)
        renderer.end_frame()
        renderer.save()

    stage: the path of a file, or an open stage. up_axis: "X", "Y" or "Z". fps: time codes per second. What is drawn
    before the first `begin_frame` holds for all times. Drawing a name again moves it; `rot` are quaternions x, y, z, w;
    colors are linear RGB. Every method that draws returns the path of the prim.

    Raises `ArgumentTypeError` for arguments that are no arrays of that shape.
    """

    @checked
    def __init__(
        self, stage: str | os.PathLike[str] | Usd.Stage, up_axis: str = "Y", fps: float = 60, scaling: float = 1.0
    ):
        if str(up_axis).upper() not in _AXES:
            raise ArgumentTypeError(f"up_axis is {up_axis!r}\nexpected: 'X', 'Y' or 'Z'")
        self.stage = stage if isinstance(stage, Usd.Stage) else Usd.Stage.CreateNew(os.fspath(stage))
        self.up_axis, self.fps, self.scaling = str(up_axis).upper(), fps, scaling
        self.time = 0.0
        self.moment = Usd.TimeCode.Default()
        self.bodies: list[str] = []
        root = UsdGeom.Xform.Define(self.stage, _ROOT).GetPrim()
        self.stage.SetDefaultPrim(root)
        self.stage.SetTimeCodesPerSecond(fps)
        self.stage.SetFramesPerSecond(fps)
        if self.up_axis != "X":  # USD knows two
            UsdGeom.SetStageUpAxis(self.stage, self.up_axis)
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)

    # ----- frames -----------------------------------------------------------------------------

    def begin_frame(self, time: float) -> None:
        """What is drawn from now on is at a time [s]."""
        self.time = float(time)
        code = whole_code(self.time * self.fps)
        self.moment = Usd.TimeCode(code)
        first = not self.stage.HasAuthoredTimeCodeRange()
        self.stage.SetStartTimeCode(code if first else min(code, self.stage.GetStartTimeCode()))
        self.stage.SetEndTimeCode(code if first else max(code, self.stage.GetEndTimeCode()))

    def end_frame(self) -> None:
        """The frame is complete."""

    def save(self) -> bool:
        """Write the file. Raises OSError where that cannot be."""
        layer = self.stage.GetRootLayer()
        save(layer, Path(layer.realPath))
        return True

    # ----- bodies -----------------------------------------------------------------------------

    def register_body(self, body_name: str) -> str:
        """Add a body, which shapes may name as their parent; see `update_body_transforms`."""
        self.bodies.append(body_name)
        return str(UsdGeom.Xform.Define(self.stage, f"{_ROOT}/{_identifier(body_name)}").GetPath())

    def update_body_transforms(self, body_q: ArrayLike) -> None:
        """Move all bodies, in the order in which they were registered. body_q: (n,) transforms, or (n, 7)."""
        poses = _numbers(body_q, 7, "body_q")
        for name, pose in zip(self.bodies, poses, strict=True):
            self._place(UsdGeom.Xform.Get(self.stage, f"{_ROOT}/{_identifier(name)}"), pose[:3], pose[3:])

    def add_shape_instance(
        self, name: str, shape: str, body: str | None, pos: ArrayLike, rot: ArrayLike,
        scale: ArrayLike = (1.0, 1.0, 1.0), color1: ArrayLike | None = None, color2: ArrayLike | None = None,
        custom_index: int = -1, visible: bool = True,
    ) -> str:  # fmt: skip
        """Draw a shape that was drawn with `is_template=True`, whose path `shape` is, once more."""
        prim = UsdGeom.Xform.Define(self.stage, self._path(name, body))
        prim.GetPrim().GetReferences().SetReferences([Sdf.Reference(primPath=shape)])
        return self._show(prim, pos, rot, scale, visible)

    # ----- shapes -----------------------------------------------------------------------------

    def render_sphere(
        self,
        name: str,
        pos: ArrayLike,
        rot: ArrayLike,
        radius: float,
        parent_body: str | None = None,
        is_template: bool = False,
        color: ArrayLike | None = None,
        visible: bool = True,
    ) -> str:
        """Draw a ball."""
        prim = UsdGeom.Sphere.Define(self.stage, self._path(name, parent_body, is_template))
        prim.CreateRadiusAttr().Set(radius * self.scaling, self.moment)
        return self._paint(prim, pos, rot, color, visible)

    def render_box(
        self,
        name: str,
        pos: ArrayLike,
        rot: ArrayLike,
        extents: ArrayLike,
        parent_body: str | None = None,
        is_template: bool = False,
        color: ArrayLike | None = None,
        visible: bool = True,
    ) -> str:
        """Draw a box. extents: half its lengths along x, y and z."""
        prim = UsdGeom.Cube.Define(self.stage, self._path(name, parent_body, is_template))  # of side 2
        return self._paint(prim, pos, rot, color, visible, _numbers(extents, 3, "extents")[0] * self.scaling)

    def render_capsule(
        self, name: str, pos: ArrayLike, rot: ArrayLike, radius: float, half_height: float,
        parent_body: str | None = None, is_template: bool = False, up_axis: int = 1, color: ArrayLike | None = None,
        visible: bool = True,
    ) -> str:  # fmt: skip
        """Draw a cylinder between two half balls. up_axis: 0, 1 or 2, its own axis."""
        path = self._path(name, parent_body, is_template)
        prim = self._round(UsdGeom.Capsule, path, radius, 2.0 * half_height, up_axis)
        return self._paint(prim, pos, rot, color, visible)

    def render_cylinder(
        self, name: str, pos: ArrayLike, rot: ArrayLike, radius: float, half_height: float,
        parent_body: str | None = None, is_template: bool = False, up_axis: int = 1, color: ArrayLike | None = None,
        visible: bool = True,
    ) -> str:  # fmt: skip
        """Draw a cylinder, as `render_capsule`."""
        path = self._path(name, parent_body, is_template)
        prim = self._round(UsdGeom.Cylinder, path, radius, 2.0 * half_height, up_axis)
        return self._paint(prim, pos, rot, color, visible)

    def render_cone(
        self, name: str, pos: ArrayLike, rot: ArrayLike, radius: float, half_height: float,
        parent_body: str | None = None, is_template: bool = False, up_axis: int = 1, color: ArrayLike | None = None,
        visible: bool = True,
    ) -> str:  # fmt: skip
        """Draw a cone with its tip up, as `render_capsule`."""
        path = self._path(name, parent_body, is_template)
        prim = self._round(UsdGeom.Cone, path, radius, 2.0 * half_height, up_axis)
        return self._paint(prim, pos, rot, color, visible)

    def _round(self, kind: type[UsdGeom.Gprim], path: str, radius: float, height: float, axis: int) -> UsdGeom.Gprim:
        """A solid of revolution, unpainted."""
        prim = kind.Define(self.stage, path)
        prim.CreateAxisAttr().Set(_AXES[axis])
        prim.CreateRadiusAttr().Set(radius * self.scaling, self.moment)
        prim.CreateHeightAttr().Set(height * self.scaling, self.moment)
        return prim

    def render_arrow(
        self, name: str, pos: ArrayLike, rot: ArrayLike, base_radius: float, base_height: float,
        cap_radius: float | None = None, cap_height: float | None = None, parent_body: str | None = None,
        is_template: bool = False, up_axis: int = 1, color: ArrayLike | None = None, visible: bool = True,
    ) -> str:  # fmt: skip
        """Draw an arrow: a cylinder from the origin along its axis, and a cone on it."""
        path = self._path(name, parent_body, is_template)
        whole = UsdGeom.Xform.Define(self.stage, path)
        tip = base_height / 2.0 if cap_height is None else cap_height
        parts = (
            (UsdGeom.Cylinder, "base", base_radius, base_height, base_height / 2.0),
            (UsdGeom.Cone, "cap", cap_radius or 1.5 * base_radius, tip, base_height + tip / 2.0),
        )
        for kind, part, radius, height, middle in parts:
            prim = self._round(kind, f"{path}/{part}", radius, height, up_axis)
            self._paint(prim, middle * np.eye(3)[up_axis], _IDENTITY, color, True)
        return self._show(whole, pos, rot, (1.0, 1.0, 1.0), visible)

    def render_plane(
        self, name: str, pos: ArrayLike, rot: ArrayLike, width: float, length: float,
        color: ArrayLike = (1.0, 1.0, 1.0), color2: ArrayLike | None = None, parent_body: str | None = None,
        is_template: bool = False, u_scaling: float = 1.0, v_scaling: float = 1.0, visible: bool = True,
    ) -> str:  # fmt: skip
        """Draw a rectangle across y: `width` along x, `length` along z; 0 is 100."""
        x, z = (width or 100.0) / 2.0, (length or 100.0) / 2.0
        corners = [(-x, 0.0, -z), (-x, 0.0, z), (x, 0.0, z), (x, 0.0, -z)]
        role = {"parent_body": parent_body, "is_template": is_template, "visible": visible}
        return self.render_mesh(name, corners, [0, 1, 2, 0, 2, 3], color, pos, rot, **role)

    def render_ground(self, size: float = 100.0, plane: Sequence[float] | np.ndarray | None = None) -> str:
        """Draw a square of side `size` across the up axis, or of a plane (a, b, c, d): a x + b y + c z + d = 0."""
        up = np.eye(3)[_AXES.index(self.up_axis)]
        normal = up if plane is None else np.asarray(plane[:3], float) / np.linalg.norm(plane[:3])
        center = np.zeros(3) if plane is None else -float(plane[3]) / np.linalg.norm(plane[:3]) * normal
        side = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
        side /= np.linalg.norm(side)
        other = np.cross(normal, side)
        corners = [center + 0.5 * size * (a * side + b * other) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        return self.render_mesh("ground", corners, [0, 1, 2, 0, 2, 3], (0.45, 0.45, 0.45))

    # ----- arrays -----------------------------------------------------------------------------

    def render_mesh(
        self, name: str, points: ArrayLike, indices: ArrayLike, colors: ArrayLike | None = None,
        pos: ArrayLike = (0.0, 0.0, 0.0), rot: ArrayLike = _IDENTITY, scale: ArrayLike = (1.0, 1.0, 1.0),
        update_topology: bool = False, parent_body: str | None = None, is_template: bool = False,
        smooth_shading: bool = True, visible: bool = True,
    ) -> str:  # fmt: skip
        """Draw triangles. points: (n, 3); indices: three per face, read the first time and with `update_topology`;
        colors: one, or one per point."""
        path = self._path(name, parent_body, is_template)
        known = bool(self.stage.GetPrimAtPath(path))
        prim = UsdGeom.Mesh.Define(self.stage, path)
        if not known or update_topology:
            faces = _host(indices).ravel().astype(np.int32)
            moment = self.moment if update_topology else Usd.TimeCode.Default()
            prim.CreateFaceVertexIndicesAttr().Set(Vt.IntArray.FromNumpy(faces), moment)
            prim.CreateFaceVertexCountsAttr().Set(Vt.IntArray.FromNumpy(np.full(faces.size // 3, 3, np.int32)), moment)
            prim.CreateSubdivisionSchemeAttr().Set(UsdGeom.Tokens.none)
        self._points(prim, points)
        return self._paint(prim, pos, rot, colors, visible, scale)

    def render_points(
        self,
        name: str,
        points: ArrayLike,
        radius: ArrayLike,
        colors: ArrayLike | None = None,
        as_spheres: bool = True,
        visible: bool = True,
    ) -> str:
        """Draw balls at points (n, 3), with one radius or n, one color or n. `as_spheres` makes no difference."""
        prim = UsdGeom.Points.Define(self.stage, self._path(name))
        count = self._points(prim, points)
        radii = np.broadcast_to(_host(radius).astype(np.float32).ravel(), (count,))
        widths = Vt.FloatArray.FromNumpy(np.ascontiguousarray(2.0 * self.scaling * radii, np.float32))
        prim.CreateWidthsAttr().Set(widths, self.moment)
        return self._paint(prim, (0.0, 0.0, 0.0), _IDENTITY, colors, visible)

    def render_line_list(
        self,
        name: str,
        vertices: ArrayLike,
        indices: ArrayLike,
        color: ArrayLike | None = None,
        radius: float = 0.01,
        visible: bool = True,
    ) -> str:
        """Draw lines between pairs of vertices (n, 3). indices: two per line."""
        ends = _numbers(vertices, 3, "vertices")[_host(indices).ravel().astype(np.int64)]
        return self._curves(name, ends, np.full(len(ends) // 2, 2, np.int32), color, radius, visible)

    def render_line_strip(
        self, name: str, vertices: ArrayLike, color: ArrayLike | None = None, radius: float = 0.01, visible: bool = True
    ) -> str:
        """Draw a line through vertices (n, 3), in order."""
        points = _numbers(vertices, 3, "vertices")
        return self._curves(name, points, np.array([len(points)], np.int32), color, radius, visible)

    def render_ref(
        self, name: str, path: str, pos: ArrayLike, rot: ArrayLike, scale: ArrayLike, color: ArrayLike | None = None
    ) -> str:
        """Draw what another USD file holds."""
        prim = UsdGeom.Xform.Define(self.stage, self._path(name))
        prim.GetPrim().GetReferences().SetReferences([Sdf.Reference(os.fspath(path))])
        return self._show(prim, pos, rot, scale, True)

    def _curves(
        self, name: str, points: np.ndarray, counts: np.ndarray, color: ArrayLike, radius: float, visible: bool
    ) -> str:
        prim = UsdGeom.BasisCurves.Define(self.stage, self._path(name))
        prim.CreateTypeAttr().Set(UsdGeom.Tokens.linear)
        self._points(prim, points)
        prim.CreateCurveVertexCountsAttr().Set(Vt.IntArray.FromNumpy(counts), self.moment)
        prim.CreateWidthsAttr().Set(Vt.FloatArray([2.0 * radius * self.scaling]), self.moment)
        prim.SetWidthsInterpolation(UsdGeom.Tokens.constant)
        return self._paint(prim, (0.0, 0.0, 0.0), _IDENTITY, color, visible)

    # ----- what prims have in common ------------------------------------------------------------

    def _path(self, name: str, parent: str | None = None, is_template: bool = False) -> str:
        above = _TEMPLATES if is_template else f"{_ROOT}/{_identifier(parent)}" if parent else _ROOT
        if is_template:  # an abstract scope: drawn where it is referenced only
            self.stage.CreateClassPrim(_TEMPLATES)
        return f"{above}/{_identifier(name)}"

    def _points(self, prim: UsdGeom.PointBased, points: ArrayLike) -> int:
        rows = np.ascontiguousarray(_numbers(points, 3, "points") * self.scaling, np.float32)
        prim.CreatePointsAttr().Set(Vt.Vec3fArray.FromNumpy(rows), self.moment)
        if len(rows):
            prim.CreateExtentAttr().Set(Vt.Vec3fArray.FromNumpy(np.stack([rows.min(0), rows.max(0)])), self.moment)
        return len(rows)

    def _paint(
        self,
        prim: UsdGeom.Gprim,
        pos: ArrayLike,
        rot: ArrayLike,
        color: ArrayLike,
        visible: bool,
        scale: ArrayLike = (1.0, 1.0, 1.0),
    ) -> str:
        if color is not None:
            rows = np.ascontiguousarray(_numbers(color, 3, "color"), np.float32)
            prim.CreateDisplayColorAttr().Set(Vt.Vec3fArray.FromNumpy(rows), self.moment)
            if len(rows) > 1:
                UsdGeom.PrimvarsAPI(prim).GetPrimvar("displayColor").SetInterpolation(UsdGeom.Tokens.vertex)
        return self._show(prim, pos, rot, scale, visible)

    def _show(self, prim: UsdGeom.Xformable, pos: ArrayLike, rot: ArrayLike, scale: ArrayLike, visible: bool) -> str:
        self._place(prim, pos, rot, scale)
        if not visible or prim.GetVisibilityAttr().HasAuthoredValue():
            prim.CreateVisibilityAttr().Set(
                UsdGeom.Tokens.inherited if visible else UsdGeom.Tokens.invisible, self.moment
            )
        return str(prim.GetPath())

    def _place(
        self, prim: UsdGeom.Xformable, pos: ArrayLike, rot: ArrayLike, scale: ArrayLike = (1.0, 1.0, 1.0)
    ) -> None:
        """Move a prim: scale, then turn, then shift."""
        ops = prim.GetOrderedXformOps() or [prim.AddTranslateOp(), prim.AddOrientOp(), prim.AddScaleOp()]
        x, y, z, w = (float(n) for n in _numbers(rot, 4, "rot")[0])
        place = [float(n) * self.scaling for n in _numbers(pos, 3, "pos")[0]]
        ops[0].Set(Gf.Vec3d(*place), self.moment)
        ops[1].Set(Gf.Quatf(w, x, y, z), self.moment)
        ops[2].Set(Gf.Vec3f(*(float(n) for n in _numbers(scale, 3, "scale")[0])), self.moment)


def _host(values: ArrayLike) -> np.ndarray:
    """Numbers of arrays, of their elements, or of anything that NumPy takes."""
    return np.asarray(values.numpy() if isinstance(values, array) else values)


def _numbers(values: ArrayLike, width: int, name: str) -> np.ndarray:
    """Rows of numbers, at least one unless there are no numbers. Raises `ArgumentTypeError` for other widths."""
    try:
        rows = _host(values).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{name} is {type(values).__name__}\nexpected: rows of {width} numbers") from error
    if rows.size % width or (rows.ndim > 1 and rows.shape[-1] != width):
        raise ArgumentTypeError(f"{name} has shape {rows.shape}\nexpected: rows of {width} numbers")
    return rows.reshape(-1, width)


def _identifier(name: str) -> str:
    """A name as paths of USD allow it: letters, digits and _ of each part."""
    parts = ["".join(c if c.isalnum() else "_" for c in part) for part in str(name).strip("/").split("/")]
    return "/".join(f"_{part}" if part[:1].isdigit() or not part else part for part in parts)
