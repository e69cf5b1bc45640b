"""Boxes against a mesh: how many triangles lie near each."""

from typing import Any

import numpy as np

from benchmarks.case import Case, single
from benchmarks.geometry import SKIPPED
from benchmarks.geometry.surface import boxes, overlapping, spread, torus

__all__ = ["SKIPPED", "expected", "warp_case"]


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The numbers of triangles near some of the boxes."""
    few = spread(size["n"])
    lowers, uppers = boxes(size["n"])
    return {"count": overlapping(lowers[few], uppers[few], *torus(size["side"]))}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch over all boxes."""
    @wp.kernel
    def count(
        mesh: wp.uint64,
        lowers: wp.array(dtype=wp.vec3),
        uppers: wp.array(dtype=wp.vec3),
        found: wp.array(dtype=int),
    ):
        i = wp.tid()
        near = int(0)
        for _face in wp.mesh_query_aabb(mesh, lowers[i], uppers[i]):
            near += 1
        found[i] = near

    n = size["n"]
    vertices, triangles = torus(size["side"])
    mesh = wp.Mesh(points=wp.array(vertices, dtype=wp.vec3), indices=wp.array(triangles.reshape(-1), dtype=int))
    lowers, uppers = (wp.array(a, dtype=wp.vec3) for a in boxes(n))
    found = wp.zeros(n, dtype=int)

    def run(mesh: Any = mesh) -> None:  # holds the mesh: its id alone would not
        wp.launch(count, dim=n, inputs=[mesh.id, lowers, uppers, found])

    return single(run, lambda: {"count": found.numpy()[spread(n)]})
