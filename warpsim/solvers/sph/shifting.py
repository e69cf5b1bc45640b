"""Particle shifting: small displacements towards lower concentration, against lines of particles.

After R. Xu et al. 2009, along -grad C, C the sum of volumes times kernel; pairs that are close push harder, (W / W at a
spacing)^4 (J. Monaghan 2000), as they would clump otherwise. By the speed of sound, as the highest speed of the flow is
a part of it (P. Sun et al. 2017), and in proportion to the time: the same displacement whatever the substep.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import array, func, kernel, tid
from .around import Search
from .fluid import SHIFTING, SOUND
from .pairs import distance, offset_of
from .smoothing import smoothing

_CLOSE = 0.2
"""Of a pair at a spacing, by how much more it pushes (J. Monaghan 2000)."""


@functools.cache
def shift_kernel(name: str, dim: int, periodic: bool, search: Search) -> Any:
    """The kernel of velocities with which particles are shifted [m/s]."""
    kind, offset = smoothing(name, dim), offset_of(periodic)
    value, slope_of = kind.value, kind.slope

    @func
    def pair(d: Any, volume: Any, spacing: Any, h: Any) -> Any:
        """What a neighbour adds to the gradient of C [1/m]."""
        r = distance(d, h)
        close = value(r, h) / value(spacing, h)
        square = close * close
        return d * (volume * slope_of(r, h) * (1.0 + h.dtype(_CLOSE) * square * square))

    @kernel
    def shift(
        around: Any, spacing: Any, fluid: array(dtype=Any), x: array(dtype=Any), rho: array(dtype=Any),
        mass: array(dtype=Any), drift: array(dtype=Any),
    ):  # fmt: skip
        i, h = search.particle(around), around.h
        q = x[i]
        total = q * 0.0
        for j in search.neighbours(around, q):
            total += pair(offset(q, x[j], around.period), mass[j] / rho[j], spacing, h)
        if search.owns(around, i, around.water):
            drift[i] = total * (-fluid[SHIFTING] * fluid[SOUND] * h)

    return shift


@kernel
def move_shifted(dt: Any, v: array(dtype=Any), drift: array(dtype=Any), begin: array(dtype=Any), x: array(dtype=Any)):
    """Positions a step later, by the new velocities and what shifts particles, and where they were."""
    i = tid()
    begin[i] = x[i]
    x[i] = x[i] + (v[i] + drift[i]) * dt
