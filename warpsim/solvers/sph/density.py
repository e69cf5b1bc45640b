"""Density: as a sum over neighbours, or by the equation of continuity with diffusion; and pressure from it."""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, array, dot, func, int32, kernel, max, pow, sqrt, tid, uint64
from ...geometry.hash_grid.neighbors import hash_grid_neighbors, nearest_image
from .fluid import DENSITY, DIFFUSION, SOUND
from .smoothing import smoothing


@func
def stiffness(fluid: array(dtype=Any)) -> Any:
    """B of Tait's law [Pa]."""
    return fluid[DENSITY] * fluid[SOUND] * fluid[SOUND] / 7.0


@func
def pressure_of(fluid: array(dtype=Any), rho: Float) -> Float:
    """Tait's law, B ((rho / rho0)^7 - 1) [Pa] (F. Tait 1888; R. Cole 1948)."""
    r = rho / fluid[DENSITY]
    cube = r * r * r
    return stiffness(fluid) * (cube * cube * r - 1.0)


@func
def density_of(fluid: array(dtype=Any), p: Float) -> Float:
    """Tait's law the other way [kg/m^3]."""
    return fluid[DENSITY] * pow(p / stiffness(fluid) + 1.0, p.dtype(1.0 / 7.0))


@functools.cache
def press_kernel(suction: bool) -> Any:
    """The kernel of pressures; without suction none is below zero."""

    @kernel
    def press(fluid: array(dtype=Any), rho: array(dtype=Any), p: array(dtype=Any)):
        i = tid()
        found = pressure_of(fluid, rho[i])
        if not suction:
            found = max(found, found * 0.0)
        p[i] = found

    return press


@functools.cache
def sum_kernel(name: str, dim: int, periodic: bool) -> Any:
    """The kernel that adds up masses near particles."""
    value = smoothing(name, dim).value

    @kernel
    def sum_density(
        grid: uint64, reach: Any, period: Any, h: Any, x: array(dtype=Any), mass: array(dtype=Any),
        rho: array(dtype=Any),
    ):  # fmt: skip
        i = tid()
        total = mass[i] * value(h * 0.0, h)
        for j in hash_grid_neighbors(grid, x[i], reach):
            d = x[i] - x[j]
            if periodic:
                d = nearest_image(d, period)
            square = dot(d, d)
            if j != i and square > 0.0:
                total += mass[j] * value(sqrt(square), h)
        rho[i] = total

    return sum_density


@functools.cache
def continuity_kernel(name: str, dim: int, periodic: bool, suction: bool) -> Any:
    """The kernel of one step of the equation of continuity, with positions as they are half-way."""
    slope_of = smoothing(name, dim).slope

    @kernel
    def change_density(
        grid: uint64, reach: Any, period: Any, water: int32, h: Any, dt: Any, thinnest: Any, fluid: array(dtype=Any),
        gravity: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any), rho: array(dtype=Any),
        mass: array(dtype=Any), new: array(dtype=Any),
    ):  # fmt: skip
        i = tid()
        flow, diffusion = h * 0.0, h * 0.0
        lift = gravity[0] * (fluid[DENSITY] / (fluid[SOUND] * fluid[SOUND]))
        for j in hash_grid_neighbors(grid, x[i], reach):
            u = v[i] - v[j]
            d = x[i] - x[j]
            if periodic:
                d = nearest_image(d, period)
            d = d + u * (0.5 * dt)
            square = dot(d, d)
            if j != i and square > 0.0:
                weighed = mass[j] * slope_of(sqrt(square), h)
                flow += weighed * dot(u, d)
                if j < water:
                    diffusion += weighed / rho[j] * (rho[i] - rho[j] - dot(lift, d))
        found = rho[i] + dt * (flow + 2.0 * fluid[DIFFUSION] * fluid[SOUND] * h * diffusion)
        if not suction:
            found = max(found, thinnest * fluid[DENSITY])
        new[i] = found

    return change_density
