"""Boxes of a node against a point or a ray: four distances, or four spans, at once.

See `nodes` for the layout. Boxes of empty slots are infinitely far and entered by no ray.
"""

from __future__ import annotations

from ...core.language import abs, cw_mul, float32, func, greater, lesser, max, min, vec3, vec4, where
from .nodes import BvhNode

LARGEST = 3.4028234663852886e38
_ENDLESS = 1.0e30
_NOTHING = vec4(0.0)


@func
def extent(x: vec3) -> float32:
    """A sum of magnitudes that does not overflow: a number if all components are, else NaN or infinite."""
    return 0.25 * abs(x[0]) + 0.25 * abs(x[1]) + 0.25 * abs(x[2])


@func
def is_finite(x: vec3) -> bool:
    """Whether no component is NaN or infinite."""
    return extent(x) <= LARGEST


@func
def gaps(lower: vec4, x: float32, upper: vec4) -> vec4:
    """How far x is outside of four intervals; 0 inside."""
    at = vec4(x)
    return greater(greater(_NOTHING, lower - at), at - upper)


@func
def box_distances_sq(node: BvhNode, point: vec3) -> vec4:
    """The squared distances from a point to the boxes of a node."""
    x = gaps(node.lower_x, point[0], node.upper_x)
    y = gaps(node.lower_y, point[1], node.upper_y)
    z = gaps(node.lower_z, point[2], node.upper_z)
    return cw_mul(x, x) + cw_mul(y, y) + cw_mul(z, z)


@func
def clamped_reciprocal(d: float32) -> float32:
    """1 / d as `box_spans` wants it: where it is too large for a number, the largest there is."""
    return max(-LARGEST, min(1.0 / d, LARGEST))


@func
def _in_plane(inverse: float32) -> float32:
    """How far a ray runs within a plane: without end where it is parallel to it."""
    return where(abs(inverse) == LARGEST, _ENDLESS, 0.0)


@func
def box_spans(node: BvhNode, start: vec3, inverse: vec3, limit: float32) -> tuple[vec4, vec4]:
    """Where the ray start + t / inverse, 0 <= t <= limit, enters and leaves the boxes of a node.

    A box is met where the first number is not above the second. inverse: by `clamped_reciprocal`. A ray that is
    parallel to a plane is inside of it if it lies in it; if it lies outside by less than 1e-8 it may count as inside.
    """
    near_x = where(inverse[0] >= 0.0, node.lower_x, node.upper_x)
    near_y = where(inverse[1] >= 0.0, node.lower_y, node.upper_y)
    near_z = where(inverse[2] >= 0.0, node.lower_z, node.upper_z)
    far_x = where(inverse[0] >= 0.0, node.upper_x, node.lower_x)
    far_y = where(inverse[1] >= 0.0, node.upper_y, node.lower_y)
    far_z = where(inverse[2] >= 0.0, node.upper_z, node.lower_z)
    enter = greater(_NOTHING, (near_x - vec4(start[0])) * inverse[0])
    enter = greater(enter, (near_y - vec4(start[1])) * inverse[1])
    enter = greater(enter, (near_z - vec4(start[2])) * inverse[2])
    leave = (far_x - vec4(start[0])) * inverse[0] + vec4(_in_plane(inverse[0]))
    leave = lesser(leave, (far_y - vec4(start[1])) * inverse[1] + vec4(_in_plane(inverse[1])))
    leave = lesser(leave, (far_z - vec4(start[2])) * inverse[2] + vec4(_in_plane(inverse[2])))
    # Three roundings of each side (Ize 2013, Robust BVH ray traversal): no box is missed by them. What is entered at
    # infinity is missed.
    return enter, lesser(vec4(lesser(LARGEST, limit)), leave * 1.0000005)
