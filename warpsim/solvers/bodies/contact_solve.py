"""Impulses of contact: nothing goes through anything, Coulomb friction, restitution.

Projected Gauss-Seidel on impulses that accumulate and are clamped as sums (E. Catto 2005, iterative dynamics with
temporal coherence). What is still apart may close its gap by the end of the substep, and no more, so that fast bodies
do not pass through each other. What overlaps is pushed out by a part of the depth; the passes over velocities, after
the motion, take the speed of that away again. Pairs of one color share no moving body.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.language import Float, Vec, abs, array, cross, dot, func, int32, kernel, length, max, min, sqrt, tid
from ...core.language import vec2i, vector
from ...core.lib.spatial import spatial_top
from ...core.lib.transforms import transform_get_translation
from .manifold import across
from .motion import apply_impulse, velocity_at

_PUSH = 0.02
"""Which part of an overlap is pushed out in a substep."""
FASTEST = 3.0
"""What overlaps is pushed out with at most this speed [m/s], so that it does not leave in an explosion."""
_SLOW = 0.25
"""Of what static friction bears beyond sliding friction: what this would stop in a substep does not slide yet."""
_BOUNCE = 2.5
"""Contacts bounce that close faster than this times the velocity that accelerations give in a substep."""


@func
def normal_velocity(m: Any, slot: int32, one: Vec[6, Float], two: Vec[6, Float]) -> Float:
    """Velocity [m/s] along the normal at a point, of the second body against the first; one, two: their twists."""
    return dot(velocity_at(two, m.far_arm[slot]) - velocity_at(one, m.arm[slot]), m.normal[slot])


@kernel
def note_approach(count: array(dtype=int32), m: Any, p: Any, pull: array(dtype=Any), h: Any, moving: Any):
    """How fast points close as a substep begins; slow ones rest. What has bounced starts without impulses."""
    c = tid()
    if c < count[0]:
        least, bounced = h * 0.0, False
        for side in range(2):
            if m.rows[c][side] < pull.shape[0]:
                least += _BOUNCE * h * length(pull[m.rows[c][side]])
        for k in range(4):
            if p.feature[c][k] >= 0:
                slot = 4 * c + k
                if p.approach[slot] > 0.0 and m.surface[c][2] > 0.0:
                    bounced = True
                speed = -normal_velocity(m, slot, moving.twist[m.rows[c][0]], moving.twist[m.rows[c][1]])
                if speed < least:
                    speed = speed * 0.0
                p.approach[slot] = speed
        if bounced:
            for k in range(4):
                p.first[4 * c + k] = p.first[4 * c + k] * 0.0
                p.second[4 * c + k] = p.second[4 * c + k] * 0.0
            p.rub[c], p.later[c] = p.rub[c] * 0.0, p.later[c] * 0.0
            p.roll[c], p.roll_later[c] = p.roll[c] * 0.0, p.roll_later[c] * 0.0


@kernel
def note_cones(count: array(dtype=int32), m: Any, p: Any, moving: Any, patches: Any):
    """The coefficient of friction of each patch in a substep, as it begins: static friction, or that of sliding.

    A patch sticks that is so slow that a part of what static friction bears beyond sliding friction would stop it in a
    substep; it presses as in the substep before. Passes do not decide it: in the first ones points press unevenly,
    and what slid in one of them would slide ever after.
    """
    c = tid()
    if c < count[0]:
        if patches.count[c] > 0:
            one, two = moving.twist[m.rows[c][0]], moving.twist[m.rows[c][1]]
            stop = sticking_impulse(patches, c, one, two)
            pressing, lever = stop[0] * 0.0, stop[0] * 0.0
            for k in range(4):
                slot = 4 * c + k
                if p.feature[c][k] >= 0:
                    pressing += p.first[slot] + p.second[slot]
                    lever += (p.first[slot] + p.second[slot]) * lever_at(m, patches, c, slot)
            cone, spare = m.surface[c][1], _SLOW * (m.surface[c][1] - m.surface[c][0])
            t = vector(stop[0], stop[1], stop[2])
            if dot(t, t) > spare * spare * pressing * pressing or (lever > 0.0 and abs(stop[3]) > spare * lever):
                cone = m.surface[c][0]
            patches.cone[c] = cone


# ----- one pair -----------------------------------------------------------------------------------


@func
def push_row(
    moving: Any, row: int32, twist: Vec[6, Float], arm: Vec[3, Float], impulse: Vec[3, Float]
) -> Vec[6, Float]:
    """The twist of a row after an impulse [N s] at `arm` from its centre of mass [m]; without inverse mass as it is."""
    after = twist
    if moving.inv_mass[row] > 0.0:
        after = apply_impulse(twist, moving.inv_mass[row], moving.inv_inertia[row], arm, impulse)
    return after


@func
def spin_row(moving: Any, row: int32, twist: Vec[6, Float], turn: Vec[3, Float]) -> Vec[6, Float]:
    """The twist of a row after an angular impulse [N m s]."""
    w = moving.inv_inertia[row] * turn
    return twist + vector(w[0], w[1], w[2], w[0] * 0.0, w[0] * 0.0, w[0] * 0.0)


@func
def rub_patch(
    moving: Any, patches: Any, rows: vec2i, c: int32, one: Vec[6, Float], two: Vec[6, Float], rub: Vec[4, Float]
) -> tuple[Vec[6, Float], Vec[6, Float]]:  # fmt: skip
    """Both twists after a patch's impulse on the second body, and its opposite on the first."""
    j, turn = vector(rub[0], rub[1], rub[2]), rub[3] * patches.up[c]
    first = spin_row(moving, rows[0], push_row(moving, rows[0], one, patches.arm[c], -j), -turn)
    second = spin_row(moving, rows[1], push_row(moving, rows[1], two, patches.far_arm[c], j), turn)
    return first, second


