"""Random points on simple shapes, uniform in length, area or volume, and draws from a table.

Each function maps numbers of `random.py` by the inverse of the cumulative distribution, so it takes
a fixed number of draws, and equal seeds give Warp's points up to rounding. Shapes are centred at
the origin; `state` advances in the calling kernel.
"""

from __future__ import annotations

from ..language import Array, Scalar, cbrt, cos, float32, func, int32, sin, sqrt, uint32, vec2, vec3
from .random import next_state, unit_float

_TWO_PI = 6.283185307179586


# ----- in the plane ---------------------------------------------------------------------------


@func(inout=("state",))
def sample_triangle(state: uint32) -> tuple[uint32, vec2]:
    """Barycentric coordinates (u, v) of a point in a triangle: it is u a + v b + (1 - u - v) c.

    Turk 1990, Generating random points in triangles. Two draws.
    """
    first = next_state(state)
    second = next_state(first)
    r = sqrt(unit_float(first))
    return second, vec2(1.0 - r, unit_float(second) * r)


@func(inout=("state",))
def sample_unit_ring(state: uint32) -> tuple[uint32, vec2]:
    """A point on the circle of radius 1. One draw."""
    state = next_state(state)
    return state, _direction(unit_float(state))


@func(inout=("state",))
def sample_unit_disk(state: uint32) -> tuple[uint32, vec2]:
    """A point in the disk of radius 1. Two draws."""
    first = next_state(state)
    second = next_state(first)
    return second, sqrt(unit_float(first)) * _direction(unit_float(second))


@func(inout=("state",))
def sample_unit_square(state: uint32) -> tuple[uint32, vec2]:
    """A point in the square [-1/2, 1/2)^2. Two draws."""
    first = next_state(state)
    second = next_state(first)
    return second, vec2(unit_float(first) - 0.5, unit_float(second) - 0.5)


# ----- in space -------------------------------------------------------------------------------


@func(inout=("state",))
def sample_unit_sphere_surface(state: uint32) -> tuple[uint32, vec3]:
    """A point on the sphere of radius 1: z is uniform (Archimedes' hat box). Two draws."""
    first = next_state(state)
    second = next_state(first)
    return second, _on_sphere(2.0 * unit_float(first), unit_float(second))


@func(inout=("state",))
def sample_unit_sphere(state: uint32) -> tuple[uint32, vec3]:
    """A point in the ball of radius 1. Three draws."""
    first = next_state(state)
    second = next_state(first)
    third = next_state(second)
    return third, cbrt(unit_float(third)) * _on_sphere(2.0 * unit_float(first), unit_float(second))


@func(inout=("state",))
def sample_unit_hemisphere_surface(state: uint32) -> tuple[uint32, vec3]:
    """A point on the upper half (z > 0) of the sphere of radius 1. Two draws."""
    first = next_state(state)
    second = next_state(first)
    return second, _on_sphere(unit_float(first), unit_float(second))


@func(inout=("state",))
def sample_unit_hemisphere(state: uint32) -> tuple[uint32, vec3]:
    """A point in the upper half (z >= 0) of the ball of radius 1. Three draws."""
    first = next_state(state)
    second = next_state(first)
    third = next_state(second)
    return third, cbrt(unit_float(third)) * _on_sphere(unit_float(first), unit_float(second))


@func(inout=("state",))
def sample_unit_cube(state: uint32) -> tuple[uint32, vec3]:
    """A point in the cube [-1/2, 1/2)^3. Three draws."""
    first = next_state(state)
    second = next_state(first)
    third = next_state(second)
    return third, vec3(unit_float(first) - 0.5, unit_float(second) - 0.5, unit_float(third) - 0.5)


@func
def _direction(turns: float32) -> vec2:
    """The unit vector at an angle given in full turns."""
    angle = _TWO_PI * turns
    return vec2(cos(angle), sin(angle))


@func
def _on_sphere(depth: float32, turns: float32) -> vec3:
    """The point of the unit sphere `depth` below its top, at an azimuth in full turns."""
    radius = sqrt(depth * (2.0 - depth))  # of the circle at that height, without cancellation
    angle = _TWO_PI * turns
    return vec3(radius * cos(angle), radius * sin(angle), 1.0 - depth)


# ----- from a table ---------------------------------------------------------------------------


@func(inout=("state",))
def sample_cdf(state: uint32, cdf: Array[float, 1]) -> tuple[uint32, int32]:
    """An index drawn with the probabilities whose running sum is `cdf` (ascending, last element 1). One draw."""
    state = next_state(state)
    return state, lower_bound(cdf, unit_float(state))


@func
def lower_bound(arr: Array[Scalar, 1], value: Scalar) -> int32:
    """The index of the first element of ascending `arr` not below `value`; the last index if all are below."""
    return lower_bound(arr, 0, arr.shape[0], value)


@func(overload_of=lower_bound)
def lower_bound(arr: Array[Scalar, 1], arr_begin: int, arr_end: int, value: Scalar) -> int32:
    """The same among elements arr_begin to arr_end - 1."""
    low = arr_begin
    high = arr_end - 1
    while low < high:
        middle = low + (high - low) // 2
        if arr[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
