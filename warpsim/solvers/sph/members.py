"""The shapes of each group of a model as barriers for fluid: images where space repeats, ends of what is endless."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Array, Float, Vec, array, generic_struct, int32
from ..neighbours.verlet_list import vector_of
from .extents import ENDLESS, extent

if TYPE_CHECKING:
    from ..scene.model import Model

_FAR = 1.0e30  # [m]


@generic_struct
class Members:
    """The shapes of a group, which are alike but for what stands here. first: where the particles begin that may meet
    them, and world, that of each place. By world: numbers, -1 for none, and low and high of a `Barrier`. ends: of all
    shapes. By member: its shape, and the particles that meet it, begin to end - 1."""

    first: int32
    world: array(dtype=int32)
    numbers: array(dtype=int32)
    low: Array[Vec[3, Float]]
    high: Array[Vec[3, Float]]
    ends: Array[Vec[3, Float]]
    shape: array(dtype=int32)
    begin: array(dtype=int32)
    end: array(dtype=int32)


def image_of(model: Model, s: int, period: Sequence[float]) -> list[Any]:
    """The period, the middle of a shape in its frame [m], and 0 for axes along which it is as long as the period."""
    middle, half = extent(model, s)
    length = np.asarray(period, dtype=np.float64)
    ends = (length == 0.0) | (2.0 * half < 0.999 * length)
    return [vector_of(v, model.dtype) for v in (period, middle, ends)]


def fences_of(model: Model, s: int, period: Sequence[float], bounds: np.ndarray | None, dim: int) -> np.ndarray:
    """Corners of where a shape is a wall [m], (1, 2, 3), or (worlds, 2, 3) for one of all worlds: endless ones within
    bounds, along axes that do not repeat."""
    owner = int(model.shape_world.numpy()[s])
    fences = np.full((1 if owner >= 0 else model.world_count, 2, 3), [[-_FAR], [_FAR]])
    if model.shape_type[s] in ENDLESS and bounds is not None:
        axes = np.asarray(period) == 0.0
        axes[dim:] = False
        fences[..., axes] = bounds[[owner] if owner >= 0 else slice(None)][..., axes]
    return fences


def members_of(model: Model, images: Sequence[Sequence[Any]], fences: Sequence[np.ndarray]) -> list[Any]:
    """The shapes of each group."""
    device = model.device
    rows = np.array([image[2] for image in images], dtype=np.float64).reshape(-1, 3)
    ends = array(rows, dtype=model.vec3, device=device)
    members = []
    for group in model.shape_groups:
        listed, common = group.listed, model.shape_world.numpy()[group.shape] < 0
        present = np.flatnonzero(listed >= 0)
        ranges = model.world_rows["particle"][present]
        if common:
            ranges = np.array([[group.first, group.first + group.count]])
        walls = np.full((model.world_count, 2, 3), _FAR)
        for w in present:
            walls[w] = fences[listed[w]][w if len(fences[listed[w]]) > 1 else 0]
        whose = listed[present[:1]] if common else listed[present]
        numbers = (array(a.astype(np.int32), dtype=int32, device=device) for a in (whose, *ranges.T))
        corners = (array(walls[:, k], dtype=model.vec3, device=device) for k in range(2))
        members.append(Members[model.dtype](group.first, model.particle_world, group.numbers, *corners, ends, *numbers))
    return members
