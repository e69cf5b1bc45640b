"""Manifolds: where two shapes touch, up to four points with a normal, a gap and arms each, and the impulses there.

A point has a feature, a number that says which corner, edge or face makes it: so impulses are found again when poses
have changed. A pair's normals lead from its first shape to its second. Both impulses of a point act at one place in
space, in the middle of the gap: what a pair does to each other keeps momentum and angular momentum to rounding.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Array, Float, Transform, Vec, abs, array, cross, dot, func, generic_struct, int32, kernel
from ...core.language import max, normalize, sqrt, tid, transformation, uint64, vec2i, vec4i, vector
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ..scene.shapes import to_world
from .motion import response

POINTS = 4
"""How many points a manifold has at most."""


@generic_struct
class Forms:
    """Shapes as the narrow phase sees them, one row each.

    pose: in space. scale, margin: see `Model`. source: ids of meshes and volumes. row: of `Moving`. kind: `ShapeType`.
    hull, table, point: see `HullTables`.
    """

    pose: Array[Transform[Float]]
    scale: Array[Vec[3, Float]]
    margin: Array[Float]
    source: array(dtype=uint64)
    row: array(dtype=int32)
    kind: array(dtype=int32)
    hull: array(dtype=int32)
    table: array(dtype=int32)
    point: Array[Vec[3, Float]]


@generic_struct
class Manifolds:
    """Pairs of shapes, and what their contact is like; points of pair c are rows 4 c to 4 c + 3.

    shapes, rows: both shapes, and their rows of `Moving`. part: the point of the first shape that it is of.
    code, aim: which features of two convex shapes meet, and their normal, see `touch_convex`.
    near: 0 once they are too far apart to touch in this step. reach: how near points are looked at [m]; still: how near
    they count as touching, and how deep as not too deep [m]. surface: friction, that of sticking, restitution.
    torsional, rolling: these coefficients of friction [m]; rolls: whether rolling friction counts where it is 0, for
    its slope. normal: from the first to the second. gap: along it [m], negative where they overlap. arm, far_arm: from
    both centres of mass to the point [m]. hard: impulse per change of velocity along the normal [kg].
    """

    shapes: array(dtype=vec2i)
    rows: array(dtype=vec2i)
    part: array(dtype=int32)
    near: array(dtype=int32)
    code: array(dtype=vec4i)
    aim: Array[Vec[3, Float]]
    reach: Array[Float]
    still: Array[Float]
    surface: Array[Vec[3, Float]]
    torsional: Array[Float]
    rolling: Array[Float]
    rolls: int32
    normal: Array[Vec[3, Float]]
    gap: Array[Float]
    arm: Array[Vec[3, Float]]
    far_arm: Array[Vec[3, Float]]
    hard: Array[Float]


@generic_struct
class Patches:
    """What rubs, one of each pair: the middle of its points, where friction acts as a force in the plane and a torque
    about the normal. Friction of each point of its own would be more unknowns than a body has ways to slide.

    up: unit normal. arm, far_arm: from both centres of mass [m]. grip: impulses per change of velocity along two
    directions of the plane, see `across`, as a symmetric matrix (uu, vv, uv) [kg]. spin: angular impulse per change of
    angular velocity about the normal [kg m^2]; roll: the same about the two directions of the plane, like grip;
    firm: impulse per change of velocity along the normal [kg].
    cone: friction in the substep. count: how many points there are.
    """

    up: Array[Vec[3, Float]]
    arm: Array[Vec[3, Float]]
    far_arm: Array[Vec[3, Float]]
    grip: Array[Vec[3, Float]]
    spin: Array[Float]
    roll: Array[Vec[3, Float]]
    firm: Array[Float]
    cone: Array[Float]
    count: array(dtype=int32)


@generic_struct
class Impulses:
    """What pairs remember.

    feature: of each of the four points, -1 for none. first: impulse along the normal of each point, of the solution of
    positions [N s]; second: that of velocities. rub, later: the same of patches, across the normal [N s], then about it
    [N m s]; roll, roll_later: angular impulses across it [N m s]. approach: how fast a point closed when the substep
    began [m/s].
    """

    feature: array(dtype=vec4i)
    first: Array[Float]
    second: Array[Float]
    rub: Array[Vec[4, Float]]
    later: Array[Vec[4, Float]]
    roll: Array[Vec[3, Float]]
    roll_later: Array[Vec[3, Float]]
    approach: Array[Float]


# ----- points -------------------------------------------------------------------------------------


@func
def put_point(
    m: Any, moving: Any, slot: int32, rows: vec2i, x: Vec[3, Float], normal: Vec[3, Float], gap: Float
):  # fmt: skip
    """Enter a point x of space, with its normal and gap, and what follows for the bodies."""
    a, b = rows[0], rows[1]
    arm, other = x - transform_get_translation(moving.pose[a]), x - transform_get_translation(moving.pose[b])
    soft = response(moving.inv_mass[a], moving.inv_inertia[a], arm, normal)
    soft += response(moving.inv_mass[b], moving.inv_inertia[b], other, normal)
    m.normal[slot] = normal
    m.gap[slot] = gap
    m.arm[slot] = arm
    m.far_arm[slot] = other
    m.hard[slot] = 1.0 / soft


@func
def across(n: Vec[3, Float]) -> Vec[3, Float]:
    """A unit vector across another."""
    side = type(n)(0.0, 0.0, 1.0)
    if abs(n[2]) > 0.7:
        side = type(n)(1.0, 0.0, 0.0)
    return normalize(cross(n, side))


@kernel(enable_backward=False)
def count_points(count: array(dtype=int32), p: Any, patches: Any):
    c = tid()
    if c < count[0]:
        points = int32(0)
        for k in range(4):
            if p.feature[c][k] >= 0:
                points += 1
        patches.count[c] = points


@kernel
def make_patches(count: array(dtype=int32), m: Any, p: Any, moving: Any, patches: Any):
    """The middle of each pair's points, and what friction there does."""
    c = tid()
    if c < count[0]:
        if patches.count[c] > 0:
            a, b = m.rows[c][0], m.rows[c][1]
            up, arm, other = m.normal[4 * c] * 0.0, m.normal[4 * c] * 0.0, m.normal[4 * c] * 0.0
            for k in range(4):
                if p.feature[c][k] >= 0:
                    up += m.normal[4 * c + k]
                    arm += m.arm[4 * c + k]
                    other += m.far_arm[4 * c + k]
            up = normalize(up)
            arm, other = arm / type(m.gap[0])(patches.count[c]), other / type(m.gap[0])(patches.count[c])
            u = across(up)
            v = cross(up, u)
            ia, ib = moving.inv_inertia[a], moving.inv_inertia[b]
            au, av, bu, bv = cross(arm, u), cross(arm, v), cross(other, u), cross(other, v)
            light = moving.inv_mass[a] + moving.inv_mass[b]
            uu = light + dot(au, ia * au) + dot(bu, ib * bu)
            vv = light + dot(av, ia * av) + dot(bv, ib * bv)
            uv = dot(au, ia * av) + dot(bu, ib * bv)
            patches.up[c], patches.arm[c], patches.far_arm[c] = up, arm, other
            patches.grip[c] = inverse(uu, vv, uv)
            an, bn = cross(arm, up), cross(other, up)
            patches.firm[c] = 1.0 / (light + dot(an, ia * an) + dot(bn, ib * bn))
            patches.spin[c] = 1.0 / (dot(up, ia * up) + dot(up, ib * up))
            turn = ia + ib
            patches.roll[c] = inverse(dot(u, turn * u), dot(v, turn * v), dot(u, turn * v))


