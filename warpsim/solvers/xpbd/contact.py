"""Contact with shapes: particles leave obstacles along the normal, held back by Coulomb friction, and may bounce.

Position level (M. Mueller et al. 2007; friction: M. Macklin et al. 2014, eq. 24): a particle that is `depth` too deep
moves by depth along the normal n, and what it slid since it touched the obstacle, in the frame of the obstacle, is
taken back: all of it up to mu_static depth, else mu depth. In free sliding depth is a h^2 of the normal acceleration
a, so friction decelerates by mu a.

A particle that comes out of the air has done so for the part gap / (gap + depth) of the substep. Its velocity along n
is set by the velocity update (`bounce`), and friction takes mu times that change of velocity there: both parts together
are the whole impulse, whenever in the substep the impact is.

What arrives faster than contact makes it meets the plane of the moment of impact (`strikes`), and slides against the
velocity that the surface has then: friction of the whole impulse is counted at once (`hits.rub_with`).

What moves farther in a substep than its radius is swept along its way, in the frame of the obstacle: it meets the plane
that touches the obstacle where it comes in, also if it has come out on the other side since. Where a volume knows
nothing the way is searched in pieces of the radius: the band around a surface is wider (`bands`).

A particle that arrives faster than gravity can make it within two substeps bounces with restitution e: it leaves as
far as it would have gone since the impact, e depth, so that the moment of impact counts as it should, also in
gradients (Y. Hu et al. 2020, section 4); the velocity update then sets the normal velocity to -e times that of the
impact. Gravity has acted since, for depth / speed: that is little, but how it depends on where the particle came from
is not.
What meets several obstacles in a substep meets one after the other, in the order of the model: each with the velocity
that those before left it. What one of them pushed goes a way that others have not seen, which is swept again (`ways`).
Everything else has no velocity along the normal afterwards: what pushes a particle out of an obstacle does not throw
it. On a curved obstacle that is the normal half way between both ends of the substep. Along the normal of the end, the
way along the surface goes into it, by half of what the centripetal force turns it in a substep; the same holds for what
an obstacle turns with itself.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

from ...core.language import Array, Float, Transform, Vec, abs, array, array2d, clamp, cross, dot, func, generic_struct
from ...core.language import int32, int64, kernel, launch, length, max, min, sqrt, tid, uint64, vector
from ...core.runtime.arrays.fixed import Fixed
from ...core.lib.quaternions import quat_rotate
from ...core.lib.spatial import spatial_bottom, spatial_top
from ...core.lib.transforms import transform_get_rotation
from ..contact.contacts import note_filled
from ..scene.shapes import DISTANCE, ShapeType, advance_pose, surface_velocity, to_shape
from .friction import friction_loss
from .hits import Colliding, Obstacles, attachment_keys, bounce_with, carry_on_with, feel, hit_functions, pair_in
from .particle import move_to, position
from .strikes import strike_turning_with, strike_with
from .ways import CONVEX, LINES, ROUND, THIN, VESSELS, enters, has_direction, recheck_with, sweep_with

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func
    from ..scene.control import Control
    from ..scene.model import Model
    from ..scene.shape_groups import ShapeGroup
    from .workspace import Workspace

_SHARP = 0.25  # squared change of a unit normal in a substep beyond which it is an edge
_HELD = 0.999  # of a substep: what is in contact from its beginning
_STEADY = 0.01  # of what curvature makes: how fast a wall may come by turning that is taken for one that stays


@generic_struct
class Obstacle:
    """One shape in a substep, or one of each world. s: its number; numbers: those by world, of particles from `first`
    on, where a model has several. source: see `shapes`. deepest: of `ShapeContactConstraints` [m]. h: time [s]. force,
    share: see `hits.Obstacles`."""

    s: int32
    first: int32
    numbers: array(dtype=int32)
    source: uint64
    deepest: Float
    h: Float
    share: Float
    force: Array[Vec[6, Float]]


@generic_struct
class Touch:
    """How a particle that is in a shape at the end of a substep came there.

    depth: how deep it is [m]. touched: the part of the substep in contact; struck: the same after an impact, or below
    zero. slow: how fast an arrival has to be that bounces [m/s]. bend: by what the mean velocity along the normal is
    above that of the surface [m/s]. n: the normal; u: the velocity of the surface [m/s]. way: in the frame of the
    shape, as it is turned at the end [m]. missing: what the velocity afterwards is short of, see `speed_lost` [m/s].
    face: the one that an impact met, see `strikes`.
    """

    depth: Float
    touched: Float
    struck: Float
    slow: Float
    bend: Float
    n: Vec[3, Float]
    u: Vec[3, Float]
    way: Vec[3, Float]
    missing: Vec[3, Float]
    face: Vec[4, Float]


class ShapeContactConstraints(Fixed):
    """Particles against every shape but those that they are attached to, one launch each.

    depth [m]: how deep inside of a mesh or volume a particle may be and still be led out.
    """

    def __init__(self, model: Model, depth: float):
        self.model, self.depth = model, model.dtype(depth)
        self.many, groups = model.world_count > 1, model.shape_groups
        keys = attachment_keys(model.attachment_particle.numpy(), model.attachment_shape.numpy())
        self._rides, self._ridden = len(keys) > 0, array(keys, dtype=int64, device=model.device)
        thin = [group for group in groups if model.shape_type[group.shape] in THIN]
        alone = len(groups) == 1 and model.shape_type[groups[0].shape] in CONVEX
        self.rechecked = [] if alone else thin
        """Shapes that a particle may meet after another one has pushed it, or another part of the same."""

    def forget(self, workspace: Workspace) -> None:
        """Begin a substep, in which nothing has met anything."""
        w = workspace
        for met in w.met[: w.slots]:
            met.zero_()
        note_filled([*w.hit, *w.push, *w.rub, w.leg])  # read only where they were written since

    def resolve(self, control: Control, workspace: Workspace, shove: array, h: float) -> None:
        """Push particles out of the shapes, where they are at the end of the substep; shove: see `hits.Colliding`."""
        m, moving = self.model, self._particles(workspace, shove)
        if self.rechecked:
            workspace.bounced.zero_()
        surface = [m.shape_margin, m.shape_mu, m.shape_mu_static, m.shape_restitution, m.shape_scale]
        for group in m.shape_groups:
            kind, heights = m.shape_type[group.shape], m.shape_heights[group.shape]
            placed_by = [workspace.pose, control.shape_velocity, *surface, heights, control.gravity]
            collide = collide_with(kind, workspace.slots, bool(self.rechecked), self.many, self._rides, workspace.feels)
            launch(collide, group.count, [self._obstacle(group, workspace, h), moving, *placed_by], device=m.device)

    def recheck(self, control: Control, workspace: Workspace, shove: array, h: float) -> None:
        """Lead the ways of particles that shapes have pushed past thin shapes."""
        m, moving = self.model, self._particles(workspace, shove)
        for line, group in itertools.product(LINES, self.rechecked):
            heights = m.shape_heights[group.shape]
            surface = [m.shape_margin, m.shape_restitution, m.shape_scale, heights, control.gravity]
            args = [line, self._obstacle(group, workspace, h), moving, workspace.pose, control.shape_velocity, *surface]
            recheck = recheck_with(m.shape_type[group.shape], workspace.slots, self.many, self._rides)
            launch(recheck, group.count, args, device=m.device)

    def _obstacle(self, group: ShapeGroup, w: Workspace, h: float) -> Any:
        place = [group.shape, group.first, group.numbers, self.model.shape_source[group.shape]]
        return Obstacle[self.model.dtype](*place, self.depth, h, w.share, w.shape_force)

    def _particles(self, w: Workspace, shove: array) -> Any:
        m = self.model
        notes = [*w.hit, *w.push, *w.rub, *w.met, w.leg, w.bounced, shove]
        return Colliding[m.dtype](m.particle_radius, w.start, w.v, w.x, *notes, m.particle_world, self._ridden)

    def bounce(self, control: Control, workspace: Workspace, shove: array, h: float) -> None:
        """Velocities of all particles, of which some met shapes; shove: see `hits.Colliding`."""
        m, w = self.model, workspace
        surface = [w.pose, control.shape_velocity, m.shape_mu, m.shape_mu_static]
        obstacles = Obstacles[m.dtype](*surface, w.shape_force, w.share)
        args = [self._particles(w, shove), obstacles, h, w.v]
        launch(bounce_with(w.slots, w.feels), m.particle_count, args, device=m.device)

    def carry_on(self, workspace: Workspace, shove: array) -> None:
        """`workspace.onward`: velocities of the arrival, as shapes have turned them."""
        moving, n = self._particles(workspace, shove), self.model.particle_count
        launch(carry_on_with(workspace.slots), n, [moving, workspace.onward], device=self.model.device)


@kernel
def place_shapes(transform: array(dtype=Any), velocity: array(dtype=Any), t: Any, pose: array(dtype=Any)):
    """Poses `t` [s] after the step began."""
    s = tid()
    pose[s] = advance_pose(transform[s], velocity[s], t)


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


def detect_with(distance: Func, thin: bool, is_table: bool) -> Any:
    """How deep a particle is in a shape at the end of the substep, or how far it has passed through it."""
    sweep = sweep_with(distance, is_table)

    @func
    def detect(
        shape: Any, moving: Any, i: int32, keep: Float, pose: Transform[Float], twist: Vec[6, Float],
        scale: Vec[3, Float], heights: Array[Float, 2],
    ) -> tuple[Float, Vec[3, Float], Float]:  # fmt: skip
        """The depth [m], the normal in the frame of the shape, and the part of the substep that is left after a swept
        impact; below zero where there was none."""
        p = position(moving.x[i])
        here = to_shape(pose, p)
        deep = shape.deepest
        if thin:
            fast = length(p - moving.start[i] - shape.h * surface_velocity(pose, twist, p))
            deep = max(deep, fast)
        gap, inward = distance(here, scale, shape.source, heights, keep + deep)
        depth, left = keep - gap, keep * 0.0 - 1.0
        if thin:
            if fast > keep and (is_table or -depth < fast):
                once = to_shape(advance_pose(pose, twist, -shape.h), moving.start[i])
                t = sweep(once, here, keep, scale, shape.source, heights)
                touch = once + t * (here - once)
                above, begun = distance(touch, scale, shape.source, heights, 2.0 * keep + fast)
                if t < 1.0 and (t > 0.0 or enters(above, begun, here - once)):
                    depth, inward, left = keep - above - dot(here - touch, begun), begun, 1.0 - t
        return depth, inward, left

    return detect


@func
def speed_lost(v: Vec[3, Float], n: Vec[3, Float], bend: Float) -> Vec[3, Float]:
    """What is missing of a velocity that is turned onto the next tangent plane of a curved surface: smooth contact does
    no work. v: before forces; bend: along the normal afterwards [m/s]. What is not due to curvature stays lost."""
    pace = dot(v, n)
    along = v - pace * n
    fast, part = dot(along, along), 0.0 * pace
    if pace * bend > 0.0 and fast > 0.0:
        turned = min(abs(pace), 3.0 * abs(bend))
        part = sqrt(1.0 + max(turned * turned - bend * bend, 0.0 * pace) / fast) - 1.0
    return part * along


@func
def swing_along(n: Vec[3, Float], way: Vec[3, Float], twist: Vec[6, Float], h: Float) -> Float:
    """What turning with an obstacle adds to a velocity along n [m/s]; way: in the world, in h [s]."""
    return dot(cross(spatial_top(twist), way - h * spatial_bottom(twist)), n)


def lead_back_with(distance: Func, shape_type: ShapeType) -> Any:
    """Out of what the plane of the moment of an impact leaves behind it: the wall of a vessel, or a turned face."""
    vessel, convex = shape_type in VESSELS, shape_type in CONVEX

    @func
    def lead_back(
        shape: Any, end: Vec[3, Float], keep: Float, pose: Transform[Float], scale: Vec[3, Float],
        heights: Array[Float, 2], struck: Float, face: Vec[4, Float],
    ) -> Vec[3, Float]:  # fmt: skip
        """How far what has met a wall, as so much of the substep was left, is behind it at the end [m]; face: see
        `strikes.strike_turning_with`."""
        back, here = 0.0 * end, to_shape(pose, end)
        if vessel and struck > 0.0:
            gap, outward = distance(here, scale, shape.source, heights, keep + shape.deepest)
            if gap < keep:
                back = (keep - gap) * quat_rotate(transform_get_rotation(pose), outward)
        if convex and struck > 0.0:
            n = position(face)
            behind = face[3] - dot(n, here)
            if behind > 0.0:
                above, outward = distance(here + behind * n, scale, shape.source, heights, keep + shape.deepest)
                behind = behind - clamp(above - keep, 0.0 * behind, behind)  # round shapes are beneath their planes
                back = behind * quat_rotate(transform_get_rotation(pose), n)
        return back

    return lead_back


def touch_with(distance: Func, shape_type: ShapeType) -> Any:
    """How a particle that is in a shape at the end of a substep came there."""
    strike, strike_turning = strike_with(distance, shape_type), strike_turning_with(distance)
    is_round = shape_type in ROUND

    @func
    def touch(
        shape: Any,
        moving: Any,
        i: int32,
        free: Vec[3, Float],
        keep: Float,
        depth: Float,
        inward: Vec[3, Float],
        left: Float,
        pose: Transform[Float],
        twist: Vec[6, Float],
        scale: Vec[3, Float],
        heights: Array[Float, 2],
        gravity: Vec[3, Float],
    ) -> Any:
        """A `Touch`. free: its velocity before; left: of the substep after a swept impact, or below zero."""
        begun, p, h = moving.start[i], position(moving.x[i]), shape.h
        fall, missing, face = h * length(gravity), 0.0 * moving.start[i], 0.0 * moving.x[i]
        rotation, past = transform_get_rotation(pose), advance_pose(pose, twist, -h)
        n, u = quat_rotate(rotation, inward), surface_velocity(pose, twist, p)
        once, here = to_shape(past, begun), to_shape(pose, p)
        way, touched = quat_rotate(rotation, here - once), left
        slow, bend = 2.0 * fall, 0.0 * h
        if left < 0.0:
            above, outward = distance(once, scale, shape.source, heights, keep + shape.deepest + length(way))
            if not has_direction(outward):
                above = keep - depth - dot(way, n)
            touched = since_contact(above, keep, depth, length(way))
            turn = turned_normal(n, quat_rotate(transform_get_rotation(past), outward), touched)
            swing = touched * swing_along(n, p - begun, twist, h)
            slow, bend = 2.0 * (fall + length(turn) * length(free - u) + abs(swing)), 0.5 * (dot(way, turn) / h - swing)
            if is_round and touched > _HELD:
                whole = spatial_bottom(twist)
                if abs(dot(u - whole, n)) < _STEADY * abs(bend):
                    missing = speed_lost(free - h * gravity - whole, n, bend) + h * dot(gravity, n) * turn
            if above > keep and dot(free - u, n) < -slow:
                depth, inward, left = strike(shape, once, here, keep, depth, inward, touched, scale, heights)
                if left > 0.0:
                    n, touched, slow, bend = quat_rotate(rotation, inward), left, 2.0 * fall, 0.0 * h
                    missing = 0.0 * missing
        if left > 0.0:  # also of a shape that rests, whose turning has a derivative
            depth, n, u, touched, face = strike_turning(
                shape, begun, p, keep, depth, n, left, pose, twist, scale, heights
            )  # fmt: skip
        return Touch[type(depth)](depth, touched, left, slow, bend, n, u, way, missing, face)

    return touch


@func
def begin_way(moving: Any, i: int32, s: int32, at: Vec[3, Float], left: Float) -> None:
    """Note where a shape has sent a particle on a new way, as so much of the substep was left."""
    moving.leg[i] = vector(at[0], at[1], at[2], left)
    moving.bounced[i] = s + 1


@functools.cache
def collide_with(shape_type: ShapeType, slots: int, looks: bool, many: bool, rides: bool, feels: bool) -> Any:
    """The kernel for a type of shape. slots: see `hits`; looks: whether new ways are swept; many, rides: see
    `hits.pair_in`; feels: whether the shape notes its force."""
    distance, hits, pair = DISTANCE[shape_type], hit_functions(slots), pair_in(many, rides)
    hollowed = shape_type not in CONVEX
    detect = detect_with(distance, shape_type in THIN, shape_type is ShapeType.HEIGHTFIELD)
    touch, lead_back = touch_with(distance, shape_type), lead_back_with(distance, shape_type)

    @kernel
    def collide(
        shape: Any, moving: Any, pose: array(dtype=Any), twist: array(dtype=Any), margin: array(dtype=Any),
        mu: array(dtype=Any), mu_static: array(dtype=Any), restitution: array(dtype=Any),
        scale: array(dtype=Any), heights: array2d(dtype=Any), gravity: array(dtype=Any),
    ):  # fmt: skip
        i, own, s, there = pair(shape, moving, tid())
        a, h = moving.x[i], shape.h
        if there and a[3] > 0.0:
            p, keep = position(a), moving.radius[i] + margin[s]
            deep, inward, left = detect(shape, moving, i, keep, pose[s], twist[s], scale[s], heights)
            begun = moving.start[i]
            if looks and hollowed:
                if left > 0.0:  # what goes along a shape, and not into it, may still meet another part of it
                    begin_way(moving, i, s, begun, 1.0 + 0.0 * keep)
            if deep > 0.0 and has_direction(inward):
                slot = hits.slot_of(moving, i, s)
                free = hits.turned_before(moving, i, slot, moving.v[i])
                met = touch(
                    shape, moving, i, free, keep, deep, inward, left, pose[s], twist[s], scale[s], heights, gravity[own]
                )
                n, struck = met.n, met.struck
                arrival = dot(free - met.u, n)
                e, gained = h * 0.0, h * 0.0  # the second along n from gravity since the impact
                if arrival < -met.slow:
                    e = restitution[s]
                    gained = dot(gravity[own], n) * min(-met.depth / arrival, h)
                leaving = max((1.0 + e) * gained - e * arrival, h * 0.0) + dot(met.u, n) + met.bend
                hit = vector(n[0], n[1], n[2], leaving)
                away = (1.0 + e) * met.depth
                slid = friction_loss(met.touched * (met.way - dot(met.way, n) * n), mu[s] * away, mu_static[s] * away)
                back = lead_back(shape, p + away * n - slid, keep, pose[s], scale[s], heights, struck, met.face)
                moves = vector(away * n[0] + back[0], away * n[1] + back[1], away * n[2] + back[2], away)
                lost = hits.rubbed_by(moving, i, slot, s)
                if struck > 0.0 and arrival < -met.slow:
                    more, gain = hits.rub(moving, i, slot, s, hit, met.u, mu[s], mu_static[s], h)
                    d, lost = away * n + back - slid, lost + more
                    moves = vector(d[0], d[1], d[2], h * gain)
                if hits.met_in(moving, i, slot) != s:
                    moves = moves - vector(h * met.missing[0], h * met.missing[1], h * met.missing[2], 0.0 * h)
                end = p + away * n + back - slid
                moving.x[i] = move_to(a, end)  # written at i only, and read before: so strips may run as lanes
                hits.note(moving, i, slot, s, hit, moves + hits.pushed_by(moving, i, slot, s), lost)
                if feels:  # what moves a particle, and is no push: `bounce` knows only pushes
                    feel(shape.force, s, pose[s], a, (shape.share / h) * (end - p - position(moves)))
                if looks:
                    if left > 0.0 or length(end - begun) > moving.radius[i]:
                        begin_way(moving, i, s, begun + (1.0 - met.touched) * (p - begun), met.touched)

    return collide
