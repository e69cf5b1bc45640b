"""The convex hull of a mesh, as a mesh."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from ...core.language import array, int32, vec3
from ...errors import ModelError
from ...geometry.mesh.mesh import Mesh


def hull_mesh(mesh: object) -> Mesh:
    """The convex hull of the points of a mesh, with faces counter-clockwise seen from outside, on its device.

    Raises `ModelError` for what is no mesh, and for points of one plane.
    """
    if not isinstance(mesh, Mesh):
        raise ModelError(f"a hull is to be that of {type(mesh).__name__}\nexpected: a Mesh")
    points = mesh.points.numpy()
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        raise ModelError("points of a mesh have no convex hull with a volume\nexpected: not all of one plane") from None
    used = np.unique(hull.simplices)
    names = np.zeros(len(points), np.int32)
    names[used] = np.arange(len(used))
    faces, corners = names[hull.simplices], points[used]
    a, b, c = (corners[faces[:, i]] for i in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    options = {"device": mesh.device}
    return Mesh(array(corners, dtype=vec3, **options), array(faces.ravel(), dtype=int32, **options))
