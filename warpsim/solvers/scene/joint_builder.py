"""Joints of a `ModelBuilder`: what holds two bodies, or a body and the world, to each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import checked
from ...errors import ModelError, shown
from .body_builder import pose_of
from .joint_kind import JointKind, kind_of
from .rotations import rotate, rotation_onto, turn_after
from .rows import Rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_AXES = {"x": 0, "y": 1, "z": 2}
_TURN = 2.0 * math.pi
_SHORTEST = 1.0e-4
"""Of what a distance joint may allow at most [m]: a shorter rod turns far in a substep, along no direction."""


@dataclass(frozen=True)
class JointAxis:
    """One angle or translation that a joint leaves free, within limits [rad, m]; infinite ones are none.

    A drive is a spring of stiffness target_ke [N m/rad, N/m] to `target`, and a damper target_kd [N m s/rad, N s/m]
    to the velocity `target_velocity`: a damper alone is a motor. Controls have both targets from step to step.
    """

    limit_lower: float = -math.inf
    limit_upper: float = math.inf
    target: float = 0.0
    target_velocity: float = 0.0
    target_ke: float = 0.0
    target_kd: float = 0.0


FREE = JointAxis()
_LOCKED = JointAxis(0.0, 0.0)


class JointBuilder:
    """The part of `ModelBuilder` that adds joints.

    Each joint has a frame on its parent and one on its child, and holds them together but for what it leaves free.
    parent: -1 is the world. parent_xform, child_xform: these frames in those of the bodies, a position [m], then a
    quaternion; None is where the other one is now, so that nothing jumps; both None: where the child's frame is.
    break_force [N], break_torque [N m]: what it bears in a substep; beyond either it lets go, from the next step on.
    """

    bodies: Rows

    def begin_joints(self) -> None:
        """A table without rows."""
        frames = {"parent": 0, "child": 0, "parent_frame": 7, "child_frame": 7, "kind": 0}
        axes = {"lower": 6, "upper": 6, "target": 6, "target_velocity": 6, "ke": 6, "kd": 6}
        self.joints = Rows("joints", ("parent", "child", "kind"), **frames, **axes, strength=2)

    @checked
    def add_joint_fixed(
        self, parent: int, child: int, parent_xform: ArrayLike | None = None, child_xform: ArrayLike | None = None,
        break_force: float = math.inf, break_torque: float = math.inf,
    ) -> int:  # fmt: skip
        """Two bodies as one."""
        return self.add_joint_d6(parent, child, parent_xform, child_xform, None, None, break_force, break_torque)

    @checked
    def add_joint_ball(
        self, parent: int, child: int, parent_xform: ArrayLike | None = None, child_xform: ArrayLike | None = None,
        break_force: float = math.inf, break_torque: float = math.inf, **axis: float,
    ) -> int:  # fmt: skip
        """The child turns about a point. axis: fields of `JointAxis`, for each component of the rotation vector."""
        free = dict.fromkeys("xyz", _axis(axis))
        return self.add_joint_d6(parent, child, parent_xform, child_xform, None, free, break_force, break_torque)

    @checked
    def add_joint_revolute(
        self, parent: int, child: int, parent_xform: ArrayLike | None = None, child_xform: ArrayLike | None = None,
        axis: ArrayLike = (0.0, 0.0, 1.0), break_force: float = math.inf, break_torque: float = math.inf,
        **free: float,
    ) -> int:  # fmt: skip
        """A hinge: the child turns about an axis, (3,) in the joint's frame, which turns so that this is its z.

        free: fields of `JointAxis`. The angle [rad] is that next to the middle of its limits, else from -pi to pi; a
        drive takes the shorter way round.
        """
        frames = [_turn_z_to(axis, frame) for frame in self._frames(parent, child, parent_xform, child_xform)]
        return self.add_joint_d6(parent, child, *frames, None, {"z": _axis(free)}, break_force, break_torque)

    @checked
    def add_joint_prismatic(
        self, parent: int, child: int, parent_xform: ArrayLike | None = None, child_xform: ArrayLike | None = None,
        axis: ArrayLike = (0.0, 0.0, 1.0), break_force: float = math.inf, break_torque: float = math.inf,
        **free: float,
    ) -> int:  # fmt: skip
        """A slider: the child moves along an axis, (3,) in the joint's frame, which turns so that this is its z.

        free: fields of `JointAxis`.
        """
        frames = [_turn_z_to(axis, frame) for frame in self._frames(parent, child, parent_xform, child_xform)]
        return self.add_joint_d6(parent, child, *frames, {"z": _axis(free)}, None, break_force, break_torque)

    @checked
    def add_joint_universal(
        self, parent: int, child: int, parent_xform: ArrayLike | None = None, child_xform: ArrayLike | None = None,
        first: JointAxis = FREE, second: JointAxis = FREE, break_force: float = math.inf,
        break_torque: float = math.inf,
    ) -> int:  # fmt: skip
        """A cardan joint: the child turns about the parent's x axis, first, and its own y axis, second."""
        free = {"x": first, "y": second}
        return self.add_joint_d6(parent, child, parent_xform, child_xform, None, free, break_force, break_torque)

    @checked
    def add_joint_distance(
        self, parent: int, child: int, parent_xform: ArrayLike | None = None, child_xform: ArrayLike | None = None,
        min_distance: float | None = None, max_distance: float | None = None, break_force: float = math.inf,
        **drive: float,
    ) -> int:  # fmt: skip
        """Keeps the origins of both frames apart: a rod where both distances [m] are equal, a rope with 0 as the least.

        Frames that are None are those of the bodies. Without distances, and without a drive, it is a rod as long as it
        is now; none is shorter than 1e-4 m. drive: target, target_velocity, target_ke, target_kd of `JointAxis`: a
        spring of length `target`.
        """
        ends = [pose_of(x, n) for x, n in ((parent_xform, "parent_xform"), (child_xform, "child_xform"))]
        self._check_pair(parent, child)
        if min_distance is None and max_distance is None and not drive:
            gap = self._pose(parent, ends[0])[:3] - self._pose(child, ends[1])[:3]
            min_distance = max_distance = float(np.linalg.norm(gap))
        least = 0.0 if min_distance is None else min_distance
        if least < 0.0:
            raise ModelError(f"min_distance is {least:g} m\nexpected: 0 or more")
        most = math.inf if max_distance is None else max_distance
        if most < _SHORTEST:
            raise ModelError(
                f"the joint has a max_distance of {most:g} m, so that its ends coincide and have no direction\n"
                f"expected: {_SHORTEST:g} m or more\nhelp: add_joint_ball(...) holds two points together"
            )
        limits = {"limit_lower": -math.inf if least == 0.0 else least, "limit_upper": most}
        free = [*[FREE] * 3, _axis({**drive, **limits}), FREE, FREE]
        return self._add(JointKind.DISTANCE, (parent, child), ends, free, (break_force, math.inf))

    @checked
    def add_joint_d6(
        self, parent: int, child: int, parent_xform: ArrayLike | None = None, child_xform: ArrayLike | None = None,
        linear_axes: Mapping[str, JointAxis] | None = None, angular_axes: Mapping[str, JointAxis] | None = None,
        break_force: float = math.inf, break_torque: float = math.inf,
    ) -> int:  # fmt: skip
        """Any joint: axes "x", "y", "z" of the joint's frame along which, and about which, the child is free.

        Those that are not named are locked. How angles are measured follows from which are locked: `JointKind`.
        """
        frames = self._frames(parent, child, parent_xform, child_xform)
        axes = [_LOCKED] * 6
        for first, named in ((0, angular_axes), (3, linear_axes)):
            for name, axis in (named or {}).items():
                if name not in _AXES:
                    raise ModelError(f"an axis of a joint is {shown(name)}\nexpected: 'x', 'y' or 'z'")
                if not isinstance(axis, JointAxis):
                    way = "angular_axes" if first == 0 else "linear_axes"
                    raise ModelError(f"{way}[{name!r}] is {shown(axis)}\nexpected: a JointAxis")
                axes[first + _AXES[name]] = axis
        x, y, z = (axis.limit_lower == axis.limit_upper for axis in axes[:3])
        return self._add(kind_of((x, y, z)), (parent, child), frames, axes, (break_force, break_torque))

    # ----- rows -----------------------------------------------------------------------------------

    def _add(
        self, kind: JointKind, bodies: tuple[int, int], frames: list[np.ndarray], axes: list[JointAxis],
        strength: tuple[float, float],
    ) -> int:  # fmt: skip
        """A row of the table of joints."""
        for row, axis in enumerate(axes):
            _check_axis(f"joint {self.joints.count}", row, axis)
        for name, value in zip(("break_force", "break_torque"), strength, strict=True):
            if not value > 0.0:
                raise ModelError(f"{name} is {value:g}\nexpected: above 0; infinity never breaks")
        names = ("lower", "upper", "target", "target_velocity", "ke", "kd")  # in the order of `JointAxis`
        limits = dict(zip(names, np.array([astuple(axis) for axis in axes]).T, strict=True))
        pair = {"parent": bodies[0], "child": bodies[1], "kind": int(kind), "strength": strength}
        return self.joints.add(1, **pair, parent_frame=frames[0], child_frame=frames[1], **limits)[0]

    def _check_pair(self, parent: int, child: int) -> None:
        """Raise `ModelError` for what no joint can hold together."""
        count = self.bodies.count
        if not 0 <= child < count:
            raise ModelError(f"child is {child}\nexpected: one of the {count} bodies so far")
        if not -1 <= parent < count:
            raise ModelError(f"parent is {parent}\nexpected: -1, the world, or one of the {count} bodies so far")
        if parent == child:
            raise ModelError(f"parent and child are both body {child}\nexpected: two bodies, or -1 as the parent")

    def _pose(self, body: int, frame: np.ndarray) -> np.ndarray:
        """A frame of a body, or of the world, in space."""
        return frame if body < 0 else _compose(self.bodies["q"][body], frame)

    def _frames(
        self, parent: int, child: int, parent_xform: ArrayLike | None, child_xform: ArrayLike | None
    ) -> list[np.ndarray]:
        """Both frames of a joint, (7,) each; one that is None is where the other one is."""
        self._check_pair(parent, child)
        if parent_xform is not None and child_xform is None:
            ours = pose_of(parent_xform, "parent_xform")
            return [ours, _compose(_inverse(self.bodies["q"][child]), self._pose(parent, ours))]
        theirs = pose_of(child_xform, "child_xform")
        if parent_xform is not None:
            return [pose_of(parent_xform, "parent_xform"), theirs]
        place = self._pose(child, theirs)
        return [place if parent < 0 else _compose(_inverse(self.bodies["q"][parent]), place), theirs]


