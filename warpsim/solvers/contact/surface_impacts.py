"""`SurfaceImpacts`: corners that go through triangles, and edges through edges, on their straight ways in a substep.

What is found is exact and complete, in float64: every corner and triangle, every two edges without a corner in common
that are not all held. Boxes around ways only leave out what cannot meet. Where more go through one thing than there is
room for, the first are found, and the others when it is asked again.

Finding is integer work without derivative, with the same bits for any number of threads: impacts go in the order of
particles, then of edges, and each particle's own in the order of impacts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import Kernel, array, array2d, array_scan, atomic_add, atomic_max, float64, func, int32, kernel
from ...core.language import launch, matrix_from_rows, max, min, tid, uint64, vec2i, vec3i, vec4i, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...geometry.bvh.query import bvh_get_group_root, bvh_query_aabb
from .contact_lists import clamp_counts, enter, sort_rows
from .contacts import note_filled
from .impacts import NEVER, first_impact
from .surface_trees import SurfaceTrees, exact, reach_of, single

if TYPE_CHECKING:
    from ..scene.model import Model

_ROOM = 16  # impacts of one particle with triangles, or of one edge with edges, that are found at once
_CLOSE = 0.01  # of a thickness: what ends closer has no sure side, as shapes put all on them in one plane


class SurfaceImpacts(Fixed):
    """Impacts in one substep, to which `find` adds those of the present ways.

    corners: vec4i (room,), a particle and a triangle's corners, or the ends of two edges. moments: (room,), parts of
    the substep; that of edges is less by 2. span: where the impacts that were found last begin, and where they end.
    firsts, around: impacts of each particle, four times their number, plus which of the corners the particle is.
    crossing: one number, not zero where the last search found something. crossed: the same, and then such a number for
    each world. shares, normal, keep: memory for what a solver
    computes of each.
    """

    def __init__(self, model: Model, trees: SurfaceTrees, room: int):
        device, n, owners = model.device, model.particle_count, model.particle_count + len(trees.edges)
        self.model, self.trees = model, trees
        self.near = zeros((owners, _ROOM), int32, device)
        self.counts, self.offsets = zeros(owners + 1, int32, device), zeros(owners + 1, int32, device)
        self.corners, self.moments = zeros(room, vec4i, device), zeros(room, float64, device)
        self.span, self.crossed = zeros(2, int32, device), zeros(1 + model.world_count, int32, device)
        self.crossing = self.crossed[:1]
        self.uses, self.firsts, self.cursor = (zeros(n + 1, int32, device) for _ in range(3))
        self.around = zeros(4 * room, int32, device)
        self.shares = zeros(room, model.vec4, device, requires_grad=True)
        self.normal = zeros(room, model.vec3, device, requires_grad=True)
        self.keep = zeros(room, model.dtype, device, requires_grad=True)

    @property
    def arrays(self) -> dict[str, Any]:
        """What a search reads and writes."""
        return {name: value for name, value in vars(self).items() if isinstance(value, array)}

    @property
    def scratch(self) -> list[Any]:
        """What is filled before it is read, for `wp.checkpoint`."""
        return list(self.arrays.values())

    @property
    def count(self) -> int:
        """How many impacts there are now."""
        return int(self.span.numpy()[1])

    def begin(self) -> None:
        """Forget what was found."""
        note_filled(self.scratch)
        self.span.zero_()

    def find(self, start: array, x: array) -> None:
        """Add the impacts on straight ways from `start` [m] to where packed particles are."""
        m, edges, owners = self.model, self.trees.edges, len(self.counts) - 1
        ways = [start, x, m.particle_radius, m.particle_world, self.near, self.counts]
        self.trees.sweep(start, x)
        self._run(sweep_corners, m.particle_count, self.trees.of_faces.id, m.tri_indices, *ways)
        self._run(sweep_edges, len(edges), self.trees.of_edges.id, edges, m.particle_count, *ways)
        self._run(clamp_counts, len(self.counts), self.near, self.counts, self.offsets)
        array_scan(self.offsets, self.offsets, inclusive=False)
        self._run(extend, 1, self.offsets, len(self.corners), self.span, self.crossed)
        lists = [self.near, self.offsets, m.tri_indices, edges, start, x, m.particle_radius, m.particle_world]
        self._run(add, owners, *lists, self.span, self.corners, self.moments, self.crossed)
        self._list()

    def _list(self) -> None:
        """The impacts of each particle."""
        self.uses.zero_()
        self.cursor.zero_()
        self._run(count_uses, len(self.corners), self.span, self.corners, self.uses)
        array_scan(self.uses, self.firsts, inclusive=False)
        self._run(enter, len(self.corners), self.corners, self.span, self.firsts, self.cursor, self.around)
        self._run(sort_rows, self.model.particle_count, self.firsts, self.around)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device, record_tape=False)


# ----- ways ---------------------------------------------------------------------------------------


@func
def places_of(k: vec4i, start: Any) -> Any:
    """Where four corners begin, as rows."""
    return matrix_from_rows(exact(start[k[0]]), exact(start[k[1]]), exact(start[k[2]]), exact(start[k[3]]))


@func
def ways_of(k: vec4i, start: Any, x: Any) -> Any:
    """How far four corners go, as rows."""
    a, b = exact(x[k[0]]) - exact(start[k[0]]), exact(x[k[1]]) - exact(start[k[1]])
    c, d = exact(x[k[2]]) - exact(start[k[2]]), exact(x[k[3]]) - exact(start[k[3]])
    return matrix_from_rows(a, b, c, d)


@func
def impact_of(face: bool, k: vec4i, start: Any, x: Any, radius: Any) -> float64:
    """`first_impact` of four corners; not for those that are all held."""
    moment = float64(NEVER)
    if max(max(x[k[0]][3], x[k[1]][3]), max(x[k[2]][3], x[k[3]][3])) > 0.0:
        touch = max(radius[k[0]], radius[k[1]]) + max(radius[k[2]], radius[k[3]])
        if face:
            touch = radius[k[0]] + max(radius[k[1]], max(radius[k[2]], radius[k[3]]))
        moment = first_impact(face, places_of(k, start), ways_of(k, start, x), _CLOSE * float64(touch))
    return moment


# ----- what goes through what ---------------------------------------------------------------------


@kernel
def sweep_corners(
    tree: uint64, faces: array(dtype=vec3i), start: array(dtype=Any), x: array(dtype=Any), radius: array(dtype=Any),
    world: array(dtype=int32), near: array2d(dtype=int32), counts: array(dtype=int32),
):  # fmt: skip
    """Triangles that a particle goes through."""
    i = tid()
    count = int32(0)
    low, high = min(single(start[i]), single(x[i])), max(single(start[i]), single(x[i]))
    more = reach_of(low, high, 0.0)
    for t in bvh_query_aabb(tree, low - more, high + more, bvh_get_group_root(tree, world[i])):
        a, b, c = faces[t][0], faces[t][1], faces[t][2]
        if world[i] == world[a] and i != a and i != b and i != c:
            if impact_of(True, vec4i(i, a, b, c), start, x, radius) >= 0.0:
                if count < near.shape[1]:
                    near[i, count] = t
                count += 1
    counts[i] = count


@kernel
def sweep_edges(
    tree: uint64, ends: array(dtype=vec2i), first: int32, start: array(dtype=Any), x: array(dtype=Any),
    radius: array(dtype=Any), world: array(dtype=int32), near: array2d(dtype=int32), counts: array(dtype=int32),
):  # fmt: skip
    """Edges of higher number that an edge goes through."""
    e = tid()
    a, b = ends[e][0], ends[e][1]
    count = int32(0)
    low, high = min(single(start[a]), single(start[b])), max(single(start[a]), single(start[b]))
    low, high = min(low, min(single(x[a]), single(x[b]))), max(high, max(single(x[a]), single(x[b])))
    more = reach_of(low, high, 0.0)
    for f in bvh_query_aabb(tree, low - more, high + more, bvh_get_group_root(tree, world[a])):
        c, d = ends[f][0], ends[f][1]
        if f > e and world[a] == world[c] and a != c and a != d and b != c and b != d:
            if impact_of(False, vec4i(a, b, c, d), start, x, radius) >= 0.0:
                if count < near.shape[1]:
                    near[first + e, count] = f
                count += 1
    counts[first + e] = count


# ----- lists --------------------------------------------------------------------------------------


@kernel
def extend(offsets: array(dtype=int32), room: int32, span: array(dtype=int32), crossing: array(dtype=int32)):
    """Make room behind what there is."""
    crossing[0] = offsets[offsets.shape[0] - 1]
    for k in range(1, crossing.shape[0]):
        crossing[k] = 0
    span[0] = span[1]
    span[1] = min(span[0] + crossing[0], room)


@kernel
def add(
    near: array2d(dtype=int32), offsets: array(dtype=int32), faces: array(dtype=vec3i), ends: array(dtype=vec2i),
    start: array(dtype=Any), x: array(dtype=Any), radius: array(dtype=Any), world: array(dtype=int32),
    span: array(dtype=int32), corners: array(dtype=vec4i), moments: array(dtype=float64), crossed: array(dtype=int32),
):  # fmt: skip
    """Impacts of each particle, then of each edge, behind those there are."""
    owner = tid()
    particles = start.shape[0]
    if offsets[owner + 1] > offsets[owner]:
        first = owner
        if owner >= particles:
            first = ends[owner - particles][0]
        atomic_max(crossed, 1 + world[first], 1)
    for k in range(offsets[owner + 1] - offsets[owner]):
        at = span[0] + offsets[owner] + k
        if at < span[1]:
            other = near[owner, k]
            if owner < particles:
                corners[at] = vec4i(owner, faces[other][0], faces[other][1], faces[other][2])
                moments[at] = impact_of(True, corners[at], start, x, radius)
            else:
                own = ends[owner - particles]
                corners[at] = vec4i(own[0], own[1], ends[other][0], ends[other][1])
                moments[at] = impact_of(False, corners[at], start, x, radius) - 2.0


@kernel
def count_uses(span: array(dtype=int32), corners: array(dtype=vec4i), uses: array(dtype=int32)):
    c = tid()
    if c < span[1]:
        for n in range(4):
            atomic_add(uses, corners[c][n], 1)
