"""Rays against a mesh: the first hit of random rays and of a picture's rays, and whether anything is hit at all."""

from typing import Any

import numpy as np

from benchmarks.case import Case, Timed
from benchmarks.geometry import SKIPPED
from benchmarks.geometry.surface import first_hits, picture, rays, spread, torus

__all__ = ["SKIPPED", "expected", "warp_case"]

FARTHEST = 1.0e3


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """Lengths of some of the rays, and which of them end."""
    surface = torus(size["side"])
    found = {}
    for name, (starts, directions) in _rays(size).items():
        few = spread(len(starts))
        found[name] = first_hits(starts[few], directions[few], *surface)
    return {**found, "any": found["random"] >= 0.0}


def _rays(size: dict[str, int]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {"random": rays(size["n"]), "picture": picture(int(size["n"] ** 0.5))}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch for each kind of ray."""
    @wp.kernel
    def first(
        mesh: wp.uint64,
        starts: wp.array(dtype=wp.vec3),
        directions: wp.array(dtype=wp.vec3),
        farthest: float,
        found: wp.array(dtype=float),
    ):
        i = wp.tid()
        q = wp.mesh_query_ray(mesh, starts[i], directions[i], farthest)
        if q.result:
            found[i] = q.t
        else:
            found[i] = -1.0

    @wp.kernel
    def anything(
        mesh: wp.uint64,
        starts: wp.array(dtype=wp.vec3),
        directions: wp.array(dtype=wp.vec3),
        farthest: float,
        found: wp.array(dtype=int),
    ):
        i = wp.tid()
        found[i] = int(wp.mesh_query_ray_anyhit(mesh, starts[i], directions[i], farthest))

    vertices, triangles = torus(size["side"])
    mesh = wp.Mesh(points=wp.array(vertices, dtype=wp.vec3), indices=wp.array(triangles.reshape(-1), dtype=int))
    found: dict[str, Any] = {}

    def timed(name: str, kernel: Any, kind: str, dtype: type) -> Timed:
        starts, directions = (wp.array(a, dtype=wp.vec3) for a in _rays(size)[kind])
        found[name] = wp.zeros(len(starts), dtype=dtype)
        inputs = [mesh, starts, directions, FARTHEST, found[name]]  # holds the mesh: its id alone would not
        return Timed(lambda: wp.launch(kernel, dim=len(starts), inputs=[inputs[0].id, *inputs[1:]]))

    return Case({"time": timed("random", first, "random", float), "picture": timed("picture", first, "picture", float),
                 "any": timed("any", anything, "random", int)},
                lambda: {name: a.numpy()[spread(len(a))] for name, a in found.items()})
