"""Rigid bodies of a `ModelBuilder`, and what is asked of their poses and numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import checked, numbers
from ...errors import ModelError, shown
from .rows import Rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .builder import ModelBuilder

_IDENTITY = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


class BodyBuilder:
    """The part of `ModelBuilder` that adds rigid bodies."""

    def begin_bodies(self) -> None:
        """A table without rows. derived: whether mass, centre and inertia of a body are those of its shapes."""
        self.bodies = Rows("bodies", ("derived",), q=7, qd=6, mass=0, com=3, inertia=9, derived=3)

    @checked
    def add_body(
        self,
        xform: ArrayLike | None = None,
        qd: ArrayLike = 0.0,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
    ) -> int:
        """A rigid body; shapes that are added with `body=` its number are its form.

        xform: pose of its frame, a position [m], then a quaternion (x, y, z, w). qd: angular velocity [rad/s], then the
        velocity of its centre of mass [m/s], in space. mass [kg]; 0: it keeps its velocity, whatever pulls. com: centre
        of mass in its frame [m]. inertia: about that, along the axes of its frame, three principal moments or a matrix
        (3, 3) [kg m^2]. What is None comes from shapes and their densities; a given mass scales their inertia.
        """
        pose = pose_of(xform, "xform")
        moments = np.full(9, 0.0) if inertia is None else _matrix(inertia).ravel()
        derived = [mass is None, com is None, inertia is None]
        values = {"mass": mass or 0.0, "com": 0.0 if com is None else com, "inertia": moments}
        return self.bodies.add(1, q=pose, qd=qd, derived=derived, **values)[0]


def copy_bodies(builder: ModelBuilder, other: ModelBuilder) -> range:
    """Add the bodies of another builder and their shapes, as they are there; returns their numbers.

    With them the matter of one model moves among the bodies of another, see `Coupling`. Joints are not copied, as only
    the solver of bodies steps them. Raises `ModelError` for a builder with bodies of its own: numbers would differ.
    """
    if builder.bodies.count:
        raise ModelError(f"the builder has {builder.bodies.count} bodies\nexpected: none before those of another one")
    table, shapes = other.bodies, other.shapes
    builder.bodies.add(table.count, **{name: table[name] for name in table.widths})
    own, first = shapes["body"] >= 0, len(builder.sources)
    rows = {name: shapes[name][own] for name in shapes.widths}
    rows["source"] = np.where(rows["source"] < 0, -1, rows["source"] + first)
    builder.sources += other.sources
    builder.shapes.add(int(own.sum()), **rows)
    return range(table.count)


def pose_of(xform: ArrayLike | None, name: str) -> np.ndarray:
    """A position and a unit quaternion, (7,); None is the identity."""
    pose = numbers(_IDENTITY if xform is None else xform, name)
    if pose.shape != (7,) or not math.isclose(np.linalg.norm(pose[3:]), 1.0, rel_tol=1.0e-4):
        raise ModelError(f"{name} is {xform!r}\nexpected: a position, then a unit quaternion (x, y, z, w)")
    return pose


def check_body(body: int, count: int) -> None:
    """Raise `ModelError` for the number of no body; -1 is none."""
    if not -1 <= body < count:
        raise ModelError(f"body is {body}\nexpected: -1 or one of the {count} bodies so far")


def _matrix(inertia: ArrayLike) -> np.ndarray:
    """Principal moments or a matrix, as a matrix (3, 3)."""
    values = numbers(inertia, "inertia")
    if values.shape not in ((3,), (3, 3)):
        raise ModelError(f"inertia is {shown(inertia)}\nexpected: three moments, or a matrix (3, 3) [kg m^2]")
    return np.diag(values) if values.shape == (3,) else values
