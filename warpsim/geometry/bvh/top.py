"""The top of a hierarchy: large ranges of boxes split by all threads, level by level.

The boxes of a level's ranges are cut into blocks of fixed size. A block counts its boxes per slice; a range adds
its blocks up in order and chooses a plane; blocks then move their boxes, in their order, to the other half of a
buffer of twice the size. Blocks depend on the boxes alone, so results have the same bits for any thread count.

The splits are those of `split`, and are kept as a binary tree of `Range`s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.language import array, array2d, float32, int32, vec4
from ...core.language import empty, func, kernel, launch, lesser, max, min, struct, tid, where, zeros
from .split import BINS, INFINITY, NOTHING, PLACE, Boxes, Range, best_of, extend_range, longest_axis, no_boxes, place_of

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

BLOCK = 2048  # boxes
MAX_LEVELS = 18


@struct
class Bin:
    """What lies in one slice of one block."""

    lower: vec4
    upper: vec4
    count: int32


@struct
class SplitPlan:
    """How a range is split: boxes of slices below `plane` go left, or those below `middle` where it is 0."""

    axis: int32
    plane: int32
    start: float32
    scale: float32
    first_block: int32
    blocks: int32
    middle: int32
    balanced: int32


@struct
class Block:
    """Boxes `begin` to `end - 1` of range `owner`; where those that go left, and right, go."""

    owner: int32
    begin: int32
    end: int32
    left: int32
    right: int32


@func
def goes_left(boxes: Boxes, i: int32, plan: SplitPlan) -> bool:
    """The side of box `i`."""
    left = i < plan.middle
    if plan.plane > 0:
        left = boxes.numbers[i, PLACE] < float32(plan.plane)
    return left


@kernel
def _aim(ranges: array(dtype=Range), plans: array(dtype=SplitPlan)):
    """Lay the slices of every range."""
    k = tid()
    r = ranges[k]
    axis = longest_axis(r)
    start = r.centre_lower[axis]
    extent = -(start + r.centre_upper[axis])
    scale = float32(BINS) * 0.99999 / extent
    if not (scale > 0.0 and scale < INFINITY) or plans[k].balanced != 0:
        scale = 0.0
    plans[k].axis = axis
    plans[k].start = start
    plans[k].scale = scale


@kernel
def _count(boxes: Boxes, plans: array(dtype=SplitPlan), blocks: array(dtype=Block), bins: array2d(dtype=Bin)):
    """Sort the boxes of every block into slices."""
    t = tid()
    block = blocks[t]
    plan = plans[block.owner]
    nothing = Bin(lower=NOTHING, upper=NOTHING, count=0)
    for k in range(BINS):
        bins[t, k] = nothing
    i = block.begin
    while i < block.end:
        place = place_of(boxes, i, plan.axis, plan.start, plan.scale)
        k = min(int32(place), BINS - 1)
        bins[t, k].lower = lesser(bins[t, k].lower, boxes.corners[i, 0]) + vec4(0.0)  # + 0: see `best_plane`
        bins[t, k].upper = lesser(bins[t, k].upper, boxes.corners[i, 1]) + vec4(0.0)
        bins[t, k].count += 1
        boxes.numbers[i, PLACE] = place
        i += 1


@kernel
def _choose(
    ranges: array(dtype=Range),
    plans: array(dtype=SplitPlan),
    blocks: array(dtype=Block),
    bins: array2d(dtype=Bin),
    shift: int32,
    sides: array2d(dtype=Range),
):
    """Add the blocks of every range up, choose the best plane, and give every block its places on both sides."""
    k = tid()
    r, plan = ranges[k], plans[k]
    lowers = zeros(shape=BINS, dtype=vec4)
    uppers = zeros(shape=BINS, dtype=vec4)
    counts = zeros(shape=BINS, dtype=int)
    for s in range(BINS):
        lower, upper, count = NOTHING, NOTHING, int32(0)
        b = plan.first_block
        while b < plan.first_block + plan.blocks:
            lower = lesser(lower, bins[b, s].lower)
            upper = lesser(upper, bins[b, s].upper)
            count += bins[b, s].count
            b += 1
        lowers[s], uppers[s], counts[s] = lower, upper, count
    plane = int32(0)
    if plan.scale > 0.0:
        plane = best_of(lowers, uppers, counts, BINS, r.end - r.begin)
    middle = r.begin + (r.end - r.begin + 1) // 2
    total = middle - r.begin
    if plane > 0:
        total = int32(0)
        for s in range(BINS):
            total += where(s < plane, counts[s], 0)
    plans[k].plane = plane
    plans[k].middle = middle
    place = r.begin + shift
    left, right = place, place + total
    for b in range(plan.first_block, plan.first_block + plan.blocks):
        begin, end = blocks[b].begin, blocks[b].end
        count = max(0, min(end, middle) - begin)
        if plane > 0:
            count = int32(0)
            for s in range(BINS):
                count += where(s < plane, bins[b, s].count, 0)
        blocks[b].left, blocks[b].right = left, right
        left += count
        right += end - begin - count
    sides[k, 0].begin, sides[k, 0].end = place, place + total
    sides[k, 1].begin, sides[k, 1].end = place + total, r.end + shift


@kernel
def _move(boxes: Boxes, plans: array(dtype=SplitPlan), blocks: array(dtype=Block), parts: array2d(dtype=Range)):
    """Move the boxes of every block to their sides, and note the unions of both."""
    t = tid()
    block = blocks[t]
    plan = plans[block.owner]
    left, right = no_boxes(), no_boxes()
    to_left, to_right = block.left, block.right
    away = zeros(shape=2, dtype=vec4)  # without branches, as in `partition`
    away[0] = NOTHING
    i = block.begin
    while i < block.end:
        lower, upper = boxes.corners[i, 0], boxes.corners[i, 1]
        side = where(goes_left(boxes, i, plan), 1, 0)
        to = where(side == 1, to_left, to_right)
        to_left += side
        to_right += 1 - side
        centre_lower, centre_upper = lower - upper, upper - lower
        here, there = away[side], away[1 - side]
        left = extend_range(left, lower + here, upper + here, centre_lower + here, centre_upper + here)
        right = extend_range(right, lower + there, upper + there, centre_lower + there, centre_upper + there)
        boxes.corners[to, 0], boxes.corners[to, 1] = lower, upper
        boxes.items[to] = boxes.items[i]
        i += 1
    parts[t, 0], parts[t, 1] = left, right


@kernel
def _join(plans: array(dtype=SplitPlan), parts: array2d(dtype=Range), sides: array2d(dtype=Range)):
    """Join what the blocks of every range noted of one side."""
    k, side = tid()
    whole = no_boxes()
    b = plans[k].first_block
    while b < plans[k].first_block + plans[k].blocks:
        part = parts[b, side]
        whole = extend_range(whole, part.lower, part.upper, part.centre_lower, part.centre_upper)
        b += 1
    whole.begin, whole.end = sides[k, side].begin, sides[k, side].end
    sides[k, side] = whole


def split_top(
    boxes: Boxes, level: np.ndarray, largest: int, budget: int, device: Device
) -> tuple[np.ndarray, np.ndarray]:
    """Split ranges until none has more than `largest` boxes, and each at most `budget` times.

    boxes: twice as many places as there are boxes. level: `Range`s in one half. Returns all ranges, the given ones
    first and children after parents, and the number of the left child of each (the right one is next), or -1.
    """
    capacity = boxes.items.size // 2
    tree, links = [level], np.full(level.size, -1, np.int32)
    ids = np.arange(level.size)
    for depth in range(budget + 1):
        active = np.flatnonzero(level["end"] - level["begin"] > largest)
        if active.size == 0:
            break
        sides = _split_level(boxes, level[active], depth, budget, largest, capacity, device)
        links[ids[active]] = links.size + 2 * np.arange(active.size)
        level = sides.reshape(-1)
        ids = links.size + np.arange(level.size)
        links = np.concatenate([links, np.full(level.size, -1, np.int32)])
        tree.append(level)
    return np.concatenate(tree), links


def _split_level(
    boxes: Boxes, level: np.ndarray, depth: int, budget: int, largest: int, capacity: int, device: Device
) -> np.ndarray:
    """Split every range of a level; returns both sides of each, shape (ranges, 2)."""
    count = level.size
    sizes = (level["end"] - level["begin"]).astype(np.int64)
    blocks_of = -(-sizes // BLOCK)
    first = np.cumsum(blocks_of) - blocks_of
    total = int(blocks_of.sum())
    table = np.zeros(total, Block.numpy_dtype())
    table["owner"] = np.repeat(np.arange(count), blocks_of)
    table["begin"] = level["begin"][table["owner"]] + (np.arange(total) - first[table["owner"]]) * BLOCK
    table["end"] = np.minimum(table["begin"] + BLOCK, level["end"][table["owner"]])
    rows = np.zeros(count, SplitPlan.numpy_dtype())
    rows["first_block"], rows["blocks"] = first, blocks_of
    rows["balanced"] = depth + np.ceil(np.log2(sizes / largest)) >= budget
    # Ranges of one level lie in one half of the buffer.
    shift = capacity if level["begin"][0] < capacity else -capacity
    ranges = array(level, dtype=Range, device=device)
    plans, blocks = array(rows, dtype=SplitPlan, device=device), array(table, dtype=Block, device=device)
    bins, parts = empty((total, BINS), Bin, device), empty((total, 2), Range, device)
    sides = zeros((count, 2), Range, device)
    launch(_aim, count, [ranges], [plans], device=device)
    launch(_count, total, [boxes, plans, blocks], [bins], device=device)
    launch(_choose, count, [ranges, plans, blocks, bins, shift], [sides], device=device)
    launch(_move, total, [boxes, plans, blocks], [parts], device=device)
    launch(_join, (count, 2), [plans, parts], [sides], device=device)
    return sides.numpy()