@func
def inverse(uu: Float, vv: Float, uv: Float) -> Vec[3, Float]:
    """The inverse of a symmetric matrix of two directions, as (uu, vv, uv)."""
    whole = uu * vv - uv * uv
    return vector(vv / whole, uu / whole, -uv / whole)


# ----- shapes in space ----------------------------------------------------------------------------


@kernel
def place_forms(transform: array(dtype=Any), body: array(dtype=int32), com: array(dtype=Any), moving: Any, forms: Any):
    """Poses of shapes: rows of bodies are at their centres of mass, shapes in their frames."""
    s = tid()
    pose = moving.pose[forms.row[s]]
    if body[s] >= 0:
        turn, own = transform_get_rotation(pose), transform[s]
        at = to_world(pose, transform_get_translation(own) - com[body[s]])
        pose = transformation(at, turn * transform_get_rotation(own))
    forms.pose[s] = pose


@generic_struct
class Surfaces:
    """What shapes are like, see `ShapeConfig`."""

    mu: Array[Float]
    mu_static: Array[Float]
    mu_torsional: Array[Float]
    mu_rolling: Array[Float]
    restitution: Array[Float]


@kernel
def join_surfaces(count: array(dtype=int32), of: Any, m: Any):
    """What two surfaces are together: friction along them is the geometric mean, all else the larger one."""
    c = tid()
    if c < count[0]:
        a, b = m.shapes[c][0], m.shapes[c][1]
        sliding, sticking = _mean(of.mu[a], of.mu[b]), _mean(of.mu_static[a], of.mu_static[b])
        m.surface[c] = vector(sliding, sticking, _larger(of.restitution[a], of.restitution[b]))
        m.torsional[c] = _larger(of.mu_torsional[a], of.mu_torsional[b])
        m.rolling[c] = _larger(of.mu_rolling[a], of.mu_rolling[b])


