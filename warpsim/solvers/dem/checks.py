"""State checks of `SolverDEM`: overlaps at the start, and numbers that are not finite."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any


from ...core.language import array, dot, int32, kernel, launch, max, min, sqrt, tid, zeros
from ...core.runtime.devices.capture import current_graph
from ...errors import DivergenceError, StateError
from ...geometry.hash_grid.neighbors import nearest_image
from ..neighbours.verlet_list import position
from ..particles.statistics import first_not_finite
from ..scene.shapes import DISTANCE, ShapeType, to_shape
from ..scene.world_rows import of_world
from .walls import beside, has_images

if TYPE_CHECKING:
    from ..scene.state import State
    from .solver import SolverDEM

LARGEST = 0.1  # overlap of grains that start, by the smaller radius
OVERLAPS = ("warn", "error", "ignore")


class OverlapWarning(UserWarning):
    """Grains that start deep inside of each other, and will shoot apart."""


def check_overlaps(solver: SolverDEM, stacklevel: int) -> None:
    """Warn of grains that overlap most with another and with a wall, or raise `StateError`; held ones may overlap."""
    if solver.overlaps == "ignore" or current_graph() is not None or not solver.model.particle_count:
        return
    for problem in filter(None, (_deepest_pair(solver), _deepest_in_wall(solver))):
        if solver.overlaps == "error":
            raise StateError(f"{problem}\nexpected: at most {LARGEST:.0%}")
        warnings.warn(
            f"{problem}; above {LARGEST:.0%} they shoot apart, and at one place they never part",
            OverlapWarning,
            stacklevel=stacklevel,
        )


def _deepest_pair(solver: SolverDEM) -> str | None:
    """Which grains overlap most, if by more than `LARGEST`; pairs of which none can move do not count."""
    model, grains, rows = solver.model, solver._grains, solver.neighbours.rows
    worst = zeros(model.particle_count, model.dtype, model.device)
    args = [rows.offsets, rows.ids, solver.neighbours.period_vector, grains.q, grains.inv_mass, worst]
    launch(_find_overlaps, model.particle_count, args, device=model.device, record_tape=False)
    parts = worst.numpy()
    if not parts.max() > LARGEST:
        return None
    row = int(parts.argmax())
    beside = rows.ids.numpy()[slice(*rows.offsets.numpy()[row : row + 2])]
    i, j = sorted(grains.number.numpy()[[row, beside[parts[beside].argmax()]]].tolist())
    return f"grains {i} and {j}{of_world(model, i)} start with an overlap of {parts.max():.0%} of the smaller radius"


def _deepest_in_wall(solver: SolverDEM) -> str | None:
    """Which grain is deepest in which shape, if by more than `LARGEST`; held ones do not count."""
    model, grains = solver.model, solver._grains
    part, row, where = LARGEST, 0, 0
    parts = zeros(model.particle_count, model.dtype, model.device)
    for number, group in enumerate(model.shape_groups):
        s = group.shape
        shape = [model.shape_margin, model.shape_scale, model.shape_heights[s], solver._pose]
        args = [solver.wall(number, model.dtype(0.0)), *shape, grains.world, grains.q, grains.inv_mass, parts]
        look = _wall_kernel(model.shape_type[s], has_images(model.shape_type[s], any(solver.neighbours.period)))
        launch(look, model.particle_count, args, device=model.device, record_tape=False)
        if parts.numpy().max() > part:
            part, row = float(parts.numpy().max()), int(parts.numpy().argmax())
            where = int(group.listed[grains.world.numpy()[row]])
    if part == LARGEST:
        return None
    grain = grains.number.numpy()[row]
    return f"grain {grain}{of_world(model, grain)} and shape {where} start with an overlap of {part:.0%} of its radius"


def require_finite(solver: SolverDEM, state: State) -> None:
    """Raise `DivergenceError` for the first grain whose position or velocity is NaN or infinite."""
    first = first_not_finite(state.particle_q, state.particle_qd) if current_graph() is None else None
    if first is not None:
        raise DivergenceError(
            f"step {solver.steps}: grain {first}{of_world(solver.model, first)} has numbers that are not finite\n"
            "help: more substeps, softer grains, or look for grains that start inside of each other"
        )


@kernel(enable_backward=False)
def _find_overlaps(
    offsets: array(dtype=int32),
    ids: array(dtype=int32),
    period: Any,
    q: array(dtype=Any),
    inv_mass: array(dtype=Any),
    worst: array(dtype=Any),
):
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


@functools.cache
def _wall_kernel(shape_type: int, imaged: bool) -> Any:
    distance = DISTANCE[ShapeType(shape_type)]

    @kernel(enable_backward=False)
    def find_in_wall(
        wall: Any,
        margin: array(dtype=Any),
        scale: array(dtype=Any),
        heights: array(dtype=Any, ndim=2),
        pose: array(dtype=Any),
        world: array(dtype=int32),
        q: array(dtype=Any),
        inv_mass: array(dtype=Any),
        part: array(dtype=Any),
    ):
        """How deep each grain is in a shape, as a part of its radius; 0 beyond touch."""
        i = tid()
        s, a = wall.numbers[world[i]], q[i]
        deep = a[3] * 0.0
        if s >= 0 and inv_mass[i] > 0.0:
            p = position(a)
            if imaged:
                p = beside(p, pose[s], wall)
            away, _ = distance(to_shape(pose[s], p), scale[s], wall.source, heights, 2.0 * a[3] + margin[s])
            deep = max((a[3] + margin[s] - away) / a[3], deep)
        part[i] = deep

    return find_in_wall