@func
def sticking_impulse(patches: Any, c: int32, one: Vec[6, Float], two: Vec[6, Float]) -> Vec[4, Float]:
    """The impulse of a patch that takes away all sliding and spinning."""
    up, grip = patches.up[c], patches.grip[c]
    slip = velocity_at(two, patches.far_arm[c]) - velocity_at(one, patches.arm[c])
    spin = dot(up, spatial_top(two) - spatial_top(one))
    u = across(up)
    v = cross(up, u)
    su, sv = dot(slip, u), dot(slip, v)
    t = -(grip[0] * su + grip[2] * sv) * u - (grip[2] * su + grip[1] * sv) * v
    return vector(t[0], t[1], t[2], -patches.spin[c] * spin)


@func
def clamp_to_cone(rub: Vec[4, Float], pressing: Float, lever: Float, cone: Float, torsion: Float) -> Vec[4, Float]:
    """A patch's impulse in the cone of friction.

    pressing: sum of normal impulses [N s]. lever: the same, each times its distance from the patch's middle [N m s].
    cone: the coefficient, see `note_cones`. torsion: that of torsional friction [m].
    """
    t = vector(rub[0], rub[1], rub[2])
    size, most = dot(t, t), cone * pressing
    if size > most * most:
        t = t * (most / sqrt(size))
    most = cone * lever + torsion * pressing
    return vector(t[0], t[1], t[2], min(max(rub[3], -most), most))


@func
def is_touching(first: Float, gap: Float) -> bool:
    """Whether a point presses, or has no gap to speak of, after motion."""
    return first > 0.0 or gap <= 0.0


@func
def lever_at(m: Any, patches: Any, c: int32, slot: int32) -> Any:
    """How far a point is from the middle of its patch [m]."""
    away = m.arm[slot] - patches.arm[c]
    square, result = dot(away, away), m.gap[slot] * 0.0
    if square > 0.0:
        result = sqrt(square)
    return result


@func
def put_twists(moving: Any, rows: vec2i, one: Vec[6, Float], two: Vec[6, Float]):
    """Write twists of rows that impulses move."""
    if moving.inv_mass[rows[0]] > 0.0:
        moving.twist[rows[0]] = one
    if moving.inv_mass[rows[1]] > 0.0:
        moving.twist[rows[1]] = two


# ----- rolling friction ---------------------------------------------------------------------------


@func
def has_rolling_friction(m: Any, c: int32) -> bool:
    return m.rolling[c] > 0.0 or m.rolls != 0


@func
def turn_patch(
    moving: Any, rows: vec2i, one: Vec[6, Float], two: Vec[6, Float], turn: Vec[3, Float]
) -> tuple[Vec[6, Float], Vec[6, Float]]:  # fmt: skip
    """Both twists after an angular impulse [N m s] on the second body, and its opposite on the first."""
    return spin_row(moving, rows[0], one, -turn), spin_row(moving, rows[1], two, turn)


@func
def holding_turn(patches: Any, c: int32, one: Vec[6, Float], two: Vec[6, Float]) -> Vec[3, Float]:
    """The angular impulse across a patch's normal that takes away all rolling [N m s]."""
    u, hold = across(patches.up[c]), patches.roll[c]
    v = cross(patches.up[c], u)
    w = spatial_top(two) - spatial_top(one)
    wu, wv = dot(w, u), dot(w, v)
    return -(hold[0] * wu + hold[2] * wv) * u - (hold[2] * wu + hold[1] * wv) * v


@func
def clamp_turn(turn: Vec[3, Float], most: Float) -> Vec[3, Float]:
    """An angular impulse of at most this size [N m s]."""
    size, result = dot(turn, turn), turn
    if size > most * most:
        result = turn * (most / sqrt(size))
    return result


