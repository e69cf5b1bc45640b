"""What the sea does to hulls and sheets: buoyancy, drag, and the water that moves along.

Every triangle of a hull is cut where it leaves the water. On what is below, the pressure of water that moves with long
waves is p = rho (g + a) d, with the depth d below the surface over the point and the surface's vertical acceleration a:
its integral is Archimedes' force in calm water, and the Froude-Krylov force of linear theory in waves that are long
beside the hull. Drag on a wetted area A with outward normal n and water that comes with v: rho / 2 A (C_d / 2 |v.n|
(v.n) n + C_f |v_t| v_t) + A k v. Added mass m_a = C_a rho V of the displaced volume V is pushed by the water's own
acceleration, (-g d z/d x, -g d z/d y, a) at the surface.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Array, Float, Mat, Transform, Vec, array, atomic_add, clamp, cross, dot, func
from ...core.language import generic_struct, int32, kernel, length, max, normalize, sqrt, tid, transformation, vec3i
from ...core.lib.quaternions import quat_rotate
from ...core.lib.spatial import spatial_bottom, spatial_joined, spatial_top
from ...core.lib.transforms import transform_get_rotation, transform_get_translation, transform_point
from ..scene.shapes import advance_pose, to_world
from .dispersion import GRAVITY
from .query import ocean_surface


@generic_struct
class Hulls:
    """All hulls of a model. points [m]: in the frames of shapes; point_shape, triangle_shape: whose each is."""

    points: Array[Vec[3, Float]]
    point_shape: Array[int32]
    triangles: Array[vec3i]
    triangle_shape: Array[int32]


@generic_struct
class Forms:
    """One row for each shape. volume [m^3]; center [m] in the frame of the shape; spin: added inertia about that of
    water of density 1, along the axes of the body [m^5]."""

    volume: Array[Float]
    center: Array[Vec[3, Float]]
    spin: Array[Mat[3, 3, Float]]


@generic_struct
class Resistance:
    """Coefficients of all shapes, see above, and the density of water [kg/m^3]."""

    drag: Array[Float]
    friction: Array[Float]
    linear: Array[Float]
    added: Array[Float]
    density: Float


@generic_struct
class Afloat:
    """Shapes in the middle of a step. pose; twist: angular velocity, then that of the shape's origin; water:
    acceleration at the surface over its centre [m/s^2]; displaced [m^3]; force: torque about its origin, and force."""

    pose: Array[Transform[Float]]
    twist: Array[Vec[6, Float]]
    water: Array[Vec[3, Float]]
    displaced: Array[Float]
    force: Array[Vec[6, Float]]


# ----- the water at the hulls ---------------------------------------------------------------------


@kernel
def place(
    body: array(dtype=int32), q: array(dtype=Any), qd: array(dtype=Any), com: array(dtype=Any),
    local: array(dtype=Any), half: Any, shapes: Any,
):  # fmt: skip
    """Shapes on bodies where they are after half a step, if their twists stay."""
    s = tid()
    b = body[s]
    if b >= 0:
        turn = transform_get_rotation(q[b])
        middle = advance_pose(transformation(to_world(q[b], com[b]), turn), qd[b], half)
        turn = transform_get_rotation(middle)
        frame = transformation(transform_get_translation(middle) - quat_rotate(turn, com[b]), turn)
        placed = frame * local[s]
        arm = transform_get_translation(placed) - transform_get_translation(middle)
        shapes.pose[s] = placed
        shapes.twist[s] = spatial_joined(spatial_top(qd[b]), spatial_bottom(qd[b]) + cross(spatial_top(qd[b]), arm))


@kernel
def wet(surface: Any, hulls: Any, pose: array(dtype=Any), depth: array(dtype=Any), flow: array(dtype=Any)):
    """Depth of every point below the surface over it, and the velocity of the water there."""
    n = tid()
    p = transform_point(pose[hulls.point_shape[n]], hulls.points[n])
    z, _slope, velocity, _up, _found = ocean_surface(surface, type(surface.size)(p[0]), type(surface.size)(p[1]))
    depth[n] = p.dtype(z) - p[2]
    flow[n] = type(p)(p.dtype(velocity[0]), p.dtype(velocity[1]), p.dtype(velocity[2]))


@kernel
def accelerate(surface: Any, body: array(dtype=int32), center: array(dtype=Any), shapes: Any):
    """The acceleration of the water at the surface over each shape on a body."""
    s = tid()
    if body[s] >= 0:
        p = transform_point(shapes.pose[s], center[s])
        x, y = type(surface.size)(p[0]), type(surface.size)(p[1])
        _z, slope, _velocity, up, _found = ocean_surface(surface, x, y)
        shapes.water[s] = type(p)(-GRAVITY * p.dtype(slope[0]), -GRAVITY * p.dtype(slope[1]), p.dtype(up))


# ----- forces -------------------------------------------------------------------------------------


@func
def cut(a: Vec[3, Float], b: Vec[3, Float], da: Float, db: Float) -> Vec[3, Float]:
    """Where the edge from a, which is above, to b, which is below, meets the water."""
    return a + (b - a) * (da / (da - db))


@func
def pressure_integrals(
    a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float], da: Float, db: Float, dc: Float
) -> tuple[Vec[3, Float], Vec[3, Float], Float, Float]:
    """Over a triangle with linear depth d: the integrals of -d n and -d (r x n), its area, and the volume over it."""
    n = 0.5 * cross(b - a, c - a)
    mean = (da + db + dc) / 3.0
    moment = ((2.0 * da + db + dc) * a + (da + 2.0 * db + dc) * b + (da + db + 2.0 * dc) * c) / 12.0
    return -mean * n, -cross(moment, n), length(n), -mean * n[2]


@kernel
def press(hulls: Any, depth: array(dtype=Any), flow: array(dtype=Any), resistance: Any, shapes: Any):
    """Sum pressure and drag on the wetted part of a triangle; a cut one is a triangle, or a triangle less another."""
    t = tid()
    s, face = hulls.triangle_shape[t], hulls.triangles[t]
    i, j, k = face[0], face[1], face[2]
    di, dj, dk = depth[i], depth[j], depth[k]
    for _ in range(2):  # turn it so that the corner that is alone, above or below, comes first
        if (dj > 0.0) != (dk > 0.0):
            i, j, k = j, k, i
            di, dj, dk = dj, dk, di
    q = transform_get_rotation(shapes.pose[s])
    p0, p1, p2 = (
        quat_rotate(q, hulls.points[i]),
        quat_rotate(q, hulls.points[j]),
        quat_rotate(q, hulls.points[k]),
    )
    zero = di * 0.0
    alone, others = di > 0.0, dj > 0.0
    if alone or others:
        share, turn, area, volume = p0 * 0.0, p0 * 0.0, zero, zero
        if others or alone == others:
            share, turn, area, volume = pressure_integrals(p0, p1, p2, di, dj, dk)
        if alone != others:
            tip, turned, piece, room = pressure_integrals(p0, cut(p0, p1, di, dj), cut(p0, p2, di, dk), di, zero, zero)
            sign = zero + 1.0 if alone else zero - 1.0
            share, turn = share + sign * tip, turn + sign * turned
            area, volume = area + sign * piece, volume + sign * room
        middle = (p0 + p1 + p2) / 3.0
        twist, density = shapes.twist[s], resistance.density
        wind = (flow[i] + flow[j] + flow[k]) / 3.0 - spatial_bottom(twist) - cross(spatial_top(twist), middle)
        n = normalize(cross(p1 - p0, p2 - p0))
        across = dot(wind, n)
        along = wind - across * n
        speed = sqrt(dot(along, along) + 1.0e-12)
        pull = 0.5 * resistance.drag[s] * max(across, -across) * across * n + resistance.friction[s] * speed * along
        pull = area * (0.5 * density * pull + resistance.linear[s] * wind)
        weight = density * (GRAVITY + shapes.water[s][2])
        atomic_add(shapes.force, s, spatial_joined(weight * turn + cross(middle, pull), weight * share + pull))
        atomic_add(shapes.displaced, s, volume)


@kernel
def drag_along(
    body: array(dtype=int32), local: array(dtype=Any), com: array(dtype=Any), forms: Any, resistance: Any, shapes: Any,
    mass: array(dtype=Any), inertia: array(dtype=Any),
):  # fmt: skip
    """The mass of water that bodies have to move with themselves, and its push on them when it moves by itself."""
    s = tid()
    b = body[s]
    if b >= 0:
        room = max(shapes.displaced[s], shapes.displaced[s] * 0.0)
        along = resistance.added[s] * resistance.density * room
        push = along * shapes.water[s]
        arm = quat_rotate(transform_get_rotation(shapes.pose[s]), forms.center[s])
        shapes.force[s] = shapes.force[s] + spatial_joined(cross(arm, push), push)
        r = transform_point(local[s], forms.center[s]) - com[b]
        own = resistance.density * room / forms.volume[s] * forms.spin[s]
        xx, yy, zz, xy, yz, zx = r[0] * r[0], r[1] * r[1], r[2] * r[2], -r[0] * r[1], -r[1] * r[2], -r[2] * r[0]
        apart = type(own)(yy + zz, xy, zx, xy, zz + xx, yz, zx, yz, xx + yy)
        atomic_add(mass, b, along)
        atomic_add(inertia, b, own + along * apart)


# ----- sheets -------------------------------------------------------------------------------------


@kernel
def carry(
    surface: Any, area: array(dtype=Any), thickness: Any, density: Any, linear: Any, q: array(dtype=Any),
    qd: array(dtype=Any), force: array(dtype=Any),
):  # fmt: skip
    """Buoyancy of what is below the surface of each particle's share of a sheet, and drag to the water's velocity."""
    i = tid()
    p = q[i]
    z, _slope, v, _up, _found = ocean_surface(surface, type(surface.size)(p[0]), type(surface.size)(p[1]))
    depth = clamp(p.dtype(z) - p[2], thickness * 0.0, thickness)
    push = p * 0.0
    if depth > 0.0:
        flow = type(p)(p.dtype(v[0]), p.dtype(v[1]), p.dtype(v[2]))
        push = linear * (flow - qd[i]) + type(p)(thickness * 0.0, thickness * 0.0, density * GRAVITY * depth)
    force[i] = area[i] * push
