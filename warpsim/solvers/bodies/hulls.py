"""Convex hulls of meshes, as tables that the narrow phase reads: corners, faces as polygons, and edges.

Triangles of one plane are one face.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError

from ...errors import ModelError
from ..scene.shapes import ShapeType

if TYPE_CHECKING:
    from ..scene.model import Model

_FLAT = 1.0e-3
"""Largest angle between triangles of one face [rad]."""
_CONVEX = 1.0e-4
"""What a convex mesh may lack of the volume of its hull, as a part of that."""
_LOOP = 32
"""Corners that a face keeps at most."""
_SMALL = 64
"""Half of the triangles of the largest obstacle that is taken as a hull."""


class Hull(NamedTuple):
    """Of a mesh without factors. points: (n, 3), used ones only. faces: lists of numbers of points, counter-clockwise
    seen from outside. edges: (n, 2)."""

    points: np.ndarray
    faces: list[np.ndarray]
    edges: np.ndarray


class HullTables(NamedTuple):
    """Of all hulls of a model. point: (n, 3). table: int32, see `convex_shapes`. start: where that of each shape begins
    in it, -1 for none."""

    point: np.ndarray
    table: np.ndarray
    start: np.ndarray


def hull_of(points: np.ndarray) -> Hull:
    """The convex hull of points (n, 3). Raises `ModelError` for those of a plane."""
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        raise ModelError("points have no convex hull with a volume\nexpected: four or more, not of one plane") from None
    normals, n = hull.equations[:, :3], len(hull.simplices)
    pairs = np.stack([np.repeat(np.arange(n), 3), hull.neighbors.ravel()], axis=1)
    flat = np.einsum("ij,ij->i", normals[pairs[:, 0]], normals[pairs[:, 1]]) > np.cos(_FLAT)
    joined = coo_matrix((np.ones(flat.sum()), tuple(pairs[flat].T)), shape=(n, n))
    count, group = connected_components(joined, directed=False)
    used = np.unique(hull.simplices)
    names = np.full(len(points), -1)
    names[used] = np.arange(len(used))
    corners = np.asarray(points, np.float64)[used]
    faces = []
    for g in range(count):
        own = group == g
        faces.append(_loop(corners, np.unique(names[hull.simplices[own]]), normals[own].mean(axis=0)))
    edges = set()
    for one, two in pairs[~flat & (group[pairs[:, 0]] != group[pairs[:, 1]])]:
        shared = np.intersect1d(hull.simplices[one], hull.simplices[two])
        edges.add(tuple(sorted(names[shared].tolist())))
    return Hull(corners, faces, np.array(sorted(edges), np.int64).reshape(-1, 2))


def _loop(points: np.ndarray, corners: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Corners of a face in their order, the first three of which are no line."""
    middle = points[corners].mean(axis=0)
    u = points[corners[0]] - middle
    v = np.cross(normal, u)
    away = points[corners] - middle
    order = corners[np.argsort(np.arctan2(away @ v / np.linalg.norm(v), away @ u / np.linalg.norm(u)))]
    if len(order) > _LOOP:
        order = order[np.linspace(0, len(order), _LOOP, endpoint=False).astype(int)]
    p = points[order]
    turns = np.linalg.norm(np.cross(np.roll(p, -1, 0) - p, np.roll(p, -2, 0) - p), axis=1)
    return np.roll(order, -int(np.argmax(turns)))


def is_convex(points: np.ndarray, triangles: np.ndarray) -> bool:
    """Whether a closed mesh is convex: it encloses what its hull does."""
    try:
        whole = float(ConvexHull(points).volume)
    except (QhullError, ValueError):
        return False
    edges = points[triangles] - points.mean(axis=0)
    return abs(float(np.linalg.det(edges).sum()) / 6.0 - whole) <= _CONVEX * whole


def hull_tables(model: Model) -> HullTables:
    """Hulls of the meshes of a model that bodies or small convex obstacles are made of.

    Raises `ModelError` for a body's mesh that is not convex.
    """
    body, start = model.shape_body.numpy(), np.full(model.shape_count, -1, np.int32)
    points, table, known = [np.zeros((0, 3))], [], {}
    for s, kind in enumerate(model.shape_type):
        if kind is not ShapeType.MESH:
            continue
        mesh = model.shape_object[s]
        if body[s] < 0 and len(mesh.indices) > 6 * _SMALL:
            continue
        if id(mesh) not in known:
            known[id(mesh)] = _of_mesh(mesh)
        hull = known[id(mesh)]
        if hull is None and body[s] >= 0:
            raise ModelError(
                f"shape {s} of body {body[s]} is a mesh that is not convex\nhelp: add_shape_mesh(..., hull=True) takes "
                "its convex hull; or make the form of several convex ones, with body= the same number"
            )
        if hull is None:
            continue
        start[s] = len(table)
        table += _rows(hull, sum(map(len, points)))
        points.append(np.vstack([hull.points.mean(axis=0), hull.points]))
    return HullTables(np.concatenate(points), np.array(table, np.int32), start)


def _of_mesh(mesh: object) -> Hull | None:
    """The hull of a mesh; None where this is not the mesh."""
    points = np.asarray(mesh.points.numpy(), np.float64)  # type: ignore[attr-defined]
    return hull_of(points) if is_convex(points, mesh.indices.numpy().reshape(-1, 3)) else None  # type: ignore[attr-defined]


def _rows(hull: Hull, first: int) -> list[int]:
    """The table of a hull. first: where its points begin."""
    starts = np.cumsum([0, *map(len, hull.faces)]).tolist()
    counts = [first, len(hull.points), len(hull.faces), len(hull.edges)]
    return [*counts, *starts, *np.concatenate(hull.faces).tolist(), *hull.edges.ravel().tolist()]
