"""JKR adhesion: elastic spheres whose surfaces stick (K. Johnson, K. Kendall, A. Roberts 1971).

With the work of adhesion w [J/m^2], lengths in units of l = (2 pi w R*^2 / E*)^(1/3), the radius of the contact
a = l s^2 and its overlap d = l^2 / R* y obey y = s^4 - s, and the force is pi w R* (8/3 s^6 - 4 s^3): it pulls with up
to 3/2 pi w R*. Spheres that part hold on to a neck until y has its smallest value, at s = 4^(-1/3); spheres that come
together feel nothing before they touch.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.language import Float, array, func, max, min, sqrt
from .materials import ADHESION, YOUNG

PULL_OFF = 1.5 * math.pi  # largest attraction, by w R*
_LAST = 4.0 ** (-1.0 / 3.0)  # s when the neck tears
_NECK = 0.75 * _LAST  # -y when the neck tears
_BEND = 6.0 * _LAST * _LAST  # half of the least y''(s): y + _NECK >= _BEND (s - _LAST)^2
_NEWTON = 6  # steps, from above: y(s) is convex, and float64 needs no more
_ROUNDED = 1.0e-5  # how near to where the neck tears the root is looked for


@func
def jkr_length(table: array(dtype=Any, ndim=3), a: int, b: int, radius: Float) -> Float:
    """The unit l of length of a contact that sticks [m]."""
    cube = radius.dtype(2.0 * math.pi) * table[a, b, ADHESION] * radius * radius / table[a, b, YOUNG]
    return cube ** radius.dtype(1.0 / 3.0)


@func
def jkr_neck(table: array(dtype=Any, ndim=3), a: int, b: int, radius: Float) -> Float:
    """How far apart two spheres hold on to each other [m]; 0 without adhesion."""
    neck = radius * 0.0
    if table[a, b, ADHESION] > 0.0:
        unit = jkr_length(table, a, b, radius)
        neck = radius.dtype(_NECK) * unit * unit / radius
    return neck


def longest_neck(work: float, youngs_modulus: float, radius: float) -> float:
    """How far apart two spheres of a reduced radius [m] hold on to each other [m], from w [J/m^2] and E* [Pa]."""
    return _NECK * (2.0 * math.pi * work * radius**2 / youngs_modulus) ** (2.0 / 3.0) / radius


@func
def jkr_root(y: Float) -> Float:
    """The stable root s of s^4 - s = y, by Newton's method from a bound above it."""
    y = max(y, y.dtype(_ROUNDED - _NECK))
    s = min(y.dtype(_LAST) + sqrt((y + y.dtype(_NECK)) / y.dtype(_BEND)), 1.0 + sqrt(sqrt(max(y, y * 0.0 + 1.0e-12))))
    for _ in range(_NEWTON):
        cube = s * s * s
        s = s - (s * cube - s - y) / (4.0 * cube - 1.0)
    return s
