"""Corrections of velocities against compression, particle by particle (J. Bender, D. Koschier 2015).

A particle i that is compressed pushes its neighbours off, and itself off walls: with g_j = m_j grad W_ij and a push
k_i, velocities change by -(k_i + k_j) g_j for each neighbour of fluid, so that momentum is kept, and by -k_i g_j for
each of walls. The push that ends the compression of i alone is its rate over |sum of g_j|^2 + sum of |g_j|^2 of fluid.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import array, dot, int32, kernel, max, tid
from .around import Search
from .fluid import DENSITY
from .pairs import distance, offset_of
from .smoothing import smoothing

_SPARSE = 0.8  # of the density at rest, below which particles may come together: spray and surfaces
_LEAST = 1.0e-6  # of the stiffness of a lattice: particles that have no neighbours do not push


@functools.cache
def measure_kernel(name: str, dim: int, periodic: bool, search: Search) -> Any:
    """The kernel of densities [kg/m^3], as sums over neighbours, and of what resists a push [kg^2/m^8]."""
    kind, offset = smoothing(name, dim), offset_of(periodic)
    value, slope_of = kind.value, kind.slope

    @kernel
    def measure(
        around: Any, x: array(dtype=Any), mass: array(dtype=Any), rho: array(dtype=Any), stiffness: array(dtype=Any)
    ):
        i, h = search.particle(around), around.h
        q, total, squares = x[i], h * 0.0, h * 0.0
        mean = q * 0.0
        for j in search.neighbours(around, q):
            d = offset(q, x[j], around.period)
            r = distance(d, h)
            g = d * (mass[j] * slope_of(r, h))
            total += mass[j] * value(r, h)
            mean += g
            if j < around.water:
                squares += dot(g, g)
        if search.owns(around, i, around.water):
            rho[i] = total
            stiffness[i] = dot(mean, mean) + squares

    return measure


@functools.cache
def rate_kernel(name: str, dim: int, periodic: bool, divergence: bool, search: Search) -> Any:
    """The kernel of pushes, and of the errors they are against: parts of the density at rest within a substep.

    divergence: against being compressed at all, else against being denser after the substep than at rest.
    """
    slope_of, offset = smoothing(name, dim).slope, offset_of(periodic)

    @kernel
    def find_rates(
        around: Any, dt: Any, fluid: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any), mass: array(dtype=Any),
        rho: array(dtype=Any), stiffness: array(dtype=Any), push: array(dtype=Any), error: array(dtype=Any),
    ):  # fmt: skip
        i, h = search.particle(around), around.h
        q, u, rate = x[i], v[i], h * 0.0
        for j in search.neighbours(around, q):
            d = offset(q, x[j], around.period)
            rate += mass[j] * slope_of(distance(d, h), h) * dot(u - v[j], d)
        if search.owns(around, i, around.water):
            rest = fluid[DENSITY]
            if divergence:
                if rho[i] < rate.dtype(_SPARSE) * rest:
                    rate = h * 0.0
            else:
                rate = (rho[i] - rest) / dt + rate
            if rate < 0.0:  # what is not finite stays so, and is found
                rate = h * 0.0
            error[i] = rate * dt / rest
            least = rest * rest / (h * h) * rate.dtype(_LEAST)
            push[i] = rate / max(stiffness[i], least)

    return find_rates


@functools.cache
def project_kernel(name: str, dim: int, periodic: bool, search: Search) -> Any:
    """The kernel of velocities after pushes, which it adds up in `pushed`."""
    slope_of, offset = smoothing(name, dim).slope, offset_of(periodic)

    @kernel
    def project(
        around: Any, x: array(dtype=Any), mass: array(dtype=Any), push: array(dtype=Any), pushed: array(dtype=Any),
        v: array(dtype=Any),
    ):  # fmt: skip
        i, h = search.particle(around), around.h
        q, own = x[i], push[i]
        change = q * 0.0
        for j in search.neighbours(around, q):
            d = offset(q, x[j], around.period)
            change += d * (mass[j] * slope_of(distance(d, h), h) * (own + push[j]))
        if search.owns(around, i, around.water):
            v[i] = v[i] - change
            pushed[i] = pushed[i] + own

    return project


@kernel
def press_by(dt: Any, pushed: array(dtype=Any), rho: array(dtype=Any), p: array(dtype=Any), push: array(dtype=Any)):
    """The pressure [Pa] that would have pushed as much: p / rho^2 = push / dt."""
    i = tid()
    p[i] = pushed[i] * rho[i] * rho[i] / dt
    push[i] = pushed[i] / dt


@kernel
def release(world: array(dtype=int32), done: array(dtype=int32), push: array(dtype=Any)):
    """Take the pushes from worlds that are done."""
    i = tid()
    if done[world[i]] != 0:
        push[i] = push[i] * 0.0
