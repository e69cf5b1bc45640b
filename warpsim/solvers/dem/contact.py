"""One contact of spheres: force across it and along it, and the torque that resists rolling and twisting.

Across: k_n d - c_n v_n, which pulls at the end of an impact unless it is limited; cohesion is SJKR, a pressure on the
area of the overlap. Along: a spring that turns with the contact and a dashpot beside it; the spring alone and both
together slide at Coulomb's limit (P. Cundall and O. Strack 1979). A spring set so that both together hold the limit
would start against the dashpot, whose share grows without bound as the overlap goes to zero: an impact would depend on
its first substep, however short. Springs wind from the moment of touch on.

Rolling: "constant", a torque against the relative spin, or "spring", one that winds up to that torque and comes to
rest (J. Ai, J.-F. Chen, J. Rotter, J. Ooi 2011, models A and C); relative spin about the normal is resisted alike.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, Vec, array, dot, func, length, max, min, sqrt, where
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
def share_held(square: Float, above: Float, to: Float) -> Float:
    """What part of a force, of which the square is known, is left where it becomes `to` above a limit; else 1.

    One root and one quotient for all contacts: which of them slide changes too often to be foreseen by a processor.
    """
    one, slides = square.dtype(1.0), square > above * above
    return where(slides, to, one) / sqrt(where(slides, square, one))


@func
def slide(
    table: array(dtype=Any, ndim=3),
    a: int,
    b: int,
    press: Float,
    stiffness: Float,
    drag: Vec[3, Float],
    spring: Vec[3, Float],
) -> tuple[Vec[3, Float], Vec[3, Float]]:
    """Force along the contact [N] and its spring afterwards [m], each cut to what friction holds."""
    still, moving = table[a, b, STICKING] * press, table[a, b, SLIDING] * press
    held = stiffness * spring
    share = share_held(dot(held, held), still, moving)
    force = held * share + drag
    return force * -share_held(dot(force, force), still, moving), spring * share


@func
def roll_constant(
    limit: Float, stiffness: Float, critical: Float, spin: Vec[3, Float], dt: Float, wound: Vec[3, Float]
) -> tuple[Vec[3, Float], Vec[3, Float]]:
    """A torque [N m] of constant size against the relative spin [1/s]; nothing is wound up."""
    size = length(spin)
    if size > 0.0:
        return spin * (-limit / size), wound
    return spin, wound


@func
def roll_spring(
    limit: Float, stiffness: Float, critical: Float, spin: Vec[3, Float], dt: Float, wound: Vec[3, Float]
) -> tuple[Vec[3, Float], Vec[3, Float]]:
    """A rotational spring with a dashpot up to the limit, which it keeps while the contact rolls on.

    critical: half of the critical damping, sqrt(inertia stiffness) [N m s].
    """
    wound = wound + spin * dt
    torque = -stiffness * wound
    size = length(torque)
    if size > limit:
        torque = torque * (limit / size)
        return torque, -torque / stiffness
    return torque - spin * (limit.dtype(2.0 * ROLLING_DAMPING) * critical), wound


@func
def since_touch(overlap: Float, across: Float, dt: Float) -> Float:
    """How much of a substep two surfaces have touched [s], that come together at `-across` [m/s]."""
    if overlap > 0.0 and overlap < -across * dt:
        return -overlap / across
    return dt


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
        wind = turned_with(spring, n) + along * since_touch(overlap, across, dt)
        pull, spring = slide(table, a, b, hold, tangent, double * scale_t * along, wind)
        torque = spin * 0.0
        if rolling is not None:
            limit, stiff = table[a, b, ROLLING] * radius, radius.dtype(ROLLING_STIFFNESS) * normal
            critical = limit * sqrt(inertia * stiff)  # linear in the limit, so that it has its derivative at 0
            torque, wound = roll(limit * hold, limit * limit * stiff, critical, spin, dt, wound)
        return n * (press - table[a, b, COHESION] * area) + pull, torque, spring, wound

    return contact
