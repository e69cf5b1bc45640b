"""Values of volumes between voxels: `volume_sample` and `volume_sample_grad`.

Index space has voxel (i, j, k) at the point with these coordinates. LINEAR is the trilinear interpolant of the
eight voxels around a point; CLOSEST is the value of the nearest voxel, halves rounded away from zero. Voxels
without a value of their own have that of the tile around them, or the background.

Derivatives follow from the code: to the point (that of the interpolant in the cell which begins at
floor(point), so on a face between cells the side of larger coordinates; of CLOSEST zero), and to the values, where
the volume has `requires_grad` set. The gradient itself can be differentiated as well.

Points with a coordinate beyond 2^31 - 128 in magnitude, or NaN, lie in the background. float32 coordinates come in
steps of 1/16 at 2^19, and of 1 from 2^23 on; float64 points are taken as well.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Float, Int, N, TypeVariable, Vec, float32, float64, int32, mat33f, uint64, vec3f, vec3i
from ...core.language import abs, floor, func, matrix_from_cols, resolve, round, vector
from ..nanovdb.read import VALUE_WORDS, VolumeData, leaf_slot, place, read
from .directory import CORNERS, corner_entries, entry_of, vec8i
from .lookup import holds

CLOSEST, LINEAR = 0, 1

Coordinate = TypeVariable("Coordinate", lambda t: t in (float32, float64))
"""The precision of points, whatever that of the values is."""

_LIMIT = 2.0**31 - 128.0  # the largest float32 that int32 holds
_FAR = 2**31 - 8  # along all axes, for every point beyond: no other gets there, and the cell lies in one cube


# ----- where ----------------------------------------------------------------------------------


@func
def nearest_voxel(p: Vec[3, Coordinate]) -> vec3i:
    """The voxel closest to a point."""
    return voxel_at(type(p)(round(p[0]), round(p[1]), round(p[2])))


@func
def cell(p: Vec[3, Coordinate]) -> tuple[vec3i, Vec[3, Coordinate]]:
    """The lowest voxel of the cell around a point, and the point's coordinates in the cell, in [0, 1]."""
    floored = type(p)(floor(p[0]), floor(p[1]), floor(p[2]))
    low = voxel_at(floored)
    return low, (p - floored if low[0] != _FAR else type(p)())


@func
def voxel_at(p: Vec[3, Coordinate]) -> vec3i:
    """The voxel with some whole coordinates; (_FAR, _FAR, _FAR) where one of them is beyond the limit, or NaN."""
    if (abs(p[0]) <= _LIMIT) & (abs(p[1]) <= _LIMIT) & (abs(p[2]) <= _LIMIT):
        return vec3i(int(p[0]), int(p[1]), int(p[2]))
    return vec3i(_FAR)


@func
def entry_around(data: VolumeData, voxel: vec3i) -> int32:
    """The entry of the cube around a voxel that `voxel_at` gave."""
    return entry_of(data, voxel[0], voxel[1], voxel[2]) if voxel[0] != _FAR else ~data.background


@func
def entries_around(data: VolumeData, low: vec3i) -> vec8i:
    """The entries of the eight voxels of a cell, whose lowest one `voxel_at` gave."""
    return corner_entries(data, low[0], low[1], low[2]) if low[0] != _FAR else vec8i(~data.background)


@func
def corner_slots(low: vec3i) -> vec8i:
    """The numbers of the eight voxels of a cell in their cubes."""
    slots = vec8i()
    for n, dx, dy, dz in CORNERS:
        slots[n] = leaf_slot(low[0] + dx, low[1] + dy, low[2] + dz)
    return slots


@func
def corner_places(data: VolumeData, low: vec3i, width: Any) -> vec8i:
    """The places of the values of the eight voxels of a cell."""
    entries, slots = corner_entries(data, low[0], low[1], low[2]), corner_slots(low)
    places = vec8i()
    for n in range(8):
        places[n] = place(entries[n], slots[n], width)
    return places


