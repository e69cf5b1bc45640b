"""Density: as a sum over neighbours, or by the equation of continuity with diffusion; and pressure from it."""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, array, dot, func, int32, kernel, max, pow, tid, uint64
from ...geometry.hash_grid.neighbors import hash_grid_neighbors
from ..neighbours.cluster_list import SIZE
from .fluid import DENSITY, DIFFUSION, SOUND
from .pairs import distance, offset_of
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
        pressure = pressure_of(fluid, rho[i])
        if not suction:
            pressure = max(pressure, pressure * 0.0)
        p[i] = pressure

    return press


@functools.cache
def sum_kernel(name: str, dim: int, periodic: bool, listed: bool) -> Any:
    """The kernel that adds up masses near particles."""
    value, offset = smoothing(name, dim).value, offset_of(periodic)

    @kernel
    def sum_density(
        counts: array(dtype=int32), ids: array(dtype=int32, ndim=2), grid: uint64, reach: Any, period: Any,
        water: int32, h: Any, x: array(dtype=Any), mass: array(dtype=Any), rho: array(dtype=Any),
    ):  # fmt: skip
        total = h * 0.0
        if listed:
            c, lane = tid()
            i = c * SIZE + lane
            for k in range(counts[c]):
                total += mass[ids[c, k]] * value(distance(offset(x[i], x[ids[c, k]], period), h), h)
        else:
            i = tid()
            for j in hash_grid_neighbors(grid, x[i], reach):
                total += mass[j] * value(distance(offset(x[i], x[j], period), h), h)
        if i < water:
            rho[i] = total

    return sum_density


@functools.cache
def continuity_kernel(name: str, dim: int, periodic: bool, suction: bool, listed: bool) -> Any:
    """The kernel of one step of the equation of continuity, with positions as they are half-way."""
    slope_of, offset = smoothing(name, dim).slope, offset_of(periodic)

    @func
    def pair(apart: Any, u: Any, own: Float, rho: Float, mass: Float, wet: bool, half: Any, h: Any, lift: Any):
        """What a neighbour adds to the rate of density, and to its diffusion."""
        d = apart + u * half
        weighed = mass * slope_of(distance(d, h), h)
        flow, diffusion = weighed * dot(u, d), h * 0.0
        if wet:
            diffusion = weighed * (1.0 / rho) * (own - rho - dot(lift, d))  # lanes share the division
        return flow, diffusion

    @kernel
    def change_density(
        counts: array(dtype=int32), ids: array(dtype=int32, ndim=2), grid: uint64, reach: Any, period: Any,
        water: int32, h: Any, dt: Any, thinnest: Any, fluid: array(dtype=Any), gravity: array(dtype=Any),
        x: array(dtype=Any), v: array(dtype=Any), rho: array(dtype=Any), mass: array(dtype=Any), new: array(dtype=Any),
    ):  # fmt: skip
        flow, diffusion = h * 0.0, h * 0.0
        lift = gravity[0] * (fluid[DENSITY] / (fluid[SOUND] * fluid[SOUND]))
        if listed:
            c, lane = tid()
            i = c * SIZE + lane
            q, u, own = x[i], v[i], rho[i]
            for k in range(counts[c]):
                j = ids[c, k]
                one, two = pair(offset(q, x[j], period), u - v[j], own, rho[j], mass[j], j < water, 0.5 * dt, h, lift)
                flow += one
                diffusion += two
        else:
            i = tid()
            q, u, own = x[i], v[i], rho[i]
            for j in hash_grid_neighbors(grid, q, reach):
                one, two = pair(offset(q, x[j], period), u - v[j], own, rho[j], mass[j], j < water, 0.5 * dt, h, lift)
                flow += one
                diffusion += two
        if i < water:
            density = rho[i] + dt * (flow + 2.0 * fluid[DIFFUSION] * fluid[SOUND] * h * diffusion)
            if not suction:
                density = max(density, thinnest * fluid[DENSITY])
            new[i] = density

    return change_density
