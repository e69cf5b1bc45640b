"""Density: as a sum over neighbours, or by the equation of continuity with diffusion; and pressure from it."""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, array, dot, func, int32, kernel, max, pow, tid
from .around import Search
from .fluid import DENSITY, DIFFUSION, SOUND
from .pairs import distance, offset_of
from .smoothing import smoothing

THINNEST = 0.998  # the least density without suction, in that at rest: spray does not forget its volume


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
    """The kernel of pressures, without suction none below zero, and of what they push with, p / rho^2."""

    @kernel
    def press(fluid: array(dtype=Any), rho: array(dtype=Any), p: array(dtype=Any), push: array(dtype=Any)):
        i = tid()
        pressure = pressure_of(fluid, rho[i])
        if not suction:
            pressure = max(pressure, pressure * 0.0)
        p[i] = pressure
        push[i] = pressure / (rho[i] * rho[i])

    return press


@functools.cache
def sum_kernel(name: str, dim: int, periodic: bool, search: Search) -> Any:
    """The kernel that adds up masses near particles."""
    kind, offset = smoothing(name, dim), offset_of(periodic)
    value, scale = kind.bare_value, kind.value_scale

    @kernel
    def sum_density(around: Any, x: array(dtype=Any), mass: array(dtype=Any), rho: array(dtype=Any)):
        i, h = search.particle(around), around.h
        q, total, inverse = x[i], h * 0.0, 1.0 / h
        for j in search.neighbours(around, q):
            total += mass[j] * value(distance(offset(q, x[j], around.period), h) * inverse)
        if search.owns(around, i, around.water):
            rho[i] = total * scale(h)

    return sum_density


@func
def lift_of(fluid: array(dtype=Any), pull: Any) -> Any:
    """By how much the density of water grows that rests under a pull [m/s^2], or moves against it [kg/m^4]."""
    return pull * (fluid[DENSITY] / (fluid[SOUND] * fluid[SOUND]))


@functools.cache
def halfway_kernel(weighed: bool, many: bool) -> Any:
    """The kernel of what continuity reads of every particle: where it is half a step later, and what diffuses.

    That is density, `level`, weighed: without what water at rest would have. volume: with which it diffuses [m^3], of
    walls none. many: in worlds with a gravity each.
    """

    @kernel
    def go_halfway(
        half: Any, water: int32, fluid: array(dtype=Any), gravity: array(dtype=Any), world: array(dtype=int32),
        x: array(dtype=Any), v: array(dtype=Any), rho: array(dtype=Any), mass: array(dtype=Any),
        middle: array(dtype=Any), level: array(dtype=Any), volume: array(dtype=Any),
    ):  # fmt: skip
        i = tid()
        place = x[i] + v[i] * half
        middle[i] = place
        if i < water:
            density = rho[i]
            volume[i] = mass[i] / density
            if weighed:
                own = int32(0)
                if many:
                    own = world[i]
                density -= dot(lift_of(fluid, gravity[own]), place)
            level[i] = density

    return go_halfway


@functools.cache
def _lift_at(carried: bool) -> Any:
    """The kernel function of the slope of density that is left alone between two particles [kg/m^4]."""

    @func
    def lift_at(fluid: array(dtype=Any), gravity: Any, a: array(dtype=Any), i: int32, j: int32) -> Any:
        if carried:
            return lift_of(fluid, gravity - 0.5 * (a[i] + a[j]))
        return lift_of(fluid, gravity)

    return lift_at


@functools.cache
def continuity_kernel(
    name: str, dim: int, periodic: bool, weighed: bool, carried: bool, suction: bool, search: Search
) -> Any:
    """The kernel of one step of the equation of continuity, with positions as they are half-way.

    What diffuses is density without its slope under the fluid's weight. weighed: `level` is without it already, else
    it is that of gravity, and of the acceleration with which the pair moves where walls may carry the fluid along: in a
    vessel that turns, diffusion would draw fluid towards the wall.
    """
    kind, offset, lift_at = smoothing(name, dim), offset_of(periodic), _lift_at(carried)
    slope_of, scale, support = kind.bare_slope, kind.slope_scale, kind.support

    @func
    def pair(d: Any, u: Any, excess: Float, mass: Float, volume: Float, inverse: Any, h: Any, lift: Any):
        """What a neighbour adds to the rate of density, and to its diffusion, but for the kernel's scale."""
        slope = slope_of(distance(d, h) * inverse)
        if not weighed:
            excess = excess - dot(lift, d)
        return mass * slope * dot(u, d), volume * slope * excess

    @kernel
    def change_density(
        around: Any, dt: Any, fluid: array(dtype=Any), gravity: array(dtype=Any), a: array(dtype=Any),
        x: array(dtype=Any), middle: array(dtype=Any), v: array(dtype=Any), level: array(dtype=Any),
        mass: array(dtype=Any), volume: array(dtype=Any), rho: array(dtype=Any),
    ):  # fmt: skip
        i, h = search.particle(around), around.h
        flow, diffusion, inverse = h * 0.0, h * 0.0, 1.0 / h
        end = h.dtype(support * support) * h * h
        q, u, own, pull = middle[i], v[i], level[i], gravity[search.world(around)]
        for j in search.neighbours(around, x[i]):
            d = offset(q, middle[j], around.period)
            if search.reaches(d, end):
                lift = lift_at(fluid, pull, a, i, j)
                one, two = pair(d, u - v[j], own - level[j], mass[j], volume[j], inverse, h, lift)
                flow += one
                diffusion += two
        if search.owns(around, i, around.water):
            change = flow + 2.0 * fluid[DIFFUSION] * fluid[SOUND] * h * diffusion
            density = rho[i] + dt * scale(h) * change
            if not suction:
                density = max(density, h.dtype(THINNEST) * fluid[DENSITY])
            rho[i] = density

    return change_density
