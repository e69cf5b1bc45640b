"""Forces on particles of fluid: pressure, viscosity, surface tension, gravity."""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Array, Float, Vec, array, int32
from ...core.language import cross, dot, func, generic_struct, kernel, min, sqrt, tid, where
from .around import Search
from .cohesion import cohesion
from .fluid import ALPHA, DENSITY, SOUND, TENSION, VISCOSITY, XSPH
from .pairs import offset_of, squared_distance
from .smoothing import smoothing
from .spin import drag_of


@generic_struct
class Forces:
    """Of particles of fluid: pull, from outside [N]; a, acceleration [m/s^2]; mix, change of velocity by XSPH [m/s]."""

    pull: Array[Vec[3, Float]]
    a: Array[Vec[3, Float]]
    mix: Array[Vec[3, Float]]


@functools.cache
def pair_of(
    name: str, dim: int, no_slip: bool, viscous: bool, turning: bool, mixing: bool, tense: bool
) -> Any:  # fmt: skip
    """The kernel function of what a neighbour adds to the acceleration [m/s^2], over minus the scale of the kernel's
    slope, and to the velocities' mean [m/s].

    Pressure in the symmetric form of J. Monaghan 1992: every pair feels equal and opposite forces. Artificial viscosity
    resists approach of particles of fluid, laminar viscosity all relative motion but the rotation `spin`; walls take
    part in it with the velocity that makes the fluid stick to them, `slip` relative to them. Cohesion is among
    particles of fluid.
    """
    kind = smoothing(name, dim)
    value, slope_of, attraction, drag_by = kind.value, kind.bare_slope, cohesion(name, dim), drag_of(name, dim)

    @func
    def pair(
        d: Any, u: Any, slip: Any, spin: Any, own: Float, rho: Float, push: Float, mass: Float, wet: bool,
        artificial: Float, viscosity: Float, tension: Float, inverse: Float, h: Float,
    ):  # fmt: skip
        square = squared_distance(d, h)
        r = sqrt(square)
        slope, soft, none = mass * slope_of(r * inverse), square + 0.01 * h * h, h.dtype(0.0)
        both, mixed = own + rho, u * 0.0
        push = push - where(wet, artificial, none) * min(none, dot(u, d)) / (soft * both)
        if mixing and wet:
            mixed = u * (-2.0 * mass * value(r, h) / both)
        total = d * (push * slope)
        if tense and wet:
            total += d * (mass * tension * attraction(r, h))
        if viscous:
            drag = viscosity * drag_by(square, r, own, rho, mass, inverse, h)
            if not wet:
                u = slip
            if turning:
                u = 2.0 * (u - cross(spin, d))
            if wet or no_slip:
                total -= u * drag
        return total, mixed

    return pair


@functools.cache
def behind_of(no_slip: bool) -> Any:
    """The kernel function of the velocity that walls make fluid stick with [m/s]; any where it does not."""

    @func
    def behind(slip: array(dtype=Any), j: int32, water: int32, u: Any) -> Any:
        if no_slip and j >= water:
            return slip[j - water]
        return u

    return behind


@functools.cache
def spin_of(turning: bool) -> Any:
    """The kernel function of the angular velocity of a pair [rad/s]; any where viscosity does not ask for it."""

    @func
    def pair_spin(spin: array(dtype=Any), i: int32, j: int32, water: int32) -> Any:
        if turning and j < water:
            return 0.5 * (spin[i] + spin[j])
        return spin[i]

    return pair_spin


@functools.cache
def force_kernel(
    name: str, dim: int, periodic: bool, no_slip: bool, viscous: bool, turning: bool, mixing: bool, tense: bool,
    search: Search,
) -> Any:  # fmt: skip
    """The kernel of accelerations [m/s^2], and of the change of velocity by XSPH [m/s].

    viscous, turning, mixing, tense: whether there is laminar viscosity, its part by `spin`, XSPH, surface tension.
    """
    pair, offset = pair_of(name, dim, no_slip, viscous, turning, mixing, tense), offset_of(periodic)
    kind, behind, pair_spin = smoothing(name, dim), behind_of(no_slip), spin_of(turning)
    scale, support = kind.slope_scale, kind.support

    @kernel
    def accelerate(
        around: Any, own: Any, fluid: array(dtype=Any), gravity: array(dtype=Any), x: array(dtype=Any),
        v: array(dtype=Any), slip: array(dtype=Any), spin: array(dtype=Any), rho: array(dtype=Any),
        push: array(dtype=Any), mass: array(dtype=Any),
    ):  # fmt: skip
        i, h, water = search.particle(around), around.h, around.water
        pull = gravity[search.world(around)]
        total, mixed = pull * 0.0, pull * 0.0
        artificial = 2.0 * fluid[ALPHA] * fluid[SOUND] * h
        tension = fluid[TENSION] / (fluid[DENSITY] * fluid[DENSITY] * scale(h))
        inverse = 1.0 / h
        end = h.dtype(support * support) * h * h
        q, u, density, press = x[i], v[i], rho[i], push[i]
        for j in search.neighbours(around, q):
            d = offset(q, x[j], around.period)
            if search.reaches(d, end):
                one, two = pair(
                    d, u - v[j], u - behind(slip, j, water, u), pair_spin(spin, i, j, water), density, rho[j],
                    press + push[j], mass[j], j < water, artificial, fluid[VISCOSITY], tension, inverse, h,
                )  # fmt: skip
                total += one
                if mixing:
                    mixed += two
        if search.owns(around, i, water):
            own.a[i] = pull + own.pull[i] / mass[i] - total * scale(h)
            own.mix[i] = mixed * fluid[XSPH]

    return accelerate


@kernel
def kick(dt: Any, a: array(dtype=Any), mix: array(dtype=Any), v: array(dtype=Any)):
    """Velocities a step later."""
    i = tid()
    v[i] = v[i] + a[i] * dt + mix[i]


@kernel
def drift(dt: Any, v: array(dtype=Any), begin: array(dtype=Any), x: array(dtype=Any)):
    """Positions a step later, by the new velocities, and where they were."""
    i = tid()
    begin[i] = x[i]
    x[i] = x[i] + v[i] * dt
