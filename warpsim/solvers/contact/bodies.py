"""Bodies of a model, and the rest-distance filter of contact.

Things of one body that are as close at rest as their thickness are neighbours: contact would push a cloth apart. Things
of different bodies have nothing to do with each other, and may touch from the start; only those that start inside of
each other by more than rounding are left alone, as nobody knows on which sides they belong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_array, csgraph

from ...core.language import Array, Float, Vec, array, dot, func, generic_struct, int32

if TYPE_CHECKING:
    from ..scene.model import Model

APART = 1.0 - 1.0e-4
"""Of the distance at which they touch: how close things of different bodies may start."""


def bodies_of(model: Model) -> np.ndarray:
    """The number of each particle's body, int32 (particles,): what springs, triangles, edges and tetrahedra join."""
    n, pairs = model.particle_count, [np.zeros((0, 2), dtype=np.int32)]
    for joined in (model.spring_indices, model.tri_indices, model.edge_indices, model.tet_indices):
        corners = joined.numpy()
        pairs += [corners[:, [k, k + 1]] for k in range(corners.shape[1] - 1 if len(corners) else 0)]
    one, other = np.concatenate(pairs).T
    graph = coo_array((np.ones(len(one), dtype=np.int8), (one, other)), shape=(n, n))
    return csgraph.connected_components(graph, directed=False)[1].astype(np.int32)


@generic_struct
class AtRest:
    """Where particles rest, how large they are now, and of which bodies and worlds they are."""

    place: Array[Vec[3, Float]]
    radius: Array[Float]
    body: array(dtype=int32)
    world: array(dtype=int32)


def at_rest(model: Model, bodies: array) -> Any:
    """`AtRest` of a model's particles."""
    return AtRest[model.dtype](model.particle_q, model.particle_radius, bodies, model.particle_world)


@func
def may_touch(once: Vec[3, Float], touch: Float, same: bool) -> bool:
    """Whether two things so far apart at rest, of the same body or not, are no neighbours."""
    least = touch
    if not same:
        least = APART * touch
    return dot(once, once) > least * least
