"""Impact zones: what still goes through each other moves as one, which lets nothing through nothing.

A zone is all that impacts connect (X. Provot 1997; R. Bridson, R. Fedkiw, J. Anderson 2002). Its particles move by
D + G r from where the substep began, r from their centre of mass, with momentum and angular momentum as they were: G is
the cross product with a small rotation. On such ways places are mapped by 1 + t G, whose determinant is above zero: so
what is apart stays apart. At first zones leave half of the motion that is not of this kind to their particles, which is
enough for most; then none. Where zones meet others they become one, and so on until nothing meets.

With held particles in it a zone moves as these do, by any G: rigid obstacles turn, and what is near turns with them.
Particles that touch a shape in this substep count as heavy, so that others follow them, not the reverse; where that
does not do in some rounds, because they leave the shape in different ways, the zone rides on the shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import Array, Kernel, array, array_scan, atomic_add, atomic_max, cross, diag, float64, func, int32
from ...core.language import inverse, kernel, launch, mat33d, max, min, outer, skew, tid, vec3d, vec4i, vector, zeros
from ...core.runtime.arrays.fixed import Fixed
from ..contact.contact_lists import sort_rows
from ..contact.contacts import note_filled
from ..scene.shapes import advance_pose, to_shape, to_world
from ..contact.surface_trees import exact
from .particle import move_to

if TYPE_CHECKING:
    from ..contact.surface_impacts import SurfaceImpacts
    from ..scene.control import Control
    from ..scene.model import Model
    from .workspace import Workspace

_HEAVY = 1.0e3  # how many times its mass a particle on a shape has
_THIN = 1.0e-12  # of the moment of inertia, so that lines and planes have one about every axis
_SOFT_ROUNDS = 2  # in which zones keep half of what their particles do otherwise
_RIDING = 8  # rounds after which zones ride on what they touch


class ImpactZones(Fixed):
    """The zones of one substep. zone: of each particle, named by the first of its particles."""

    def __init__(self, model: Model):
        n, device = model.particle_count if model.tri_count else 0, model.device
        self.model = model
        self.links, self.zone, self.struck = (zeros(n, int32, device) for _ in range(3))
        self.uses, self.firsts, self.cursor = (zeros(n + 1, int32, device) for _ in range(3))
        self.members, self.ride = zeros(n, int32, device), zeros(n, int32, device)
        self.centre, self.shift = (zeros(n, vec3d, device, requires_grad=True) for _ in range(2))
        self.turn = zeros(n, mat33d, device, requires_grad=True)

    @property
    def arrays(self) -> list[Any]:
        """What is filled before it is read."""
        return [value for value in vars(self).values() if isinstance(value, array)]

    def begin(self) -> None:
        """Every particle is a zone of its own."""
        note_filled(self.arrays)
        self._list(number, self.model.particle_count, self.links)

    def merge(self, impacts: SurfaceImpacts) -> None:
        """Join the zones that the last impacts connect."""
        n, (span, corners) = self.model.particle_count, (impacts.span, impacts.corners)
        for zeroed in (self.struck, self.uses, self.cursor):
            zeroed.zero_()
        self._list(join, 1, span, corners, self.links)
        self._list(name_zones, n, self.links, self.zone, self.uses)
        self._list(strike, len(corners), span, corners, self.zone, self.struck)
        array_scan(self.uses, self.firsts, inclusive=False)
        self._list(enrol, n, self.zone, self.firsts, self.cursor, self.members)
        self._list(sort_rows, n, self.firsts, self.members)

    def move(self, rounds: array, control: Control, workspace: Workspace, h: float) -> None:
        """Move the zones in which something meets. rounds: how many there were."""
        w, n = workspace, self.model.particle_count
        lists = [self.zone, self.struck, self.firsts, self.members]
        if self.model.shape_count:
            self._list(choose_shapes, n, rounds, *lists, w.met[0], self.ride)
        motion = [self.centre, self.shift, self.turn]
        arguments = [*lists, w.inv_mass, w.met[0], w.start, w.x, *motion]
        launch(measure_motion, n, arguments, device=self.model.device)
        launch(move_as_one, n, [rounds, self.zone, self.struck, *motion, w.start, w.x], device=self.model.device)
        if self.model.shape_count:
            shapes = [self.ride, w.pose, control.shape_velocity, h]
            launch(ride_on, n, [rounds, self.zone, self.struck, *shapes, w.start, w.x], device=self.model.device)

    def _list(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device, record_tape=False)


# ----- which particles ----------------------------------------------------------------------------


@kernel
def number(links: array(dtype=int32)):
    links[tid()] = tid()


@func
def first_of(links: array(dtype=int32), i: int32) -> int32:
    """The first particle of a zone."""
    at = i
    while links[at] != at:
        at = links[at]
    return at


@kernel
def join(span: array(dtype=int32), corners: array(dtype=vec4i), links: array(dtype=int32)):
    """One after the other: so it depends on no order of threads."""
    for c in range(span[0], span[1]):
        for n in range(1, 4):
            one, other = first_of(links, corners[c][0]), first_of(links, corners[c][n])
            links[max(one, other)] = min(one, other)


@kernel
def name_zones(links: array(dtype=int32), zone: array(dtype=int32), uses: array(dtype=int32)):
    i = tid()
    zone[i] = first_of(links, i)
    atomic_add(uses, zone[i], 1)


@kernel
def strike(
    span: array(dtype=int32), corners: array(dtype=vec4i), zone: array(dtype=int32), struck: array(dtype=int32)
):  # fmt: skip
    c = tid()
    if c >= span[0] and c < span[1]:
        atomic_max(struck, zone[corners[c][0]], 1)


@kernel
def enrol(
    zone: array(dtype=int32), firsts: array(dtype=int32), cursor: array(dtype=int32), members: array(dtype=int32)
):  # fmt: skip
    i = tid()
    members[firsts[zone[i]] + atomic_add(cursor, zone[i], 1)] = i


# ----- how they move ------------------------------------------------------------------------------


@func
def weight_of(w: Any, held: bool, touches: bool) -> float64:
    """What a particle counts for in a zone, with held ones or without."""
    weight = float64(0.0)
    if held:
        if w == 0.0:
            weight = float64(1.0)
    else:
        weight = 1.0 / float64(w)
        if touches:
            weight = _HEAVY * weight
    return weight


@func
def touches_shape(met: Array[int32, 1], i: int32) -> bool:
    touches = False
    if i < met.shape[0]:
        touches = met[i] != 0
    return touches


@kernel
def measure_motion(
    zone: array(dtype=int32), struck: array(dtype=int32), firsts: array(dtype=int32), members: array(dtype=int32),
    inv_mass: array(dtype=Any), met: array(dtype=int32), start: array(dtype=Any), x: array(dtype=Any),
    centre: array(dtype=vec3d), shift: array(dtype=vec3d), turn: array(dtype=mat33d),
):  # fmt: skip
    """The centre of each zone that is struck, how far it goes, and how it turns."""
    i = tid()
    if zone[i] == i and struck[i] > 0:
        held = False
        for n in range(firsts[i], firsts[i + 1]):
            if inv_mass[members[n]] == 0.0:
                held = True
        total, middle, way = float64(0.0), vec3d(), vec3d()
        for n in range(firsts[i], firsts[i + 1]):
            j = members[n]
            weight = weight_of(inv_mass[j], held, touches_shape(met, j))
            total = total + weight
            middle = middle + weight * exact(start[j])
            way = way + weight * (exact(x[j]) - exact(start[j]))
        middle, way = middle / total, way / total
        spread, stretch, spin = mat33d(), mat33d(), vec3d()
        for n in range(firsts[i], firsts[i + 1]):
            j = members[n]
            weight = weight_of(inv_mass[j], held, touches_shape(met, j))
            r, d = exact(start[j]) - middle, exact(x[j]) - exact(start[j]) - way
            spread = spread + weight * outer(r, r)
            stretch = stretch + weight * outer(d, r)
            spin = spin + weight * cross(r, d)
        size = spread[0, 0] + spread[1, 1] + spread[2, 2]
        g = mat33d()
        if size > 0.0:
            unit = diag(vec3d(size, size, size))
            if held:
                g = stretch @ inverse(spread + _THIN * unit)
            else:
                g = skew(inverse((1.0 + _THIN) * unit - spread) @ spin)
        centre[i], shift[i], turn[i] = middle, way, g


@kernel
def move_as_one(
    rounds: array(dtype=int32), zone: array(dtype=int32), struck: array(dtype=int32), centre: array(dtype=vec3d),
    shift: array(dtype=vec3d), turn: array(dtype=mat33d), start: array(dtype=Any), x: array(dtype=Any),
):  # fmt: skip
    i = tid()
    z, a = zone[i], x[i]
    if struck[z] > 0 and a[3] > 0.0:
        own = float64(0.0)
        if rounds[0] <= _SOFT_ROUNDS:
            own = float64(0.5)
        p = exact(start[i])
        way = shift[z] + turn[z] @ (p - centre[z])
        p = p + way + own * (exact(a) - p - way)
        x[i] = move_to(a, vector(a.dtype(p[0]), a.dtype(p[1]), a.dtype(p[2])))


@kernel
def choose_shapes(
    rounds: array(dtype=int32), zone: array(dtype=int32), struck: array(dtype=int32), firsts: array(dtype=int32),
    members: array(dtype=int32), met: array(dtype=int32), ride: array(dtype=int32),
):  # fmt: skip
    """The shape that the first particle of a zone touches that touches one; -1 for none, and while others may do."""
    i = tid()
    ride[i] = -1
    if zone[i] == i and struck[i] > 0 and rounds[0] > _RIDING:
        for n in range(firsts[i], firsts[i + 1]):
            if ride[i] < 0 and touches_shape(met, members[n]):
                ride[i] = met[members[n]] - 1


@kernel
def ride_on(
    rounds: array(dtype=int32), zone: array(dtype=int32), struck: array(dtype=int32), ride: array(dtype=int32),
    pose: array(dtype=Any), twist: array(dtype=Any), h: Any, start: array(dtype=Any), x: array(dtype=Any),
):  # fmt: skip
    i = tid()
    z, a = zone[i], x[i]
    if struck[z] > 0 and rounds[0] > _RIDING and a[3] > 0.0:
        s = ride[z]
        if s >= 0:
            x[i] = move_to(a, to_world(pose[s], to_shape(advance_pose(pose[s], twist[s], -h), start[i])))
