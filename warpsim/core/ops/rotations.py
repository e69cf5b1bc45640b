"""The products of quaternions and of transforms; everything else about them is library code."""

from __future__ import annotations

from typing import Any

from ..types.signatures import Float, Quat, Transform
from ..types.value_operators import compose, hamilton_product
from .construct import components, rebuild
from .registry import expansion


def _hamilton(a: list[Any], b: list[Any]) -> list[Any]:
    x1, y1, z1, w1 = a
    x2, y2, z2, w2 = b
    return [
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
        w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
    ]


def _cross(a: list[Any], b: list[Any]) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def rotate(q: list[Any], v: list[Any]) -> list[Any]:
    """(2 w^2 - 1) v + 2 w (u x v) + 2 (u . v) u, as `quat_rotate`: they agree where q = (u, w) is no unit, too."""
    along, double = q[0] * v[0] + q[1] * v[1] + q[2] * v[2], 2.0 * q[3]
    straight, turned = double * q[3] - 1.0, _cross(q[:3], v)
    return [straight * v[i] + double * turned[i] + (2.0 * along) * q[i] for i in range(3)]


@expansion(numpy=hamilton_product, name="mul")
def _mul_quaternions(a: Quat[Float], b: Quat[Float]) -> Quat[Float]:
    """Hamilton product: the rotation `b`, then `a`."""
    return rebuild(a, _hamilton(components(a), components(b)))


@expansion(numpy=compose, name="mul", ulps=8)
def _mul_transforms(a: Transform[Float], b: Transform[Float]) -> Transform[Float]:
    """The transform that applies `b`, then `a`."""
    left, right = components(a), components(b)
    moved = rotate(left[3:], right[:3])
    position = [left[i] + moved[i] for i in range(3)]
    return rebuild(a, position + _hamilton(left[3:], right[3:]))


