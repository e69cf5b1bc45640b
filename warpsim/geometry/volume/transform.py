"""Between index space and world space: the affine map of a volume, for points and for directions, both ways.

world = matrix @ index + translation. float32 points use the map that the grid holds in single precision, float64
points the one in double precision; the inverse is that of the grid too. The map of a closed volume is zero.
"""

from __future__ import annotations

from ...core.language import func, resolve, uint64, vec3d, vec3f
from ..nanovdb.read import VolumeData


@func
def volume_index_to_world(id: uint64, uvw: vec3f) -> vec3f:
    """The point of world space that stands at `uvw` in index space."""
    data = resolve(id, VolumeData)
    return data.to_world_f @ uvw + data.translation_f


@func(overload_of=volume_index_to_world)
def volume_index_to_world(id: uint64, uvw: vec3d) -> vec3d:
    data = resolve(id, VolumeData)
    return data.to_world @ uvw + data.translation


@func
def volume_world_to_index(id: uint64, xyz: vec3f) -> vec3f:
    """The point of index space that stands at `xyz` in world space."""
    data = resolve(id, VolumeData)
    return data.to_index_f @ (xyz - data.translation_f)


@func(overload_of=volume_world_to_index)
def volume_world_to_index(id: uint64, xyz: vec3d) -> vec3d:
    data = resolve(id, VolumeData)
    return data.to_index @ (xyz - data.translation)


@func
def volume_index_to_world_dir(id: uint64, uvw: vec3f) -> vec3f:
    """A direction of index space in world space; its length changes with the size of the voxels."""
    return resolve(id, VolumeData).to_world_f @ uvw


@func(overload_of=volume_index_to_world_dir)
def volume_index_to_world_dir(id: uint64, uvw: vec3d) -> vec3d:
    return resolve(id, VolumeData).to_world @ uvw


@func
def volume_world_to_index_dir(id: uint64, xyz: vec3f) -> vec3f:
    """A direction of world space in index space."""
    return resolve(id, VolumeData).to_index_f @ xyz


@func(overload_of=volume_world_to_index_dir)
def volume_world_to_index_dir(id: uint64, xyz: vec3d) -> vec3d:
    return resolve(id, VolumeData).to_index @ xyz
