"""Boxes and statistics in the nodes of a NanoVDB grid, made from masks and values.

Guarantees: `fill_boxes` and `fill` leave nodes, root and headers as the present masks and values say.
Statistics (smallest, largest, mean, population standard deviation, over active voxels of leaves, summed in
float64) are there for grids of scalars; the flags of other grids say that there are none.  Deviations of nodes
are combined from those of their children (T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise
algorithm for computing sample variances", 1979), which loses no digits to large means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .check import active_in_leaves, set_bits
from .grid import Grid
from .layout import LEAF_SLOTS, LOWER_SLOTS, UPPER_SLOTS, GridFlag, LeafFlag
from .voxels import leaf_bounds, leaf_origins

_FIRST, _LAST = np.iinfo(np.int32).max, np.iinfo(np.int32).min  # an empty box, as the format writes it
_CHUNK = 4096  # leaves whose values are read at a time
_STATISTICS = GridFlag.MIN_MAX | GridFlag.AVERAGE | GridFlag.DEVIATION


def fill_boxes(grid: Grid) -> None:
    """Bounding boxes of active voxels in all nodes, root and header, and the number of active voxels.

    For grids whose nodes stand in the order of their parents and that have no active tiles.
    """
    low, high = leaf_bounds(grid)
    some, origins = high[:, :1] >= 0, leaf_origins(grid)
    leaves = grid.leaves
    leaves["bbox_min"] = origins + np.where(some, low, 0)
    leaves["bbox_extent"] = np.where(some, high - low, 0)
    leaves["flags"] |= np.uint8(LeafFlag.BBOX)
    low, high = np.where(some, origins + low, _FIRST), np.where(some, origins + high, _LAST)
    for nodes, first in _parents(grid):
        low, high = np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)
        nodes["bbox"] = np.stack([low, high], axis=1)
        nodes["flags"] |= np.uint64(LeafFlag.BBOX)
    box = np.stack([low.min(axis=0, initial=_FIRST), high.max(axis=0, initial=_LAST)])
    grid.root["bbox"] = box
    grid.tree["voxel_count"] = active_in_leaves(grid).sum()
    grid.header["world_bbox"] = _world_box(grid, box)
    grid.header["flags"] |= GridFlag.BBOX


def _parents(grid: Grid) -> list[tuple[np.ndarray, np.ndarray]]:
    """Lower nodes, then upper nodes, each with the number of each node's first child."""
    if not len(grid.lowers):
        return []
    out = []
    for nodes, slots in ((grid.lowers, LOWER_SLOTS), (grid.uppers, UPPER_SLOTS)):
        parent, _ = set_bits(nodes["child_mask"], slots)
        out.append((nodes, np.flatnonzero(np.diff(parent, prepend=-1))))
    return out


def _world_box(grid: Grid, box: np.ndarray) -> np.ndarray:
    """Box in the world around all corners of the active voxels; of nothing, the same empty box in float64."""
    if (box[0] > box[1]).any():
        return np.stack([np.full(3, np.finfo(np.float64).max), np.full(3, np.finfo(np.float64).min)])
    ends = np.stack([box[0], box[1] + 1]).astype(np.float64)
    corners = np.stack(np.meshgrid(*ends.T, indexing="ij"), axis=-1).reshape(-1, 3)
    world = corners @ grid.matrix.T + grid.translation
    return np.stack([world.min(axis=0), world.max(axis=0)])


@dataclass
class _Moments:
    """Per node: how many active values, their extremes, mean, and sum of squared differences from the mean."""

    count: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    def merge(self, first: np.ndarray) -> _Moments:
        """The same for groups of consecutive nodes that begin at `first`."""
        count = np.add.reduceat(self.count, first)
        mean = np.add.reduceat(self.count * self.mean, first) / np.maximum(count, 1)
        group = np.repeat(np.arange(len(first)), np.diff(first, append=len(self.count)))
        spread = self.squares + self.count * (self.mean - mean[group]) ** 2
        low, high = np.minimum.reduceat(self.low, first), np.maximum.reduceat(self.high, first)
        return _Moments(count, low, high, mean, np.add.reduceat(spread, first))

    def store(self, nodes: np.ndarray) -> None:
        """Write into nodes with at least one active value."""
        some = self.count > 0
        values = {
            "minimum": self.low,
            "maximum": self.high,
            "average": self.mean,
            "deviation": np.sqrt(self.squares / np.maximum(self.count, 1)),
        }
        with np.errstate(over="ignore"):
            for name, value in values.items():
                nodes[name][some] = value[some]


def fill(grid: Grid) -> None:
    """Statistics in all nodes of a grid of scalars and the flags that tell of them; of other grids none.

    For grids whose nodes stand in the order of their parents and that have no active tiles.
    """
    if grid.layout.kind.leaf != "values" or grid.layout.components != 1 or not len(grid.leaves):
        clear(grid)
        return
    moments = _leaf_moments(grid)
    moments.store(grid.leaves)
    grid.leaves["flags"] |= np.uint8(LeafFlag.STATS)
    for nodes, first in _parents(grid):
        moments = moments.merge(first)
        moments.store(nodes)
    root = moments.merge(np.zeros(1, np.int64))
    root.store(grid.layout.root.view(grid.buffer, grid.root_offset))
    grid.header["flags"] |= _STATISTICS


def clear(grid: Grid) -> None:
    """Say that there are no statistics, as after values were changed."""
    grid.header["flags"] &= 0xFFFFFFFF ^ _STATISTICS
    grid.leaves["flags"] &= np.uint8(0xFF ^ LeafFlag.STATS)


def _leaf_moments(grid: Grid) -> _Moments:
    leaves, dtype = grid.leaves, grid.layout.scalar
    top = np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max
    bottom = np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min
    parts = []
    with np.errstate(over="ignore", invalid="ignore"):  # infinities and NaN are values like others
        for begin in range(0, len(leaves), _CHUNK):
            part = leaves[begin : begin + _CHUNK]
            bits = np.unpackbits(part["mask"], axis=1, bitorder="little", count=LEAF_SLOTS).astype(bool)
            values, count = part["values"], bits.sum(axis=1)
            active = True if bits.all() else bits  # far faster than a mask that leaves nothing out
            low = values.min(axis=1, where=active, initial=top)
            high = values.max(axis=1, where=active, initial=bottom)
            mean = values.sum(axis=1, where=active, dtype=np.float64) / np.maximum(count, 1)
            squares = ((values - mean[:, None]) ** 2).sum(axis=1, where=active)
            parts.append((count, low, high, mean, squares))
    return _Moments(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
