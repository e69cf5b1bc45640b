"""Walls of particles that take the pressure of the fluid before them (S. Adami, X. Hu, N. Adams 2012), and what they
feel."""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, array, cross, dot, func, int32, kernel, max, sqrt, tid, uint64, vector
from ...core.lib.transforms import transform_get_translation
from ...geometry.hash_grid.neighbors import hash_grid_neighbors
from ..neighbours.cluster_list import SIZE
from ..shapes import surface_velocity, to_world
from .density import density_of
from .fluid import VISCOSITY
from .pairs import distance, offset_of, squared_distance
from .smoothing import smoothing

WATER, WALL = 0, 1
"""Groups of the hash grid."""


@kernel
def place_walls(
    water: int32, flat: Any, plane: Any, number: array(dtype=int32), shape: array(dtype=int32), local: array(dtype=Any),
    pose: array(dtype=Any), twist: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any),
):  # fmt: skip
    """Positions and velocities of wall particles; those of a sheet stay in its plane to the last bit."""
    k = water + tid()
    wall = number[k] - water
    s = shape[wall]
    p = to_world(pose[s], local[wall])
    u = surface_velocity(pose[s], twist[s], p)
    x[k] = vector(p[0], p[1], flat * plane + (1.0 - flat) * p[2])
    v[k] = vector(u[0], u[1], (1.0 - flat) * u[2])


@functools.cache
def wall_pressure_kernel(name: str, dim: int, periodic: bool, suction: bool, listed: bool) -> Any:
    """The kernel of pressures in walls: the fluid's, as it would be there at rest; and of the velocity that makes fluid
    stick: as much behind the wall's as the fluid is ahead of it."""
    value, offset = smoothing(name, dim).bare_value, offset_of(periodic)

    @kernel
    def press_walls(
        counts: array(dtype=int32), ids: array(dtype=int32, ndim=2), grid: uint64, reach: Any, period: Any,
        water: int32, walls: int32, h: Any, fluid: array(dtype=Any), gravity: array(dtype=Any), x: array(dtype=Any),
        v: array(dtype=Any), mass: array(dtype=Any), water_rho: array(dtype=Any), water_p: array(dtype=Any),
        rho: array(dtype=Any), p: array(dtype=Any), push: array(dtype=Any), slip: array(dtype=Any),
    ):  # fmt: skip
        pressure, weight, flow, inverse = h * 0.0, h * 0.0, gravity[0] * 0.0, 1.0 / h
        if listed:
            c, lane = tid()
            wall = c * SIZE + lane
            q = x[water + wall]
            for k in range(counts[c]):
                j = ids[c, k]
                d = offset(q, x[j], period)
                w = mass[j] * value(distance(d, h) * inverse)
                pressure += w * (water_p[j] + water_rho[j] * dot(gravity[0], d))
                flow += w * v[j]
                weight += w
        else:
            wall = tid()
            q = x[water + wall]
            for j in hash_grid_neighbors(grid, q, reach, WATER):
                d = offset(q, x[j], period)
                w = mass[j] * value(distance(d, h) * inverse)
                pressure += w * (water_p[j] + water_rho[j] * dot(gravity[0], d))
                flow += w * v[j]
                weight += w
        if wall < walls:
            velocity = v[water + wall]
            if weight > 0.0:
                pressure = pressure / weight
                velocity = 2.0 * velocity - flow / weight
            if not suction:
                pressure = max(pressure, h * 0.0)
            density = density_of(fluid, pressure)
            p[wall] = pressure
            rho[wall] = density
            push[wall] = pressure / (density * density)
            slip[wall] = velocity

    return press_walls


@functools.cache
def wall_force_kernel(name: str, dim: int, periodic: bool, no_slip: bool, listed: bool) -> Any:
    """The kernel of forces [N] on wall particles: what they do to the fluid, the other way."""
    kind, offset = smoothing(name, dim), offset_of(periodic)
    slope_of, scale = kind.bare_slope, kind.slope_scale

    @func
    def pair(
        d: Any, u: Any, push: Float, own: Float, rho: Float, mass: Float, viscosity: Float, inverse: Float, h: Float
    ) -> Any:  # fmt: skip
        """What a neighbour pushes with [N], over minus the mass of the wall's particle and the scale of the slope."""
        square = squared_distance(d, h)
        slope = mass * slope_of(sqrt(square) * inverse)
        total = d * (slope * push)
        if no_slip:
            total -= u * (slope * viscosity * (1.0 / own + 1.0 / rho) * (square / (square + 0.01 * h * h)))
        return total

    @kernel
    def push_walls(
        counts: array(dtype=int32), ids: array(dtype=int32, ndim=2), grid: uint64, reach: Any, period: Any,
        water: int32, walls: int32, h: Any, fluid: array(dtype=Any), x: array(dtype=Any),
        v: array(dtype=Any), slip: array(dtype=Any), rho: array(dtype=Any), push: array(dtype=Any),
        mass: array(dtype=Any), force: array(dtype=Any),
    ):  # fmt: skip
        total, inverse, viscosity = fluid[0] * x[0] * 0.0, 1.0 / h, fluid[VISCOSITY]
        if listed:
            c, lane = tid()
            wall = c * SIZE + lane
            i = water + wall
            q, own, around, press = x[i], rho[i], slip[wall], push[i]
            for k in range(counts[c]):
                j = ids[c, k]
                d = offset(q, x[j], period)
                total += pair(d, around - v[j], press + push[j], own, rho[j], mass[j], viscosity, inverse, h)
        else:
            wall = tid()
            i = water + wall
            q, own, around, press = x[i], rho[i], slip[wall], push[i]
            for j in hash_grid_neighbors(grid, q, reach, WATER):
                d = offset(q, x[j], period)
                total += pair(d, around - v[j], press + push[j], own, rho[j], mass[j], viscosity, inverse, h)
        if wall < walls:
            force[wall] = total * (-mass[i] * scale(h))

    return push_walls


@kernel
def sum_forces(
    water: int32, first: array(dtype=int32), slot: array(dtype=int32), pose: array(dtype=Any), share: Any,
    x: array(dtype=Any), force: array(dtype=Any), reaction: array(dtype=Any),
):  # fmt: skip
    """Add torque about a shape's origin and force on it, from its particles in order."""
    s = tid()
    for k in range(first[s], first[s + 1]):
        i = slot[water + k]
        f = force[i - water]
        turn = cross(x[i] - transform_get_translation(pose[s]), f)
        reaction[s] = reaction[s] + share * vector(turn[0], turn[1], turn[2], f[0], f[1], f[2])
