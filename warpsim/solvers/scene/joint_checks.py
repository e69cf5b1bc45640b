"""Checks of joints before a simulation: whether bodies are where joints hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from ...errors import ModelError
from .joint_kind import JointKind

if TYPE_CHECKING:
    from .builder import ModelBuilder

_APART = 1.0e-3
"""How far the frames of a joint may be apart along and about locked axes, at the start [m, rad]."""


def check_joints(builder: ModelBuilder) -> None:
    """Raise `ModelError` for the first joint that starts broken."""
    table = builder.joints
    if not table.count:
        return
    offset, turn = _between(builder)
    locked = table["lower"] == table["upper"]
    locked[table["kind"] == JointKind.DISTANCE] = False
    gaps = np.where(locked[:, 3:], offset - np.where(locked, table["lower"], 0.0)[:, 3:], 0.0)
    for size, unit in ((np.linalg.norm(gaps, axis=1), "m"), (_locked_angle(turn, table["kind"]), "rad")):
        bad = np.flatnonzero(~(size <= _APART))
        if len(bad):
            pair = f"parent {table['parent'][bad[0]]} and child {table['child'][bad[0]]}"
            raise ModelError(
                f"joint {bad[0]} of {pair} starts broken: its frames are {size[bad[0]]:.3g} {unit} apart\n"
                f"expected: at most {_APART:g} {unit}\n"
                "help: leave parent_xform or child_xform out, and it is where the other one is; or move the child"
            )
    _check_distances(builder, np.linalg.norm(offset, axis=1))


def _between(builder: ModelBuilder) -> tuple[np.ndarray, Rotation]:
    """Where the child's frame is in the parent's, (joints, 3) [m], and how it is turned."""
    table = builder.joints
    here = np.vstack([builder.bodies["q"], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])  # the last one, -1, is the world
    places, turns = [], []
    for body in ("parent", "child"):
        pose, frame = here[table[body]], table[f"{body}_frame"]
        turn = Rotation.from_quat(pose[:, 3:])
        places.append(turn.apply(frame[:, :3]) + pose[:, :3])
        turns.append(turn * Rotation.from_quat(frame[:, 3:]))
    return turns[0].inv().apply(places[1] - places[0]), turns[0].inv() * turns[1]


def _locked_angle(turn: Rotation, kinds: np.ndarray) -> np.ndarray:
    """How far locked angles are from zero, (joints,) [rad]."""
    m, n = turn.as_matrix(), np.arange(len(kinds))
    angle = np.where(kinds == JointKind.FIXED, turn.magnitude(), 0.0)
    k = (kinds - JointKind.HINGE_X) % 3
    off = np.arccos(np.clip(m[n, k, k], -1.0, 1.0))
    across = np.arcsin(np.clip(m[n, (k + 1) % 3, (k + 2) % 3], -1.0, 1.0))
    angle = np.where((kinds >= JointKind.HINGE_X) & (kinds <= JointKind.HINGE_Z), off, angle)
    return np.where(kinds >= JointKind.UNIVERSAL_X, np.abs(across), angle)


def _check_distances(builder: ModelBuilder, distance: np.ndarray) -> None:
    """Raise `ModelError` for a rod that is not as long as its ends are apart."""
    table = builder.joints
    least, most = table["lower"][:, 3], table["upper"][:, 3]
    bad = np.flatnonzero((table["kind"] == JointKind.DISTANCE) & (least == most) & (abs(distance - most) > _APART))
    if len(bad):
        j = bad[0]
        raise ModelError(
            f"joint {j}, a rod of {most[j]:g} m, starts broken: its ends are {distance[j]:g} m apart\n"
            "help: without distances a rod is as long as it is now"
        )
