"""Forces of single contacts as they are after a step, by the solver's own kernels on copies, over no time.

Each pair of grains is copied out and is alone there, so that what the kernel sums up is the force of one contact;
springs are as the last substep left them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.language import array, dot, int32, kernel, launch, tid, zeros
from ...core.lib.quaternions import quat_rotate
from ...core.lib.transforms import transform_get_rotation
from ..neighbours.verlet_list import position
from ..scene.shapes import DISTANCE, ShapeType, to_shape
from .grains import Pairs, grain_kernel
from .walls import beside, has_images, wall_kernel

if TYPE_CHECKING:
    from ..scene.control import Control
    from .solver import SolverDEM


class Touches(NamedTuple):
    """Contacts, each with one grain.

    grain: its number, (n,). partner: the number of the grain or shape that it touches, (n,). normal: from there towards
    the grain, (n, 3). force: on the grain [N], (n, 3). place: from the solver's origin, of the grain's centre in pairs,
    of the contact at walls [m], (n, 3). gap: of centres, or of the grain's and the wall's surface [m], (n,).
    """

    grain: np.ndarray
    partner: np.ndarray
    normal: np.ndarray
    force: np.ndarray
    place: np.ndarray
    gap: np.ndarray


def pair_touches(solver: SolverDEM) -> Touches:
    """All pairs of grains that touch, each once, with the grain of the lower number first."""
    model, g, lists, device = solver.model, solver._grains, solver.neighbours, solver.model.device
    offsets, number = lists.rows.offsets.numpy(), g.number.numpy()
    first, second = np.repeat(np.arange(len(number)), np.diff(offsets)), lists.rows.ids.numpy()[: offsets[-1]]
    rows = np.flatnonzero(number[first] < number[second])
    first, second, count = first[rows], second[rows], len(rows)

    def copied(a: Any, of: np.ndarray) -> Any:
        return array(a.numpy()[of], dtype=a.dtype, device=device) if a.size else a

    moving = [copied(a, np.append(first, second)) for a in (g.q, g.v, g.w, g.inv_mass, g.kind)]
    bonds, springs, wound = (copied(a, rows) for a in (g.bonds, g.springs, g.wound))
    alone = [array(row, dtype=int32, device=device) for row in (np.arange(count + 1), count + np.arange(count))]
    pairs = Pairs[model.dtype](*alone, bonds, lists.period_vector, model.dtype(0.0))
    force, torque = (zeros(count, model.vec3, device) for _ in range(2))
    touch = grain_kernel(solver.law, solver.rolling, solver.force_limit, any(lists.period))
    args = [pairs, solver._table, *moving, springs, wound, force, torque]
    launch(touch, count, args, device=device, record_tape=False)

    q, period = g.q.numpy().astype(np.float64), np.array(lists.period)
    apart = q[first, :3] - q[second, :3]
    apart -= period * np.round(np.divide(apart, period, out=np.zeros_like(apart), where=period > 0.0))
    gap = np.linalg.norm(apart, axis=1)
    touching = bonds.numpy() > 0 if solver.law == "jkr" else gap < q[first, 3] + q[second, 3]
    normal = apart / np.where(gap > 0.0, gap, 1.0)[:, None]
    columns = (number[first], number[second], normal, force.numpy().astype(np.float64), q[first, :3], gap)
    return Touches(*(column[touching] for column in columns))


def wall_touches(solver: SolverDEM, group: int, control: Control) -> Touches:
    """All contacts with the shapes of one group."""
    model, device, g = solver.model, solver.model.device, solver._grains
    s, count, lists = model.shape_groups[group].shape, model.particle_count, solver.neighbours
    own, wall = g.grains(lists), solver.wall(group, model.dtype(0.0))
    own.force, own.torque = (zeros(count, model.vec3, device) for _ in range(2))
    wall.springs, wall.wound = (
        array(a.numpy().copy(), dtype=model.vec3, device=device) for a in (g.wall_springs[group], g.wall_wound[group])
    )
    surface, kind = [model.shape_margin, model.shape_scale, model.shape_heights[s]], model.shape_type[s]
    moving = [solver._pose, control.shape_velocity, zeros(model.shape_count, model.spatial_vector, device)]
    options, many = (any(lists.period), lists.grouped), (solver.law, solver.rolling, solver.force_limit)
    touch = wall_kernel(kind, *many, *options)
    launch(touch, count, [wall, own, solver._wall_table, *surface, *moving], device=device, record_tape=False)
    shape, gap = zeros(count, int32, device), zeros(count, model.dtype, device)
    normal, place = (zeros(count, model.vec3, device) for _ in range(2))
    args = [wall, own, *surface, solver._pose, shape, gap, normal, place]
    launch(_find_walls(kind, *options), count, args, device=device, record_tape=False)
    touching = gap.numpy() < 0.0
    columns = (g.number.numpy(), *(a.numpy() for a in (shape, normal, own.force, place, gap)))
    return Touches(*(column[touching] for column in columns))


@functools.cache
def _find_walls(shape_type: int, periodic: bool, many: bool) -> Any:
    """The kernel that says which shape of a group each grain touches, how far apart both surfaces are, and where."""
    imaged, distance = has_images(shape_type, periodic), DISTANCE[ShapeType(shape_type)]

    @kernel(enable_backward=False)
    def find(
        wall: Any, g: Any, margin: array(dtype=Any), scale: array(dtype=Any), heights: array(dtype=Any, ndim=2),
        pose: array(dtype=Any), shape: array(dtype=int32), gap: array(dtype=Any), normal: array(dtype=Any),
        place: array(dtype=Any),
    ):  # fmt: skip
        i, s = tid(), wall.s
        if many:
            s = wall.numbers[g.world[i]]
        if s >= 0 and g.inv_mass[i] > 0.0:
            p, r = position(g.q[i]), g.q[i][3]
            if imaged:
                p = beside(p, pose[s], wall)
            away, inward = distance(to_shape(pose[s], p), scale[s], wall.source, heights, 2.0 * r + margin[s])
            if dot(inward, inward) > 0.0:
                n = quat_rotate(transform_get_rotation(pose[s]), inward)
                shape[i] = s
                gap[i] = away - margin[s] - r
                normal[i] = n
                place[i] = position(g.q[i]) - n * (away - margin[s])

    return find
