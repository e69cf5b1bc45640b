"""`JointKind`: which angles a joint has."""

from __future__ import annotations

from enum import IntEnum


class JointKind(IntEnum):
    """How a joint measures the rotation of its child's frame against its parent's, by which angles are locked.

    BALL, nothing is locked: the rotation vector. FIXED, all is: the same, the shorter way round. DISTANCE is a ball,
    and instead of the translation along x it measures how far apart the frames are. HINGE_X, HINGE_Y, HINGE_Z turn
    about that axis only. UNIVERSAL_X, ... keep that axis from turning: of the other two, in cyclic order, the first
    belongs to the parent, the second to the child, and they stay at right angles.
    """

    BALL = 0
    FIXED = 1
    DISTANCE = 2
    HINGE_X = 3
    HINGE_Y = 4
    HINGE_Z = 5
    UNIVERSAL_X = 6
    UNIVERSAL_Y = 7
    UNIVERSAL_Z = 8


def kind_of(locked: tuple[bool, bool, bool]) -> JointKind:
    """The kind whose angles about x, y, z are locked so."""
    some = sum(locked)
    if some in (0, 3):
        return JointKind.FIXED if some else JointKind.BALL
    if some == 2:
        return JointKind(JointKind.HINGE_X + locked.index(False))
    return JointKind(JointKind.UNIVERSAL_X + locked.index(True))
