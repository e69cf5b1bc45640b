"""Signed distances of random points to a mesh: the closest point, and on which side of the surface the point lies."""

from typing import Any

import numpy as np

from benchmarks.case import Case, single
from benchmarks.geometry import SKIPPED
from benchmarks.geometry.surface import distances, points_around, spread, torus

__all__ = ["SKIPPED", "expected", "warp_case"]


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """Signed distances of some of the points."""
    return {"distance": distances(points_around(size["n"])[spread(size["n"])], *torus(size["side"]))}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch over all points, in no order."""
    @wp.kernel
    def signed(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), found: wp.array(dtype=float)):
        i = wp.tid()
        p = points[i]
        q = wp.mesh_query_point(mesh, p, 1.0e3)
        if q.result:
            found[i] = q.sign * wp.length(p - wp.mesh_eval_position(mesh, q.face, q.u, q.v))

    n = size["n"]
    vertices, triangles = torus(size["side"])
    corners = wp.array(vertices, dtype=wp.vec3, requires_grad=False)
    mesh = wp.Mesh(points=corners, indices=wp.array(triangles.reshape(-1), dtype=int))
    points, found = wp.array(points_around(n), dtype=wp.vec3), wp.zeros(n, dtype=float)

    def run(mesh: Any = mesh) -> None:  # holds the mesh: its id alone would not
        wp.launch(signed, dim=n, inputs=[mesh.id, points, found])

    return single(run, lambda: {"distance": found.numpy()[spread(n)]})
