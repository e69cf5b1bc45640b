"""`SurfaceContacts`: corners near triangles and edges near edges, found when a substep begins and frozen within it.

What is near is decided along straight lines at the velocities with which the substep begins; collisions change them, so
that lists for a whole step would miss what comes back from a floor. Each contact has the side on which the one is of
the other: what is found on the other side has passed through, and is led back.

Sides do not tell what goes past a border and back within one substep. Where something is near enough, and fast enough,
to go through something, `fast` says so, and a solver looks at ways (`surface_impacts`).

Finding contacts is integer work without derivative. It has the same bits for any number of threads: contacts go in the
order of particles, then of edges, and each particle's own in the order of contacts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked
from ...core.language import Float, Kernel, Vec, array, array2d, array_scan, atomic_add, atomic_max, cross, dot, func
from ...core.language import int32, kernel, launch, length, max, min, tid, uint64, vec2i, vec3i, vec4i, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...errors import ModelError, StateError
from ...geometry.bvh.query import bvh_get_group_root, bvh_query_aabb
from ..scene.cloth import edges as edges_of
from ..scene.memory import Memory, refill_all
from .bodies import at_rest, bodies_of, may_touch
from .contact_lists import clamp_counts, enter, sort_rows
from .contacts import coefficient_of, note_filled
from .gaps import edge_gap, face_gap
from .starts import warn_of_surfaces
from .surface_impacts import SurfaceImpacts
from .surface_trees import SurfaceTrees, reach_of, single

if TYPE_CHECKING:
    from ..scene.model import Model

_LEAST_ROW = 32  # contacts kept of one particle or edge, however few there are on average
_ADVANCES = 8  # distances that are taken of one pair within a substep
_BESIDE = 0.25  # how far beyond borders sides still count, relative to heights of triangles and lengths of edges
_PARALLEL = 1.0e-3  # squared sine of the angle below which edges are left to their corners


class SurfaceContacts(Fixed):
    """Contacts of a model's triangles with its particles and with each other, of which a cloth's radius is half the
    thickness.

    margin [m]: how much nearer than at the velocities of its beginning two things may come in one substep. friction:
    Coulomb coefficient [-], an array of one number. capacity: contacts kept per particle, on average; twice as many of
    one particle or edge, and 32 at least.

    What is as close at rest as its thickness is neighbours, not a contact, if springs, triangles, edges or tetrahedra
    join it to one body; what starts inside of something of another body is none either, with a `StartWarning`.
    Particles without triangles meet triangles, not each other.

    corners: vec4i (contacts,): a particle and a triangle's corners, from `offsets[particles]` on the ends of two edges.
    away: vec3 (contacts,), along the normal from the second to the first, or zero where one is beside the other [m].
    fast: one number, not zero where something may go through something in the present substep. hurried: the same, and
    then such a number for each world. impacts: what goes through.
    push, weights, crowd: memory for what a solver computes of each contact and particle.
    Raises `ModelError` for numbers without meaning, and for models without triangles.
    """

    replaceable = ("friction",)
    constant = ("edges", "bodies")
    unfit = StateError

    @checked
    def __init__(self, model: Model, margin: float = 0.002, friction: float = 0.3, capacity: int = 16):
        if not (math.isfinite(margin) and margin >= 0.0 and friction >= 0.0 and capacity > 0):
            raise ModelError(
                f"margin {margin}, friction {friction}, capacity {capacity}\nexpected: 0 or more, 0 or more, 1 or more"
            )
        if not model.tri_count:
            raise ModelError("the model has no triangles\nhelp: add_triangles, or Contacts(model) between particles")
        self.model, self.margin, self.friction = model, model.dtype(margin), coefficient_of(model, friction)
        device, n = model.device, model.particle_count
        self.edges = array(edges_of(model.tri_indices.numpy()).astype(np.int32), dtype=vec2i, device=device)
        owners = n + len(self.edges)
        self.near = zeros((owners, max(_LEAST_ROW, 2 * capacity)), int32, device)
        self.counts, self.offsets = zeros(owners + 1, int32, device), zeros(owners + 1, int32, device)
        self.corners, self.away = zeros(capacity * n, vec4i, device), zeros(capacity * n, model.vec3, device)
        self.lost = zeros(1, int32, device)
        self.counters, self.firsts = zeros(2 * n + 3 + model.world_count, int32, device), zeros(n + 1, int32, device)
        self.uses, self.cursor = self.counters[: n + 1], self.counters[n + 1 : 2 * n + 2]
        self.hurried = self.counters[2 * n + 2 :]
        self.fast = self.hurried[:1]
        self.around = zeros(4 * capacity * n, int32, device)
        self.lists = [self.near, self.counts, self.offsets, self.corners, self.away, self.lost]
        self.lists += [self.counters, self.firsts, self.around]
        self.push = zeros(capacity * n, model.vec3, device, requires_grad=True)
        self.weights = zeros(capacity * n, model.vec4, device, requires_grad=True)
        self.crowd = zeros(n, model.dtype, device, requires_grad=True)
        self.trees = SurfaceTrees(model, self.edges)
        self.bodies = array(bodies_of(model), dtype=int32, device=device)
        warn_of_surfaces(model, self.edges, self.trees, self.bodies, stacklevel=3)
        self.left = zeros(1, int32, device)
        self.impacts = SurfaceImpacts(model, self.trees, capacity * n)

    @property
    def arrays(self) -> dict[str, Any]:
        """What a step with these contacts reads and writes."""
        own = {name: value for name, value in vars(self).items() if isinstance(value, array)}
        return {**own, **{f"impacts.{name}": value for name, value in self.impacts.arrays.items()}}

    @property
    def scratch(self) -> list[Any]:
        """What every step fills before it reads it, for `wp.checkpoint`."""
        own = [*self.lists, self.left, self.push, self.weights, self.crowd]
        return [*own, *self.trees.scratch, *self.impacts.scratch]

    @property
    def readings(self) -> list[Any]:
        """What says something of the steps so far, or of the last substep."""
        return [self.lost, self.left, self.counts, self.offsets, self.corners, self.away, self.hurried]

    @property
    def count(self) -> int:
        """How many contacts the last substep had."""
        return int(self.offsets.numpy()[-1])

    @property
    def overflow(self) -> int:
        """How many contacts did not fit in any substep so far, of all or of one particle or edge, at most; 0 is right,
        else raise `capacity` or lower radii."""
        return int(self.lost.numpy()[0])

    @property
    def unresolved(self) -> int:
        """How many pairs went through each other at the end of a fast substep so far, at most; 0 is right."""
        return int(self.left.numpy()[0])

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        capacity = len(self.corners) // max(self.model.particle_count, 1)
        return {"model": self.model, "margin": float(self.margin), "friction": 0.0, "capacity": capacity}

    def memory(self) -> Memory:
        """See `Savable`."""
        return {"friction": self.friction, "lost": self.lost, "left": self.left}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """See `Savable`."""
        self.friction = memory["friction"]
        refill_all(memory, {"lost": self.lost, "left": self.left})
        self.check_replaced("contacts")

    def begin_step(self, q: array, qd: array, dt: float) -> None:
        """Contacts are those of substeps: velocities may turn round within a step."""

    def begin_substep(self, q: array, qd: array, h: float) -> None:
        """Find the contacts of the next `h` [s] from positions [m] and velocities [m/s]."""
        m, near = self.model, [self.near, self.counts]
        dt = m.dtype(h)
        note_filled(self.lists)
        self.counters.zero_()
        self.trees.move(q, qd, dt)
        motion = [q, qd, at_rest(m, self.bodies), self.margin, dt]
        self._run(find_faces, m.particle_count, self.trees.of_faces.id, m.tri_indices, *motion, *near, self.hurried)
        lines = [self.trees.of_edges.id, self.edges, *motion, m.particle_count]
        self._run(find_edges, len(self.edges), *lines, *near, self.hurried)
        self._list(q)

    def watch(self, start: array, v: array, h: float, x: array) -> None:
        """Note in `fast` if a packed particle is not where it was about to go in `h` [s], by half its radius."""
        m = self.model
        moving = [start, v, h, x, m.particle_radius, m.particle_world]
        self._run(look_for_turns, m.particle_count, *moving, self.margin, self.hurried)

    def forget_sides(self) -> None:
        """In worlds with a fast substep: what has gone round a border is right on the other side."""
        self._run(forget, len(self.away), self.hurried, self.corners, self.model.particle_world, self.away)

    def _list(self, q: array) -> None:
        """Contacts without gaps, and those of each particle."""
        m, n = self.model, self.model.particle_count
        self._run(clamp_counts, len(self.counts), self.near, self.counts, self.offsets)
        array_scan(self.offsets, self.offsets, inclusive=False)
        lists = [self.near, self.counts, self.offsets, m.tri_indices, self.edges, q]
        self._run(fill, n + len(self.edges), *lists, self.corners, self.away, self.uses, self.lost)
        array_scan(self.uses, self.firsts, inclusive=False)
        self._run(enter, len(self.corners), self.corners, self.offsets, self.firsts, self.cursor, self.around)
        self._run(sort_rows, n, self.firsts, self.around)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device, record_tape=False)


# ----- what is near -------------------------------------------------------------------------------


@func
def over_face(p: Vec[3, Float], a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float]) -> Vec[3, Float]:
    """From the plane of a triangle to a point; zero where the point is beside the triangle."""
    ab, ac, ap = b - a, c - a, p - a
    n = cross(ab, ac)
    area = dot(n, n)
    if area > 0.0:
        v, w = dot(cross(ap, ac), n) / area, dot(cross(ab, ap), n) / area
        if min(v, min(w, 1.0 - v - w)) > -_BESIDE:
            return n * (dot(ap, n) / area)
    return type(n)()


@func
def over_edge(a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float], d: Vec[3, Float]) -> Vec[3, Float]:
    """Along the common perpendicular from the edge c d to a b; zero where it misses one, or both are near parallel."""
    ab, cd, r = b - a, d - c, c - a
    n = cross(ab, cd)
    area = dot(n, n)
    if area > _PARALLEL * dot(ab, ab) * dot(cd, cd):
        s, t = dot(cross(r, cd), n) / area, dot(cross(r, ab), n) / area
        if min(min(s, 1.0 - s), min(t, 1.0 - t)) > -_BESIDE:
            return n * (-dot(r, n) / area)
    return type(n)()


@func
def closing_speed(k: vec4i, qd: Any) -> Any:
    """The largest difference between velocities of four corners [m/s]."""
    speed = length(qd[k[0]]) * 0.0
    for one in range(1, 4):
        for other in range(one):
            speed = max(speed, length(qd[k[one]] - qd[k[other]]))
    return speed


@func
def comes_near(k: vec4i, q: Any, qd: Any, speed: Any, near: Any, dt: Any) -> bool:
    """Whether a corner and a triangle on straight lines get as close as `near`, by conservative advancement: until they
    have lost what their distance is above that, at the largest difference between velocities, they cannot.

    Yes if some steps of that do not tell.
    """
    t = dt * 0.0
    for _ in range(k[0] * 0 + _ADVANCES):
        d = face_gap(q[k[0]] + t * qd[k[0]], q[k[1]] + t * qd[k[1]], q[k[2]] + t * qd[k[2]], q[k[3]] + t * qd[k[3]])
        more = length(d) - near
        if more < 0.0:
            return True
        if more >= speed * (dt - t):
            return False
        t = t + more / speed
    return True


@func
def is_fast(way: Any, touch: Any) -> bool:
    """Whether a way in a substep is long enough for two things to go through each other that were not pressed flat."""
    return way > 0.125 * touch


@func
def note_fast(fast: array(dtype=int32), world: int32) -> None:
    """Note that something is fast in a world."""
    atomic_max(fast, 0, 1)
    atomic_max(fast, 1 + world, 1)


@func
def slack(touch: Any, margin: Any) -> Any:
    """By how much two things that touch may come nearer in a substep than their velocities say, and not be fast."""
    return 0.5 * touch + 0.25 * margin


@kernel
def find_faces(
    tree: uint64, faces: array(dtype=vec3i), q: array(dtype=Any), qd: array(dtype=Any), rest: Any, margin: Any, dt: Any,
    near: array2d(dtype=int32), counts: array(dtype=int32), fast: array(dtype=int32),
):  # fmt: skip
    """Triangles that a particle may touch."""
    i = tid()
    count, hurries = int32(0), int32(0)
    now, then = single(q[i]), single(q[i] + dt * qd[i])
    more = reach_of(min(now, then), max(now, then), rest.radius[i] + margin)
    root = bvh_get_group_root(tree, rest.world[i])
    for t in bvh_query_aabb(tree, min(now, then) - more, max(now, then) + more, root):
        a, b, c = faces[t][0], faces[t][1], faces[t][2]
        if rest.world[i] == rest.world[a] and i != a and i != b and i != c:
            touch = rest.radius[i] + max(rest.radius[a], max(rest.radius[b], rest.radius[c]))
            speed = closing_speed(vec4i(i, a, b, c), qd)
            if comes_near(vec4i(i, a, b, c), q, qd, speed, touch + margin, dt):
                once = face_gap(rest.place[i], rest.place[a], rest.place[b], rest.place[c])
                if may_touch(once, touch, rest.body[i] == rest.body[a]):
                    if count < near.shape[1]:
                        near[i, count] = t
                    count += 1
                    if is_fast(dt * speed, touch):
                        if length(face_gap(q[i], q[a], q[b], q[c])) < dt * speed + slack(touch, margin):
                            hurries = int32(1)
    counts[i] = count
    if hurries > 0:
        note_fast(fast, rest.world[i])


@kernel
def find_edges(
    tree: uint64, ends: array(dtype=vec2i), q: array(dtype=Any), qd: array(dtype=Any), rest: Any, margin: Any, dt: Any,
    first: int32, near: array2d(dtype=int32), counts: array(dtype=int32), fast: array(dtype=int32),
):  # fmt: skip
    """Edges of higher number that an edge may touch between their ends; what ends touch is near a triangle."""
    e = tid()
    a, b = ends[e][0], ends[e][1]
    count, hurries, own = int32(0), int32(0), length(qd[a] - qd[b])
    low = min(min(single(q[a]), single(q[b])), min(single(q[a] + dt * qd[a]), single(q[b] + dt * qd[b])))
    high = max(max(single(q[a]), single(q[b])), max(single(q[a] + dt * qd[a]), single(q[b] + dt * qd[b])))
    more = reach_of(low, high, max(rest.radius[a], rest.radius[b]) + margin)
    for f in bvh_query_aabb(tree, low - more, high + more, bvh_get_group_root(tree, rest.world[a])):
        c, d = ends[f][0], ends[f][1]
        if f > e and rest.world[a] == rest.world[c] and a != c and a != d and b != c and b != d:
            gap = over_edge(q[a], q[b], q[c], q[d])
            far, way = length(gap), 0.0 * dt
            touch = max(rest.radius[a], rest.radius[b]) + max(rest.radius[c], rest.radius[d])
            over = far > 0.0
            if over or is_fast(dt * (length(qd[a] - qd[c]) + own + length(qd[c] - qd[d])), touch):
                way = dt * closing_speed(vec4i(a, b, c, d), qd)
            if not over and is_fast(way, touch):
                far = length(edge_gap(q[a], q[b], q[c], q[d]))
            if far > 0.0 and far < touch + margin + way:
                once = edge_gap(rest.place[a], rest.place[b], rest.place[c], rest.place[d])
                if may_touch(once, touch, rest.body[a] == rest.body[c]):
                    if is_fast(way, touch) and far < way + slack(touch, margin):
                        hurries = int32(1)
                    if over:
                        if count < near.shape[1]:
                            near[first + e, count] = f
                        count += 1
    counts[first + e] = count
    if hurries > 0:
        note_fast(fast, rest.world[a])


@kernel
def look_for_turns(
    start: array(dtype=Any), v: array(dtype=Any), h: Any, x: array(dtype=Any), radius: array(dtype=Any),
    world: array(dtype=int32), margin: Any, fast: array(dtype=int32),
):  # fmt: skip
    i = tid()
    p = x[i]
    turn = start[i] + h * v[i] - type(start[i])(p[0], p[1], p[2])
    most = 0.5 * slack(2.0 * radius[i], margin)
    if dot(turn, turn) > most * most:
        note_fast(fast, world[i])


@kernel
def forget(fast: array(dtype=int32), corners: array(dtype=vec4i), world: array(dtype=int32), away: array(dtype=Any)):
    n = tid()
    if fast[1 + world[corners[n][0]]] != 0:
        away[n] = 0.0 * away[n]


# ----- lists --------------------------------------------------------------------------------------


@kernel
def fill(
    near: array2d(dtype=int32), counts: array(dtype=int32), offsets: array(dtype=int32), faces: array(dtype=vec3i),
    ends: array(dtype=vec2i), q: array(dtype=Any), corners: array(dtype=vec4i), away: array(dtype=Any),
    uses: array(dtype=int32), lost: array(dtype=int32),
):  # fmt: skip
    """Contacts of each particle, then of each edge, and how many each particle takes part in."""
    owner = tid()
    particles = q.shape[0]
    if counts[owner] > near.shape[1]:
        atomic_max(lost, 0, counts[owner] - near.shape[1])
    if offsets[owner + 1] > corners.shape[0]:
        atomic_max(lost, 0, offsets[owner + 1] - corners.shape[0])
    for at in range(offsets[owner], min(offsets[owner + 1], corners.shape[0])):
        other = near[owner, at - offsets[owner]]
        if owner < particles:
            k = vec4i(owner, faces[other][0], faces[other][1], faces[other][2])
            away[at] = over_face(q[k[0]], q[k[1]], q[k[2]], q[k[3]])
        else:
            own = ends[owner - particles]
            k = vec4i(own[0], own[1], ends[other][0], ends[other][1])
            away[at] = over_edge(q[k[0]], q[k[1]], q[k[2]], q[k[3]])
        corners[at] = k
        for n in range(4):
            atomic_add(uses, k[n], 1)
