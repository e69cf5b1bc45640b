"""Flow of particles through a gate, a parallelogram in space: what crossed it between two moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import checked, numbers
from ...errors import ModelError
from ..scene.checks import finite_numbers, refuse
from .gauge_rows import gauge_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .statistics import ParticleStatistics


@checked
def mass_through(
    statistics: ParticleStatistics, before: ArrayLike, corner: ArrayLike, sides: Sequence, world: int | None = None
) -> float:
    """The mass that went through a gate since an earlier moment [kg], less what came back.

    before: positions then, (particles, 3) [m], a copy of `state.particle_q.numpy()`. The gate is the parallelogram
    from corner (3,) [m] along two sides (2, 3) [m]; what goes along sides[0] x sides[1] counts as positive. A particle
    counts whole when the straight line between its two places meets the gate, so moments should be so close that paths
    are straight over the gate's edge. Where space repeats, the gate's images do not count.

    Raises `ModelError` for a gate that is not finite or spans nothing, and for `before` that is the memory of the state
    itself.
    """
    corner, sides = finite_numbers(corner, "corner", (3,)), finite_numbers(sides, "sides", (2, 3))
    now, normal = statistics.state.particle_q.numpy(), np.cross(*sides)
    then = numbers(before, "before", (statistics.model.particle_count, 3))
    area = float(np.linalg.norm(normal))
    if not area > 1.0e-12 * float(np.square(sides).sum()):
        raise ModelError(f"sides are {sides.tolist()}\nexpected: two that span a parallelogram")
    if np.shares_memory(before, now):
        raise ModelError("before is the memory of the state\nexpected: a copy, `state.particle_q.numpy().copy()`")
    rows = gauge_rows(statistics, world)
    start, end = then[rows] - corner, now[rows] - corner
    behind, ahead = start @ normal, end @ normal
    crosses = (behind < 0.0) != (ahead < 0.0)
    rows, start, end, behind, ahead = (a[crosses] for a in (rows, start, end, behind, ahead))
    at = start + (behind / (behind - ahead))[:, None] * (end - start)
    parts = at @ np.linalg.pinv(sides)  # of both sides
    inside = ((parts >= 0.0) & (parts < 1.0)).all(axis=1)
    mass = statistics.model.particle_mass.numpy().astype(np.float64)[rows]
    return float((mass * np.where(ahead < 0.0, -1.0, 1.0))[inside].sum())


@checked
def mass_flow(
    statistics: ParticleStatistics, before: ArrayLike, seconds: float, corner: ArrayLike, sides: Sequence,
    world: int | None = None,
) -> float:  # fmt: skip
    """The mean mass flow through a gate since a moment `seconds` ago [kg/s]; arguments are those of `mass_through`.

    It counts particles: over n of them that crossed, it is exact to one in n. Raises `ModelError` as that does, and
    for a time that is not above 0.
    """
    refuse(((not seconds > 0.0, f"seconds is {seconds}", "above 0 [s]"),))
    return mass_through(statistics, before, corner, sides, world) / seconds
