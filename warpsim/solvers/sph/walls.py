"""Wall particles with extrapolated pressure, and the forces on walls (S. Adami, X. Hu, N. Adams 2012)."""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Array, Float, Vec, array, int32
from ...core.language import cross, dot, func, generic_struct, kernel, length, max, min, sqrt, tid, vector
from ...core.lib.quaternions import quat_rotate
from ...core.lib.spatial import spatial_top
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ..scene.shapes import advance_pose, surface_velocity, to_world
from .around import Search
from .density import density_of
from .fluid import VISCOSITY
from .pairs import distance, offset_of, squared_distance
from .smoothing import smoothing
from .spin import drag_of

_NEAREST = 0.25  # spacings: as near the fluid before a wall counts, at least
_STEEPEST = 3.0  # times the velocity of the fluid: that of a wall's particle, at most


@generic_struct
class Walls:
    """Particles of walls: rho, p, push, slip and number as `Particles` have them, of walls alone; shape and toward in
    the order of the model, see there. spacing: of particles [m]."""

    number: array(dtype=int32)
    shape: array(dtype=int32)
    toward: Array[Vec[3, Float]]
    rho: Array[Float]
    p: Array[Float]
    push: Array[Float]
    slip: Array[Vec[3, Float]]
    spacing: Float


@kernel
def middle_poses(pose: array(dtype=Any), twist: array(dtype=Any), half: Any, halfway: array(dtype=Any)):
    """Poses of shapes half a substep later."""
    s = tid()
    halfway[s] = advance_pose(pose[s], twist[s], half)


@kernel
def place_walls(
    water: int32, flat: Any, plane: Any, number: array(dtype=int32), shape: array(dtype=int32), local: array(dtype=Any),
    pose: array(dtype=Any), halfway: array(dtype=Any), twist: array(dtype=Any), x: array(dtype=Any),
    v: array(dtype=Any),
):  # fmt: skip
    """Positions of wall particles, and velocities halfway through a substep; those of a sheet stay in its plane to the
    last bit.

    Fluid moves along chords: beside a wall that turns, velocities at the begin would point out of the circle, and the
    equation of continuity would see the wall recede.
    """
    k = water + tid()
    wall = number[k] - water
    s = shape[wall]
    p = to_world(pose[s], local[wall])
    u = surface_velocity(halfway[s], twist[s], to_world(halfway[s], local[wall]))
    x[k] = vector(p[0], p[1], flat * plane + (1.0 - flat) * p[2])
    v[k] = vector(u[0], u[1], (1.0 - flat) * u[2])


@functools.cache
def _slip_of(dim: int) -> Any:
    """The kernel function of the velocity that makes fluid stick to the surface before a particle of a wall.

    Fluid and wall are compared where the fluid is, as if the wall reached there and turned with its shape: fluid that
    turns with a wall does not slip. What is left grows in proportion to the distance from the surface, and is 0 there
    (J. Morris, P. Fox, Y. Zhu 1997): behind it the other way, by the depth of the particle.
    """
    sheet = dim == 2

    @func
    def slip_of(q: Any, back: Any, flow: Any, toward: Any, pose: Any, twist: Any, spacing: Float) -> Any:
        """back: from the fluid before it to a particle at q, toward: from there to the surface, in the shape's frame
        [m], flow: of the fluid [m/s]."""
        depth, wall = length(toward), surface_velocity(pose, twist, q)
        out = quat_rotate(transform_get_rotation(pose), toward)
        before = max(-dot(back, out) / depth - depth, spacing * spacing.dtype(_NEAREST))
        ahead = flow - wall + cross(spatial_top(twist), back)
        slip = wall - ahead * min(depth / before, spacing.dtype(_STEEPEST))
        if sheet:
            return vector(slip[0], slip[1], spacing * 0.0)
        return slip

    return slip_of


@functools.cache
def _pull_of(no_slip: bool) -> Any:
    """The kernel function of what pulls at fluid at a particle of a wall [m/s^2]: gravity, and where the wall carries
    the fluid along, what turns it off its way."""

    @func
    def pull_of(
        pull: Any, q: Any, wall: int32, around: Any, walls: Any, pose: array(dtype=Any), twist: array(dtype=Any)
    ):
        if no_slip and wall < around.walls:
            s = walls.shape[walls.number[wall] - around.water]
            spin = spatial_top(twist[s])
            pull -= cross(spin, cross(spin, q - transform_get_translation(pose[s])))
        return pull

    return pull_of


