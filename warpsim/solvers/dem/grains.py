"""Contacts between grains: one thread sums the forces on its grain over a row of the Verlet list."""

from __future__ import annotations

import functools
import math
from typing import Any

from ...core.language import Float, Vec, array, cross, dot, func, generic_struct, int32, kernel, max, sqrt, tid
from ...geometry.hash_grid.neighbors import nearest_image
from ..neighbours.verlet_list import position
from .adhesion import jkr_neck
from .contact import contact_of

SOLID = 0.4  # moment of inertia of a ball, per mass and squared radius
ROLLING = 1.0 + SOLID  # the same about a point of its surface


@generic_struct
class Pairs:
    """Pairs of grains: rows of a Verlet list, and by row whether grains that stick hold on to each other. period: see
    `SolverDEM` [m]; dt: the substep [s]."""

    offsets: array(dtype=int32)
    ids: array(dtype=int32)
    bonds: array(dtype=int32)
    period: Vec[3, Float]
    dt: Float


@func
def overlap_area(a: Float, b: Float, gap: Float, per_gap: Float) -> Float:
    """The area of the circle in which two spheres of radii a, b intersect, their centres `gap` apart [m^2], or 0.

    per_gap: 1 / gap [1/m].
    """
    product = max(a + b - gap, gap * 0.0) * (gap + a - b) * (gap - a + b) * (a + b + gap)
    return product * gap.dtype(0.25 * math.pi) * per_gap * per_gap


@functools.cache
def grain_kernel(law: str, rolling: str | None, limited: bool, periodic: bool) -> Any:
    """The kernel of contacts between grains under one law; those that stick hold on beyond touch."""
    contact, sticky = contact_of(law, rolling, limited), law == "jkr"

    @kernel
    def touch_grains(
        pairs: Any, table: array(dtype=Any, ndim=3), q: array(dtype=Any), v: array(dtype=Any), w: array(dtype=Any),
        inv_mass: array(dtype=Any), kind: array(dtype=int32), springs: array(dtype=Any), wound: array(dtype=Any),
        force: array(dtype=Any), torque: array(dtype=Any),
    ):  # fmt: skip
        i = tid()
        a, p, u, spin = q[i], position(q[i]), v[i], w[i]
        total, turning = u * 0.0, u * 0.0
        for k in range(pairs.offsets[i], pairs.offsets[i + 1]):
            j = pairs.ids[k]
            b = q[j]
            d = p - position(b)
            if periodic:
                d = nearest_image(d, pairs.period)
            reach = a[3] + b[3]
            radius = a[3] * b[3] / reach
            neck = reach * 0.0
            if sticky:
                if pairs.bonds[k] > 0:
                    neck = jkr_neck(table, kind[i], kind[j], radius)
                pairs.bonds[k] = 0
            square = dot(d, d)
            inverse = inv_mass[i] + inv_mass[j]
            spring, roll = u * 0.0, u * 0.0
            if square < (reach + neck) * (reach + neck) and square > 0.0 and inverse > 0.0:
                gap = sqrt(square)
                overlap = reach - gap
                if overlap > -neck:  # which rounding may make of a square below the other
                    per_gap = 1.0 / gap
                    n = d * per_gap
                    arm_a, arm_b = a[3] - 0.5 * overlap, b[3] - 0.5 * overlap
                    relative = u - v[j] - cross(arm_a * spin + arm_b * w[j], n)
                    if sticky:
                        pairs.bonds[k] = 1
                    turn = inv_mass[i] / (a[3] * a[3]) + inv_mass[j] / (b[3] * b[3])
                    inertia = turn.dtype(ROLLING) / turn
                    if rolling == "spring":
                        roll = wound[k]
                    area = overlap_area(a[3], b[3], gap, per_gap)
                    push, twist, spring, roll = contact(
                        table, kind[i], kind[j], radius, 1.0 / inverse, inertia, area, n, overlap, relative,
                        spin - w[j], pairs.dt, springs[k], roll,
                    )  # fmt: skip
                    total += push
                    turning += twist - arm_a * cross(n, push)
            springs[k] = spring
            if rolling == "spring":
                wound[k] = roll
        force[i] = total
        torque[i] = turning

    return touch_grains
