"""Evaluation of a mesh at a face: positions, velocities, normals, and the arrays themselves. All differentiable.

Indices are not checked outside of `config.verify` and the device "interp", like any index into an array.
"""

from __future__ import annotations

from ...core.language import float32, func, int32, resolve, uint64, vec3
from ...core.lib.sampling import lower_bound
from .data import MeshData, corners_of, face_normal


@func
def mesh_get(id: uint64) -> MeshData:
    """The arrays of a mesh: `points`, `velocities` (empty where it has none), `indices`."""
    return resolve(id, MeshData)


@func
def mesh_get_point(id: uint64, index: int32) -> vec3:
    """The position of the vertex at a place of the index array: 3 * face + 0, 1 or 2."""
    data = resolve(id, MeshData)
    return data.points[data.indices[index]]


@func
def mesh_get_velocity(id: uint64, index: int32) -> vec3:
    """The velocity of the vertex at a place of the index array; zero where the mesh has no velocities."""
    data = resolve(id, MeshData)
    velocity = vec3()
    if data.velocities.shape[0] > 0:
        velocity = data.velocities[data.indices[index]]
    return velocity


@func
def mesh_get_index(id: uint64, index: int32) -> int32:
    """The vertex at a place of the index array: 3 * face + 0, 1 or 2."""
    return resolve(id, MeshData).indices[index]


@func
def mesh_eval_position(id: uint64, face: int32, bary_u: float32, bary_v: float32) -> vec3:
    """The point u a + v b + (1 - u - v) c of a face with the corners a, b, c."""
    a, b, c = corners_of(resolve(id, MeshData), face)
    return bary_u * a + bary_v * b + (1.0 - bary_u - bary_v) * c


@func
def mesh_eval_velocity(id: uint64, face: int32, bary_u: float32, bary_v: float32) -> vec3:
    """The velocity of that point of a face; zero where the mesh has no velocities."""
    data = resolve(id, MeshData)
    velocity = vec3()
    if data.velocities.shape[0] > 0:
        i, j, k = data.indices[3 * face], data.indices[3 * face + 1], data.indices[3 * face + 2]
        velocity = bary_u * data.velocities[i] + bary_v * data.velocities[j]
        velocity += (1.0 - bary_u - bary_v) * data.velocities[k]
    return velocity


@func
def mesh_eval_face_normal(id: uint64, face: int32) -> vec3:
    """The unit normal of a face, towards the side from which it turns counter-clockwise; zero without area."""
    a, b, c = corners_of(resolve(id, MeshData), face)
    return face_normal(a, b, c)


@func
def mesh_get_group_root(id: uint64, group: int32) -> int32:
    """The `root` with which queries along rays look at the faces of one group; -1, all faces, if there is none."""
    data = resolve(id, MeshData)
    place = lower_bound(data.groups, 0, len(data.groups) + 1, group)
    root = int32(-1)
    if place < len(data.groups):
        if data.groups[place] == group:
            root = data.roots[place]
    return root
