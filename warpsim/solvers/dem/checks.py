"""What a solver of grains looks for: those that start inside of each other, and numbers that are not finite."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any


from ...core.language import array, dot, int32, kernel, launch, max, min, sqrt, tid, zeros
from ...core.runtime.devices.capture import current_graph
from ...errors import DivergenceError, StateError
from ...geometry.hash_grid.neighbors import nearest_image
from ..neighbours.verlet_list import position
from ..statistics import first_not_finite

if TYPE_CHECKING:
    from ..state import State
    from .solver import SolverDEM

LARGEST = 0.1  # overlap of grains that start, by the smaller radius
OVERLAPS = ("warn", "error", "ignore")


class OverlapWarning(UserWarning):
    """Grains that start deep inside of each other, and will shoot apart."""


def check_overlaps(solver: SolverDEM, stacklevel: int) -> None:
    """Warn of the pair of grains that overlap most, or raise `StateError`; pairs of which none can move may overlap."""
    if solver.overlaps == "ignore" or current_graph() is not None or not solver.model.particle_count:
        return
    model, grains, rows = solver.model, solver._grains, solver.neighbours.rows
    worst = zeros(model.particle_count, model.dtype, model.device)
    args = [rows.offsets, rows.ids, solver.neighbours.period_vector, grains.q, grains.inv_mass, worst]
    launch(_find_overlaps, model.particle_count, args, device=model.device, record_tape=False)
    parts = worst.numpy()
    if not parts.max() > LARGEST:
        return
    row = int(parts.argmax())
    beside = rows.ids.numpy()[slice(*rows.offsets.numpy()[row : row + 2])]
    i, j = sorted(grains.number.numpy()[[row, beside[parts[beside].argmax()]]].tolist())
    problem = f"grains {i} and {j} start with an overlap of {parts.max():.0%} of the smaller radius"
    if solver.overlaps == "error":
        raise StateError(f"{problem}\nexpected: at most {LARGEST:.0%}")
    warnings.warn(
        f"{problem}; above {LARGEST:.0%} they shoot apart, and at one place they never part",
        OverlapWarning, stacklevel=stacklevel,
    )  # fmt: skip


def require_finite(solver: SolverDEM, state: State) -> None:
    """Raise `DivergenceError` for the first grain whose position or velocity is NaN or infinite."""
    first = first_not_finite(state.particle_q, state.particle_qd) if current_graph() is None else None
    if first is not None:
        raise DivergenceError(
            f"step {solver.steps}: grain {first} has numbers that are not finite\n"
            "help: more substeps, softer grains, or look for grains that start inside of each other"
        )


@kernel(enable_backward=False)
def _find_overlaps(
    offsets: array(dtype=int32), ids: array(dtype=int32), period: Any, q: array(dtype=Any), inv_mass: array(dtype=Any),
    worst: array(dtype=Any),
):  # fmt: skip
    """The largest overlap of each grain as a part of the smaller radius."""
    i = tid()
    a = q[i]
    deepest = a[3] * 0.0
    for k in range(offsets[i], offsets[i + 1]):
        j = ids[k]
        b = q[j]
        d = nearest_image(position(a) - position(b), period)
        if inv_mass[i] + inv_mass[j] > 0.0:
            deepest = max(deepest, (a[3] + b[3] - sqrt(dot(d, d))) / min(a[3], b[3]))
    worst[i] = deepest
