"""Colors of pairs: those of one color share no moving body, so that one launch may solve all of them.

Greedy, in the order of the pairs (D. J. A. Welsh and M. B. Powell 1967), in one thread: as contacts change, so do
colors, and nobody asks the host. What finds all colors taken is left over, see `contact_solve`.
"""

from __future__ import annotations

from typing import Any

from ...core.language import array, func, generic_struct, int32, kernel, tid, uint64, vec2i
from ..scene.coloring import lowest_free

MOST = 16
"""How many colors there are at most."""


@generic_struct
class Colors:
    """Pairs by color. order: their numbers; first: where each color begins in it, then what is left, then the end."""

    order: array(dtype=int32)
    first: array(dtype=int32)


@kernel(enable_backward=False)
def clear_taken(taken: array(dtype=uint64)):
    """No body has a color yet."""
    taken[tid()] = uint64(0)


@kernel(enable_backward=False)
def color_pairs(
    count: array(dtype=int32), near: array(dtype=int32), rows: array(dtype=vec2i), inv_mass: array(dtype=Any),
    taken: array(dtype=uint64), color: array(dtype=int32), colors: Any,
):  # fmt: skip
    """Give each pair that is near the lowest color that both bodies have free, and sort pairs by it; one thread.

    taken: bits of the colors that pairs of each body have, which do not count where it has no inverse mass.
    """
    many = colors.first.shape[0] - 2
    for k in range(many + 2):
        colors.first[k] = 0
    for c in range(count[0]):
        if near[c] > 0:
            a, b = rows[c][0], rows[c][1]
            mask = uint64(0)
            if inv_mass[a] > 0.0:
                mask = taken[a]
            if inv_mass[b] > 0.0:
                mask = mask | taken[b]
            k = lowest_free(mask, many)
            if k < many:
                taken[a] = taken[a] | (uint64(1) << uint64(k))
                taken[b] = taken[b] | (uint64(1) << uint64(k))
            color[c] = k
            colors.first[k + 1] = colors.first[k + 1] + 1
    sort_by_color(count[0], near, color, colors)


@func
def sort_by_color(count: int32, near: array(dtype=int32), color: array(dtype=int32), colors: Any):
    """Counting sort of pairs that keeps their order; `colors.first[k + 1]` has the number of pairs of color k."""
    many = colors.first.shape[0] - 2
    for k in range(many + 1):
        colors.first[k + 1] = colors.first[k + 1] + colors.first[k]
    total = colors.first[many + 1]
    # ends of colors move back to their beginnings as pairs are entered from the last to the first
    for back in range(count):
        c = count - 1 - back
        if near[c] > 0:
            k = color[c]
            colors.first[k + 1] = colors.first[k + 1] - 1
            colors.order[colors.first[k + 1]] = c
    for k in range(many + 1):
        colors.first[k] = colors.first[k + 1]
    colors.first[many + 1] = total
