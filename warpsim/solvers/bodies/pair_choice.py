"""The kernel that chooses which features of each pair of shapes meet, around a function that does so for one pair."""

from __future__ import annotations

from typing import Any

from ...core.language import array, func, int32, kernel, tid, vec4i

NONE = -1
"""The feature of a point that there is not."""


@func
def no_points() -> vec4i:
    """The features of a pair that has no points."""
    return vec4i(NONE, NONE, NONE, NONE)


def choice_of(choose: Any, **options: Any) -> Any:
    """A kernel over pairs of one kind.

    choose(forms, heights, m, c, reach): features of pair c of `Manifolds`, whose points are looked at up to a gap of
    `reach` between the shapes without their margins [m]; it sets `near` to 0 for a pair that is too far apart. options:
    of the kernel.
    """

    @kernel(enable_backward=False, **options)
    def choose_features(
        kind: int32, ranges: array(dtype=int32), forms: Any, heights: array(dtype=Any, ndim=2), m: Any, p: Any
    ):
        c = ranges[kind] + tid()
        if c < ranges[kind + 1]:
            chosen = no_points()
            if m.near[c] > 0:
                reach = m.reach[c] + forms.margin[m.shapes[c][0]] + forms.margin[m.shapes[c][1]]
                chosen = choose(forms, heights, m, c, reach)
            p.feature[c] = chosen

    return choose_features
