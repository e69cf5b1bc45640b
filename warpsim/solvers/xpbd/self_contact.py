"""Contact between particles: spheres that do not overlap, with Coulomb friction and restitution.

C = |x_i - x_j| - r_i - r_j >= 0. Every particle sums up its half of the corrections of all its contacts (Jacobi), so
that no two threads write to one particle and the result does not depend on their order. A pair takes its correction
divided by the contacts of the particle that has more of them: the same for both, so that momentum is kept, and no
particle moves farther than the mean of its contacts asks for (each particle's own mean, M. Macklin et al. 2014, section
4.2, makes momentum where one has more contacts than the other). Friction takes back tangential motion, and restitution
counts the moment of impact, as in `contact`. Particles at the very same place leave each other along x, by numbers.

Contacts with restitution (`Contacts.bounces`) set velocities of impacts by themselves, after those with shapes: what
pushed particles apart for an impact, or out of what an earlier one left, is no velocity, and the impulse has all of the
friction. Velocities after impacts of one particle with several are found in a few rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import Float, Vec, array, array2d, int32
from ...core.language import clamp, dot, func, kernel, launch, length, max, min, normalize, sqrt, struct, tid
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays.creation import copy
from .contact import since_contact, turned_normal
from .friction import friction_loss
from .particle import apply_impulse, position

if TYPE_CHECKING:
    from ..contact.contacts import Contacts
    from ..scene.model import Model
    from .workspace import Workspace

_ROUNDS = 8  # of velocities after impacts: each leaves about a quarter of impacts with two at once
_PUSHES, _STOPS, _BOUNCES = 0, 1, 2  # of impacts: what a correction makes of them, beside pushing apart


@struct
class Near:
    """Particles near to each particle, as `Contacts` lists them. touching: how many of them each one meets; marks:
    which, or with which it has an impact, a bit for each; world: in which it is."""

    neighbors: array2d(dtype=int32)
    counts: array(dtype=int32)
    touching: array(dtype=int32)
    marks: array2d(dtype=int32)
    world: array(dtype=int32)


@func
def near_count(near: Near, i: int32) -> int32:
    """How many neighbours of a particle are listed."""
    return min(near.counts[i], near.neighbors.shape[1])


@func
def mark(near: Near, i: int32, n: int32, count: int32, bits: int32, applies: bool) -> int32:
    """The bits of a word of `count` marks, one more or not; a whole word is written."""
    if applies:
        bits = bits | (int32(1) << (n & 31))
    if (n & 31) == 31 or n == count - 1:
        near.marks[i, n >> 5] = bits
        bits = int32(0)
    return bits


@func
def is_marked(near: Near, i: int32, n: int32) -> bool:
    """Whether the pair of a particle and its n-th neighbour is marked."""
    return ((near.marks[i, n >> 5] >> (n & 31)) & 1) == 1


class ParticleContactConstraints(Fixed):
    """Particles of a model against each other."""

    def __init__(self, model: Model):
        self.model = model

    def _near(self, contacts: Contacts, workspace: Workspace) -> Near:
        lists = [contacts.neighbors, contacts.counts, workspace.touching, contacts.marks]
        return Near(*lists, self.model.particle_world)

    def forget(self, workspace: Workspace) -> None:
        """Begin a substep, in which nothing has met anything."""
        workspace.shove.zero_()

    def resolve(self, contacts: Contacts, gravity: array, workspace: Workspace, h: float, first: bool) -> None:
        """Push apart what overlaps. first: in the first iteration of a substep."""
        m, w = self.model, workspace
        near, surface = self._near(contacts, w), [contacts.friction, contacts.restitution]
        moving = [gravity, h, m.particle_radius, w.start, w.v, w.x]
        launch(count_overlaps, m.particle_count, [near, m.particle_radius, w.start, w.x], device=m.device)
        kind = _BOUNCES if contacts.bounces else _STOPS if first else _PUSHES
        args = [near, kind, *surface, *moving, w.apart, w.shove]
        launch(separate, m.particle_count, args, device=m.device)
        copy(w.x, w.apart)

    def bounce(self, contacts: Contacts, gravity: array, workspace: Workspace, h: float) -> None:
        """Velocities of what met in this substep, from those before."""
        m, w = self.model, workspace
        near, surface = self._near(contacts, w), [contacts.friction, contacts.restitution]
        free = [gravity, h, m.particle_radius, w.inv_mass, w.start, w.arrival]
        launch(count_impacts, m.particle_count, [near, *free, w.onward], device=m.device)
        for _ in range(_ROUNDS):
            launch(rebound, m.particle_count, [near, *surface, *free, w.onward, w.v, w.rebound], device=m.device)
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


@func
def share(near: Near, i: int32, j: int32, like: Float) -> Float:
    """The part of its correction that a pair takes."""
    return 1.0 / like.dtype(max(near.touching[i], near.touching[j]))


@func
def meet(before: Vec[3, Float], offset: Vec[3, Float], keep: Float) -> bool:
    """Whether two particles overlap at the end of a substep, or have passed through each other in it."""
    if dot(offset, offset) < keep * keep:
        return True
    way = offset - before
    along = dot(before, way)
    if along >= 0.0 or dot(offset, way) <= 0.0:
        return False
    return along * along > dot(way, way) * (dot(before, before) - keep * keep)


@func
def impact_of(
    before: Vec[3, Float], way: Vec[3, Float], coming: Vec[3, Float], keep: Float, slow: Float
) -> tuple[Float, Vec[3, Float], Float]:  # fmt: skip
    """When in a substep two particles meet that arrive faster than `slow`, with the normal and the speed of that
    moment [m/s]; the part of the substep is 1 for those that do not."""
    air, along, far = dot(before, before) - keep * keep, dot(before, way), dot(way, way)
    root = along * along - far * air
    if keep > 0.0 and along < 0.0 and root > 0.0:
        t = max(air, air * 0.0) / (sqrt(root) - along)
        normal = normalize(before + t * way)
        arrival = dot(coming, normal)
        if t < 1.0 and arrival < -slow:
            return t, normal, arrival
    return keep * 0.0 + 1.0, way * 0.0, keep * 0.0


@func
def meeting(
    before: Vec[3, Float], offset: Vec[3, Float], coming: Vec[3, Float], keep: Float, slow: Float, i: int32, j: int32
) -> tuple[Float, Vec[3, Float], Float, Float]:  # fmt: skip
    """How two particles that keep apart by `keep`, and `meet`, do so while their offset moves from `before`.

    The depth [m], the normal, the part of the substep in contact, and the speed of an impact [m/s], below zero; 0 for
    what touches without one. What arrives faster than `slow` meets with the normal of the moment of impact, also if it
    has passed through since; what has done so more slowly has a depth below zero.
    """
    way = offset - before
    t, at_impact, arrival = impact_of(before, way, coming, keep, slow)
    if t < 1.0:
        return keep - dot(offset, at_impact), at_impact, 1.0 - t, arrival
    once, distance = length(before), length(offset)
    normal, depth = direction(offset, distance, i, j), keep - distance
    speed, touched = dot(coming, normal), depth * 0.0
    if depth > 0.0:
        touched = since_contact(once, keep, depth, length(way))
    turn = turned_normal(normal, direction(before, once, i, j), touched)
    if depth <= 0.0 or speed > -slow - 2.0 * length(turn) * length(coming):
        speed = speed * 0.0
    return depth, normal, touched, speed


@kernel
def count_overlaps(near: Near, radius: array(dtype=Any), start: array(dtype=Any), x: array(dtype=Any)):
    """How many others each particle meets."""
    i = tid()
    a, p, met, bits, count = x[i], start[i], int32(0), int32(0), near_count(near, i)
    for n in range(count):
        j = near.neighbors[i, n]
        b = x[j]
        meets = a[3] + b[3] > 0.0 and meet(p - start[j], position(a) - position(b), radius[i] + radius[j])
        if meets:
            met += 1
        bits = mark(near, i, n, count, bits, meets)
    near.touching[i] = met


@func
def stopping(coming: Vec[3, Float], normal: Vec[3, Float], mu: Float) -> Vec[3, Float]:
    """What ends a motion against the normal, with the friction of that."""
    against = dot(coming, normal)
    return -against * normal - friction_loss(coming - against * normal, -mu * against, -mu * against)


@kernel
def separate(
    near: Near, kind: int32, mu: array(dtype=Any), restitution: array(dtype=Any),
    gravity: array(dtype=Any), h: Any, radius: array(dtype=Any), start: array(dtype=Any), v: array(dtype=Any),
    x: array(dtype=Any), apart: array(dtype=Any), shove: array(dtype=Any),
):  # fmt: skip
    """Particles out of each other, and what they slid on each other taken back.

    shove: by what ways of this substep are more than velocities [m]: how far impacts, and overlaps from before, have
    pushed what bounces; less how far what does not bounce had come, so that its whole motion ends at once.
    """
    i = tid()
    a, slow = x[i], 2.0 * h * length(gravity[near.world[i]])
    total, away, late = position(a) * 0.0, position(a) * 0.0, position(a) * 0.0
    if near.touching[i] > 0:
        for n in range(near_count(near, i)):
            if is_marked(near, i, n):
                j = near.neighbors[i, n]
                b, keep = x[j], radius[i] + radius[j]
                w = a[3] + b[3]
                before, offset = start[i] - start[j], position(a) - position(b)
                depth, normal, touched, speed = meeting(before, offset, v[i] - v[j], keep, slow, i, j)
                if depth > 0.0:
                    part = share(near, i, j, w) / w
                    if speed < 0.0 and kind == _BOUNCES:
                        away = away + part * (1.0 + restitution[0]) * depth * normal
                    else:
                        way = offset - before
                        if kind == _BOUNCES:
                            left = clamp(keep - length(before), keep * 0.0, depth)
                            away = away + part * left * normal
                            depth = depth - left
                        elif speed < 0.0 and kind == _STOPS:
                            late = late + part * (1.0 - touched) * stopping(h * (v[i] - v[j]), normal, mu[0])
                        slid = friction_loss(touched * (way - dot(way, normal) * normal), mu[0] * depth, mu[0] * depth)
                        total = total + part * (depth * normal - slid)
        shove[i] = shove[i] + a[3] * (away - late)
        a = apply_impulse(a, total + away)
    apart[i] = a


@kernel
def count_impacts(
    near: Near, gravity: array(dtype=Any), h: Any, radius: array(dtype=Any), inv_mass: array(dtype=Any),
    start: array(dtype=Any), arrival: array(dtype=Any), onward: array(dtype=Any),
):  # fmt: skip
    """How many others the free motion of each particle leads into, and which of them it has impacts with.

    onward: velocities of the arrival as shapes have turned them, see `hits.carry_on_with`.
    """
    i = tid()
    met, bits, count, slow = int32(0), int32(0), near_count(near, i), 2.0 * h * length(gravity[near.world[i]])
    for n in range(count):
        j = near.neighbors[i, n]
        before, coming, keep = start[i] - start[j], arrival[i] - arrival[j], radius[i] + radius[j]
        impact = False
        if inv_mass[i] + inv_mass[j] > 0.0 and meet(before, before + h * coming, keep):
            met += 1
            _, normal, _, speed = meeting(before, before + h * coming, coming, keep, slow, i, j)
            impact = speed < 0.0 and dot(onward[i] - onward[j], normal) < 0.0
        bits = mark(near, i, n, count, bits, impact)
    near.touching[i] = met


@kernel
def rebound(
    near: Near, mu: array(dtype=Any), restitution: array(dtype=Any), gravity: array(dtype=Any), h: Any,
    radius: array(dtype=Any), inv_mass: array(dtype=Any), start: array(dtype=Any), arrival: array(dtype=Any),
    onward: array(dtype=Any), v: array(dtype=Any), after: array(dtype=Any),
):  # fmt: skip
    """Velocities of particles with impacts: along the normal -e times that of the arrival, with the friction of that
    impulse."""
    i = tid()
    u, slow = v[i], 2.0 * h * length(gravity[near.world[i]])
    total = u * 0.0
    if near.touching[i] > 0:
        for n in range(near_count(near, i)):
            if is_marked(near, i, n):
                j = near.neighbors[i, n]
                w = inv_mass[i] + inv_mass[j]
                before, coming, keep = start[i] - start[j], arrival[i] - arrival[j], radius[i] + radius[j]
                t, normal, _ = impact_of(before, h * coming, coming, keep, slow)
                if t >= 1.0:
                    normal = normalize(before + h * coming)
                slip = u - v[j]
                away = dot(slip, normal)
                gain = -restitution[0] * dot(onward[i] - onward[j], normal) - away
                hold = mu[0] * max(gain, h * 0.0)
                change = gain * normal - friction_loss(slip - away * normal, hold, hold)
                total = total + (share(near, i, j, w) * inv_mass[i] / w) * change
    after[i] = u + total