@func
def _larger(a: Float, b: Float) -> Float:
    """The larger one; of equal ones both have half of the slope, as central differences say."""
    result = 0.5 * (a + b)
    if a != b:
        result = max(a, b)
    return result


@func
def _mean(a: Float, b: Float) -> Float:
    """The geometric mean; 0, with no slope, where one of them is 0."""
    product = a * b
    result = product * 0.0
    if a == b:
        result = 0.5 * (a + b)
    elif product > 0.0:
        result = sqrt(product)
    return result


# ----- from substep to substep --------------------------------------------------------------------


@kernel
def carry(count: array(dtype=int32), m: Any, patches: Any, before: Any, after: Any):
    """Impulses of the same features; those of features that are gone go in equal parts to those that are new, as the
    weight on a face does not go when its corners change. What rubs is laid into the new plane."""
    c = tid()
    if c < count[0]:
        past, now = before.feature[c], after.feature[c]
        first, second = before.first[4 * c] * 0.0, before.first[4 * c] * 0.0
        approach, share = first * 0.0, first * 0.0
        for j in range(4):
            if past[j] >= 0 and place_of(now, past[j]) < 0:
                first += before.first[4 * c + j]
                second += before.second[4 * c + j]
                approach = max(approach, before.approach[4 * c + j])
        for k in range(4):
            if now[k] >= 0 and place_of(past, now[k]) < 0:
                share += 1.0
        for k in range(4):
            slot = 4 * c + k
            one, two, speed = first * 0.0, first * 0.0, first * 0.0
            if now[k] >= 0:
                old = place_of(past, now[k])
                if old >= 0:
                    one, two = before.first[4 * c + old], before.second[4 * c + old]
                    speed = before.approach[4 * c + old]
                else:
                    one, two, speed = first / share, second / share, approach
            after.first[slot], after.second[slot], after.approach[slot] = one, two, speed
        rub, later = before.rub[c] * 0.0, before.rub[c] * 0.0
        if patches.count[c] > 0:
            rub, later = laid(before.rub[c], patches.up[c]), laid(before.later[c], patches.up[c])
        after.rub[c], after.later[c] = rub, later
        roll, roll_later = before.roll[c] * 0.0, before.roll[c] * 0.0
        if patches.count[c] > 0:
            roll, roll_later = flat(before.roll[c], patches.up[c]), flat(before.roll_later[c], patches.up[c])
        after.roll[c], after.roll_later[c] = roll, roll_later


@func
def place_of(features: vec4i, feature: int32) -> int32:
    """Which of four features it is, -1 for none."""
    place = int32(-1)
    for j in range(4):
        if features[j] == feature:
            place = j
    return place


@func
def laid(rub: Vec[4, Float], n: Vec[3, Float]) -> Vec[4, Float]:
    """A patch's impulse with its force across another normal."""
    t = flat(vector(rub[0], rub[1], rub[2]), n)
    return vector(t[0], t[1], t[2], rub[3])


@func
def flat(t: Vec[3, Float], n: Vec[3, Float]) -> Vec[3, Float]:
    """A vector without its part along a normal."""
    return t - n * dot(n, t)