@functools.cache
def wall_pressure_kernel(name: str, dim: int, periodic: bool, suction: bool, no_slip: bool, search: Search) -> Any:
    """The kernel of pressures in walls: the fluid's, as it would be there at rest; and of the velocity that makes fluid
    stick."""
    value, offset = smoothing(name, dim).bare_value, offset_of(periodic)
    slip_of, pull_of = _slip_of(dim), _pull_of(no_slip)

    @kernel
    def press_walls(
        around: Any, walls: Any, fluid: array(dtype=Any), gravity: array(dtype=Any), x: array(dtype=Any),
        v: array(dtype=Any), mass: array(dtype=Any), rho: array(dtype=Any), p: array(dtype=Any),
        pose: array(dtype=Any), twist: array(dtype=Any),
    ):  # fmt: skip
        wall, h, water = search.particle(around), around.h, around.water
        pressure, weight, inverse = h * 0.0, h * 0.0, 1.0 / h
        own = gravity[search.world(around)]
        flow, back = own * 0.0, own * 0.0
        q = x[water + wall]
        pull = pull_of(own, q, wall, around, walls, pose, twist)
        for j in search.neighbours(around, q):
            d = offset(q, x[j], around.period)
            w = mass[j] * value(distance(d, h) * inverse)
            pressure += w * (p[j] + rho[j] * dot(pull, d))
            if no_slip:
                flow += w * v[j]
                back += w * d
            weight += w
        if search.owns(around, wall, around.walls):
            if weight > 0.0:
                pressure = pressure / weight
            if not suction:
                pressure = max(pressure, h * 0.0)
            density = density_of(fluid, pressure)
            walls.p[wall] = pressure
            walls.rho[wall] = density
            walls.push[wall] = pressure / (density * density)
            if no_slip and weight > 0.0:
                n = walls.number[wall] - water
                s = walls.shape[n]
                walls.slip[wall] = slip_of(
                    q, back / weight, flow / weight, walls.toward[n], pose[s], twist[s], walls.spacing
                )

    return press_walls


@functools.cache
def wall_force_kernel(name: str, dim: int, periodic: bool, no_slip: bool, turning: bool, search: Search) -> Any:
    """The kernel of forces [N] on wall particles: what they do to the fluid, the other way."""
    kind, offset = smoothing(name, dim), offset_of(periodic)
    slope_of, scale, drag_by = kind.bare_slope, kind.slope_scale, drag_of(name, dim)

    @func
    def pair(
        d: Any, u: Any, spin: Any, push: Float, own: Float, rho: Float, mass: Float, viscosity: Float, inverse: Float,
        h: Float,
    ) -> Any:  # fmt: skip
        """What a neighbour pushes with [N], over minus the mass of the wall's particle and the scale of the slope."""
        square = squared_distance(d, h)
        slope = mass * slope_of(sqrt(square) * inverse)
        total = d * (slope * push)
        if no_slip:
            drag = drag_by(square, sqrt(square), own, rho, mass, inverse, h)
            if turning:
                u = 2.0 * (u - cross(spin, d))
            total -= u * (viscosity * drag)
        return total

    @kernel
    def push_walls(
        around: Any, fluid: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any), slip: array(dtype=Any),
        spin: array(dtype=Any), rho: array(dtype=Any), push: array(dtype=Any), mass: array(dtype=Any),
        force: array(dtype=Any),
    ):  # fmt: skip
        wall, h = search.particle(around), around.h
        inverse, viscosity = 1.0 / h, fluid[VISCOSITY]
        i = around.water + wall
        q, own, behind, press = x[i], rho[i], slip[wall], push[i]
        total = q * 0.0
        for j in search.neighbours(around, q):
            d = offset(q, x[j], around.period)
            total += pair(d, behind - v[j], spin[j], press + push[j], own, rho[j], mass[j], viscosity, inverse, h)
        if search.owns(around, wall, around.walls):
            force[wall] = total * (-mass[i] * scale(h))

    return push_walls


@kernel
def sum_forces(
    water: int32, first: array(dtype=int32), slot: array(dtype=int32), pose: array(dtype=Any), share: Any,
    x: array(dtype=Any), force: array(dtype=Any), reaction: array(dtype=Any),
):  # fmt: skip
    """Add torque about a shape's origin and force on it, from its particles in order."""
    s = tid()
    for k in range(first[s], first[s + 1]):
        i = slot[water + k]
        f = force[i - water]
        turn = cross(x[i] - transform_get_translation(pose[s]), f)
        reaction[s] = reaction[s] + share * vector(turn[0], turn[1], turn[2], f[0], f[1], f[2])
