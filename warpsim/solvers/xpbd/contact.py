"""Contact with shapes: particles leave obstacles along the normal, held back by Coulomb friction, and may bounce.

Position level (M. Mueller et al. 2007; friction: M. Macklin et al. 2014, eq. 24): a particle that is `depth` too deep
moves by depth along the normal n, and what it slid since it touched the obstacle, relative to it, is taken back: all of
it up to mu_static depth, else mu depth. In free sliding depth is a h^2 of the normal acceleration a, so friction
decelerates by mu a.

A particle that comes out of the air has done so for the part gap / (gap + depth) of the substep. Its velocity along n
is set by the velocity update (`bounce`), and friction takes mu times that change of velocity there: both parts together
are the whole impulse, whenever in the substep the impact is.

What moves farther in a substep than its radius is swept along its way, in the frame of the obstacle: it meets the plane
that touches the obstacle where it comes in, also if it has come out on the other side since. Where a volume knows
nothing the way is searched in pieces of the radius: the band around a surface is wider (`bands`).

A particle that arrives faster than gravity can make it within two substeps bounces with restitution e: it leaves as
far as it would have gone since the impact, e depth, so that the moment of impact counts as it should, also in
gradients (Y. Hu et al. 2020, section 4); the velocity update then sets the normal velocity to -e times that of the
impact. Gravity has acted since, for depth / speed: that is little, but how it depends on where the particle came from
is not.
Everything else has no velocity along the normal afterwards: what pushes a particle out of an obstacle does not throw
it. On a curved obstacle that is the normal half way between both ends of the substep. Along the normal of the end, the
way along the surface goes into it, by half of what the centripetal force turns it in a substep.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import (
    Array, Float, Vec, abs, array, clamp, dot, func, generic_struct, int32, kernel, launch, length, max, min, tid,
    uint64, vector,
)  # fmt: skip
from ...core.runtime.arrays.fixed import Fixed
from ...core.lib.quaternions import quat_rotate
from ...core.lib.transforms import transform_get_rotation
from ..scene.shapes import DISTANCE, ShapeType, moved, surface_velocity, to_shape
from .particle import corrected, placed, position

_SHARP = 0.25  # squared change of a unit normal in a substep beyond which it is an edge
_ADVANCES = 32  # of a sweep
_NEAR, _CLOSE = 1.0e-2, 1.0e-5  # relative to its way: where Newton's method begins, and where it ends
_THIN = {
    ShapeType.SPHERE, ShapeType.BOX, ShapeType.CAPSULE, ShapeType.CYLINDER, ShapeType.MESH, ShapeType.SDF,
}  # what has another side to come out of


@generic_struct
class Obstacle:
    """One shape in a substep. s: its number, source: see `shapes`. deepest: of `ShapeContact` [m]. h: time [s]."""

    s: int32
    source: uint64
    deepest: Float
    h: Float


@generic_struct
class Colliding:
    """Particles against a shape, as `Workspace` and `Model` have them."""

    radius: Array[Float]
    start: Array[Vec[3, Float]]
    v: Array[Vec[3, Float]]
    x: Array[Vec[4, Float]]
    hit: Array[Vec[4, Float]]
    met: array(dtype=int32)


class ShapeContact(Fixed):
    """Particles against every shape, one launch each.

    depth [m]: how deep inside of a mesh or volume a particle may be and still be led out.
    """

    def __init__(self, model: Any, depth: float):
        self.model, self.depth = model, model.dtype(depth)

    def resolve(self, control: Any, workspace: Any, h: Any) -> None:
        """Push particles out of the shapes, where they are at the end of the substep."""
        m, w = self.model, workspace
        surface = [m.shape_margin, m.shape_mu, m.shape_mu_static, m.shape_restitution, m.shape_scale]
        particles = Colliding[m.dtype](m.particle_radius, w.start, w.v, w.x, w.hit, w.met)
        for s, kind in enumerate(m.shape_type):
            obstacle = Obstacle[m.dtype](s, m.shape_source[s], self.depth, h)
            args = [w.pose, control.shape_velocity, *surface, m.shape_heights[s], control.gravity]
            launch(collide_with(kind), m.particle_count, [obstacle, particles, *args], device=m.device)

    def bounce(self, control: Any, workspace: Any, h: Any) -> None:
        """Velocities of all particles, of which some met shapes."""
        m, w = self.model, workspace
        shapes = [w.pose, control.shape_velocity, m.shape_mu, m.shape_mu_static]
        launch(bounce, m.particle_count, [w.x, w.start, w.hit, w.met, *shapes, h, w.v], device=m.device)


@kernel
def place_shapes(transform: array(dtype=Any), velocity: array(dtype=Any), t: Any, pose: array(dtype=Any)):
    """Poses `t` [s] after the step began."""
    s = tid()
    pose[s] = moved(transform[s], velocity[s], t)


@func
def since_contact(above: Float, keep: Float, depth: Float, way: Float) -> Float:
    """Which part of a substep is left after the contact began; above: the distance at its beginning [m]."""
    air = clamp(above - keep, depth * 0.0, way)
    return depth / (air + depth)


@func
def turned_normal(n: Vec[3, Float], before: Vec[3, Float], touched: Float) -> Vec[3, Float]:
    """How much the normal has turned in contact; nothing at edges, and where the obstacle is too far to have one."""
    turn = n - before
    if dot(turn, turn) > _SHARP:
        turn = turn * 0.0
    return touched * turn


@func
def directed(normal: Vec[3, Float]) -> bool:
    """Whether a distance has a direction, see `shapes`."""
    return dot(normal, normal) > 0.0


def sweep_with(distance: Any) -> Any:
    """When a particle on a straight line reaches an obstacle, by conservative advancement and Newton's method."""

    @func
    def sweep(
        a: Vec[3, Float], b: Vec[3, Float], keep: Float, scale: Vec[3, Float], source: uint64, heights: Array[Float, 2]
    ) -> Float:
        """From a to b in the obstacle's frame: the part of the way until the distance is `keep`; 1 if it stays above,
        0 if it begins below."""
        way = b - a
        far = length(way)
        t, gap = far * 0.0, far
        steps = int32(_ADVANCES)
        while steps > 0:
            above, normal = distance(a + t * way, scale, source, heights, keep + far)
            gap = above - keep
            closing = -dot(normal, way)
            if not directed(normal):
                gap = max(max(gap, keep), _NEAR * far)
                t = t + gap / far
            elif gap < _NEAR * far and closing > _NEAR * far:
                t = t + gap / closing
                steps -= 1
            else:
                t = t + max(gap, _NEAR * far) / far
                steps -= 1
            if abs(gap) < _CLOSE * far or t <= 0.0 or not t < 1.0:
                steps = int32(0)
        return clamp(t, far * 0.0, far * 0.0 + 1.0)

    return sweep


