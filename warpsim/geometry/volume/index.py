"""Values beside volumes: `volume_sample_index` reads an array that has one element per voxel of a volume.

The volume gives only the places: it may be an index volume, which holds nothing else, or any other. Voxels
without an index have the value `background`. Modes, points and sides are those of `volume_sample`;
derivatives go to the point, to the array and to the background.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Array, Element, Int, Vec, func, int32, resolve, uint64, vec3i, zeros
from ..nanovdb.read import VolumeData, leaf_slot, voxel_index
from .directory import vec8i
from .sample import LINEAR, Coordinate, as_gradient, cell, corner_slots, entries_around, entry_around, nearest_voxel
from .sample import partials, trilinear, weight


@func
def element(values: Array[Element, 1], index: int32, background: Element) -> Element:
    """The element of a voxel."""
    return values[index] if index >= 0 else background


@func
def corner_indices(id: uint64, low: vec3i) -> vec8i:
    """The indices of the eight voxels of a cell."""
    data = resolve(id, VolumeData)
    if data.grid_type == 0:
        return vec8i(-1)
    entries, slots = entries_around(data, low), corner_slots(low)
    indices = zeros(shape=8, dtype=int32)
    n = int32(0)
    while n < 8:  # not a `for`, which would be unrolled to eight copies
        indices[n] = voxel_index(data, entries[n], slots[n])
        n += 1
    return vec8i(indices[0], indices[1], indices[2], indices[3], indices[4], indices[5], indices[6], indices[7])


@func
def corner_elements(id: uint64, low: vec3i, values: Array[Element, 1], background: Element) -> Any:
    """The elements of the eight voxels of a cell."""
    at = corner_indices(id, low)
    return (
        element(values, at[0], background),
        element(values, at[1], background),
        element(values, at[2], background),
        element(values, at[3], background),
        element(values, at[4], background),
        element(values, at[5], background),
        element(values, at[6], background),
        element(values, at[7], background),
    )


@func
def closest_element(id: uint64, p: Vec[3, Coordinate], values: Array[Element, 1], background: Element) -> Element:
    """The element of the voxel closest to a point."""
    data, v = resolve(id, VolumeData), nearest_voxel(p)
    if data.grid_type == 0:
        return background
    index = voxel_index(data, entry_around(data, v), leaf_slot(v[0], v[1], v[2]))
    return element(values, index, background)


# ----- the value ------------------------------------------------------------------------------


@func
def interpolated_elements(id: uint64, p: Vec[3, Coordinate], values: Array[Element, 1], background: Element) -> Element:
    """The trilinear interpolant of the elements around a point."""
    low, t = cell(p)
    v = corner_elements(id, low, values, background)
    return trilinear(v, weight(t[0], background), weight(t[1], background), weight(t[2], background))


@func
def volume_sample_index(
    id: uint64, uvw: Vec[3, Coordinate], sampling_mode: int32, voxel_data: Array[Int, 1], background: Int
) -> Int:
    """The value at the point `uvw` of index space, from an array with one element per voxel of the volume.

    sampling_mode: `Volume.CLOSEST` or `Volume.LINEAR`; integers are always those of the closest voxel.
    voxel_data: at least `volume_voxel_count` elements, in the order of `volume_lookup_index`.
    background: the value, of the array's type, of voxels without an index.
    """
    return closest_element(id, uvw, voxel_data, background)


@func(overload_of=volume_sample_index)
def volume_sample_index(
    id: uint64, uvw: Vec[3, Coordinate], sampling_mode: int32, voxel_data: Array[Element, 1], background: Element
) -> Element:
    if sampling_mode == LINEAR:
        return interpolated_elements(id, uvw, voxel_data, background)
    return closest_element(id, uvw, voxel_data, background)


# ----- the value and its gradient -------------------------------------------------------------


@func(inout=("grad",))
def volume_sample_grad_index(
    id: uint64,
    uvw: Vec[3, Coordinate],
    sampling_mode: int32,
    voxel_data: Array[Element, 1],
    background: Element,
    grad: Any,
) -> Any:
    """`volume_sample_index`; `grad` becomes the gradient with respect to `uvw`, which is zero for CLOSEST.

    grad: a vector of three elements; for vectors of N components a matrix of shape (N, 3).
    """
    if sampling_mode != LINEAR:
        return type(grad)(), closest_element(id, uvw, voxel_data, background)
    low, t = cell(uvw)
    v = corner_elements(id, low, voxel_data, background)
    x, y, z = weight(t[0], background), weight(t[1], background), weight(t[2], background)
    dx, dy, dz = partials(v, x, y, z)
    return as_gradient(dx, dy, dz), trilinear(v, x, y, z)
