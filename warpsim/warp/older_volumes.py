"""Volume functions under the names of the first releases of the Warp interface, for float32 volumes.

The announcement of Warp (NVIDIA, 2022) lists them with these meanings: `volume_sample_world` samples at a point of
world space, `volume_sample_local` at one of the volume's own space, which is index space; `volume_transform`
takes a point from there to world space, `volume_transform_inv` back. Its `volume_lookup(vol, ijk)` is
an overload in `volume_lookup`.
"""

from __future__ import annotations

from ..core.language import float32, func, int32, uint64, vec3f
from ..geometry.volume.sample import volume_sample_f
from ..geometry.volume.transform import volume_index_to_world, volume_world_to_index


@func
def volume_sample_world(id: uint64, xyz: vec3f, sampling_mode: int32) -> float32:
    """`volume_sample_f` at the point `xyz` of world space."""
    return volume_sample_f(id, volume_world_to_index(id, xyz), sampling_mode)


@func
def volume_sample_local(id: uint64, uvw: vec3f, sampling_mode: int32) -> float32:
    """`volume_sample_f`: the point `uvw` lies in index space."""
    return volume_sample_f(id, uvw, sampling_mode)


@func
def volume_transform(id: uint64, uvw: vec3f) -> vec3f:
    """`volume_index_to_world`: from voxel space to world space."""
    return volume_index_to_world(id, uvw)


@func
def volume_transform_inv(id: uint64, xyz: vec3f) -> vec3f:
    """`volume_world_to_index`: from world space to voxel space."""
    return volume_world_to_index(id, xyz)
