"""Contact laws: stiffness and damping of a contact between two spheres, across it and along it.

A law is a function of a row of a pair table, the reduced radius R* [m], the reduced mass m* [kg] and the overlap
[m]. It returns the elastic force [N], and what adhesion adds to it for Coulomb's limit [N]; k_n, the stiffness of what
presses, and k_t, that along the contact [N/m]; and what the coefficients of normal and tangential dashpots [N s/m] are
to twice the damping ratio.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.language import Float, array, func, sqrt
from .adhesion import PULL_OFF, jkr_length, jkr_root
from .materials import ADHESION, SHEAR, STIFFNESS, YOUNG

_HERTZ_DAMPING = math.sqrt(5.0 / 6.0)
_LINEAR_TANGENT = 2.0 / 7.0  # k_t / k_n: both half periods of a contact are then equal (Cundall and Strack 1979)


@func
def elastic(table: array(dtype=Any, ndim=3), a: int, b: int, mass: Float, contact: Float):
    """k_n = 4/3 E* a, k_t = 8 G* a for a contact of radius a [m], and dashpots sqrt(5/6) sqrt(S m*) with S_n = 2 E* a.

    Y. Tsuji et al. 1992; A. Di Renzo and F. Di Maio 2004.
    """
    normal = 2.0 * table[a, b, YOUNG] * contact
    tangent = 8.0 * table[a, b, SHEAR] * contact
    scale = contact.dtype(_HERTZ_DAMPING)
    return normal * contact.dtype(2.0 / 3.0), tangent, scale * sqrt(normal * mass), scale * sqrt(tangent * mass)


@func
def hertz_mindlin(table: array(dtype=Any, ndim=3), a: int, b: int, radius: Float, mass: Float, overlap: Float):
    """Hertz across, Mindlin without slip along, and damping that makes restitution independent of speed.

    The radius of the contact is sqrt(R* d).
    """
    normal, tangent, scale_n, scale_t = elastic(table, a, b, mass, sqrt(radius * overlap))
    return normal * overlap, overlap * 0.0, normal, tangent, scale_n, scale_t


@func
def jkr(table: array(dtype=Any, ndim=3), a: int, b: int, radius: Float, mass: Float, overlap: Float):
    """Hertz and Mindlin for spheres that stick, see `adhesion`. They slide where Coulomb's law of the force and twice
    the largest attraction says so (C. Thornton 1991)."""
    work = table[a, b, ADHESION]
    if work > 0.0:
        unit = jkr_length(table, a, b, radius)
        s = jkr_root(overlap * radius / (unit * unit))
        cube, scale = s * s * s, radius.dtype(math.pi) * work * radius
        push = scale * cube * (cube * radius.dtype(8.0 / 3.0) - 4.0)
        grip = radius.dtype(2.0 * PULL_OFF) * work * radius
        normal, tangent, scale_n, scale_t = elastic(table, a, b, mass, unit * s * s)
        return push, grip, normal, tangent, scale_n, scale_t
    return hertz_mindlin(table, a, b, radius, mass, overlap)


@func
def linear(table: array(dtype=Any, ndim=3), a: int, b: int, radius: Float, mass: Float, overlap: Float):
    """Springs and dashpots of constant strength: k_n of the table, k_t = 2/7 k_n. P. Cundall and O. Strack 1979."""
    normal = table[a, b, STIFFNESS]
    tangent = radius.dtype(_LINEAR_TANGENT) * normal
    scale_n, scale_t = sqrt(normal * mass), sqrt(tangent * mass)
    return normal * overlap, overlap * 0.0, normal, tangent, scale_n, scale_t


LAWS = {"hertz": hertz_mindlin, "linear": linear, "jkr": jkr}


def stiffness_for_speed(
    youngs_modulus: float, poissons_ratio: float, radius: float, mass: float, speed: float
) -> float:
    """The stiffness [N/m] with which the linear law has the same largest overlap as Hertz's at one speed [m/s].

    For equal grains: k = 16/15 E* sqrt(R*) (15 m* v^2 / (16 E* sqrt(R*)))^(1/5).
    """
    young = 0.5 * youngs_modulus / (1.0 - poissons_ratio**2)
    root, reduced = math.sqrt(0.5 * radius), 0.5 * mass
    return 16.0 / 15.0 * young * root * (15.0 * reduced * speed**2 / (16.0 * young * root)) ** 0.2
