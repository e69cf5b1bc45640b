"""Contact between particles: spheres that do not overlap, with Coulomb friction.

C = |x_i - x_j| - r_i - r_j >= 0. Every particle sums up its own half of the corrections of all its contacts and takes
their mean (Jacobi with averaging: M. Macklin et al. 2014, section 4.2), so that no two threads write to one particle
and the result does not depend on their order. Friction takes back tangential motion as in `contact`.
"""

from __future__ import annotations

from typing import Any

from ...core.language import array, array2d, dot, int32, kernel, launch, length, min, tid
from ...core.runtime.arrays.creation import copy
from .particle import position, pushed


class SelfContact:
    """Particles of a model against each other."""

    def __init__(self, model: Any):
        self.model = model

    def resolve(self, contacts: Any, start: Any, apart: Any, x: Any) -> None:
        """Push apart what overlaps; `apart` is memory for positions."""
        m = self.model
        args = [contacts.neighbors, contacts.counts, contacts.friction, m.particle_radius, start, x, apart]
        launch(separate, m.particle_count, args, device=m.device)
        copy(x, apart)


@kernel
def separate(
    neighbors: array2d(dtype=int32), counts: array(dtype=int32), mu: array(dtype=Any), radius: array(dtype=Any),
    start: array(dtype=Any), x: array(dtype=Any), apart: array(dtype=Any),
):  # fmt: skip
    i = tid()
    a = x[i]
    total = position(a) * 0.0
    met = a[3] * 0.0
    for n in range(min(counts[i], neighbors.shape[1])):
        j = neighbors[i, n]
        b = x[j]
        offset = position(a) - position(b)
        distance = length(offset)
        depth = radius[i] + radius[j] - distance
        w = a[3] + b[3]
        if depth > 0.0 and distance > 0.0 and w > 0.0:
            normal = offset / distance
            slid = position(a) - start[i] - position(b) + start[j]
            slid = slid - dot(slid, normal) * normal
            far = length(slid)
            stay = 1.0 + 0.0 * far
            if far > mu[0] * depth:
                stay = mu[0] * depth / far
            total = total + (depth * normal - stay * slid) / w
            met = met + 1.0
    if met > 0.0:
        a = pushed(a, total / met)
    apart[i] = a