# ----- what a pass does to a pair ------------------------------------------------------------------


@func
def press_point(
    m: Any, moving: Any, c: int32, slot: int32, impulse: Float, one: Vec[6, Float], two: Vec[6, Float]
) -> tuple[Vec[6, Float], Vec[6, Float]]:  # fmt: skip
    """Both twists after an impulse along the normal at a point."""
    j = impulse * m.normal[slot]
    first = push_row(moving, m.rows[c][0], one, m.arm[slot], -j)
    second = push_row(moving, m.rows[c][1], two, m.far_arm[slot], j)
    return first, second


@func
def point_values(values: array(dtype=Any), c: int32) -> Any:
    """The values of a pair's four points."""
    return vector(values[4 * c], values[4 * c + 1], values[4 * c + 2], values[4 * c + 3])


@func
def warm_positions(c: int32, m: Any, patches: Any, p: Any, h: Any, moving: Any):
    """Begin with the impulses of the substep before."""
    rows = m.rows[c]
    one, two = moving.twist[rows[0]], moving.twist[rows[1]]
    for k in range(4):
        if p.feature[c][k] >= 0:
            one, two = press_point(m, moving, c, 4 * c + k, p.first[4 * c + k], one, two)
    one, two = rub_patch(moving, patches, rows, c, one, two, p.rub[c])
    if has_rolling_friction(m, c):
        one, two = turn_patch(moving, rows, one, two, p.roll[c])
    put_twists(moving, rows, one, two)


@func
def warm_velocities(c: int32, m: Any, patches: Any, p: Any, h: Any, moving: Any):
    """Begin with the impulses of the substep before, where points touch."""
    rows = m.rows[c]
    one, two = moving.twist[rows[0]], moving.twist[rows[1]]
    for k in range(4):
        slot = 4 * c + k
        if p.feature[c][k] >= 0:
            if is_touching(p.first[slot], m.gap[slot] - m.still[c]):
                one, two = press_point(m, moving, c, slot, p.second[slot], one, two)
    one, two = rub_patch(moving, patches, rows, c, one, two, p.later[c])
    if has_rolling_friction(m, c):
        one, two = turn_patch(moving, rows, one, two, p.roll_later[c])
    put_twists(moving, rows, one, two)


@func
def allowed_velocity(gap: Float, still: Float, h: Float) -> Float:
    """The least velocity along the normal [m/s] at a gap, as a substep begins."""
    speed = -gap / h
    if abs(gap) <= still:
        speed = gap * 0.0
    elif gap < 0.0:
        speed = min(_PUSH * speed, speed * 0.0 + FASTEST)
    return speed


@func
def solve_positions(c: int32, m: Any, patches: Any, p: Any, h: Any, moving: Any):
    """Velocities that close gaps at most, and push out overlaps.

    First all points of a pair press alike, by the mean of what they lack, then each as it needs. So what rests on a
    face presses on all of it, and stacks are at rest after few passes.
    """
    rows = m.rows[c]
    one, two = moving.twist[rows[0]], moving.twist[rows[1]]
    press = point_values(p.first, c)
    goal, mean = press * 0.0, h * 0.0
    for k in range(4):
        slot = 4 * c + k
        if p.feature[c][k] >= 0:
            goal[k] = allowed_velocity(m.gap[slot], m.still[c], h)
            mean += goal[k] - normal_velocity(m, slot, one, two)
    points = patches.count[c]
    if points > 1:
        mean = mean * patches.firm[c] / type(h)(points * points)
        for k in range(4):
            if p.feature[c][k] >= 0:
                more = max(press[k] + mean, h * 0.0)
                one, two = press_point(m, moving, c, 4 * c + k, more - press[k], one, two)
                press[k] = more
    whole, lever = h * 0.0, h * 0.0
    for k in range(4):
        slot = 4 * c + k
        if p.feature[c][k] >= 0:
            more = max(press[k] + (goal[k] - normal_velocity(m, slot, one, two)) * m.hard[slot], h * 0.0)
            one, two = press_point(m, moving, c, slot, more - press[k], one, two)
            p.first[slot] = more
            whole += more
            lever += more * lever_at(m, patches, c, slot)
    if has_rolling_friction(m, c):
        held = p.roll[c]
        turn = clamp_turn(held + holding_turn(patches, c, one, two), m.rolling[c] * whole)
        one, two = turn_patch(moving, rows, one, two, turn - held)
        p.roll[c] = turn
    old, torsion = p.rub[c], m.torsional[c]
    rub = clamp_to_cone(old + sticking_impulse(patches, c, one, two), whole, lever, patches.cone[c], torsion)
    one, two = rub_patch(moving, patches, rows, c, one, two, rub - old)
    p.rub[c] = rub
    put_twists(moving, rows, one, two)


