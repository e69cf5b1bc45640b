"""Contact laws: stiffness and damping of a contact between two spheres, across it and along it.

A law is a function of a row of a pair table, the reduced radius R* [m], the reduced mass m* [kg] and the overlap
[m]. It returns k_n, with k_n * overlap the elastic force [N]; k_t, the tangential stiffness [N/m]; and what the
coefficients of normal and tangential dashpots [N s/m] are to twice the damping ratio.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.language import Float, array, func, sqrt
from .materials import SHEAR, STIFFNESS, YOUNG

_HERTZ_DAMPING = math.sqrt(5.0 / 6.0)
_LINEAR_TANGENT = 2.0 / 7.0  # k_t / k_n: both half periods of a contact are then equal (Cundall and Strack 1979)


@func
def hertz_mindlin(
    table: array(dtype=Any, ndim=3), a: int, b: int, radius: Float, mass: Float, overlap: Float
) -> tuple[Float, Float, Float, Float]:
    """Hertz across, Mindlin without slip along, and damping that makes restitution independent of speed.

    k_n = 4/3 E* sqrt(R* d), S_n = 2 E* sqrt(R* d), S_t = 8 G* sqrt(R* d); dashpots sqrt(5/6) sqrt(S m*).
    Y. Tsuji et al. 1992; A. Di Renzo and F. Di Maio 2004.
    """
    root = sqrt(radius * overlap)
    normal = 2.0 * table[a, b, YOUNG] * root
    tangent = 8.0 * table[a, b, SHEAR] * root
    scale = radius.dtype(_HERTZ_DAMPING)
    return normal * radius.dtype(2.0 / 3.0), tangent, scale * sqrt(normal * mass), scale * sqrt(tangent * mass)


@func
def linear(
    table: array(dtype=Any, ndim=3), a: int, b: int, radius: Float, mass: Float, overlap: Float
) -> tuple[Float, Float, Float, Float]:
    """Springs and dashpots of constant strength: k_n of the table, k_t = 2/7 k_n. P. Cundall and O. Strack 1979."""
    normal = table[a, b, STIFFNESS]
    tangent = radius.dtype(_LINEAR_TANGENT) * normal
    return normal, tangent, sqrt(normal * mass), sqrt(tangent * mass)


LAWS = {"hertz": hertz_mindlin, "linear": linear}


def stiffness_for_speed(
    youngs_modulus: float, poissons_ratio: float, radius: float, mass: float, speed: float
) -> float:  # fmt: skip
    """The stiffness [N/m] with which the linear law has the same largest overlap as Hertz's at one speed [m/s].

    For equal grains: k = 16/15 E* sqrt(R*) (15 m* v^2 / (16 E* sqrt(R*)))^(1/5).
    """
    young = 0.5 * youngs_modulus / (1.0 - poissons_ratio**2)
    root, reduced = math.sqrt(0.5 * radius), 0.5 * mass
    return 16.0 / 15.0 * young * root * (15.0 * reduced * speed**2 / (16.0 * young * root)) ** 0.2
