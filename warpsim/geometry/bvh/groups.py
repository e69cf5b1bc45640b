"""Boxes in groups: sorted so that each group is a range, and a list of ranges halved down to one each."""

from __future__ import annotations

import math

import numpy as np

from ...core.language import array, clone, empty, int32, kernel, launch, radix_sort_pairs, runlength_encode, tid
from ...errors import BvhError, counted
from .split import Boxes, Range, range_of
from .top import MAX_LEVELS

MAX_GROUPS = 1 << 20
_LEVELS = 24
"""Nodes on a path down to subtrees, of which the nodes above groups take up to ten."""


@kernel
def _reorder(boxes: Boxes, order: array(dtype=int32), half: int32):
    """Bring boxes in order, from the first half of the buffer to the second."""
    t = tid()
    k = order[t]
    boxes.corners[half + t, 0] = boxes.corners[k, 0]
    boxes.corners[half + t, 1] = boxes.corners[k, 1]
    boxes.items[half + t] = boxes.items[k]


@kernel
def _measure(boxes: Boxes, begins: array(dtype=int32), ends: array(dtype=int32), ranges: array(dtype=Range)):
    t = tid()
    ranges[t] = range_of(boxes, begins[t], ends[t])


def names_of(groups: array) -> array:
    """All groups that occur, ascending. Raises `BvhError` for too many. The host waits for the device once."""
    n, device = groups.size, groups.device
    names, unused, lengths = (empty(k, int32, device) for k in (2 * n, 2 * n, n))
    names[:n].assign(groups)
    radix_sort_pairs(names, unused, n)
    runs = empty(n, int32, device)
    return clone(runs[: _check_group_count(runlength_encode(names, runs, lengths, value_count=n))])


def _check_group_count(count: int) -> int:
    if count > MAX_GROUPS:
        raise BvhError(f"Bvh: {counted(count, 'different group')}\nexpected: at most {MAX_GROUPS}")
    return count


def sort_by_group(boxes: Boxes, n: int, groups: array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort `n` boxes by group into the second half of the buffer.

    Returns all groups, ascending; the positions in that list of groups that have boxes; and the ranges of these.
    Raises `BvhError` for too many groups.
    """
    device, half = boxes.items.device, boxes.items.size // 2
    of = groups.numpy()
    names = np.unique(of)
    _check_group_count(names.size)
    held = of[boxes.items.numpy()[:n]]
    order = np.argsort(held, kind="stable").astype(np.int32)
    launch(_reorder, n, [boxes, array(order, dtype=int32, device=device), half], device=device)
    values, counts = np.unique(held, return_counts=True)
    ends = half + np.cumsum(counts)
    places = [array(x.astype(np.int32), dtype=int32, device=device) for x in (ends - counts, ends)]
    ranges = array(np.zeros(values.size, Range.numpy_dtype()), dtype=Range, device=device)
    launch(_measure, values.size, [boxes, *places], [ranges], device=device)
    return names, np.searchsorted(names, values), ranges.numpy()


def most_levels(count: int) -> int:
    """How often the range of one of `count` groups may be split in two before subtrees begin."""
    return min(MAX_LEVELS, _LEVELS - math.ceil(math.log(count, 4)))


def halved_list(ranges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A binary tree whose leaves are the given ranges, one or more, in their order: level by level.

    Returns its ranges, the number of the left child of each (the right one is next) or -1, how many of the given
    ranges each stands over (2 or more; -1 for these themselves), and the places of these in the tree.
    """
    begin, end = np.zeros(1, np.int64), np.full(1, ranges.size)
    tables, links, kinds, size = [], [], [], 0
    places = np.zeros(ranges.size, np.int64)
    while begin.size:
        tables.append(_unions(ranges, begin, end))
        splits = end - begin > 1
        places[begin[~splits]] = size + np.flatnonzero(~splits)
        size += begin.size
        links.append(np.where(splits, size + 2 * (np.cumsum(splits) - 1), -1))
        kinds.append(np.where(splits, end - begin, -1))
        middle = (begin + end + 1) // 2
        begin, end = (np.stack(pair, 1)[splits].reshape(-1) for pair in ((begin, middle), (middle, end)))
    return np.concatenate(tables), *(np.concatenate(x).astype(np.int32) for x in (links, kinds)), places


def _unions(ranges: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """What ranges `begin` to `end - 1` of a list, which follow each other, have in common: one range per pair."""
    unions = ranges[begin]
    unions["end"] = ranges["end"][end - 1]
    edges = np.stack([begin, end], 1).reshape(-1)
    for name in ("lower", "upper", "centre_lower", "centre_upper"):
        padded = np.concatenate([ranges[name], ranges[name][-1:]])
        unions[name] = np.minimum.reduceat(padded, edges, axis=0)[::2]
    return unions


def graft(table: np.ndarray, links: np.ndarray, places: np.ndarray, below: np.ndarray, links_below: np.ndarray):
    """The tree with further trees below its leaves, whose roots come first in `below`: all ranges, all links."""
    shift = table.size - places.size
    links_below = np.where(links_below >= 0, links_below + shift, links_below).astype(np.int32)
    links = links.copy()
    links[places] = links_below[: places.size]
    return np.concatenate([table, below[places.size :]]), np.concatenate([links, links_below[places.size :]])
