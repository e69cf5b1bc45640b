"""Distances and normals of shapes, as kernels of solvers ask for them."""

from typing import Any

import numpy as np

import warpsim as wp
from warpsim.solvers.scene.shapes import for_shape


def probe(distance):
    @wp.kernel
    def measure(
        p: wp.array(dtype=Any),
        scale: wp.array(dtype=Any),
        source: wp.uint64,
        heights: wp.array(dtype=Any, ndim=2),
        reach: Any,
        d: wp.array(dtype=Any),
        n: wp.array(dtype=Any),
    ):
        i = wp.tid()
        found, normal = distance(p[i], scale[0], source, heights, reach)
        d[i] = found
        n[i] = normal

    return measure


PROBE = for_shape(probe)


def measured(kind, points, scale=(1, 1, 1), source=0, heights=None, dtype=wp.float64, reach=10.0):
    """Distances and normals of points, with gradients of the distances by the points."""
    vec = wp.vec3d if dtype is wp.float64 else wp.vec3
    table = wp.array(np.zeros((1, 1)) if heights is None else heights, dtype=dtype)
    p = wp.array(points, dtype=vec, requires_grad=True)
    d = wp.zeros(len(points), dtype=dtype, requires_grad=True)
    n = wp.zeros(len(points), dtype=vec)
    with wp.Tape() as tape:
        wp.launch(PROBE(kind), len(points), [p, wp.array([scale], dtype=vec), source, table, dtype(reach), d, n])
    tape.backward(grads={d: wp.ones_like(d)})
    return d.numpy(), n.numpy(), p.grad.numpy()
