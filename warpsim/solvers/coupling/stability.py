"""Whether a coupling is stable, as its forces tell: those of one that is not change sign each time, and grow.

The force of matter on a body that drags r times its own mass along answers each change of its motion by -r times that
change, a hand-over later: below 1 it settles, above it grows (P. Causin, J.-F. Gerbeau and F. Nobile 2005). Contact
that is stiff for the time between two hand-overs does the same. So r is measured, and costs two launches.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from ...core.language import Float, array, atomic_max, dot, func, int32, kernel, launch, pow
from ...core.language import sqrt, tid, zeros
from ...core.lib.spatial import spatial_bottom
from ...core.runtime.arrays.saved_contents import active
from ...core.runtime.devices.capture import current_graph
from ...core.runtime.rollout.footprint import may_run_again

if TYPE_CHECKING:
    from ..bodies.solver import SolverBodies
    from .coupling import Coupling

_OFTEN, _RISE = 10, 50.0
"""So many changes in a row, each against the last and larger, are no noise; nor are half as many that rise so far."""
_SLOW = 1.0e-4
"""What a change of the force makes of a body's velocity [m/s], below which it is rounding."""
_LOOKS = 64  # steps after which devices other than the CPU are asked


class CouplingWarning(UserWarning):
    """A coupling is not stable: more rounds, shorter times between hand-overs, or heavier bodies."""


class Watch:
    """Counts on each body how often in a row the force of matter was thrown back, further than before."""

    def __init__(self, bodies: SolverBodies):
        model = bodies.model
        count, options = model.body_count, {"device": model.device}
        self._model, self._looks, self._told = model, 0, False
        self._last, self._change = (zeros(count, model.spatial_vector, **options) for _ in range(2))
        self._rise, self._growth = (zeros(count, model.dtype, **options) for _ in range(2))
        self._row, self._alarm = zeros(count, int32, **options), zeros(1, int32, **options)

    @property
    def _sleeps(self) -> bool:
        """Whether nobody may look now, or has to."""
        return self._told or current_graph() is not None or bool(active()) or may_run_again()

    def look(self, coupling: Coupling, total: array, number: int, h: float) -> None:
        """Look at what matter does to bodies at a hand-over of `h` [s]. number: of the round."""
        rounds = coupling.iterations
        if self._sleeps:
            return
        model = self._model
        watched = [self._change, self._rise, self._growth, self._row, self._alarm, model.body_mass, model.dtype(h)]
        if rounds == 1:
            launch(look_back, model.body_count, [total, self._last, *watched], device=model.device)
        elif rounds > 2 and number in (1, rounds - 1):
            args = [int(number > 1), total, coupling.force, *watched]
            launch(look_at_rounds, model.body_count, args, device=model.device)

    def warn(self, coupling: Coupling, h: float, stacklevel: int) -> None:
        """Warn of a body on which forces grew so. h: between two hand-overs [s]."""
        if self._sleeps:
            return
        self._looks += 1
        waits = self._model.device.has_stream and self._looks % _LOOKS > 0
        if waits or not self._alarm.numpy()[0]:
            return
        self._told = True
        body = int(self._alarm.numpy()[0]) - 1
        words = _words(coupling, body, float(self._growth.numpy()[body]), h)
        warnings.warn(words, CouplingWarning, stacklevel=stacklevel + 1)


def _words(coupling: Coupling, body: int, growth: float, h: float) -> str:
    """What is said of a body on which forces grow so much from one hand-over to the next, or in a step from the second
    round to the last."""
    rounds, part = coupling.iterations, coupling.relaxation
    growth **= 1.0 / max(1, rounds - 2)
    ratio, limit = (growth, 1.0) if rounds == 1 else ((1.0 + growth) / part - 1.0, 2.0 / part - 1.0)
    with_what = f"iterations={rounds}" + (f" and relaxation={part:g}" if rounds > 1 else "")
    smaller = min(0.3, 0.8 / (1.0 + ratio))
    more = f"iterations={max(8, math.ceil(2.4 / smaller))}, relaxation={smaller:.2g}"
    mass = coupling.bodies.model.body_mass.numpy()[body]
    return (
        f"matter throws body {body} of {mass:.3g} kg to and fro, each {'time' if rounds == 1 else 'round'} with about "
        f"{growth:.3g} times the force, as if it dragged {ratio:.3g} times its mass along\n"
        f"expected: below {limit:.2g} times, which is stable with {with_what}\n"
        f"help: Coupling(..., {more}), or a heavier body; where contact is stiff also less than {h:.3g} s between two "
        f"hand-overs, substeps={2 * coupling.substeps}"
    )


@kernel(enable_backward=False)
def look_back(
    total: array(dtype=Any), last: array(dtype=Any), change: array(dtype=Any), rise: array(dtype=Any),
    growth: array(dtype=Any), row: array(dtype=int32), alarm: array(dtype=int32), mass: array(dtype=Any), h: Any,
):  # fmt: skip
    """Count changes of the force that are against the one before, and larger. rise: of a row of them; alarm: one more
    than the number of a body that has too many."""
    b = tid()
    now = spatial_bottom(total[b]) - spatial_bottom(last[b])
    before = spatial_bottom(change[b])
    along, size, larger = dot(now, before), dot(before, before), dot(now, now)
    # 0.64: both on one line to within 37 degrees, as forces of a mode that grows are, and few of noise in space
    if along < 0.0 and along * along > 0.64 * larger * size and larger > size:
        count_rise(b, sqrt(larger / size), 5, sqrt(larger), rise, growth, row, alarm, mass[b], h)
    else:
        row[b] = 0
    change[b] = total[b] - last[b]
    last[b] = total[b]


@kernel(enable_backward=False)
def look_at_rounds(
    is_last: int32, total: array(dtype=Any), force: array(dtype=Any), change: array(dtype=Any),
    rise: array(dtype=Any), growth: array(dtype=Any), row: array(dtype=int32), alarm: array(dtype=int32),
    mass: array(dtype=Any), h: Any,
):  # fmt: skip
    """Count steps in which the last round is further from what both sides agree on than the second one was."""
    b = tid()
    now, before = spatial_bottom(total[b]) - spatial_bottom(force[b]), spatial_bottom(change[b])
    if is_last == 1:
        larger, size = dot(now, now), dot(before, before)
        if larger > size and size > 0.0:
            count_rise(b, sqrt(larger / size), 1, sqrt(larger), rise, growth, row, alarm, mass[b], h)
        else:
            row[b] = 0
    change[b] = total[b] - force[b]


@func
def count_rise(
    b: int32, by: Float, least: int32, size: Float, rise: array(dtype=Float), growth: array(dtype=Float),
    row: array(dtype=int32), alarm: array(dtype=int32), mass: Float, h: Float,
):  # fmt: skip
    """One more change that is larger, by so much; an alarm where there are too many, or some rise too far."""
    if row[b] == 0:
        rise[b] = by
    else:
        rise[b] = rise[b] * by
    row[b] = row[b] + 1
    if (row[b] >= _OFTEN or (row[b] >= least and rise[b] > _RISE)) and size * h > _SLOW * mass and mass > 0.0:
        growth[b] = pow(rise[b], 1.0 / type(by)(row[b]))
        atomic_max(alarm, 0, b + 1)