def collide_with(shape_type: ShapeType) -> Any:
    """The kernel for one type of shape."""
    return _collide_with(DISTANCE[shape_type], shape_type in _THIN)


@functools.cache
def _collide_with(distance: Any, thin: bool) -> Any:
    sweep = sweep_with(distance)

    @kernel
    def collide(
        shape: Any, moving: Any, pose: array(dtype=Any), twist: array(dtype=Any), margin: array(dtype=Any),
        mu: array(dtype=Any), mu_static: array(dtype=Any), restitution: array(dtype=Any),
        scale: array(dtype=Any), heights: array(dtype=Any, ndim=2), gravity: array(dtype=Any),
    ):  # fmt: skip
        i, s, h = tid(), shape.s, shape.h
        a = moving.x[i]
        if a[3] > 0.0:
            p = position(a)
            keep = moving.radius[i] + margin[s]
            here = to_shape(pose[s], p)
            deep = shape.deepest
            if thin:
                fast = h * length(moving.v[i] - surface_velocity(pose[s], twist[s], p))
                deep = max(deep, fast)
            gap, inward = distance(here, scale[s], shape.source, heights, keep + deep)
            depth = keep - gap
            left = h * 0.0 - 1.0  # part of the substep after a swept impact
            if thin:
                if fast > keep and -depth < fast:
                    once = to_shape(moved(pose[s], twist[s], -h), moving.start[i])
                    t = sweep(once, here, keep, scale[s], shape.source, heights)
                    if t > 0.0 and t < 1.0:
                        touch = once + t * (here - once)
                        above, inward = distance(touch, scale[s], shape.source, heights, 2.0 * keep + fast)
                        depth, left = keep - above - dot(here - touch, inward), 1.0 - t
            if depth > 0.0 and directed(inward):
                n = quat_rotate(transform_get_rotation(pose[s]), inward)
                u = surface_velocity(pose[s], twist[s], p)
                way = p - moving.start[i] - h * u
                turn = 0.0 * n
                touched = left
                if left < 0.0:
                    past = moved(pose[s], twist[s], -h)
                    reach = keep + shape.deepest + length(way)
                    above, outward = distance(to_shape(past, moving.start[i]), scale[s], shape.source, heights, reach)
                    if not directed(outward):
                        above = gap - dot(way, n)
                    touched = since_contact(above, keep, depth, length(way))
                    turn = turned_normal(n, quat_rotate(transform_get_rotation(past), outward), touched)
                arrival = dot(moving.v[i] - u, n)
                e, gained = h * 0.0, h * 0.0  # the second along n from gravity since the impact
                if arrival < -2.0 * (h * length(gravity[0]) + length(turn) * length(moving.v[i] - u)):
                    e = restitution[s]
                    gained = dot(gravity[0], n) * min(-depth / arrival, h)
                push = (1.0 + e) * depth
                slid = rubbed(touched * (way - dot(way, n) * n), mu[s] * push, mu_static[s] * push)
                moving.x[i] = placed(a, p + push * n - slid)
                leaving = max((1.0 + e) * gained - e * arrival, h * 0.0) + dot(u, n) + 0.5 * dot(way, turn) / h
                moving.hit[i] = vector(n[0], n[1], n[2], leaving)
                moving.met[i] = s

    return collide


@kernel
def bounce(
    x: array(dtype=Any), start: array(dtype=Any), hit: array(dtype=Any), met: array(dtype=int32),
    pose: array(dtype=Any), twist: array(dtype=Any), mu: array(dtype=Any), mu_static: array(dtype=Any), h: Any,
    v: array(dtype=Any),
):  # fmt: skip
    """Velocities, as `update_velocity` has them; of what met an obstacle, the component along the normal is replaced,
    and what that adds is an impulse with friction.

    hit: the normal of the last obstacle met in this substep and the velocity along it afterwards [m/s]; zero where none
    was. met: that obstacle.
    """
    i = tid()
    u = corrected(v[i], start[i], x[i], h)
    n = position(hit[i])
    if dot(n, n) > 0.0:
        s = met[i]
        gain = hit[i][3] - dot(u, n)
        u = u + gain * n
        if gain > 0.0:
            slip = u - surface_velocity(pose[s], twist[s], position(x[i]))
            u = u - rubbed(slip - dot(slip, n) * n, mu[s] * gain, mu_static[s] * gain)
    v[i] = u


@func
def rubbed(slip: Vec[3, Float], sliding: Float, static: Float) -> Vec[3, Float]:
    """What friction takes of a way or a velocity along a surface: all up to `static`, else `sliding` [m] or [m/s]."""
    far = length(slip)
    if far > max(static, sliding):
        return (sliding / far) * slip
    return slip