# ----- interpolation --------------------------------------------------------------------------


@func
def weight(t: Coordinate, like: float32) -> float32:
    """A coordinate in the precision of the values."""
    return float32(t)


@func(overload_of=weight)
def weight(t: Coordinate, like: float64) -> float64:
    return float64(t)


@func(overload_of=weight)
def weight(t: Coordinate, like: Vec[N, Float]) -> Float:
    return weight(t, like[0])


@func
def between(a: Any, b: Any, t: Any) -> Any:
    """Linear from `a` at 0 to `b` at 1."""
    return a + (b - a) * t


@func
def trilinear(v: Any, x: Any, y: Any, z: Any) -> Any:
    """The interpolant of eight values in the order of `CORNERS` at (x, y, z) in the unit cube."""
    below = between(between(v[0], v[1], z), between(v[2], v[3], z), y)
    above = between(between(v[4], v[5], z), between(v[6], v[7], z), y)
    return between(below, above, x)


@func
def partials(v: Any, x: Any, y: Any, z: Any) -> Any:
    """The derivatives of `trilinear` along the three axes."""
    below, above = between(v[0], v[1], z), between(v[4], v[5], z)
    below_up, above_up = between(v[2], v[3], z), between(v[6], v[7], z)
    along_x = between(above - below, above_up - below_up, y)
    along_y = between(below_up - below, above_up - above, x)
    front = between(v[1] - v[0], v[3] - v[2], y)
    back = between(v[5] - v[4], v[7] - v[6], y)
    return along_x, along_y, between(front, back, x)


@func
def corner_values(data: VolumeData, low: vec3i, like: Any) -> Any:
    """The values of the eight voxels of a cell. Two cells of three lie in one cube: these need no table of places."""
    width = VALUE_WORDS[type(like)]
    if (low[0] & 7 < 7) & (low[1] & 7 < 7) & (low[2] & 7 < 7):
        entry = entry_around(data, low)
        if entry < 0:
            v = read(data, ~entry, like)
            return v, v, v, v, v, v, v, v
        z, y, x = width, 8 * width, 64 * width
        at = entry + leaf_slot(low[0], low[1], low[2]) * width
        return (
            read(data, at, like),
            read(data, at + z, like),
            read(data, at + y, like),
            read(data, at + y + z, like),
            read(data, at + x, like),
            read(data, at + x + z, like),
            read(data, at + x + y, like),
            read(data, at + x + y + z, like),
        )
    at = corner_places(data, low, width)
    return (
        read(data, at[0], like),
        read(data, at[1], like),
        read(data, at[2], like),
        read(data, at[3], like),
        read(data, at[4], like),
        read(data, at[5], like),
        read(data, at[6], like),
        read(data, at[7], like),
    )


# ----- the value ------------------------------------------------------------------------------


@func
def value_at(data: VolumeData, p: Vec[3, Coordinate], mode: int32, like: Float) -> Any:
    """The value at a point of index space."""
    return interpolate(data, p, like) if mode == LINEAR else closest(data, p, like)


@func(overload_of=value_at)
def value_at(data: VolumeData, p: Vec[3, Coordinate], mode: int32, like: Vec[N, Float]) -> Any:
    return interpolate(data, p, like) if mode == LINEAR else closest(data, p, like)


@func(overload_of=value_at)
def value_at(data: VolumeData, p: Vec[3, Coordinate], mode: int32, like: Int) -> Any:
    return closest(data, p, like)  # nothing lies between integers


@func
def interpolate(data: VolumeData, p: Vec[3, Coordinate], like: Any) -> Any:
    """The trilinear interpolant at a point."""
    low, t = cell(p)
    return trilinear(corner_values(data, low, like), weight(t[0], like), weight(t[1], like), weight(t[2], like))


@func
def closest(data: VolumeData, p: Vec[3, Coordinate], like: Any) -> Any:
    """The value of the voxel closest to a point."""
    v = nearest_voxel(p)
    return read(data, place(entry_around(data, v), leaf_slot(v[0], v[1], v[2]), VALUE_WORDS[type(like)]), like)


