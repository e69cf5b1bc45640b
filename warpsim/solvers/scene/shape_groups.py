"""Shapes that solvers take in one launch: alike but for their numbers, and no two of one world.

A solver goes through these groups in order: each particle then meets the shapes of its world in the order of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.language import array, int32
from .shapes import ShapeType

if TYPE_CHECKING:
    from .model import Model


class ShapeGroup(NamedTuple):
    """Shapes of a kind that share a mesh, a volume or a table of heights.

    shape: the first of them. numbers: int32 (worlds,), that of each world, -1 for none; listed: the same on the host.
    first, count: the range of particles that may meet them.
    """

    shape: int
    numbers: array
    listed: np.ndarray
    first: int
    count: int


def shape_groups(model: Model) -> tuple[ShapeGroup, ...]:
    """All shapes of a model in groups."""
    members: list[np.ndarray] = []
    keys: list[object] = []
    last = np.full(model.world_count, -1)  # the group that has each world's latest shape
    single, scales = model.world_count == 1, model.shape_scale.numpy().tolist()
    for s, world in enumerate(model.shape_world.numpy().tolist()):
        key, common = _key(model, s, scales[s]), single or world < 0
        least = int(last.max() if common else last[world]) + 1
        fitting = [] if common else [g for g in range(least, len(keys)) if keys[g] == key]
        g = fitting[0] if fitting else len(keys)
        if not fitting:
            keys.append(None if common else key)
            members.append(np.full(model.world_count, s if common else -1, dtype=np.int32))
        members[g][slice(None) if common else world] = s
        last[slice(None) if common else world] = g
    return tuple(_group(model, numbers) for numbers in members)


def _key(model: Model, s: int, scale: list[float]) -> object:
    """What shapes of one launch have in common: kind, source and its size. Heights of each are its own."""
    kind = model.shape_type[s]
    if kind is ShapeType.HEIGHTFIELD:
        return kind, s
    return kind, model.shape_source[s], *(scale if model.shape_source[s] else ())


def _group(model: Model, numbers: np.ndarray) -> ShapeGroup:
    present = np.flatnonzero(numbers >= 0)
    ranges = model.world_rows["particle"][present]
    ranges = ranges[ranges[:, 1] > ranges[:, 0]]
    first, end = (int(ranges[:, 0].min()), int(ranges[:, 1].max())) if len(ranges) else (0, 0)
    return ShapeGroup(
        int(numbers[present[0]]), array(numbers, dtype=int32, device=model.device), numbers, first, end - first
    )


def most_met(groups: tuple[ShapeGroup, ...], parts: Sequence[int]) -> int:
    """How many parts of shapes a particle may meet at most. parts: those of a shape of each group."""
    met = [count * (group.listed >= 0) for group, count in zip(groups, parts, strict=True)]
    return int(np.sum(met, axis=0).max()) if groups else 0
