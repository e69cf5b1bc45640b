"""The signed distance to the union of rigid meshes over all their poses, at a point: `swept_volume_sdf`.

Instead of a mesh the point is moved, by the inverse of the pose. Where a mesh is known to be outside of the point, only
faces closer than the nearest so far matter, so that most poses end at the root of the tree.
"""

from __future__ import annotations

from enum import IntEnum

from ...core.language import array, array2d, bool_, float32, int32, transform, uint64, vec3
from ...core.language import func, length, min, resolve, where
from ...core.lib.transforms import transform_inverse, transform_point
from ..mesh.closest import closest_face
from ..mesh.data import MeshData
from ..mesh.eval import mesh_eval_position
from ..mesh.pseudonormal import sign_by_normal
from ..mesh.query import closest_of
from ..mesh.sign import sign_by_parity
from ..mesh.winding import winding_number


class SweptVolumeSignMode(IntEnum):
    """How it is decided whether a point is inside a mesh; NO_SIGN: never. See `mesh_query_point_sign_normal` ..."""

    NORMAL = 0
    WINDING_NUMBER = 1
    PARITY = 2
    NO_SIGN = 3


NORMAL, WINDING_NUMBER, PARITY, NO_SIGN = map(int, SweptVolumeSignMode)

_EPSILON, _ACCURACY, _THRESHOLD, _SAMPLES, _PERTURBATION = 1.0e-3, 2.0, 0.5, 1, 0.1  # as queries have them by default


@func
def _is_inside(data: MeshData, p: vec3, sign_mode: int32) -> bool_:
    """Whether a point is in a mesh, by what needs no closest face."""
    if sign_mode == WINDING_NUMBER:
        return winding_number(data, p, _ACCURACY) > _THRESHOLD
    if sign_mode == PARITY:
        return sign_by_parity(data, p, _SAMPLES, _PERTURBATION) < 0.0
    return False


@func
def _nearer(mesh: uint64, p: vec3, nearest: float32, max_dist: float32, sign_mode: int32) -> float32:
    """The signed distance of a mesh in its own frame, if it is below `nearest`."""
    data = resolve(mesh, MeshData)
    inside = _is_inside(data, p, sign_mode)
    limit = where(inside | (sign_mode == NORMAL), max_dist, nearest)
    face = closest_face(data, p, limit)
    if face >= 0:
        query = closest_of(data, face, p, 1.0)
        distance = length(p - mesh_eval_position(mesh, face, query.u, query.v))
        if sign_mode == NORMAL:
            inside = sign_by_normal(data, p, face, _EPSILON) < 0.0
        nearest = min(nearest, where(inside, -distance, distance))
    return nearest


@func
def swept_volume_sdf(
    point: vec3,
    mesh_ids: array(dtype=uint64),
    transforms: array2d(dtype=transform),
    max_dist: float32,
    sign_mode: int32,
) -> float32:
    """The least signed distance of a point to meshes over all poses, negative inside, at most `max_dist`.

    transforms: (meshes, poses), from the frame of each mesh to that of the point, with quaternions of unit length.
    max_dist: faces further away do not count, also for points inside.
    sign_mode: of `SweptVolumeSignMode`. WINDING_NUMBER asks for meshes made with `support_winding_number`.

    Outside the union it is the distance; inside its magnitude is at most that to the surface of the union. Tapes refuse
    to differentiate it, as it reads ids from memory.
    """
    nearest = max_dist
    for m in range(mesh_ids.shape[0]):
        for s in range(transforms.shape[1]):
            p = transform_point(transform_inverse(transforms[m, s]), point)
            nearest = _nearer(mesh_ids[m], p, nearest, max_dist, sign_mode)
    return nearest
