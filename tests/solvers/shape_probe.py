"""Distances and normals of shapes, as kernels of solvers ask for them."""

from typing import Any

import warpsim as wp
from warpsim.solvers.shapes import for_shape


def probe(distance):
    @wp.kernel
    def measure(
        p: wp.array(dtype=Any), scale: wp.array(dtype=Any), source: wp.uint64, heights: wp.array(dtype=Any, ndim=2),
        reach: Any, d: wp.array(dtype=Any), n: wp.array(dtype=Any),
    ):  # fmt: skip
        i = wp.tid()
        found, normal = distance(p[i], scale[0], source, heights, reach)
        d[i] = found
        n[i] = normal

    return measure


PROBE = for_shape(probe)
