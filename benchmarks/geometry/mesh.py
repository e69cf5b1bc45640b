"""Making a mesh of shuffled triangles ready for queries, and adapting it after its points have moved (refit).

The values are distances that both meshes then find.
"""

from typing import Any

import numpy as np

from benchmarks.case import Case, Timed
from benchmarks.geometry import SKIPPED
from benchmarks.geometry.surface import CHECKED, distances, points_around, torus

__all__ = ["SKIPPED", "expected", "warp_case"]


def moved(vertices: np.ndarray) -> np.ndarray:
    """The surface after a twist of the torus about its axis."""
    angle = 0.5 * vertices[:, 2]
    x = np.cos(angle) * vertices[:, 0] - np.sin(angle) * vertices[:, 1]
    y = np.sin(angle) * vertices[:, 0] + np.cos(angle) * vertices[:, 1]
    return np.stack([x, y, vertices[:, 2]], axis=1).astype(np.float32)


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """Unsigned distances to both surfaces, in float64."""
    vertices, triangles = torus(size["side"])
    points = points_around(CHECKED)
    return {"built": np.abs(distances(points, vertices, triangles)),
            "refitted": np.abs(distances(points, moved(vertices), triangles))}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """A mesh made anew each time, and another one that is refitted to moved points."""
    @wp.kernel
    def nearest(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), found: wp.array(dtype=float)):
        i = wp.tid()
        q = wp.mesh_query_point_no_sign(mesh, points[i], 1.0e3)
        if q.result:
            found[i] = wp.length(points[i] - wp.mesh_eval_position(mesh, q.face, q.u, q.v))

    vertices, triangles = torus(size["side"])
    indices = wp.array(triangles.reshape(-1), dtype=int)
    points = wp.array(points_around(CHECKED), dtype=wp.vec3)
    built: list[Any] = []
    still, bent = wp.array(vertices, dtype=wp.vec3), wp.array(vertices, dtype=wp.vec3)
    refitted = wp.Mesh(points=bent, indices=indices)
    bent.assign(moved(vertices))

    def build() -> None:
        built[:] = [wp.Mesh(points=still, indices=indices)]

    def asked(mesh: Any) -> np.ndarray:
        found = wp.zeros(CHECKED, dtype=float)
        wp.launch(nearest, dim=CHECKED, inputs=[mesh.id, points], outputs=[found])
        return found.numpy()

    return Case({"time": Timed(build, before=built.clear), "refit": Timed(refitted.refit)},
                lambda: {"built": asked(built[0]), "refitted": asked(refitted)})
