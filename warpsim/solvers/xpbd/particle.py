"""Packed particles: position and inverse mass in one vec4, so that a projection touches one cache line of each.

The third component of the packed vector is z [m], the fourth w = 1 / m [1/kg].
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, Vec, array, func, int32, kernel, tid, vector
from ..scene.inverse_mass import inverse_mass


@func
def position(a: Vec[4, Float]) -> Vec[3, Float]:
    """Where a packed particle is [m]."""
    return vector(a[0], a[1], a[2])


@func
def apply_impulse(a: Vec[4, Float], impulse: Vec[3, Float]) -> Vec[4, Float]:
    """A packed particle moved by its inverse mass times `impulse` [kg m]."""
    w = a[3]
    return type(a)(a[0] + w * impulse[0], a[1] + w * impulse[1], a[2] + w * impulse[2], w)


@func
def move_to(a: Vec[4, Float], p: Vec[3, Float]) -> Vec[4, Float]:
    """A packed particle at another position."""
    return type(a)(p[0], p[1], p[2], a[3])


@kernel
def pack(
    q: array(dtype=Any), qd: array(dtype=Any), mass: array(dtype=Any), inv_mass: array(dtype=Any),
    x: array(dtype=Any), v: array(dtype=Any),
):  # fmt: skip
    """What a step begins with; what has no mass is held."""
    i = tid()
    p, w = q[i], inverse_mass(mass[i])
    inv_mass[i] = w
    x[i] = vector(p[0], p[1], p[2], w)
    v[i] = qd[i]


@kernel
def unpack(x: array(dtype=Any), v: array(dtype=Any), q: array(dtype=Any), qd: array(dtype=Any)):
    """What a step ends with."""
    i = tid()
    q[i] = position(x[i])
    qd[i] = v[i]


@functools.cache
def predict_in(many: bool) -> Any:
    """The kernel of free motion; many: in one of several worlds, with a gravity of its own."""

    @kernel
    def predict(
        gravity: array(dtype=Any), world: array(dtype=int32), force: array(dtype=Any), damping: Any, h: Any,
        v: array(dtype=Any), x: array(dtype=Any), start: array(dtype=Any),
    ):  # fmt: skip
        """Move freely for h seconds (semi-implicit Euler); `start` keeps where the substep began."""
        i, own = tid(), int32(0)
        if many:
            own = world[i]
        a = x[i]
        u = v[i]
        if a[3] > 0.0:
            u = u / (1.0 + damping * h) + h * (gravity[own] + a[3] * force[i])
        v[i] = u
        start[i] = position(a)
        x[i] = move_to(a, position(a) + h * u)

    return predict


@func
def correct_velocity(v: Vec[3, Float], start: Vec[3, Float], a: Vec[4, Float], h: Float) -> Vec[3, Float]:
    """The velocity (x - start) / h, as that of the prediction and its correction.

    What nothing corrects keeps its velocity to the last bit. The plain quotient would round it to multiples of the
    spacing of positions over h: 10 m from the origin in float32 with h = 1/480 s, gravity would be 0.2 % off.
    """
    return v + (position(a) - (start + h * v)) / h


@kernel
def update_velocity(x: array(dtype=Any), start: array(dtype=Any), h: Any, v: array(dtype=Any)):
    """The velocity that moved a particle from where the substep began."""
    i = tid()
    v[i] = correct_velocity(v[i], start[i], x[i], h)
