"""Attachment: C = x - target, one equation per axis, to a point of the world or of a moving shape."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...core.language import Array, Float, Transform, Vec, array, func, generic_struct, int32, kernel, tid
from ...core.lib.quaternions import quat_rotate
from ...core.lib.transforms import transform_get_rotation
from ..scene.shapes import surface_velocity, to_world
from .constraints import Constraints
from .hits import feel
from .particle import apply_impulse, position

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model
    from .workspace import Workspace


class Attachments(Constraints):
    """Particles held at targets that `Control` moves."""

    constant = ("order", "indices", "shape")

    def __init__(self, model: Model, iterated: bool):
        super().__init__(model, model.attachment_particle, int32, model.vec3, iterated, model.attachment_damping)
        self.targets, self.pace = self.make_rows(model.vec3), self.make_rows(model.vec3)
        self.soft, self.drag = self.make_rows(model.dtype), self.make_rows(model.dtype)
        self.shape = array(model.attachment_shape.numpy()[self.coloring.order], dtype=int32, device=model.device)
        self._ridden: Any = None
        self._feels = False

    def prepare(self, control: Control, h: float) -> None:
        """Materials in order of color."""
        m = self.model
        self.launch_gather(gather, m.attachment_compliance, m.attachment_damping, h, self.soft, self.drag)

    def aim(self, control: Control, workspace: Workspace, t: float, h: float) -> None:
        """Targets `t` [s] after the step began, where shapes are at that time; h: of the substep [s]."""
        w = workspace
        arrays = [control.attachment_target, control.attachment_velocity, w.pose, control.shape_velocity]
        self.launch_gather(move_targets, self.shape, *arrays, t, self.targets, self.pace)
        self._put(_ridden=Ridden[self.model.dtype](self.shape, w.pose, w.shape_force, w.share, h), _feels=w.feels)

    def project(self, x: array) -> None:
        """One Gauss-Seidel iteration; a particle with several attachments has one in each color."""
        materials = [self.soft, self.multipliers, self._ridden]
        self.launch_projections(project_attachment(self.iterated, self._feels), self.targets, *materials, x)

    def damp(self, x: array, v: array) -> None:
        """Slow down what moves relative to its target."""
        self.launch_dampers(damp_attachment(self._feels), self.pace, self.drag, self._ridden, x, v)


@kernel
def gather(
    order: array(dtype=int32), compliance: array(dtype=Any), damping: array(dtype=Any), h: Any, soft: array(dtype=Any),
    drag: array(dtype=Any),
):  # fmt: skip
    """alpha / h^2 [1/kg] and damping times h [kg]."""
    c = tid()
    soft[c] = compliance[order[c]] / (h * h)
    drag[c] = damping[order[c]] * h


@kernel
def move_targets(
    order: array(dtype=int32), shape: array(dtype=int32), target: array(dtype=Any), velocity: array(dtype=Any),
    pose: array(dtype=Any), twist: array(dtype=Any), t: Any, now: array(dtype=Any), pace: array(dtype=Any),
):  # fmt: skip
    """Where targets are, and their velocities: those of shapes ride along."""
    c = tid()
    k = order[c]
    p, u, s = target[k] + t * velocity[k], velocity[k], shape[c]
    if s >= 0:
        p = to_world(pose[s], p)
        u = quat_rotate(transform_get_rotation(pose[s]), u) + surface_velocity(pose[s], twist[s], p)
    now[c] = p
    pace[c] = u


@generic_struct
class Ridden:
    """Shapes that hold particles: their numbers in order of color, poses, and what they feel, see `hits.Obstacles`; h:
    of a substep [s]."""

    shape: array(dtype=int32)
    pose: Array[Transform[Float]]
    force: Array[Vec[6, Float]]
    share: Float
    h: Float


@functools.cache
def project_attachment(iterated: bool, feels: bool) -> Any:
    """The kernel for attachments, with multipliers to remember or without; feels: whether shapes note their forces."""

    @kernel
    def project(
        first: int32, particle: array(dtype=int32), target: array(dtype=Any), soft: array(dtype=Any),
        multiplier: array(dtype=Any), ridden: Any, x: array(dtype=Any),
    ):  # fmt: skip
        c = first + tid()
        i = particle[c]
        a = x[i]
        if a[3] + soft[c] > 0.0:
            error = position(a) - target[c]
            if iterated:
                error = error + soft[c] * multiplier[c]
            change = -error / (a[3] + soft[c])
            if iterated:
                multiplier[c] = multiplier[c] + change
            x[i] = apply_impulse(a, change)
            if feels:
                pull(ridden, c, a, a[3] / ridden.h * change)

    return project


@func
def pull(ridden: Any, c: int32, a: Vec[4, Float], change: Vec[3, Float]) -> None:
    """Note what held a particle by a change of its velocity [m/s], if that was a shape."""
    s = ridden.shape[c]
    if s >= 0 and a[3] > 0.0:
        feel(ridden.force, s, ridden.pose[s], a, ridden.share * change)


@functools.cache
def damp_attachment(feels: bool) -> Any:
    """The kernel of their damping; feels: whether shapes note their forces."""

    @kernel
    def damp(
        first: int32, particle: array(dtype=int32), pace: array(dtype=Any), drag: array(dtype=Any), ridden: Any,
        x: array(dtype=Any), v: array(dtype=Any),
    ):  # fmt: skip
        """The velocity relative to the target, slowed down."""
        c = first + tid()
        i = particle[c]
        change = -(x[i][3] * drag[c] / (1.0 + x[i][3] * drag[c])) * (v[i] - pace[c])
        v[i] = v[i] + change
        if feels:
            pull(ridden, c, x[i], change)

    return damp
