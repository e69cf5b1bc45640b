"""Forces on particles of fluid: pressure, viscosity, gravity."""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import array, dot, int32, kernel, min, sqrt, tid, uint64
from ...geometry.hash_grid.neighbors import hash_grid_neighbors, nearest_image
from .fluid import ALPHA, SOUND, VISCOSITY, XSPH
from .smoothing import smoothing


@functools.cache
def force_kernel(name: str, dim: int, periodic: bool, no_slip: bool, viscous: bool, mixing: bool) -> Any:
    """The kernel of accelerations [m/s^2], and of the change of velocity by XSPH [m/s].

    viscous, mixing: whether there is laminar viscosity, and XSPH.

    Pressure in the symmetric form of J. Monaghan 1992: every pair feels equal and opposite forces. Artificial viscosity
    resists approach of particles of fluid, laminar viscosity all relative motion; walls take part in it with the
    velocity that makes the fluid stick to them.
    """
    kind = smoothing(name, dim)
    value, slope_of = kind.value, kind.slope

    @kernel
    def accelerate(
        grid: uint64, reach: Any, period: Any, water: int32, h: Any, fluid: array(dtype=Any),
        gravity: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any), slip: array(dtype=Any),
        rho: array(dtype=Any), p: array(dtype=Any), mass: array(dtype=Any), pull: array(dtype=Any),
        a: array(dtype=Any), mix: array(dtype=Any),
    ):  # fmt: skip
        i = tid()
        total, mixed = gravity[0] + pull[i] / mass[i], v[i] * 0.0
        own = p[i] / (rho[i] * rho[i])
        artificial = 2.0 * fluid[ALPHA] * fluid[SOUND] * h
        least = 0.01 * h * h
        for j in hash_grid_neighbors(grid, x[i], reach):
            d = x[i] - x[j]
            if periodic:
                d = nearest_image(d, period)
            square = dot(d, d)
            if j != i and square > 0.0:
                r = sqrt(square)
                slope = slope_of(r, h)
                both = rho[i] + rho[j]
                push = own + p[j] / (rho[j] * rho[j])
                u = v[i] - v[j]
                if j < water:
                    closing = min(dot(u, d), h * 0.0)
                    push = push - artificial * closing / (both * (square + least))
                    if mixing:
                        mixed -= u * (2.0 * mass[j] * value(r, h) / both)
                elif no_slip:
                    u = v[i] - slip[j - water]
                if viscous and (j < water or no_slip):
                    drag = fluid[VISCOSITY] * both / (rho[i] * rho[j]) * square / (square + least)
                    total += u * (mass[j] * drag * slope)
                total -= d * (mass[j] * push * slope)
        a[i] = total
        mix[i] = mixed * fluid[XSPH]

    return accelerate


@kernel
def kick(dt: Any, a: array(dtype=Any), mix: array(dtype=Any), v: array(dtype=Any)):
    """Velocities a step later."""
    i = tid()
    v[i] = v[i] + a[i] * dt + mix[i]


@kernel
def drift(dt: Any, v: array(dtype=Any), x: array(dtype=Any)):
    """Positions a step later, by the new velocities."""
    i = tid()
    x[i] = x[i] + v[i] * dt
