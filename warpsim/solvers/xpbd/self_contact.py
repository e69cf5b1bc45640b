"""Contact between particles: spheres that do not overlap, with Coulomb friction and restitution.

C = |x_i - x_j| - r_i - r_j >= 0. Every particle sums up its own half of the corrections of all its contacts and takes
their mean (Jacobi with averaging: M. Macklin et al. 2014, section 4.2), so that no two threads write to one particle
and the result does not depend on their order. Friction takes back tangential motion, and restitution counts the moment
of impact, as in `contact`. Particles at the very same place leave each other along x, by their numbers.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Float, Vec, array, array2d, dot, func, int32, kernel, launch, length, max, min, tid
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.creation import copy
from .contact import rubbed, since_contact, turned_normal
from .particle import position, pushed


class SelfContact(Fixed):
    """Particles of a model against each other."""

    def __init__(self, model: Any):
        self.model = model

    def resolve(self, contacts: Any, gravity: Any, workspace: Any, h: Any) -> None:
        """Push apart what overlaps."""
        m, w = self.model, workspace
        pairs = [contacts.neighbors, contacts.counts, contacts.friction, contacts.restitution]
        args = [*pairs, gravity, h, m.particle_radius, w.start, w.v, w.x, w.apart]
        launch(separate, m.particle_count, args, device=m.device)
        copy(w.x, w.apart)

    def bounce(self, contacts: Any, gravity: Any, workspace: Any, h: Any) -> None:
        """Velocities of what met in this substep, from those before."""
        m, w = self.model, workspace
        pairs = [contacts.neighbors, contacts.counts, contacts.friction, contacts.restitution]
        args = [*pairs, gravity, h, m.particle_radius, w.inv_mass, w.start, w.arrival, w.v, w.rebound]
        launch(rebound, m.particle_count, args, device=m.device)
        copy(w.v, w.rebound)


@func
def direction(offset: Vec[3, Float], distance: Float, i: int32, j: int32) -> Vec[3, Float]:
    """From particle j to particle i; without a distance along x, to where the number is greater."""
    if distance > 0.0:
        return offset / distance
    n = offset * 0.0
    n[0] = n[0] + 1.0
    if i < j:
        n = -n
    return n


@kernel
def separate(
    neighbors: array2d(dtype=int32), counts: array(dtype=int32), mu: array(dtype=Any), restitution: array(dtype=Any),
    gravity: array(dtype=Any), h: Any, radius: array(dtype=Any), start: array(dtype=Any), v: array(dtype=Any),
    x: array(dtype=Any), apart: array(dtype=Any),
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
        if depth > 0.0 and w > 0.0:
            normal = direction(offset, distance, i, j)
            before = start[i] - start[j]
            way = offset - before
            once = length(before)
            touched = since_contact(once, radius[i] + radius[j], depth, length(way))
            turn = turned_normal(normal, direction(before, once, i, j), touched)
            coming = v[i] - v[j]
            if dot(coming, normal) < -2.0 * (h * length(gravity[0]) + length(turn) * length(coming)):
                depth = (1.0 + restitution[0]) * depth
            slid = touched * (way - dot(way, normal) * normal)
            far = length(slid)
            stay = 1.0 + 0.0 * far
            if far > mu[0] * depth:
                stay = mu[0] * depth / far
            total = total + (depth * normal - stay * slid) / w
            met = met + 1.0
    if met > 0.0:
        a = pushed(a, total / met)
    apart[i] = a


@kernel
def rebound(
    neighbors: array2d(dtype=int32), counts: array(dtype=int32), mu: array(dtype=Any), restitution: array(dtype=Any),
    gravity: array(dtype=Any), h: Any, radius: array(dtype=Any), inv_mass: array(dtype=Any), start: array(dtype=Any),
    arrival: array(dtype=Any), v: array(dtype=Any), after: array(dtype=Any),
):  # fmt: skip
    """Velocities of particles whose free motion led into each other: along the normal -e times that of the arrival,
    with the friction of that impulse."""
    i = tid()
    total = v[i] * 0.0
    met = h * 0.0
    for n in range(min(counts[i], neighbors.shape[1])):
        j = neighbors[i, n]
        coming = arrival[i] - arrival[j]
        offset = start[i] - start[j] + h * coming
        distance = length(offset)
        w = inv_mass[i] + inv_mass[j]
        if distance < radius[i] + radius[j] and w > 0.0:
            normal = direction(offset, distance, i, j)
            speed = dot(coming, normal)
            before = start[i] - start[j]
            once, keep = length(before), radius[i] + radius[j]
            touched = since_contact(once, keep, keep - distance, h * length(coming))
            turn = turned_normal(normal, direction(before, once, i, j), touched)
            if speed < -2.0 * (h * length(gravity[0]) + length(turn) * length(coming)):
                slip = v[i] - v[j]
                away = dot(slip, normal)
                gain = -restitution[0] * speed - away
                hold = mu[0] * max(gain, h * 0.0)
                change = gain * normal - rubbed(slip - away * normal, hold, hold)
                total = total + (inv_mass[i] / w) * change
                met = met + 1.0
    u = v[i]
    if met > 0.0:
        u = u + total / met
    after[i] = u
