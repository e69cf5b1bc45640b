"""From boxes to a hierarchy: binned splits by surface area, in parallel, with the same bits for any thread count.

Large ranges are split by all threads together (`top`), until each has few enough boxes to be built by one
thread (`subtree`). The nodes over these subtrees come first, then the subtrees one after the other, each in
depth-first order.

Host and threads take turns, so boxes are to be in memory of the host; `constructors` knows what GPUs do.

Boxes with a coordinate that is NaN or infinite are left out. A lower corner above the upper one is taken as it
stands: what queries compare are these numbers.
"""

from __future__ import annotations

import numpy as np

from ...core.language import array, empty, float32, func, int32, kernel, launch, min, tid, vec3, vec4
from ...core.runtime.devices.capture import current_graph
from ...errors import LaunchError
from .assemble import assemble
from .boxes import is_finite
from .groups import graft, halved_list, most_levels, sort_by_group
from .nodes import NO_NODE
from .refit import Built
from .split import Boxes, Range, extend_range, no_boxes
from .top import MAX_LEVELS, split_top

_BLOCK = 4096  # boxes that are gathered by one thread
_SMALLEST_SUBTREE, _LARGEST_SUBTREE, _SUBTREES = 2048, 16384, 64


def check_not_captured(what: str) -> None:
    """Raise `LaunchError` while a graph is captured: sizes of a tree follow from numbers that launches compute."""
    if current_graph() is not None:
        raise LaunchError(
            f"{what} while a graph is captured: the size of its tree is not known yet\n"
            "help: make it before the capture; in the capture, refit()"
        )


def build(lowers: array, uppers: array, leaf_size: int = 1) -> Built:
    """The hierarchy over boxes (n vec3 each), with up to `leaf_size` <= MAX_LEAF boxes to a leaf."""
    boxes, whole = gather_boxes(lowers, uppers)
    n, device = int(whole["end"][0]), lowers.device
    ranges, children = split_top(boxes, whole, _subtree_size(n), MAX_LEVELS, device)
    built, _ = assemble(boxes, ranges, children, np.zeros(ranges.size, np.int32), n, leaf_size, device)
    return built


def build_grouped(lowers: array, uppers: array, groups: array) -> tuple[Built, np.ndarray, np.ndarray]:
    """The hierarchy in which the boxes of each group make up one node; the groups, ascending, and their nodes.

    The nodes above those of groups halve the list of groups, so that no path becomes too long. A group whose boxes are
    all left out has a node number beyond all nodes.
    """
    boxes, whole = gather_boxes(lowers, uppers)
    n, device = int(whole["end"][0]), lowers.device
    names, present, level = sort_by_group(boxes, n, groups)
    if present.size == 0:
        level = whole
    above, links, counts, places = halved_list(level)
    ranges, links_below = split_top(boxes, level, _subtree_size(n), most_levels(level.size), device)
    ranges, children = graft(above, links, places, ranges, links_below)
    kinds = np.zeros(ranges.size, np.int32)
    kinds[: above.size] = counts
    built, node_of = assemble(boxes, ranges, children, kinds, n, 1, device)
    roots = np.full(names.size, NO_NODE, np.int32)
    roots[present] = node_of.numpy()[places[: present.size]]
    return built, names, roots


def _subtree_size(n: int) -> int:
    """The most boxes that one thread builds a subtree of."""
    return int(np.clip(n // _SUBTREES, _SMALLEST_SUBTREE, _LARGEST_SUBTREE))


# ----- boxes ------------------------------------------------------------------------------------


@func
def _is_finite(lower: vec3, upper: vec3) -> bool:
    return is_finite(lower) and is_finite(upper)


@kernel
def _survey(lowers: array(dtype=vec3), uppers: array(dtype=vec3), blocks: array(dtype=Range)):
    """Unions of the finite boxes of every block; their number at `end`."""
    t = tid()
    r = no_boxes()
    i = t * _BLOCK
    while i < min((t + 1) * _BLOCK, lowers.shape[0]):
        if _is_finite(lowers[i], uppers[i]):
            lower = vec4(lowers[i][0], lowers[i][1], lowers[i][2], 0.0)
            upper = vec4(-uppers[i][0], -uppers[i][1], -uppers[i][2], 0.0)
            r = extend_range(r, lower, upper, lower - upper, upper - lower)
            r.end += 1
        i += 1
    blocks[t] = r


@kernel
def _total(blocks: array(dtype=Range), whole: array(dtype=Range)):
    """Add the blocks up; the place of the first box of every block comes to `begin`."""
    tid()
    r = no_boxes()
    b = int32(0)
    while b < blocks.shape[0]:
        part = blocks[b]
        blocks[b].begin = r.end
        r = extend_range(r, part.lower, part.upper, part.centre_lower, part.centre_upper)
        r.end += part.end
        b += 1
    whole[0] = r


@kernel
def _gather(lowers: array(dtype=vec3), uppers: array(dtype=vec3), blocks: array(dtype=Range), boxes: Boxes):
    """Put the finite boxes one after the other."""
    t = tid()
    place = blocks[t].begin
    i = t * _BLOCK
    while i < min((t + 1) * _BLOCK, lowers.shape[0]):
        lower, upper = lowers[i], uppers[i]
        if _is_finite(lower, upper):
            boxes.corners[place, 0] = vec4(lower[0], lower[1], lower[2], 0.0)
            boxes.corners[place, 1] = vec4(-upper[0], -upper[1], -upper[2], 0.0)
            boxes.items[place] = i
            place += 1
        i += 1


def gather_boxes(lowers: array, uppers: array) -> tuple[Boxes, np.ndarray]:
    """The finite boxes in a buffer with room for twice as many, and their `Range`."""
    n, device = lowers.size, lowers.device
    count = -(-n // _BLOCK)
    blocks, whole = empty(count, Range, device), empty(1, Range, device)
    corners = empty((2 * n, 2), vec4, device)
    numbers = array(corners.numpy().reshape(2 * n, 8), dtype=float32, copy=False, device=device)
    boxes = Boxes(corners=corners, numbers=numbers, items=empty(2 * n, int32, device))
    launch(_survey, count, [lowers, uppers], [blocks], device=device)
    launch(_total, 1, [blocks], [whole], device=device)
    launch(_gather, count, [lowers, uppers, blocks, boxes], device=device)
    return boxes, whole.numpy()
