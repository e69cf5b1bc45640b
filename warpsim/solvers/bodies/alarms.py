"""What is said of joints and of bodies on the host: joints that start outside of their limits, joints that opened in a
step, and numbers that are not finite. Silence would leave motion that looks like one and is none."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from ..scene.joint_kind import JointKind
from ..scene.start_warning import StartWarning
from .contact_solve import FASTEST

if TYPE_CHECKING:
    from ..scene.model import Model
    from ..scene.state import State
    from .joints import JointRows

_APART = 1.0e-3
"""How far outside of its limits a coordinate starts before anybody hears of it [rad, m]."""
_OPEN = 0.03
"""Joints are open from this angle on [rad], or from this part of their longer arm."""
_SHORT = 0.1
"""Shorter arms count as this [m]."""


class DivergenceWarning(UserWarning):
    """A joint has opened, as a step was too long for it, or a body has numbers that are not finite."""


class Alarms:
    """Warns of the first joint that opens, and of the first body with numbers that are not finite, once of each."""

    def __init__(self, model: Model, joints: JointRows | None):
        self._joints, self._told = joints, set[str]()
        if joints is not None:
            self._parents, self._children = model.joint_parent.numpy().copy(), model.joint_child.numpy().copy()
            self._allowed = np.column_stack([_OPEN * _sizes(model), np.full(model.joint_count, _OPEN)])

    def look(self, step: int, state: State, stacklevel: int) -> None:
        """Look at the state after a step, whose number it is."""
        if "joint" not in self._told and self._joints is not None:
            self._tell("joint", self._opened(step, state, self._joints), stacklevel + 1)
        if "body" not in self._told:
            self._tell("body", not_finite(step, state), stacklevel + 1)

    def _tell(self, what: str, problem: str | None, stacklevel: int) -> None:
        if problem:
            self._told.add(what)
            warnings.warn(problem, DivergenceWarning, stacklevel=stacklevel + 1)

    def _opened(self, step: int, state: State, joints: JointRows) -> str | None:
        """What there is to say of the joint that is farthest open, and was less open before the step."""
        before, after = joints.apart_before.numpy(), joints.apart.numpy()
        bad = ~(after <= self._allowed) & ~(after <= before)
        if not bad.any():
            return None
        part = np.where(bad, np.nan_to_num(after / self._allowed, nan=np.inf), 0.0)
        j, unit = np.unravel_index(int(part.argmax()), part.shape)
        force = float(np.linalg.norm(state.joint_f.numpy()[j, 3:]))
        return (
            f"step {step}: joint {j} of parent {self._parents[j]} and child {self._children[j]} has opened by "
            f"{after[j, unit]:.3g} {('m', 'rad')[unit]}, under {force:.3g} N: substeps are too long for it\n"
            "help: more substeps, SolverBodies(..., substeps=...); with h the time of one, links of mass m and length "
            "l bear forces up to about 0.1 m l / h^2"
        )


def not_finite(step: int, state: State) -> str | None:
    """What there is to say of the first body with NaN or infinity."""
    numbers = (state.body_q.numpy(), state.body_qd.numpy())
    if all(np.isfinite(rows).all() for rows in numbers):
        return None
    bad = np.flatnonzero(~np.isfinite(np.hstack(numbers)).all(axis=1))
    return (
        f"step {step}: body {bad[0]} has numbers that are not finite\n"
        "help: more substeps, or look for bodies that start inside of each other"
    )


def warn_of_limits(model: Model, joints: JointRows, stacklevel: int) -> None:
    """Warn of the joint that starts farthest outside of its limits."""
    value = joints.rows.coordinate.numpy().astype(float)
    lower, upper = model.joint_lower.numpy().astype(float), model.joint_upper.numpy().astype(float)
    bounded = np.isfinite(lower[:, :3]) & np.isfinite(upper[:, :3])
    middle = np.where(bounded, 0.5 * (np.where(bounded, lower[:, :3], 0.0) + np.where(bounded, upper[:, :3], 0.0)), 0.0)
    value[:, :3] -= 2.0 * np.pi * np.where(bounded, np.floor((value[:, :3] - middle) / (2.0 * np.pi) + 0.5), 0.0)
    guided = joints.guided_rows
    outside = np.where(guided, np.maximum(lower - value, value - upper), 0.0)
    if not outside.size or outside.max() <= _APART:
        return
    j, i = np.unravel_index(int(outside.argmax()), outside.shape)
    unit = "rad" if i < 3 else "m"
    name = f"{'angle about' if i < 3 else 'translation along'} {'xyz'[i % 3]}"
    if model.joint_kind.numpy()[j] == JointKind.DISTANCE:
        name = "distance"
    warnings.warn(
        f"joint {j} starts outside of its limits: its {name} is {value[j, i]:.3g} {unit}, and has the limits "
        f"{lower[j, i]:.3g} to {upper[j, i]:.3g}; it returns with at most {FASTEST:g} {unit}/s\n"
        "help: place the bodies so that it starts within, or give it other limits",
        StartWarning,
        stacklevel=stacklevel + 1,
    )


def _sizes(model: Model) -> np.ndarray:
    """The longer arm of each joint [m], from centres of mass to its frames, (joints,)."""
    com, sizes = model.body_com.numpy(), np.full(model.joint_count, _SHORT)
    for side in ("parent", "child"):
        body, frame = getattr(model, f"joint_{side}").numpy(), getattr(model, f"joint_{side}_frame").numpy()
        arm = np.linalg.norm(frame[:, :3] - com[np.maximum(body, 0)], axis=1)
        sizes = np.maximum(sizes, np.where(body >= 0, arm, 0.0))
    return sizes
