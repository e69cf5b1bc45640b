"""Anisotropic kernels for surfaces: ellipsoids by the covariance of neighbours (J. Yu, G. Turk 2013).

The covariance of a particle's neighbours says along which axes there are many. A ball stretched by it lies flat at a
level surface; one with few neighbours shrinks to a small ball, so that spray is seen. Particles are drawn towards the
middle of their neighbours, by less than Yu and Turk do: at a surface this is inwards, and costs volume.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import array, float32, int32, mat33, uint64, vec3
from ...core.language import diag, kernel, length, max, min, outer, tid, transpose
from ...core.lib.decompose import eig3
from ...geometry.hash_grid.neighbors import hash_grid_neighbors

FLATTEST = 4.0
"""The longest axis by the shortest one."""

LONGEST = 1.5
"""The longest axis, by that of a particle with neighbours on all sides."""

_CALM = 0.3  # how far a particle is drawn to the middle of its neighbours
_FEW, _SMALL = 25, 0.5  # neighbours of spray, and the size of its balls
_ALL_AROUND = 0.15  # variance along an axis of neighbours on all sides, weighted, by the square of the reach


@functools.cache
def stretch_kernel() -> Any:
    """The kernel of matrices (3, 3) that take offsets from a particle to those in a round kernel, and of its middle."""

    @kernel(enable_backward=False)
    def stretch(
        grid: uint64, reach: float32, q: array(dtype=vec3), shape: array(dtype=mat33), middle: array(dtype=vec3)
    ):
        i = tid()
        total, mean, spread, count = float32(0.0), vec3(), mat33(), int32(0)
        for j in hash_grid_neighbors(grid, q[i], reach):
            d = q[j] - q[i]
            t = length(d) / reach
            if t < 1.0:
                weight = 1.0 - t * t * t
                total += weight
                mean += weight * d
                spread += weight * outer(d, d)
                count += 1
        mean = mean / total
        covariance = spread / total - outer(mean, mean)
        axes, sizes = eig3(covariance / (_ALL_AROUND * reach * reach))
        most = min(max(max(sizes[0], sizes[1]), sizes[2]), float32(LONGEST))
        inverse = vec3(float32(1.0 / _SMALL))
        if count > _FEW:
            for k in range(3):
                inverse[k] = 1.0 / min(max(sizes[k], most / FLATTEST), most)
        middle[i] = q[i] + mean * float32(_CALM)
        shape[i] = axes @ diag(inverse) @ transpose(axes)

    return stretch
