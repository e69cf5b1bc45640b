"""Closest points of a mesh beside FCPW, whose trees are traversed with vectors of boxes."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np

import warpsim as wp
from benchmarks.champions.duel import Duel, Side
from benchmarks.geometry.surface import points_around, torus

SIDE, POINTS = 316, 200_000
FARTHEST = 1.0e3


@wp.kernel
def closest(mesh: wp.uint64, points: wp.array[wp.vec3], farthest: float, distances: wp.array[float]):
    i = wp.tid()
    q = wp.mesh_query_point_no_sign(mesh, points[i], farthest)
    distances[i] = wp.length(wp.mesh_eval_position(mesh, q.face, q.u, q.v) - points[i])


def duels() -> Iterator[Duel]:
    """Distances of points around a bumpy torus."""
    vertices, triangles = torus(SIDE)
    points = points_around(POINTS)
    title = f"closest points of {POINTS:,}, {len(triangles):,} triangles"
    own, other = (side(vertices, triangles, points) for side in (own_distances, their_distances))
    yield Duel(title, f"FCPW {version('fcpw')}", own, other)


def own_distances(vertices: np.ndarray, triangles: np.ndarray, asked: np.ndarray) -> Side:
    """One launch; distances [m]."""
    mesh = wp.Mesh(wp.array(vertices, dtype=wp.vec3), wp.array(triangles.reshape(-1), dtype=int))
    points, distances = wp.array(asked, dtype=wp.vec3), wp.zeros(len(asked), dtype=float)
    return Side(lambda: wp.launch(closest, len(asked), [mesh.id, points, FARTHEST, distances]), distances.numpy)


def their_distances(vertices: np.ndarray, triangles: np.ndarray, asked: np.ndarray) -> Side:
    """The peer's answers to all points in one call, on all cores."""
    fcpw = importlib.import_module("fcpw")
    scene, answers = fcpw.scene_3D(), fcpw.interaction_3D_list()
    scene.set_object_count(1)
    scene.set_object_vertices(np.asfortranarray(vertices, dtype=np.float32), 0)
    scene.set_object_triangles(np.asfortranarray(triangles, dtype=np.int32), 0)
    scene.build(fcpw.aggregate_type.bvh_surface_area, True)
    points, reach = np.asfortranarray(asked, dtype=np.float32), np.full(len(asked), np.inf, dtype=np.float32)
    return Side(lambda: scene.find_closest_points(points, reach, answers), lambda: [each.d for each in answers])
