"""Rays against a mesh beside Embree: the first hit of random rays and of a picture's, and trees from nothing."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np

import warpsim as wp
from benchmarks.champions.duel import Duel, Side
from benchmarks.geometry.rays import FARTHEST
from benchmarks.geometry.surface import picture, rays, torus

SIDE, RAYS = 316, 262_144


@wp.kernel
def first(
    mesh: wp.uint64, starts: wp.array[wp.vec3], directions: wp.array[wp.vec3], farthest: float, lengths: wp.array[float]
):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, starts[i], directions[i], farthest)
    lengths[i] = wp.where(q.result, q.t, farthest)


def duels() -> Iterator[Duel]:
    """Embree through embreex, whose loop calls it once a ray."""
    vertices, triangles = torus(SIDE)
    corners = np.ascontiguousarray(vertices[triangles], dtype=np.float32)
    peer, size = f"Embree (embreex {version('embreex')})", f"{len(triangles):,} triangles"
    mesh, scene = mesh_of(vertices, triangles), embree_scene(corners)
    for name, (starts, directions) in {"random": rays(RAYS), "of a picture": picture(int(RAYS**0.5))}.items():
        title = f"first hits of {len(starts):,} rays {name}, {size}"
        yield Duel(title, peer, own_hits(mesh, starts, directions), their_hits(scene, starts, directions), share=1.0e-4)

    def build_theirs() -> None:
        embree_scene(corners).run(corners[:1, 0], corners[:1, 1])  # builds what was added

    yield Duel(f"a tree from nothing, {size}", peer, Side(lambda: mesh_of(vertices, triangles)), Side(build_theirs))


def mesh_of(vertices: np.ndarray, triangles: np.ndarray) -> wp.Mesh:
    """The mesh of vertices (n, 3) [m] and triangles (m, 3)."""
    return wp.Mesh(wp.array(vertices, dtype=wp.vec3), wp.array(triangles.reshape(-1), dtype=int))


def own_hits(mesh: wp.Mesh, starts: np.ndarray, directions: np.ndarray) -> Side:
    """One launch; the hits' distances [m]."""
    inputs, lengths = [wp.array(a, dtype=wp.vec3) for a in (starts, directions)], wp.zeros(len(starts), dtype=float)
    return Side(lambda: wp.launch(first, len(lengths), [mesh.id, *inputs, FARTHEST, lengths]), lengths.numpy)


def their_hits(scene: Any, starts: np.ndarray, directions: np.ndarray) -> Side:
    """Embree's answers to the same rays."""
    origins, ways = (np.ascontiguousarray(a, dtype=np.float32) for a in (starts, directions))
    answers = []

    def run() -> None:
        answers[:] = [scene.run(origins, ways, query="DISTANCE")]

    return Side(run, lambda: np.minimum(answers[0], FARTHEST))


def embree_scene(corners: np.ndarray) -> Any:
    """Embree's scene of triangles (n, 3, 3)."""
    scene = importlib.import_module("embreex.rtcore_scene").EmbreeScene()
    importlib.import_module("embreex.mesh_construction").TriangleMesh(scene, corners)
    return scene
