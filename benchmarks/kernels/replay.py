"""A captured list of ``length`` launches over eight elements, replayed by one call."""

from typing import Any

import numpy as np

from benchmarks.case import Case, single
from benchmarks.kernels.launch import N, inputs

SKIPPED = {"numba": "Numba has no captured launches: see the rows on launch cost"}


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The increments of one replay."""
    return {"out": size["length"] * 2.0 * inputs()[0]}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """``capture_begin``, launches, ``capture_end``; then ``capture_launch``."""
    @wp.kernel
    def three(x: wp.array(dtype=float), out: wp.array(dtype=float), a: float):
        i = wp.tid()
        out[i] = out[i] + a * x[i]

    x, out = wp.array(inputs()[0], dtype=float), wp.zeros(N, dtype=float)
    arguments = [x, out, 2.0]
    wp.launch(three, dim=N, inputs=arguments)  # compiled before the capture
    wp.capture_begin()
    for _ in range(size["length"]):
        wp.launch(three, dim=N, inputs=arguments)
    graph = wp.capture_end()
    # what ran before the first replay does not count, whether or not a capture executes
    out.zero_()
    return single(lambda: wp.capture_launch(graph), lambda: {"out": out.numpy()})


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """A compiled ``ti.graph`` of as many dispatches."""
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.kernel
    def three(x: array, out: array, a: ti.f32):
        for i in x:
            out[i] = out[i] + a * x[i]

    kind = ti.graph.ArgKind
    arguments = [ti.graph.Arg(kind.NDARRAY, name, ti.f32, ndim=1) for name in ("x", "out")]
    arguments.append(ti.graph.Arg(kind.SCALAR, "a", ti.f32))
    builder = ti.graph.GraphBuilder()
    for _ in range(size["length"]):
        builder.dispatch(three, *arguments)
    graph = builder.compile()
    x, out = ti.ndarray(ti.f32, N), ti.ndarray(ti.f32, N)
    x.from_numpy(inputs()[0])
    return single(lambda: graph.run({"x": x, "out": out, "a": 2.0}),
                  lambda: {"out": out.to_numpy()}, note="ti.graph")