@func
def volume_sample(id: uint64, uvw: Vec[3, Coordinate], sampling_mode: int32, dtype: Any) -> Any:
    """The value, of type `dtype`, of a volume at the point `uvw` of index space.

    sampling_mode: `Volume.CLOSEST` or `Volume.LINEAR`; integers are always those of the closest voxel.
    dtype: what the volume holds: float32, float64, int32, int64, uint32, vec3f, vec3d, vec4f or vec4d.
    A volume that holds something else makes the launch fail with a `KernelAssertionError`.
    """
    data, like = resolve(id, VolumeData), dtype()
    return value_at(data, uvw, sampling_mode, like) if holds(data, like) else like


@func
def volume_sample_f(id: uint64, uvw: Vec[3, Coordinate], sampling_mode: int32) -> float32:
    """`volume_sample` of float32."""
    return volume_sample(id, uvw, sampling_mode, float32)


@func
def volume_sample_v(id: uint64, uvw: Vec[3, Coordinate], sampling_mode: int32) -> vec3f:
    """`volume_sample` of vec3f."""
    return volume_sample(id, uvw, sampling_mode, vec3f)


@func
def volume_sample_i(id: uint64, uvw: Vec[3, Coordinate]) -> int32:
    """`volume_sample` of int32: the value of the closest voxel."""
    return volume_sample(id, uvw, CLOSEST, int32)


# ----- the value and its gradient -------------------------------------------------------------


@func
def with_gradient(data: VolumeData, p: Vec[3, Coordinate], mode: int32, grad: Any, like: Any) -> Any:
    """The gradient and the value; `grad` tells the type of the gradient."""
    if mode != LINEAR:
        return type(grad)(), closest(data, p, like)
    low, t = cell(p)
    v, x, y, z = corner_values(data, low, like), weight(t[0], like), weight(t[1], like), weight(t[2], like)
    dx, dy, dz = partials(v, x, y, z)
    return as_gradient(dx, dy, dz), trilinear(v, x, y, z)


@func
def as_gradient(dx: Float, dy: Float, dz: Float) -> Vec[3, Float]:
    """Derivatives along the axes as a gradient: a vector, or for vectors a matrix with a row per component."""
    return vector(dx, dy, dz)


@func(overload_of=as_gradient)
def as_gradient(dx: Vec[N, Float], dy: Vec[N, Float], dz: Vec[N, Float]) -> Any:
    return matrix_from_cols(dx, dy, dz)


@func(inout=("grad",))
def volume_sample_grad(id: uint64, uvw: Vec[3, Coordinate], sampling_mode: int32, grad: Any, dtype: Any) -> Any:
    """`volume_sample`; `grad` becomes the gradient with respect to `uvw`, which is zero for CLOSEST.

    grad: a vector of three `dtype`; for vectors of N components a matrix of shape (N, 3).
    """
    data, like = resolve(id, VolumeData), dtype()
    return with_gradient(data, uvw, sampling_mode, grad, like) if holds(data, like) else (type(grad)(), like)


@func(inout=("grad",))
def volume_sample_grad_f(
    id: uint64, uvw: Vec[3, Coordinate], sampling_mode: int32, grad: vec3f
) -> tuple[vec3f, float32]:
    """`volume_sample_grad` of float32."""
    data = resolve(id, VolumeData)
    return with_gradient(data, uvw, sampling_mode, grad, 0.0) if holds(data, 0.0) else (vec3f(), 0.0)


@func(inout=("grad",))
def volume_sample_grad_v(
    id: uint64, uvw: Vec[3, Coordinate], sampling_mode: int32, grad: mat33f
) -> tuple[mat33f, vec3f]:
    """`volume_sample_grad` of vec3f."""
    data = resolve(id, VolumeData)
    return with_gradient(data, uvw, sampling_mode, grad, vec3f()) if holds(data, vec3f()) else (mat33f(), vec3f())
