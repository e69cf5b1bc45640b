"""Single voxels of volumes: `volume_lookup`, `volume_store` and `volume_voxel_count`.

Coordinates are any int32; a voxel without a value of its own has that of the tile around it, or the background.
Reading has a derivative to the value that was read, writing one to the value written, both through the gradients
of a volume that has `requires_grad` set; derivatives end at a volume that has none.
"""

from __future__ import annotations

from typing import Any

from ...core.language import float32, func, int32, resolve, static, uint64, vec3f, vec3i
from ..nanovdb.read import VALUE_WORDS, VolumeData, grid_type_of, leaf_slot, place, read, voxel_index, write
from .directory import entry_of


@func
def holds(data: VolumeData, like: Any) -> bool:
    """Whether a volume has values of the type of `like`."""
    t = type(like)
    fits = data.grid_type == static(grid_type_of(t))
    if not fits:
        assert data.grid_type == 0, "a volume is read as values of another type than it holds"
    return fits


@func
def value_at(data: VolumeData, i: int32, j: int32, k: int32, like: Any) -> Any:
    """The value of a voxel."""
    return read(data, place(entry_of(data, i, j, k), leaf_slot(i, j, k), VALUE_WORDS[type(like)]), like)


# ----- reading --------------------------------------------------------------------------------


@func
def volume_lookup(id: uint64, i: int32, j: int32, k: int32, dtype: Any = float32) -> Any:
    """The value, of type `dtype`, of voxel (i, j, k).

    dtype: what the volume holds. One that holds something else makes the launch fail with a `KernelAssertionError`.
    """
    data, like = resolve(id, VolumeData), dtype()
    return value_at(data, i, j, k, like) if holds(data, like) else like


@func(overload_of=volume_lookup)
def volume_lookup(id: uint64, ijk: vec3i, dtype: Any = float32) -> Any:
    """The same with the coordinates in one vector."""
    return volume_lookup(id, ijk[0], ijk[1], ijk[2], dtype)


@func
def volume_lookup_f(id: uint64, i: int32, j: int32, k: int32) -> float32:
    """`volume_lookup` of float32."""
    return volume_lookup(id, i, j, k, float32)


@func
def volume_lookup_v(id: uint64, i: int32, j: int32, k: int32) -> vec3f:
    """`volume_lookup` of vec3f."""
    return volume_lookup(id, i, j, k, vec3f)


@func
def volume_lookup_i(id: uint64, i: int32, j: int32, k: int32) -> int32:
    """`volume_lookup` of int32."""
    return volume_lookup(id, i, j, k, int32)


# ----- writing --------------------------------------------------------------------------------


@func
def volume_store(id: uint64, i: int32, j: int32, k: int32, value: Any):
    """Replace the value of voxel (i, j, k), which must lie in a leaf: outside of leaves nothing happens.

    The tree stays as it is: no voxel becomes active, and statistics in the grid are not brought up to date.
    """
    data = resolve(id, VolumeData)
    if holds(data, value):
        entry = entry_of(data, i, j, k)
        if entry >= 0:
            write(data, place(entry, leaf_slot(i, j, k), VALUE_WORDS[type(value)]), value)


@func
def volume_store_f(id: uint64, i: int32, j: int32, k: int32, value: float32):
    """`volume_store` of float32."""
    volume_store(id, i, j, k, value)


@func
def volume_store_v(id: uint64, i: int32, j: int32, k: int32, value: vec3f):
    """`volume_store` of vec3f."""
    volume_store(id, i, j, k, value)


@func
def volume_store_i(id: uint64, i: int32, j: int32, k: int32, value: int32):
    """`volume_store` of int32."""
    volume_store(id, i, j, k, value)


# ----- counting -------------------------------------------------------------------------------


@func
def volume_voxel_count(id: uint64) -> int32:
    """The number of voxels with an index, see `volume_lookup_index`."""
    return resolve(id, VolumeData).voxel_count


@func
def volume_lookup_index(id: uint64, i: int32, j: int32, k: int32) -> int32:
    """The position of voxel (i, j, k) in arrays of `volume_voxel_count` elements, -1 for a voxel that has none.

    In volumes of values all 512 voxels of a leaf have one, in index volumes those that are active.
    """
    data = resolve(id, VolumeData)
    if data.grid_type == 0:
        return -1
    return voxel_index(data, entry_of(data, i, j, k), leaf_slot(i, j, k))
