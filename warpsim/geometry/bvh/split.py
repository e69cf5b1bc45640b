"""One binary split of a range of boxes by the surface area heuristic, on one thread.

Boxes are kept as two `vec4`s, (x, y, z, scratch) of the lower corner and of the upper corner times -1: the union
of two boxes is then one minimum of eight numbers. Planes between `BINS` slices of the centres along their
longest extent are compared by the expected work of queries (Wald 2007, On fast construction of SAH-based
bounding volume hierarchies): the half area of each side's box times its number of boxes.

Where no plane has boxes on both sides and a finite cost (all centres equal, extents that overflow), and where
the caller asks for it, the range is cut in the middle of its order. So a split always leaves boxes on both sides.
"""

from __future__ import annotations

import math

from ...core.language import array_type, float32, func, greater, int32, lesser, min, struct, vec4, where, zeros

BINS = 16
PLACE = 3  # of the numbers of a box: where its centre lies between the bounds of its range
FEW = 12  # boxes for which half of the bins do
INFINITY = math.inf
NOTHING = vec4(math.inf)
"""Lower corner, and upper corner times -1, of the box of nothing."""


@struct
class Boxes:
    """The boxes of a build in their present order, and which primitive each belongs to."""

    corners: array_type(vec4, 2)  # (n, 2)
    numbers: array_type(float32, 2)  # (n, 8): the same memory
    items: array_type(int32, 1)


@struct
class Range:
    """Boxes `begin` to `end - 1`: their union, and the bounds of their centres times 2."""

    begin: int32
    end: int32
    lower: vec4
    upper: vec4
    centre_lower: vec4
    centre_upper: vec4


@func
def no_boxes() -> Range:
    """The range of nothing."""
    return Range(lower=NOTHING, upper=NOTHING, centre_lower=NOTHING, centre_upper=NOTHING)


@func
def extend_range(r: Range, lower: vec4, upper: vec4, centre_lower: vec4, centre_upper: vec4) -> Range:
    """A range whose unions include these."""
    r.lower, r.upper = lesser(r.lower, lower), lesser(r.upper, upper)
    r.centre_lower, r.centre_upper = lesser(r.centre_lower, centre_lower), lesser(r.centre_upper, centre_upper)
    return r


@func
def half_area(lower: vec4, upper: vec4) -> float32:
    """Of the box of these corners (the upper one times -1); negative extents count as 0."""
    x = greater(0.0, -(lower[0] + upper[0]))
    y = greater(0.0, -(lower[1] + upper[1]))
    z = greater(0.0, -(lower[2] + upper[2]))
    return x * y + y * z + z * x


@func
def longest_axis(r: Range) -> int32:
    """Along which the centres spread most."""
    x = -(r.centre_lower[0] + r.centre_upper[0])
    y = -(r.centre_lower[1] + r.centre_upper[1])
    z = -(r.centre_lower[2] + r.centre_upper[2])
    return where(x >= y and x >= z, 0, where(y >= z, 1, 2))


@func
def place_of(boxes: Boxes, i: int32, axis: int32, start: float32, scale: float32) -> float32:
    """Where the centre of box `i` lies, in slices from `start` on: its whole part, cut off, is the slice."""
    return (boxes.numbers[i, axis] - boxes.numbers[i, axis + 4] - start) * scale


