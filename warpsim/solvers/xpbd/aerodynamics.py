"""Wind on cloth: drag and lift of every triangle as a flat plate in the air that flows past it.

With u the velocity of the air relative to the triangle, n its normal, A its area and rho the density of air:

    drag = rho/2 C_D A |u . n| u,     lift = rho/2 C_L A (u . n) |u| (n - (n . u) u / |u|^2)

Drag acts along the flow and grows with the area that faces it; lift acts across the flow, on the side that the
triangle turns to it. A third of both goes to each corner. D. House and D. Breen (eds.) 2000, "Cloth Modeling and
Animation", chapter 5, use the same two terms.

The force grows with the square of the speed: over a substep h an explicit step of it overshoots where h times its
derivative K by the velocity exceeds the mass, as of light cloth in strong wind. Such particles weigh h K in that
substep, for gravity, constraints and wind alike: a linearly implicit step, (m + (h K - m)) dv = h F, which leaves every
steady state as it is, and cannot pass the velocity of the air.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import abs, array, cross, dot, int32, kernel, launch, length, struct, tid, vec3i, zeros
from ...core.runtime.arrays.fixed import Fixed
from .particle import position

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model
    from .workspace import Workspace

AIR = 1.204
"""Density of air at 20 degrees [kg/m^3]."""


class Aerodynamics(Fixed):
    """Forces of the wind on the triangles of a model that have coefficients of drag or lift."""

    constant = ("firsts", "around")

    def __init__(self, model: Model, density: float):
        self.model, self.density = model, model.dtype(density)
        self.acts = model.tri_count > 0 and bool((model.tri_drag.numpy() + model.tri_lift.numpy() > 0.0).any())
        if self.acts:
            corners = model.tri_indices.numpy().ravel()
            firsts = np.concatenate([[0], np.cumsum(np.bincount(corners, minlength=model.particle_count))])
            around = np.argsort(corners, kind="stable") // 3
            self.firsts, self.around = (array(a, dtype=int32, device=model.device) for a in (firsts, around))
            self.rate = zeros(model.particle_count, model.dtype, model.device, requires_grad=True)

    @property
    def scratch(self) -> list[Any]:
        """What every substep fills before it reads it, for `wp.checkpoint`."""
        return [self.rate] if self.acts else []

    def blow(self, control: Control, applied: array, workspace: Workspace, h: float) -> None:
        """Forces [N] of this moment: those that are given, and the wind's; and what particles weigh in it."""
        m, w = self.model, workspace
        many, air = m.world_count > 1, [control.wind, m.particle_world, self.density]
        args = [Corners(self.firsts, self.around), m.tri_indices, m.tri_drag, m.tri_lift, *air]
        launch(press_in(many), m.particle_count, [*args, applied, w.x, w.v, w.force, self.rate], device=m.device)
        args = [w.inv_mass, self.rate, control.gravity, m.particle_world, h, w.force, w.x]
        launch(weigh_in(many), m.particle_count, args, device=m.device)


@struct
class Corners:
    """Triangles around each particle: `around` from `firsts` of a particle on, to that of the next."""

    firsts: array(dtype=int32)
    around: array(dtype=int32)


@functools.cache
def press_in(many: bool) -> Any:
    """The kernel of the wind; many: in several worlds, each with a wind of its own."""

    @kernel
    def press(
        corners: Corners, triangles: array(dtype=vec3i), drag: array(dtype=Any), lift: array(dtype=Any),
        wind: array(dtype=Any), world: array(dtype=int32), density: Any, applied: array(dtype=Any),
        x: array(dtype=Any), v: array(dtype=Any), force: array(dtype=Any), rate: array(dtype=Any),
    ):  # fmt: skip
        """Each particle sums up its thirds of the forces on the triangles around it: no two threads write to one.

        rate: a bound of the derivative of the force by the velocity, if all corners move alike [kg/s].
        """
        p, own = tid(), int32(0)
        if many:
            own = world[p]
        total = applied[p]
        steepness = density * 0.0
        for n in range(corners.firsts[p], corners.firsts[p + 1]):
            t = corners.around[n]
            i, j, k = triangles[t][0], triangles[t][1], triangles[t][2]
            a = position(x[i])
            area = 0.5 * cross(position(x[j]) - a, position(x[k]) - a)
            size = length(area)
            u = wind[own] - (v[i] + v[j] + v[k]) / 3.0
            speed = length(u)
            if size > 0.0 and speed > 0.0:
                normal = area / size
                through = dot(u, normal)
                along = drag[t] * abs(through) * u
                across = lift[t] * through * speed * (normal - (through / (speed * speed)) * u)
                total = total + (density * size / 6.0) * (along + across)
                slope = drag[t] * (abs(through) + speed) + 2.0 * lift[t] * speed
                steepness = steepness + (density * size / 6.0) * slope
        force[p] = total
        rate[p] = steepness

    return press


@functools.cache
def weigh_in(many: bool) -> Any:
    """The kernel of what particles weigh; many: in several worlds, each with a gravity of its own."""

    @kernel
    def weigh(
        inv_mass: array(dtype=Any), rate: array(dtype=Any), gravity: array(dtype=Any), world: array(dtype=int32),
        h: Any, force: array(dtype=Any), x: array(dtype=Any),
    ):  # fmt: skip
        """Inverse masses of a substep: at most 1 / (h times the rate). Gravity pulls as at the true mass."""
        i, own = tid(), int32(0)
        if many:
            own = world[i]
        w = inv_mass[i]
        if w * h * rate[i] > 1.0:
            mass = h * rate[i]
            force[i] = force[i] - (mass - 1.0 / w) * gravity[own]
            w = 1.0 / mass
        a = x[i]
        a[3] = w
        x[i] = a

    return weigh
