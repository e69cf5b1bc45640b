"""Particles that met in a step though `Contacts` did not list them: other impacts turned them, or a list was full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, array2d, full, func, int32, kernel, launch, min, tid, uint64
from ...geometry.hash_grid.neighbors import hash_grid_neighbors
from ..contact.bodies import may_touch
from ..scene.world_rows import of_world
from .self_contact import meet

if TYPE_CHECKING:
    from ..contact.contacts import Contacts

_CURE = "help: Contacts(margin=...), or capacity=... where its overflow is above 0, or shorter steps"


def first_missed(contacts: Contacts, q: array) -> str | None:
    """Names the first two particles that met in the last step and were not listed as neighbours; None: none did.

    q: where particles are after it [m]; they count as having gone there straight.
    """
    m = contacts.model
    if not m.particle_count:
        return None
    ways = (q.numpy() - contacts.start.numpy()).astype(np.float64)
    ways = ways[np.isfinite(ways).all(axis=1)]
    farthest = np.linalg.norm(ways - ways.mean(axis=0), axis=1).max() if len(ways) else 0.0
    reach = m.dtype(2.0 * float(m.particle_radius.numpy().max()) + 2.0 * float(farthest))
    missed = full(m.particle_count, -1, int32, m.device)
    lists = [contacts.neighbors, contacts.counts]
    still = [m.particle_q, m.particle_radius, m.particle_mass, contacts.bodies, m.particle_world]
    arguments = [contacts.grid.id, reach, *still, contacts.start, q, *lists, missed]
    launch(find_missed, m.particle_count, arguments, device=m.device, record_tape=False)
    others = missed.numpy()
    if not (others >= 0).any():
        return None
    i = int(np.flatnonzero(others >= 0)[0])
    return f"particles {i} and {others[i]}{of_world(m, i)} met, and contacts had not listed them as neighbours\n{_CURE}"


@func
def is_listed(neighbors: Any, counts: Any, i: int32, j: int32) -> bool:
    listed = False
    for n in range(min(counts[i], neighbors.shape[1])):
        if neighbors[i, n] == j:
            listed = True
    return listed


@kernel(enable_backward=False)
def find_missed(
    grid: uint64, reach: Any, rest: array(dtype=Any), radius: array(dtype=Any), mass: array(dtype=Any),
    body: array(dtype=int32), world: array(dtype=int32), start: array(dtype=Any), q: array(dtype=Any),
    neighbors: array2d(dtype=int32), counts: array(dtype=int32), missed: array(dtype=int32),
):  # fmt: skip
    """The first particle of higher number that each one met unlisted."""
    i = tid()
    for j in hash_grid_neighbors(grid, start[i], reach, world[i]):
        if j > i and mass[i] + mass[j] > 0.0 and (missed[i] < 0 or j < missed[i]):
            touch = radius[i] + radius[j]
            if meet(start[i] - start[j], q[i] - q[j], touch):
                if may_touch(rest[j] - rest[i], touch, body[i] == body[j]):
                    if not (is_listed(neighbors, counts, i, j) and is_listed(neighbors, counts, j, i)):
                        missed[i] = j
