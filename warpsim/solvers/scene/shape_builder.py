"""Shapes of a `ModelBuilder`: obstacles that a control moves, and those that bodies are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked, numbers
from ...errors import ModelError
from .body_builder import check_body, pose_of
from .hull import hull_mesh
from .rotations import rotation_onto
from .rows import Rows
from .shapes import ShapeType

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_SURFACE = ("mu", "mu_torsional", "mu_rolling", "restitution", "margin")


@dataclass(frozen=True)
class ShapeConfig:
    """What a shape's surface is like.

    mu: coefficient of sliding (dynamic) friction [-]. mu_static: that of sticking; None: the same.
    restitution: speed after a bounce per speed before [-], 0 to 1. margin: kept around the shape [m].
    density: of a shape on a body, which has its mass from it [kg/m^3].
    group, collides_with: bits of what it is, and of what it touches: two shapes of which at least one is on a body
    touch if each has a bit of the other's group in its collides_with. Particles touch all shapes.
    mu_torsional: friction of bodies against turning about the normal, mu_rolling: against rolling; each is the torque
    per normal force [m].
    """

    mu: float = 0.5
    mu_static: float | None = None
    restitution: float = 0.0
    margin: float = 0.0
    density: float = 1000.0
    group: int = 1
    collides_with: int = -1
    mu_torsional: float = 0.0
    mu_rolling: float = 0.0


class ShapeBuilder:
    """The part of `ModelBuilder` that adds shapes."""

    up: np.ndarray
    bodies: Rows

    def begin_shapes(self) -> None:
        """Tables without rows."""
        surface = dict.fromkeys((*_SURFACE, "mu_static", "group", "collides"), 0)
        place = {"transform": 7, "scale": 3, "source": 0, "body": 0, "density": 0}
        self.shapes = Rows("shapes", ("type", "source", "body", "group", "collides"), type=0, **place, **surface)
        self.exclusions = Rows("pairs of shapes that do not touch", ("shapes",), shapes=2)
        self.sources: list[Any] = []

    @checked
    def add_shape(
        self, shape_type: ShapeType, xform: ArrayLike | None = None, scale: Sequence[float] = (0.0, 0.0, 0.0),
        cfg: ShapeConfig | None = None, source: object = None, body: int = -1,
    ) -> int:  # fmt: skip
        """A shape of any type. xform: its pose (x, y, z, then a quaternion), where a control finds it first.

        body: the number of the body that it belongs to, in whose frame the pose is then; -1: an obstacle, which a
        control moves.
        """
        cfg = cfg or ShapeConfig()
        pose = pose_of(xform, "xform")
        check_body(body, self.bodies.count)
        static = cfg.mu if cfg.mu_static is None else cfg.mu_static
        number = -1
        if source is not None:
            number = len(self.sources)
            self.sources.append(source)
        surface = {name: getattr(cfg, name) for name in _SURFACE} | {"mu_static": static}
        surface |= {"group": _bits(cfg.group, "group"), "collides": _bits(cfg.collides_with, "collides_with")}
        place = {"transform": pose, "scale": scale, "source": number, "body": body, "density": cfg.density}
        return self.shapes.add(1, type=int(shape_type), **place, **surface)[0]

    @checked
    def ignore_contact(self, shape_a: int, shape_b: int) -> None:
        """Let two shapes pass through each other, of which at least one is on a body."""
        for shape in (shape_a, shape_b):
            if not 0 <= shape < self.shapes.count:
                raise ModelError(f"shape is {shape}\nexpected: one of the {self.shapes.count} shapes so far")
        if shape_a == shape_b:
            raise ModelError(f"shape {shape_a} is to ignore contact with itself\nexpected: two shapes")
        self.exclusions.add(1, shapes=(shape_a, shape_b))

    @checked
    def add_ground_plane(self, height: float = 0.0, cfg: ShapeConfig | None = None) -> int:
        """The plane across the up axis at `height` [m]."""
        return self.add_shape_plane(self.up, height * self.up, cfg)

    @checked
    def add_shape_plane(
        self, normal: ArrayLike = (0.0, 0.0, 1.0), point: ArrayLike = (0.0, 0.0, 0.0), cfg: ShapeConfig | None = None
    ) -> int:
        """The half space behind the plane through `point` [m]; free is the side of `normal`."""
        pose = [*numbers(point, "point", (3,)), *rotation_onto(normal)]
        return self.add_shape(ShapeType.PLANE, pose, cfg=cfg)

    @checked
    def add_shape_sphere(
        self,
        xform: ArrayLike | None = None,
        radius: float = 1.0,
        cfg: ShapeConfig | None = None,
        hollow: bool = False,
        body: int = -1,
    ) -> int:
        """A ball, or the vessel of that form; radius [m]."""
        kind = ShapeType.HOLLOW_SPHERE if hollow else ShapeType.SPHERE
        return self.add_shape(kind, xform, (_size(radius), 0.0, 0.0), cfg, body=body)

    @checked
    def add_shape_box(self, xform: ArrayLike | None = None, hx: float = 0.5, hy: float = 0.5, hz: float = 0.5,
                      cfg: ShapeConfig | None = None, body: int = -1) -> int:  # fmt: skip
        """A box with half extents hx, hy, hz [m]."""
        return self.add_shape(ShapeType.BOX, xform, (_size(hx), _size(hy), _size(hz)), cfg, body=body)

    @checked
    def add_shape_capsule(self, xform: ArrayLike | None = None, radius: float = 1.0, half_height: float = 0.5,
                          cfg: ShapeConfig | None = None, hollow: bool = False, body: int = -1) -> int:  # fmt: skip
        """A cylinder with round ends along z, or a vessel; half_height [m]: of the axis, without the ends."""
        kind = ShapeType.HOLLOW_CAPSULE if hollow else ShapeType.CAPSULE
        return self.add_shape(kind, xform, (_size(radius), _size(half_height), 0.0), cfg, body=body)

    @checked
    def add_shape_cylinder(self, xform: ArrayLike | None = None, radius: float = 1.0, half_height: float = 0.5,
                           cfg: ShapeConfig | None = None, hollow: bool = False, body: int = -1) -> int:  # fmt: skip
        """A cylinder with flat ends along z, or a drum or pipe of that form."""
        kind = ShapeType.HOLLOW_CYLINDER if hollow else ShapeType.CYLINDER
        return self.add_shape(kind, xform, (_size(radius), _size(half_height), 0.0), cfg, body=body)

    @checked
    def add_shape_cone(self, xform: ArrayLike | None = None, radius: float = 1.0, half_height: float = 0.5,
                       cfg: ShapeConfig | None = None, body: int = -1) -> int:  # fmt: skip
        """A cone with its tip at z = half_height and its base at -half_height [m]."""
        return self.add_shape(ShapeType.CONE, xform, (_size(radius), _size(half_height), 0.0), cfg, body=body)

    @checked
    def add_shape_mesh(
        self, xform: ArrayLike | None = None, mesh: object = None, scale: Sequence[float] = (1.0, 1.0, 1.0),
        cfg: ShapeConfig | None = None, hollow: bool = False, body: int = -1, hull: bool = False,
    ) -> int:  # fmt: skip
        """A closed triangle mesh, a `wp.Mesh`, or a vessel of its form; scale: factors above 0 along its axes.

        hull: the convex hull of its points instead, as meshes of bodies that are not convex are refused by solvers of
        those. An open mesh raises `ModelError` in `finalize`: it has no inside.
        """
        sizes = [_size(factor) for factor in scale]
        if hull:
            mesh = hull_mesh(mesh)
        return self.add_shape(ShapeType.HOLLOW_MESH if hollow else ShapeType.MESH, xform, sizes, cfg, mesh, body)

    @checked
    def add_shape_sdf(
        self, xform: ArrayLike | None = None, volume: object = None, cfg: ShapeConfig | None = None
    ) -> int:
        """A `wp.Volume` of float32 signed distances [m], as `wp.mesh_to_volume` makes them.

        Its band must be as wide as the largest radius, the margin and the diagonal of a voxel together, for fluids as
        the rows of particles in walls are deep: solvers refuse narrower ones with the width that they need. Beyond the
        band, and beyond values that are no level set, nothing is touched.
        """
        return self.add_shape(ShapeType.SDF, xform, cfg=cfg, source=volume)

    @checked
    def add_shape_heightfield(
        self,
        xform: ArrayLike | None = None,
        heights: ArrayLike | None = None,
        hx: float = 1.0,
        hy: float = 1.0,
        cfg: ShapeConfig | None = None,
    ) -> int:
        """A surface z = heights[i, j] [m] over |x| <= hx, |y| <= hy, the first index along x."""
        table = numbers(heights, "heights")
        if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
            raise ModelError(f"heights have shape {table.shape}\nexpected: two extents of 2 or more, finite numbers")
        return self.add_shape(ShapeType.HEIGHTFIELD, xform, (_size(hx), _size(hy), 1.0), cfg, table)


def _bits(value: int, name: str) -> int:
    """Groups as bits, checked."""
    if not (isinstance(value, Integral) and -(2**31) <= value < 2**31):
        raise ModelError(f"{name} is {value!r}\nexpected: an integer, with a bit for each group; -1: all")
    return int(value)


def _size(value: float) -> float:
    """A length of a shape, checked."""
    if not (isinstance(value, Real) and math.isfinite(value) and value > 0.0):
        raise ModelError(f"a shape has the size {value}\nexpected: a length above 0 [m]")
    return float(value)
