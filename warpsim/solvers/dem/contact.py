"""One contact of spheres: force across it and along it, and the torque that resists rolling and twisting.

Across: k_n d - c_n v_n, which pulls at the end of an impact unless it is limited; cohesion is SJKR, a pressure on the
area of the overlap. Along: a spring that turns with the contact, and slides at Coulomb's limit (P. Cundall and
O. Strack 1979). Rolling: "constant", a torque against the relative spin, or "spring", one that winds up to that torque
and comes to rest (J. Ai, J.-F. Chen, J. Rotter, J. Ooi 2011, models A and C); relative spin about the normal is
resisted alike.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, Vec, array, dot, func, length, max, min, sqrt
from .laws import LAWS
from .materials import COHESION, DAMPING, ROLLING, SLIDING, STICKING

ROLLING_MODELS = (None, "constant", "spring")
ROLLING_STIFFNESS = 2.25  # k_r / (k_n mu_r^2 R*^2), Ai et al. 2011
ROLLING_DAMPING = 0.3  # of critical, below the limit
NO_LENGTH = 1.0e-17  # [m], a spring whose square float32 still has


@func
def turned_with(spring: Vec[3, Float], n: Vec[3, Float]) -> Vec[3, Float]:
    """A spring of the tangent plane, laid into the plane across `n` without change of length."""
    flat = spring - n * dot(n, spring)
    size = length(flat)
    if size > NO_LENGTH:
        flat = flat * (length(spring) / size)
    return flat


@func
def slide(
    table: array(dtype=Any, ndim=3), a: int, b: int, press: Float, stiffness: Float, dashpot: Float, u: Vec[3, Float],
    spring: Vec[3, Float],
) -> tuple[Vec[3, Float], Vec[3, Float]]:  # fmt: skip
    """Force along the contact [N] and its spring afterwards [m], which is cut to what friction holds."""
    drag = dashpot * u
    pull = -stiffness * spring - drag
    size = length(pull)
    if size > table[a, b, STICKING] * press:
        pull = pull * (table[a, b, SLIDING] * press / size)
        spring = -(pull + drag) / stiffness
    return pull, spring


@func
def roll_constant(limit: Float, stiffness: Float, inertia: Float, spin: Vec[3, Float], dt: Float, wound: Vec[3, Float]):
    """A torque [N m] of constant size against the relative spin [1/s]; nothing is wound up."""
    size = length(spin)
    if size > 0.0:
        return spin * (-limit / size), wound
    return spin, wound


@func
def roll_spring(limit: Float, stiffness: Float, inertia: Float, spin: Vec[3, Float], dt: Float, wound: Vec[3, Float]):
    """A rotational spring with a dashpot up to the limit, which it keeps while the contact rolls on."""
    wound = wound + spin * dt
    torque = -stiffness * wound
    size = length(torque)
    if size > limit:
        torque = torque * (limit / size)
        return torque, -torque / stiffness
    return torque - spin * (limit.dtype(2.0 * ROLLING_DAMPING) * sqrt(inertia * stiffness)), wound


@functools.cache
def contact_of(law_name: str, rolling: str | None, limited: bool) -> Any:
    """The kernel function of a contact under one law.

    Arguments: the pair table and the two materials; R* [m], m* [kg], the reduced moment of rolling [kg m^2] and the
    area of the overlap [m^2]; the normal, towards the grain; the overlap [m]; the velocity of the grain at the contact
    [m/s] and its spin [1/s], both relative to the other; the time step; springs of sliding [m] and rolling [rad].
    Results: force and torque of rolling on the grain, and the springs afterwards.
    """
    law, roll = LAWS[law_name], roll_constant if rolling == "constant" else roll_spring

    @func
    def contact(
        table: array(dtype=Any, ndim=3), a: int, b: int, radius: Float, mass: Float, inertia: Float, area: Float,
        n: Vec[3, Float], overlap: Float, u: Vec[3, Float], spin: Vec[3, Float], dt: Float, spring: Vec[3, Float],
        wound: Vec[3, Float],
    ):  # fmt: skip
        still, grip, normal, tangent, scale_n, scale_t = law(table, a, b, radius, mass, overlap)
        double = 2.0 * table[a, b, DAMPING]
        across = dot(u, n)
        press = still - double * scale_n * across
        if limited:
            press = max(press, min(still, still * 0.0))
        hold = max(press + grip, press * 0.0)
        along = u - n * across
        pull, spring = slide(
            table, a, b, hold, tangent, double * scale_t, along, turned_with(spring, n) + along * dt
        )
        torque = spin * 0.0
        if rolling is not None:
            limit = table[a, b, ROLLING] * radius
            if limit > 0.0:
                stiffness = limit.dtype(ROLLING_STIFFNESS) * normal * limit * limit
                torque, wound = roll(limit * hold, stiffness, inertia, spin, dt, wound)
        return n * (press - table[a, b, COHESION] * area) + pull, torque, spring, wound

    return contact