@func
def solve_velocities(c: int32, m: Any, patches: Any, p: Any, h: Any, moving: Any):
    """Velocities of what touches: none along the normal, or as restitution says."""
    rows = m.rows[c]
    one, two = moving.twist[rows[0]], moving.twist[rows[1]]
    press, before = point_values(p.second, c), point_values(p.first, c)
    mean, points = h * 0.0, h * 0.0
    for k in range(4):
        slot = 4 * c + k
        if p.feature[c][k] >= 0:
            if is_touching(before[k], m.gap[slot] - m.still[c]):
                mean += m.surface[c][2] * p.approach[slot] - normal_velocity(m, slot, one, two)
                points += 1.0
    if points > 1.0:
        mean = mean * patches.firm[c] / (points * points)
        for k in range(4):
            slot = 4 * c + k
            if p.feature[c][k] >= 0:
                if is_touching(before[k], m.gap[slot] - m.still[c]):
                    more = max(press[k] + mean, -before[k])
                    one, two = press_point(m, moving, c, slot, more - press[k], one, two)
                    press[k] = more
    whole, lever = h * 0.0, h * 0.0
    for k in range(4):
        slot = 4 * c + k
        if p.feature[c][k] >= 0:
            now = h * 0.0
            if is_touching(before[k], m.gap[slot] - m.still[c]):
                speed = m.surface[c][2] * p.approach[slot]
                now = max(press[k] + (speed - normal_velocity(m, slot, one, two)) * m.hard[slot], -before[k])
                one, two = press_point(m, moving, c, slot, now - press[k], one, two)
                whole += before[k] + now
                lever += (before[k] + now) * lever_at(m, patches, c, slot)
            p.second[slot] = now
    if has_rolling_friction(m, c):
        held, first = p.roll_later[c], p.roll[c]
        turn = clamp_turn(first + held + holding_turn(patches, c, one, two), m.rolling[c] * whole) - first
        one, two = turn_patch(moving, rows, one, two, turn - held)
        p.roll_later[c] = turn
    old, half, torsion = p.later[c], p.rub[c], m.torsional[c]
    hold = half + old + sticking_impulse(patches, c, one, two)
    rub = clamp_to_cone(hold, whole, lever, patches.cone[c], torsion) - half
    one, two = rub_patch(moving, patches, rows, c, one, two, rub - old)
    p.later[c] = rub
    put_twists(moving, rows, one, two)


# ----- all pairs ----------------------------------------------------------------------------------


class Pass(NamedTuple):
    """Kernels of one pass. color: over pairs of a color, from a number on; rest: over what no color has, in order."""

    color: Any
    rest: Any


def _pass(work: Any) -> Pass:
    """Kernels that do a piece of work to pairs."""

    @kernel
    def color(number: int32, start: int32, colors: Any, m: Any, patches: Any, p: Any, h: Any, moving: Any):
        i = colors.first[number] + start + tid()
        if i < colors.first[number + 1]:
            c = colors.order[i]
            if patches.count[c] > 0:
                work(c, m, patches, p, h, moving)

    @kernel(enable_backward=False)
    def rest(number: int32, colors: Any, m: Any, patches: Any, p: Any, h: Any, moving: Any):
        for i in range(colors.first[number], colors.first[number + 1]):
            c = colors.order[i]
            if patches.count[c] > 0:
                work(c, m, patches, p, h, moving)

    return Pass(color, rest)


BEGIN_POSITIONS, POSITIONS = _pass(warm_positions), _pass(solve_positions)
BEGIN_VELOCITIES, VELOCITIES = _pass(warm_velocities), _pass(solve_velocities)


# ----- what is reported ---------------------------------------------------------------------------


@kernel
def add_forces(count: array(dtype=int32), m: Any, patches: Any, p: Any, share: Any, moving: Any, felt: Any):
    """Forces on the second bodies of pairs, mean over a step. share: 1 / (h substeps) [1/s]."""
    c = tid()
    if c < count[0]:
        if patches.count[c] > 0:
            rub = p.rub[c] + p.later[c]
            force = share * vector(rub[0], rub[1], rub[2])
            middle, pressing = force * 0.0, share * 0.0
            center = transform_get_translation(moving.pose[m.rows[c][0]])
            for k in range(4):
                slot = 4 * c + k
                if p.feature[c][k] >= 0:
                    part = share * (p.first[slot] + p.second[slot])
                    force += part * m.normal[slot]
                    middle += part * (center + m.arm[slot])
                    pressing += part
            felt.force[c] = felt.force[c] + force
            felt.middle[c] = felt.middle[c] + middle
            felt.pressing[c] = felt.pressing[c] + pressing
