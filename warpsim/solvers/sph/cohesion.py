"""Cohesion: the force between particles of fluid that makes surface tension (A. Tartakovsky, A. Panchenko 2016).

With t = r / reach, a pair attracts by K (1 - t)^2 (t^2 - b) r; near particles repel. Inside of the fluid attraction is
borne by pressure, of which pairs feel some (1 - t)^3 r: what they do not cancel at a surface is its tension. K follows
from the work of parting two half spaces (R. Fowler 1937): tension = pi / 8 n^2 times the integral of r^4 f in space,
n^2 / 3 times that of r^3 f in a plane. Forces are along lines between pairs, equal and opposite: momentum and angular
momentum stay. Particles also keep some of the order in which pressure puts them, which stiffens small drops; longer
smoothing lengths have less of that.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from ...core.language import Float, func, max
from .smoothing import smoothing

_NEAR = 0.15
"""b: more of it needs less pressure inside, but lets particles freeze in the order of a crystal."""


def _moment(power: int, near: float, smooth: int) -> float:
    """The integral from 0 to 1 of t^power (t^2 - near) (1 - t)^2, or with smooth=3 of t^power (1 - t)^3."""

    def beta(a: float, b: float) -> float:
        return math.gamma(a) * math.gamma(b) / math.gamma(a + b)

    return beta(power + 1, 4) if smooth == 3 else beta(power + 3, 3) - near * beta(power + 1, 3)


def _scale(dim: int) -> float:
    """K reach^(dim + 3) for a tension of 1 and one particle in a unit of volume."""
    borne = _moment(dim + 1, _NEAR, 2) / _moment(dim + 1, _NEAR, 3)
    left = _moment(dim + 2, _NEAR, 2) - borne * _moment(dim + 2, _NEAR, 3)
    return (3.0 if dim == 2 else 8.0 / math.pi) / left


def cohesion_pressure(tension: float, reach: float, dim: int) -> float:
    """The pressure [Pa] inside of a fluid at rest that bears the cohesion of a tension [N/m] with a reach [m]."""
    factor = math.pi / 2.0 if dim == 2 else 2.0 * math.pi / 3.0
    return factor * _scale(dim) * _moment(dim + 1, _NEAR, 2) * tension / reach


@functools.cache
def cohesion(name: str, dim: int) -> Any:
    """The kernel function of the attraction at a distance, by the distance and the tension [1/m^(dim + 3)]."""
    support, scale, space = smoothing(name, dim).support, _scale(dim), dim == 3

    @func
    def attraction(r: Float, h: Float) -> Float:
        inverse = 1.0 / (r.dtype(support) * h)
        t = r * inverse
        rest = max(1.0 - t, r.dtype(0.0))
        square = inverse * inverse
        factor = r.dtype(scale) * square * square * inverse
        if space:
            factor = factor * inverse
        return factor * rest * rest * (t * t - r.dtype(_NEAR))

    return attraction