def _axis(fields: Mapping[str, float]) -> JointAxis:
    """A `JointAxis` of keywords. Raises `ModelError` for one that it does not have."""
    unknown = [name for name in fields if name not in JointAxis.__dataclass_fields__]
    if unknown:
        raise ModelError(f"a joint has no {unknown[0]!r}\nexpected: {', '.join(JointAxis.__dataclass_fields__)}")
    for name, value in fields.items():
        if not isinstance(value, Real):
            raise ModelError(f"{name} of a joint is {shown(value)}\nexpected: a number")
    return JointAxis(**fields)


def _check_axis(joint: str, row: int, axis: JointAxis) -> None:
    """Raise `ModelError` for limits and drives that none can have. row: angles about x, y, z, then translations."""
    name = f"{('angle about ' if row < 3 else 'translation along ')}{'xyz'[row % 3]} of {joint}"
    lower, upper = axis.limit_lower, axis.limit_upper
    drive = (axis.target_ke, axis.target_kd)
    if not lower <= upper:
        raise ModelError(f"{name} has the limits {lower:g} to {upper:g}\nexpected: limit_lower <= limit_upper")
    if lower == upper and (math.isinf(lower) or (row < 3 and lower != 0.0)):
        raise ModelError(f"{name} is locked at {lower:g}\nexpected: 0\nhelp: turn the frame of the parent or child")
    if row < 3 and (math.isinf(lower) != math.isinf(upper) or _TURN <= upper - lower < math.inf):
        raise ModelError(
            f"{name} has the limits {lower:g} to {upper:g} rad\n"
            "expected: less than a turn apart, or none: nobody counts turns"
        )
    if not all(0.0 <= value < math.inf for value in drive):
        raise ModelError(
            f"{name} has a drive with target_ke = {drive[0]:g}, target_kd = {drive[1]:g}\nexpected: finite numbers, 0 "
            "or more\nhelp: limits that are equal lock an axis"
        )
    if not (math.isfinite(axis.target) and math.isfinite(axis.target_velocity)):
        raise ModelError(f"{name} has the target {axis.target:g}, {axis.target_velocity:g}\nexpected: finite numbers")
    if lower == upper and any(drive):
        raise ModelError(f"{name} is locked and has a drive\nexpected: limits that leave it free")


def _compose(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """The product of two poses, (7,): one in the frame of another, in space."""
    place = rotate(outer[3:], inner[None, :3])[0] + outer[:3]
    return np.concatenate([place, turn_after(inner[None, 3:], outer[3:])[0]])


def _inverse(pose: np.ndarray) -> np.ndarray:
    """The pose that undoes another one."""
    back = pose[3:] * (-1.0, -1.0, -1.0, 1.0)
    return np.concatenate([-rotate(back, pose[None, :3])[0], back])


def _turn_z_to(axis: ArrayLike, frame: np.ndarray) -> np.ndarray:
    """A frame (7,) turned so that its z axis is what was `axis` in it."""
    return np.concatenate([frame[:3], turn_after(rotation_onto(axis)[None], frame[3:])[0]])
