"""Corrections of velocities against compression, particle by particle (J. Bender, D. Koschier 2015).

A particle i that is compressed pushes its neighbours off, and itself off walls: with g_j = m_j grad W_ij and a push
k_i, velocities change by -(k_i + k_j) g_j for each neighbour of fluid, so that momentum is kept, and by -k_i g_j for
each of walls. The push that ends the compression of i alone is its rate over |sum of g_j|^2 + sum of |g_j|^2 of fluid.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import array, dot, int32, kernel, max, tid, uint64
from ...geometry.hash_grid.neighbors import hash_grid_neighbors
from ..neighbours.cluster_list import SIZE
from .fluid import DENSITY
from .pairs import distance, offset_of
from .smoothing import smoothing

_SPARSE = 0.8  # of the density at rest, below which particles may come together: spray and surfaces
_LEAST = 1.0e-6  # of the stiffness of a lattice: particles that have no neighbours do not push


@functools.cache
def measure_kernel(name: str, dim: int, periodic: bool, listed: bool) -> Any:
    """The kernel of densities [kg/m^3], as sums over neighbours, and of what resists a push [kg^2/m^8]."""
    kind, offset = smoothing(name, dim), offset_of(periodic)
    value, slope_of = kind.value, kind.slope

    @kernel
    def measure(
        counts: array(dtype=int32), ids: array(dtype=int32, ndim=2), grid: uint64, reach: Any, period: Any,
        water: int32, h: Any, x: array(dtype=Any), mass: array(dtype=Any), rho: array(dtype=Any),
        stiffness: array(dtype=Any),
    ):  # fmt: skip
        total, squares = h * 0.0, h * 0.0
        if listed:
            c, lane = tid()
            i = c * SIZE + lane
            q = x[i]
            mean = q * 0.0
            for k in range(counts[c]):
                j = ids[c, k]
                d = offset(q, x[j], period)
                r = distance(d, h)
                g = d * (mass[j] * slope_of(r, h))
                total += mass[j] * value(r, h)
                mean += g
                if j < water:
                    squares += dot(g, g)
        else:
            i = tid()
            q = x[i]
            mean = q * 0.0
            for j in hash_grid_neighbors(grid, q, reach):
                d = offset(q, x[j], period)
                r = distance(d, h)
                g = d * (mass[j] * slope_of(r, h))
                total += mass[j] * value(r, h)
                mean += g
                if j < water:
                    squares += dot(g, g)
        if i < water:
            rho[i] = total
            stiffness[i] = dot(mean, mean) + squares

    return measure


@functools.cache
def rate_kernel(name: str, dim: int, periodic: bool, listed: bool, divergence: bool) -> Any:
    """The kernel of pushes, and of the errors they are against: parts of the density at rest within a substep.

    divergence: against being compressed at all, else against being denser after the substep than at rest. `pushed` is
    the sum of all pushes of the substep.
    """
    slope_of, offset = smoothing(name, dim).slope, offset_of(periodic)

    @kernel
    def find_rates(
        counts: array(dtype=int32), ids: array(dtype=int32, ndim=2), grid: uint64, reach: Any, period: Any,
        water: int32, h: Any, dt: Any, fluid: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any),
        mass: array(dtype=Any), rho: array(dtype=Any), stiffness: array(dtype=Any), push: array(dtype=Any),
        error: array(dtype=Any),
    ):  # fmt: skip
        rate = h * 0.0
        if listed:
            c, lane = tid()
            i = c * SIZE + lane
            q, u = x[i], v[i]
            for k in range(counts[c]):
                j = ids[c, k]
                d = offset(q, x[j], period)
                rate += mass[j] * slope_of(distance(d, h), h) * dot(u - v[j], d)
        else:
            i = tid()
            q, u = x[i], v[i]
            for j in hash_grid_neighbors(grid, q, reach):
                d = offset(q, x[j], period)
                rate += mass[j] * slope_of(distance(d, h), h) * dot(u - v[j], d)
        if i < water:
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
def project_kernel(name: str, dim: int, periodic: bool, listed: bool) -> Any:
    """The kernel of velocities after pushes, which it adds up in `pushed`."""
    slope_of, offset = smoothing(name, dim).slope, offset_of(periodic)

    @kernel
    def project(
        counts: array(dtype=int32), ids: array(dtype=int32, ndim=2), grid: uint64, reach: Any, period: Any,
        water: int32, h: Any, x: array(dtype=Any), mass: array(dtype=Any), push: array(dtype=Any),
        pushed: array(dtype=Any), v: array(dtype=Any),
    ):  # fmt: skip
        if listed:
            c, lane = tid()
            i = c * SIZE + lane
            q, own = x[i], push[i]
            change = q * 0.0
            for k in range(counts[c]):
                j = ids[c, k]
                d = offset(q, x[j], period)
                change += d * (mass[j] * slope_of(distance(d, h), h) * (own + push[j]))
        else:
            i = tid()
            q, own = x[i], push[i]
            change = q * 0.0
            for j in hash_grid_neighbors(grid, q, reach):
                d = offset(q, x[j], period)
                change += d * (mass[j] * slope_of(distance(d, h), h) * (own + push[j]))
        if i < water:
            v[i] = v[i] - change
            pushed[i] = pushed[i] + own

    return project


@kernel
def press_by(dt: Any, pushed: array(dtype=Any), rho: array(dtype=Any), p: array(dtype=Any), push: array(dtype=Any)):
    """The pressure [Pa] that would have pushed as much: p / rho^2 = push / dt."""
    i = tid()
    p[i] = pushed[i] * rho[i] * rho[i] / dt
    push[i] = pushed[i] / dt
