"""What starts inside of something of another body, which contact leaves alone: a warning with the first pair."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from ...core.language import array, full, int32, kernel, launch, length, max, min, tid, uint64, vec2i, vec3i
from ...geometry.bvh.query import bvh_get_group_root, bvh_query_aabb
from ..scene.start_warning import StartWarning
from .bodies import APART, may_touch
from .gaps import edge_gap, face_gap
from .surface_trees import SurfaceTrees, reach_of, single

if TYPE_CHECKING:
    from ..scene.model import Model

_CURE = "contact leaves them alone\nhelp: start them apart, or join them by springs"


def warn_of_balls(model: Model, bodies: np.ndarray, stacklevel: int) -> None:
    """Warn of the first two particles of different bodies that start inside of each other, if there are any."""
    q, radius = model.particle_q.numpy().astype(np.float64), model.particle_radius.numpy().astype(np.float64)
    solid = np.flatnonzero((radius > 0.0) & np.isfinite(q).all(axis=1))
    if not bodies.max(initial=0) or not solid.size:
        return
    places = q[solid]
    if model.world_count > 1:  # worlds beside each other, in a direction of their own
        beside = 4.0 * radius.max() * model.particle_world.numpy()[solid].astype(np.float64)
        places = np.column_stack([places, beside])
    near = cKDTree(places).query_ball_point(places, 2.0 * radius[solid])  # of the larger, who finds the smaller
    one = np.repeat(solid, [len(listed) for listed in near])
    other = solid[np.concatenate([np.asarray(listed, dtype=np.int64) for listed in near])]
    depth = radius[one] + radius[other] - np.linalg.norm(q[one] - q[other], axis=1)
    inside = depth > (1.0 - APART) * (radius[one] + radius[other])
    free = (model.particle_mass.numpy()[np.stack([one, other])] > 0.0).any(axis=0)
    inside &= free & (bodies[one] != bodies[other])
    if inside.any():
        pairs = np.sort(np.stack([one, other], axis=1)[inside], axis=1)
        first = np.lexsort(pairs.T[::-1])[0]
        i, j = pairs[first].tolist()
        _warn(f"particles {i} and {j} start {depth[inside][first]:.3g} m inside of each other", stacklevel + 1)


def warn_of_surfaces(model: Model, edges: array, trees: SurfaceTrees, bodies: array, stacklevel: int) -> None:
    """Warn of the first particle in the thickness of a triangle of another body, or edge in that of an edge.

    trees: around what rests.
    """
    if not bodies.numpy().max(initial=0):
        return
    rest = [model.particle_q, model.particle_radius, model.particle_mass, bodies, model.particle_world]
    for elements, count, tree, find, names in (
        (model.tri_indices, model.particle_count, trees.of_faces, find_in_faces, ("particle", "triangle")),
        (edges, len(edges), trees.of_edges, find_in_edges, ("edge", "edge")),
    ):
        first, depth = full(count, -1, int32, model.device), full(count, 0.0, model.dtype, model.device)
        launch(find, count, [tree.id, elements, *rest, first, depth], device=model.device, record_tape=False)
        inside = np.flatnonzero(first.numpy() >= 0)
        if inside.size:
            i, table = int(inside[0]), elements.numpy()
            one = f"particle {i}" if names[0] == "particle" else f"the edge of particles {table[i].tolist()}"
            other = f"the {names[1]} of particles {table[first.numpy()[i]].tolist()}"
            _warn(f"{one} and {other} start {depth.numpy()[i]:.3g} m inside of each other", stacklevel + 1)
            return


def _warn(problem: str, stacklevel: int) -> None:
    warnings.warn(f"{problem}, and are of different bodies: {_CURE}", StartWarning, stacklevel=stacklevel + 1)


@kernel(enable_backward=False)
def find_in_faces(
    tree: uint64, faces: array(dtype=vec3i), rest: array(dtype=Any), radius: array(dtype=Any), mass: array(dtype=Any),
    body: array(dtype=int32), world: array(dtype=int32), first: array(dtype=int32), depth: array(dtype=Any),
):  # fmt: skip
    """The first triangle of another body that a particle starts in."""
    i = tid()
    more = reach_of(single(rest[i]), single(rest[i]), radius[i])
    root = bvh_get_group_root(tree, world[i])
    for t in bvh_query_aabb(tree, single(rest[i]) - more, single(rest[i]) + more, root):
        a, b, c = faces[t][0], faces[t][1], faces[t][2]
        if world[i] == world[a] and body[i] != body[a] and (first[i] < 0 or t < first[i]):
            touch = radius[i] + max(radius[a], max(radius[b], radius[c]))
            once = face_gap(rest[i], rest[a], rest[b], rest[c])
            heavy = max(max(mass[i], mass[a]), max(mass[b], mass[c]))
            if heavy > 0.0 and touch > 0.0 and not may_touch(once, touch, False):
                first[i], depth[i] = t, touch - length(once)


@kernel(enable_backward=False)
def find_in_edges(
    tree: uint64, ends: array(dtype=vec2i), rest: array(dtype=Any), radius: array(dtype=Any), mass: array(dtype=Any),
    body: array(dtype=int32), world: array(dtype=int32), first: array(dtype=int32), depth: array(dtype=Any),
):  # fmt: skip
    """The first edge of another body and of higher number that an edge starts in."""
    e = tid()
    a, b = ends[e][0], ends[e][1]
    low, high = min(single(rest[a]), single(rest[b])), max(single(rest[a]), single(rest[b]))
    more = reach_of(low, high, max(radius[a], radius[b]))
    for f in bvh_query_aabb(tree, low - more, high + more, bvh_get_group_root(tree, world[a])):
        c, d = ends[f][0], ends[f][1]
        if f > e and world[a] == world[c] and body[a] != body[c] and (first[e] < 0 or f < first[e]):
            touch = max(radius[a], radius[b]) + max(radius[c], radius[d])
            once = edge_gap(rest[a], rest[b], rest[c], rest[d])
            heavy = max(max(mass[a], mass[b]), max(mass[c], mass[d]))
            if heavy > 0.0 and touch > 0.0 and not may_touch(once, touch, False):
                first[e], depth[e] = f, touch - length(once)