@func
def split(boxes: Boxes, r: Range, balanced: bool) -> tuple[Range, Range]:
    """Reorder the boxes of a range of two or more so that each side is a range; `balanced`: in the middle."""
    axis = longest_axis(r)
    start = r.centre_lower[axis]
    extent = -(start + r.centre_upper[axis])
    slices = where(r.end - r.begin <= FEW, BINS // 2, BINS)
    scale = float32(slices) * 0.99999 / extent
    plane = int32(0)
    left, right = Range(), Range()
    if not balanced and scale > 0.0 and scale < INFINITY:
        plane, left, right = best_plane(boxes, r, axis, start, scale, slices)
    if plane > 0:
        left, right = partition(boxes, r, plane, left, right)
    else:
        left, right = halve(boxes, r)
    return left, right


@func
def best_plane(
    boxes: Boxes, r: Range, axis: int32, start: float32, scale: float32, slices: int32
) -> tuple[int32, Range, Range]:
    """The slice that begins the right side (0: none), and both sides with their unions."""
    lowers = zeros(shape=BINS, dtype=vec4)
    uppers = zeros(shape=BINS, dtype=vec4)
    counts = zeros(shape=BINS, dtype=int)
    for k in range(slices):
        lowers[k] = NOTHING
        uppers[k] = NOTHING
    for i in range(r.begin, r.end):
        place = place_of(boxes, i, axis, start, scale)
        k = min(int32(place), slices - 1)
        # Adding 0 keeps LLVM from a store under a mask, for which the next load would have to wait.
        lowers[k] = lesser(lowers[k], boxes.corners[i, 0]) + vec4(0.0)
        uppers[k] = lesser(uppers[k], boxes.corners[i, 1]) + vec4(0.0)
        counts[k] += 1
        boxes.numbers[i, PLACE] = place
    plane = best_of(lowers, uppers, counts, slices, r.end - r.begin)
    left, right = no_boxes(), no_boxes()
    for k in range(plane):
        left.lower = lesser(left.lower, lowers[k])
        left.upper = lesser(left.upper, uppers[k])
    for k in range(plane, slices):
        right.lower = lesser(right.lower, lowers[k])
        right.upper = lesser(right.upper, uppers[k])
    return plane, left, right


@func
def best_of(
    lowers: array_type(vec4, 1), uppers: array_type(vec4, 1), counts: array_type(int32, 1), slices: int32, total: int32
) -> int32:
    """The slice that begins the right side of the cheapest plane, or 0: of all slices with `total` boxes."""
    costs = zeros(shape=BINS, dtype=float)  # of the right sides
    lower, upper, count = NOTHING, NOTHING, int32(0)
    for j in range(1, slices):
        k = slices - j
        lower = lesser(lower, lowers[k])
        upper = lesser(upper, uppers[k])
        count += counts[k]
        costs[k] = half_area(lower, upper) * float32(count)
    lower, upper, count = NOTHING, NOTHING, int32(0)
    best, plane = float32(INFINITY), int32(0)
    for k in range(1, slices):
        lower = lesser(lower, lowers[k - 1])
        upper = lesser(upper, uppers[k - 1])
        count += counts[k - 1]
        cost = costs[k] + half_area(lower, upper) * float32(count)
        if cost < best and count > 0 and count < total:
            best, plane = cost, k
    return plane


@func
def partition(boxes: Boxes, r: Range, plane: int32, left: Range, right: Range) -> tuple[Range, Range]:
    """Move boxes of slices below `plane` to the front; completes both sides.

    Without a branch that a processor would have to guess: every box changes places with the first of those that
    go right, and for the other side's bounds it is infinitely far.
    """
    away = zeros(shape=2, dtype=vec4)
    away[0] = NOTHING
    middle = r.begin
    for i in range(r.begin, r.end):
        lower, upper, item = boxes.corners[i, 0], boxes.corners[i, 1], boxes.items[i]
        side = where(boxes.numbers[i, PLACE] < float32(plane), 1, 0)
        boxes.corners[i, 0], boxes.corners[i, 1] = boxes.corners[middle, 0], boxes.corners[middle, 1]
        boxes.items[i] = boxes.items[middle]
        boxes.corners[middle, 0], boxes.corners[middle, 1] = lower, upper
        boxes.items[middle] = item
        middle += side
        centre_lower, centre_upper = lower - upper, upper - lower
        left.centre_lower = lesser(left.centre_lower, centre_lower + away[side])
        left.centre_upper = lesser(left.centre_upper, centre_upper + away[side])
        right.centre_lower = lesser(right.centre_lower, centre_lower + away[1 - side])
        right.centre_upper = lesser(right.centre_upper, centre_upper + away[1 - side])
    left.begin, left.end, right.begin, right.end = r.begin, middle, middle, r.end
    return left, right


@func
def halve(boxes: Boxes, r: Range) -> tuple[Range, Range]:
    """Both halves of a range as it is ordered."""
    middle = r.begin + (r.end - r.begin + 1) // 2
    return range_of(boxes, r.begin, middle), range_of(boxes, middle, r.end)


@func
def range_of(boxes: Boxes, begin: int32, end: int32) -> Range:
    """A range with its unions."""
    r = no_boxes()
    r.begin, r.end = begin, end
    for i in range(begin, end):
        lower, upper = boxes.corners[i, 0], boxes.corners[i, 1]
        r = extend_range(r, lower, upper, lower - upper, upper - lower)
    return r
