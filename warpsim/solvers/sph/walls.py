"""Walls of particles that take the pressure of the fluid before them (S. Adami, X. Hu, N. Adams 2012), and what they
feel."""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import array, cross, dot, int32, kernel, max, sqrt, tid, uint64, vector
from ...core.lib.transforms import transform_get_translation
from ...geometry.hash_grid.neighbors import hash_grid_neighbors, nearest_image
from ..shapes import surface_velocity, to_world
from .density import density_of
from .fluid import VISCOSITY
from .smoothing import smoothing

WATER, WALL = 0, 1
"""Groups of the hash grid."""


@kernel
def place_walls(
    water: int32, flat: Any, plane: Any, shape: array(dtype=int32), local: array(dtype=Any), pose: array(dtype=Any),
    twist: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any),
):  # fmt: skip
    """Positions and velocities of wall particles; those of a sheet stay in its plane to the last bit."""
    k = tid()
    s = shape[k]
    p = to_world(pose[s], local[k])
    u = surface_velocity(pose[s], twist[s], p)
    x[water + k] = vector(p[0], p[1], flat * plane + (1.0 - flat) * p[2])
    v[water + k] = vector(u[0], u[1], (1.0 - flat) * u[2])


@functools.cache
def wall_pressure_kernel(name: str, dim: int, periodic: bool, suction: bool) -> Any:
    """The kernel of pressures in walls: the fluid's, as it would be there at rest; and of the velocity that makes fluid
    stick: as much behind the wall's as the fluid is ahead of it."""
    value = smoothing(name, dim).value

    @kernel
    def press_walls(
        grid: uint64, reach: Any, period: Any, water: int32, h: Any, fluid: array(dtype=Any),
        gravity: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any), rho: array(dtype=Any),
        p: array(dtype=Any), slip: array(dtype=Any),
    ):  # fmt: skip
        k = tid()
        i = water + k
        pressure, weight = h * 0.0, h * 0.0
        flow = v[i] * 0.0
        for j in hash_grid_neighbors(grid, x[i], reach, WATER):
            d = x[i] - x[j]
            if periodic:
                d = nearest_image(d, period)
            square = dot(d, d)
            if square > 0.0:
                w = value(sqrt(square), h)
                pressure += w * (p[j] + rho[j] * dot(gravity[0], d))
                flow += w * v[j]
                weight += w
        velocity = v[i]
        if weight > 0.0:
            pressure = pressure / weight
            velocity = 2.0 * velocity - flow / weight
        if not suction:
            pressure = max(pressure, h * 0.0)
        p[i] = pressure
        rho[i] = density_of(fluid, pressure)
        slip[k] = velocity

    return press_walls


@functools.cache
def wall_force_kernel(name: str, dim: int, periodic: bool, no_slip: bool) -> Any:
    """The kernel of forces [N] on wall particles: what they do to the fluid, the other way."""
    slope_of = smoothing(name, dim).slope

    @kernel
    def push_walls(
        grid: uint64, reach: Any, period: Any, water: int32, h: Any, fluid: array(dtype=Any), x: array(dtype=Any),
        v: array(dtype=Any), slip: array(dtype=Any), rho: array(dtype=Any), p: array(dtype=Any),
        mass: array(dtype=Any), force: array(dtype=Any),
    ):  # fmt: skip
        k = tid()
        i = water + k
        own = p[i] / (rho[i] * rho[i])
        least = 0.01 * h * h
        total = v[i] * 0.0
        for j in hash_grid_neighbors(grid, x[i], reach, WATER):
            d = x[i] - x[j]
            if periodic:
                d = nearest_image(d, period)
            square = dot(d, d)
            if square > 0.0:
                slope = slope_of(sqrt(square), h) * mass[i] * mass[j]
                total -= d * (slope * (own + p[j] / (rho[j] * rho[j])))
                if no_slip:
                    drag = fluid[VISCOSITY] * (rho[i] + rho[j]) / (rho[i] * rho[j]) * square / (square + least)
                    total += (slip[k] - v[j]) * (slope * drag)
        force[k] = total

    return push_walls


@kernel
def sum_forces(
    water: int32, first: array(dtype=int32), pose: array(dtype=Any), share: Any, x: array(dtype=Any),
    force: array(dtype=Any), reaction: array(dtype=Any),
):  # fmt: skip
    """Add torque about a shape's origin and force on it, from its particles in order."""
    s = tid()
    for k in range(first[s], first[s + 1]):
        turn = cross(x[water + k] - transform_get_translation(pose[s]), force[k])
        f = force[k]
        reaction[s] = reaction[s] + share * vector(turn[0], turn[1], turn[2], f[0], f[1], f[2])
