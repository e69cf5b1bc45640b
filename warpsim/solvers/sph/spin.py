"""Local angular velocity of a fluid around each particle: subtracted so that viscosity does not resist rotation.

Laminar viscosity of J. Morris, P. Fox, Y. Zhu 1997 resists all differences of velocity, those of a rotation too, and so
twists pairs of particles: torques appear. Here w_i is the angular velocity with which the neighbours of a particle turn
around it, by least squares in the weights of that viscosity, sum over j of c_ij d x (u - w_i x d) = 0 for offsets d and
differences u. A pair then feels 2 c_ij (u - (w_i + w_j) / 2 x d): the stress 2 mu D instead of mu grad v, of which the
fluid's motion is the same, the torques of all pairs add up to nothing, and a rotation has no force at all. Where space
repeats along all axes nothing turns as a whole, and Morris's form, which damps what is not smooth less, stays.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, array, int32
from ...core.language import cross, diag, dot, func, inverse, kernel, outer, sqrt, vector
from .around import Search
from .pairs import offset_of, squared_distance
from .smoothing import smoothing

_LEAST = 1.0e-6  # of what the neighbours of a lattice weigh: particles that have none do not turn


@functools.cache
def drag_of(name: str, dim: int) -> Any:
    """The kernel function of what a pair's viscosity weighs, over the viscosity and minus the scale of the slope."""
    slope_of = smoothing(name, dim).bare_slope

    @func
    def drag(square: Float, r: Float, own: Float, rho: Float, mass: Float, by: Float, h: Float) -> Float:
        return mass * slope_of(r * by) * (1.0 / own + 1.0 / rho) * (square / (square + 0.01 * h * h))

    return drag


@functools.cache
def spin_kernel(name: str, dim: int, periodic: bool, no_slip: bool, search: Search) -> Any:
    """The kernel of angular velocities around particles of fluid [rad/s]; walls without slip take part."""
    drag, offset, scale = drag_of(name, dim), offset_of(periodic), smoothing(name, dim).slope_scale
    sheet = dim == 2

    @func
    def weight(d: Any, own: Float, rho: Float, mass: Float, wet: bool, length: Float, h: Float) -> Float:
        """Of a neighbour; walls that slip have none."""
        square = squared_distance(d, h)
        if wet or no_slip:
            return drag(square, sqrt(square), own, rho, mass, length, h)
        return h * 0.0

    @func
    def relative(v: array(dtype=Any), slip: array(dtype=Any), j: int32, water: int32) -> Any:
        """The velocity of a neighbour [m/s]."""
        if no_slip and j >= water:
            return slip[j - water]
        return v[j]

    @kernel
    def find_spin(
        around: Any, x: array(dtype=Any), v: array(dtype=Any), slip: array(dtype=Any), rho: array(dtype=Any),
        mass: array(dtype=Any), spin: array(dtype=Any),
    ):  # fmt: skip
        i, h, water = search.particle(around), around.h, around.water
        q, u, own = x[i], v[i], rho[i]
        turn, squares, length = q * 0.0, h * 0.0, 1.0 / h
        arms = outer(turn, turn)
        for j in search.neighbours(around, q):
            d = offset(q, x[j], around.period)
            w = weight(d, own, rho[j], mass[j], j < water, length, h)
            turn += w * cross(d, u - relative(v, slip, j, water))
            squares += w * dot(d, d)
            if not sheet:
                arms += w * outer(d, d)
        if search.owns(around, i, water):
            turn, squares = turn * -scale(h), squares * -scale(h) + h.dtype(_LEAST)
            if sheet:
                spin[i] = vector(h * 0.0, h * 0.0, turn[2] / squares)
            else:
                spin[i] = inverse(diag(vector(squares, squares, squares)) + arms * scale(h)) @ turn

    return find_spin
