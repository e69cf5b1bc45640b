"""Which particles a gauge looks at: those that are in the scene, finite, and of one world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError
from ..scene.checks import refuse

if TYPE_CHECKING:
    from .statistics import ParticleStatistics


def gauge_rows(statistics: ParticleStatistics, world: int | None = None) -> np.ndarray:
    """Numbers of the particles that a gauge looks at, (n,).

    world: None takes the world of the statistics, or the only one. Raises `ModelError` for a world that is none, or is
    not that of the statistics, and where there are several and none is named: their particles are in the same place,
    and make no one reading.
    """
    model, own = statistics.model, getattr(statistics, "world", None)
    if world is not None:
        asked = model.world(world).number
        refuse(((own not in (None, asked), f"world is {asked}, of statistics of world {own}", "the same world"),))
        own = asked
    if own is None and model.world_count > 1:
        raise ModelError(
            f"a gauge looks at one world, and the model has {model.world_count}\n"
            f"expected: world=0 to {model.world_count - 1}"
        )
    there = np.isfinite(statistics.state.particle_q.numpy()).all(axis=1)
    present = statistics._there
    there = there if present is None else there & present
    if own is not None:
        there = there & (model.particle_world.numpy() == own)
    return np.flatnonzero(there)
