"""Surfaces that passed through each other: edges through triangles, particles and edges in a shape.

What these functions find is in one state, whatever the contacts of a solver know. They are for statistics: integer
work without derivatives that waits for its answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Vec, array, float64, int32, uint64, vec2i, vec3, vec3i
from ...core.language import atomic_min, cross, dot, empty, full, func, kernel, launch, max, min, tid, zeros
from ...geometry.bvh.bvh import Bvh
from ...geometry.bvh.query import bvh_get_group_root, bvh_query_aabb
from ..scene.cloth import edges as edges_of
from ..scene.shapes import for_shape, to_shape
from ..scene.world_rows import of_world
from .surface_trees import bound_motions, exact, reach_of, single, worlds_of

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func
    from ..scene.model import Model
    from ..scene.shape_groups import ShapeGroup

_CURE = "help: more substeps, so that nothing moves far in one, or larger radii"
_ROUNDING = 1.0e-5  # of places where particles rest on a surface [m]
_FAR = 1.0e6  # how far to look for the surface of a mesh [m]


def first_crossing(model: Model, q: array) -> str | None:
    """Names the first edge that passes through a triangle that it has no corner in common with; None: none does.

    q: vec3 (particles,) [m].
    """
    if not model.tri_count:
        return None
    device = model.device
    edges = edges_of(model.tri_indices.numpy()).astype(np.int32)
    ends = array(edges, dtype=vec2i, device=device)
    lower, upper = empty(model.tri_count, vec3, device), empty(model.tri_count, vec3, device)
    still = [q, q, zeros(model.particle_count, model.dtype, device), model.dtype(0.0)]
    launch(bound_motions, model.tri_count, [model.tri_indices, *still, lower, upper], device=device, record_tape=False)
    pierced, first = full(len(edges), -1, int32, device), full(1, len(edges), int32, device)
    tree = Bvh(lower, upper, groups=worlds_of(model, model.tri_indices))
    arguments = [tree.id, model.tri_indices, ends, model.particle_world, q, pierced, first]
    launch(find_crossings, len(edges), arguments, device=device, record_tape=False)
    edge = int(first.numpy()[0])
    if edge == len(edges):
        return None
    corners = model.tri_indices.numpy()[pierced.numpy()[edge]].tolist()
    name = f"the edge of particles {edges[edge].tolist()}{of_world(model, edges[edge, 0])}"
    return f"{name} goes through the triangle of particles {corners}\n{_CURE}"


def deepest_inside(model: Model, q: array, poses: array) -> str | None:
    """Names the particle that is deepest in a shape; None: none is.

    It is in the shape if all of it is. Held ones do not count, nor those attached to something. q: vec3 (particles,)
    [m]. poses: of the shapes.
    """
    radius, free = model.particle_radius.numpy(), _free(model)
    deepest, name = 0.0, None
    for group, inside in _depths(model, q, poses, model.particle_world.numpy()):
        depth = np.where(free, inside, 0.0)
        depth[depth <= np.maximum(radius, _ROUNDING)] = 0.0
        if depth.max(initial=0.0) > deepest:
            deepest, i = float(depth.max()), int(depth.argmax())
            s = group.listed[model.particle_world.numpy()[i]]
            name = f"particle {i}{of_world(model, i)} is {deepest:.3g} m deep in shape {s}\n{_CURE}"
    return name


def deepest_edge(model: Model, q: array, poses: array) -> str | None:
    """Names the edge of triangles whose middle is deepest in a shape, where it has gone into it; None: none has.

    That is so beyond the radii of its ends and a quarter of its length: the chord of a ball is as deep only if it is
    longer than the ball is wide. Edges with an end that is held or attached do not count. q: vec3 (particles,) [m].
    """
    if not model.tri_count or not model.shape_count:
        return None
    ends, places = edges_of(model.tri_indices.numpy()), q.numpy().astype(np.float64)
    one, other = places[ends[:, 0]], places[ends[:, 1]]
    middles = array(0.5 * (one + other), dtype=model.vec3, device=model.device)
    keep = np.maximum(model.particle_radius.numpy()[ends].max(axis=1), 0.25 * np.linalg.norm(one - other, axis=1))
    world = model.particle_world.numpy()[ends[:, 0]]
    depths = np.array([depth for _, depth in _depths(model, middles, poses, world)])
    depths[:, ~_free(model)[ends].all(axis=1)] = 0.0
    depths[depths <= np.maximum(keep, _ROUNDING)] = 0.0
    g, e = np.unravel_index(depths.argmax(), depths.shape)
    if not depths[g, e] > 0.0:
        return None
    name, s = f"the edge of particles {ends[e].tolist()}{of_world(model, ends[e, 0])}", model.shape_groups[g]
    return f"{name} is {depths[g, e]:.3g} m deep in shape {s.listed[world[e]]}\n{_CURE}"


def _free(model: Model) -> np.ndarray:
    """Which particles are neither held nor attached, bool (particles,)."""
    free = model.particle_mass.numpy() > 0.0
    free[model.attachment_particle.numpy()] = False
    return free


def _depths(
    model: Model, points: array, poses: array, world: np.ndarray
) -> Iterator[tuple[ShapeGroup, np.ndarray]]:  # fmt: skip
    """How deep points are in the shape of each group that is in their world [m], (points,); 0 where none is."""
    of = array(world, dtype=int32, device=model.device)
    for group in model.shape_groups:
        out, s = zeros(len(points), float64, model.device), group.shape
        shape = [group.numbers, of, poses, model.shape_scale, model.shape_source[s], model.shape_heights[s]]
        launch(_depth_kernel(model.shape_type[s]), len(points), [*shape, points, out], device=model.device,
               record_tape=False)  # fmt: skip
        yield group, out.numpy().copy()


@func
def passes_through(p: Vec[3, float64], q: Vec[3, float64], a: Any, b: Any, c: Any) -> bool:
    """Whether the inside of a segment meets the inside of a triangle."""
    n = cross(b - a, c - a)
    above, below = dot(n, p - a), dot(n, q - a)
    if above * below >= 0.0:
        return False
    x = p + (q - p) * (above / (above - below))
    one, two, three = dot(cross(b - a, x - a), n), dot(cross(c - b, x - b), n), dot(cross(a - c, x - c), n)
    return min(one, min(two, three)) > 0.0


@kernel
def find_crossings(
    tree: uint64, faces: array(dtype=vec3i), ends: array(dtype=vec2i), world: array(dtype=int32), q: array(dtype=Any),
    pierced: array(dtype=int32), first: array(dtype=int32),
):  # fmt: skip
    """The first triangle that each edge passes through, and the first edge that does."""
    e = tid()
    i, j = ends[e][0], ends[e][1]
    low, high = min(single(q[i]), single(q[j])), max(single(q[i]), single(q[j]))
    more = reach_of(low, high, 0.0)
    p, r = exact(q[i]), exact(q[j])
    for t in bvh_query_aabb(tree, low - more, high + more, bvh_get_group_root(tree, world[i])):
        a, b, c = faces[t][0], faces[t][1], faces[t][2]
        if world[i] == world[a] and i != a and i != b and i != c and j != a and j != b and j != c:
            if passes_through(p, r, exact(q[a]), exact(q[b]), exact(q[c])):
                if pierced[e] < 0 or t < pierced[e]:
                    pierced[e] = t
    if pierced[e] >= 0:
        atomic_min(first, 0, e)


@for_shape
def _depth_kernel(distance: Func) -> Any:
    @kernel(enable_backward=False)
    def measure_depth(
        numbers: array(dtype=int32), world: array(dtype=int32), pose: array(dtype=Any), scale: array(dtype=Any),
        source: uint64, heights: array(dtype=Any, ndim=2), q: array(dtype=Any), depth: array(dtype=float64),
    ):  # fmt: skip
        i = tid()
        s = numbers[world[i]]
        if s >= 0:
            here = to_shape(pose[s], q[i])
            away, _ = distance(here, scale[s], source, heights, here.dtype(_FAR))
            depth[i] = float64(-away)

    return measure_depth
