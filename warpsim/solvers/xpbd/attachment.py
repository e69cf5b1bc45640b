"""Attachment: C = x - target, one equation per axis, to a point of the world or of a moving shape."""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import array, int32, kernel, tid
from ..shapes import to_world
from .constraints import Constraints
from .particle import position, pushed


class Attachments(Constraints):
    """Particles held at targets that `Control` moves."""

    def __init__(self, model: Any, iterated: bool):
        super().__init__(model, model.attachment_particle, int32, model.vec3, iterated)
        self.targets = self.gathered(model.vec3)
        self.soft, self.damping = self.gathered(model.dtype), self.gathered(model.dtype)
        self.shape = array(model.attachment_shape.numpy()[self.coloring.order], dtype=int32, device=model.device)

    def prepare(self, control: Any, h: Any) -> None:
        """Materials in order of color."""
        m = self.model
        self.launch_gather(gather, m.attachment_compliance, m.attachment_damping, h, self.soft, self.damping)

    def aim(self, control: Any, pose: Any, t: Any) -> None:
        """Targets `t` [s] after the step began; pose: of the shapes, at that time."""
        arrays = [control.attachment_target, control.attachment_velocity]
        self.launch_gather(move_targets, self.shape, *arrays, pose, t, self.targets)

    def project(self, x: Any, start: Any) -> None:
        """One Gauss-Seidel iteration; a particle with several attachments has one in each color."""
        materials = [self.soft, self.damping, self.multipliers]
        self.launch_projections(project_attachment(self.iterated), self.targets, *materials, start, x)


@kernel
def gather(
    order: array(dtype=int32), compliance: array(dtype=Any), damping: array(dtype=Any), h: Any, soft: array(dtype=Any),
    gamma: array(dtype=Any),
):  # fmt: skip
    """alpha / h^2 [1/kg] and alpha beta / h [-]."""
    c = tid()
    alpha = compliance[order[c]]
    soft[c] = alpha / (h * h)
    gamma[c] = alpha * damping[order[c]] / h


@kernel
def move_targets(
    order: array(dtype=int32), shape: array(dtype=int32), target: array(dtype=Any), velocity: array(dtype=Any),
    pose: array(dtype=Any), t: Any, now: array(dtype=Any),
):  # fmt: skip
    """Where targets are: those of shapes ride along."""
    c = tid()
    k = order[c]
    p = target[k] + t * velocity[k]
    if shape[c] >= 0:
        p = to_world(pose[shape[c]], p)
    now[c] = p


@functools.cache
def project_attachment(iterated: bool) -> Any:
    """The kernel for attachments, with multipliers to remember or without."""

    @kernel
    def project(
        first: int32, particle: array(dtype=int32), target: array(dtype=Any), soft: array(dtype=Any),
        damping: array(dtype=Any), multiplier: array(dtype=Any), start: array(dtype=Any), x: array(dtype=Any),
    ):  # fmt: skip
        c = first + tid()
        i = particle[c]
        a = x[i]
        if a[3] > 0.0:
            error = position(a) - target[c] + damping[c] * (position(a) - start[i])
            if iterated:
                error = error + soft[c] * multiplier[c]
            change = -error / ((1.0 + damping[c]) * a[3] + soft[c])
            if iterated:
                multiplier[c] = multiplier[c] + change
            x[i] = pushed(a, change)

    return project
