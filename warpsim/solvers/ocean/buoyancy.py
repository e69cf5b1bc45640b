"""Buoyancy, drag and added mass of rigid floats: pressure on the wetted part of closed meshes.

Every triangle is cut where it leaves the water. On what is below, the pressure of water that moves with long waves is
p = rho (g + a) d, with the depth d below the surface over the point and the surface's vertical acceleration a: its
integral is Archimedes' force in calm water, and the Froude-Krylov force of linear theory in waves that are long beside
the float. Drag on a wetted area A with outward normal n and water that comes with v: rho / 2 A (C_d / 2 |v.n| (v.n) n +
C_f |v_t| v_t). Added mass: C_a of the displaced water moves along, and is pushed by the water's own acceleration,
(-g d z/d x, -g d z/d y, a) at the surface. Semi-implicit Euler; all float64.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked, integers, numbers
from ...core.language import array, array2d, atomic_add, cross, dot, float64, func, get_device, kernel, launch, length
from ...core.language import mat33d, max, normalize, quatd, sqrt, struct, tid, vec3d, vec3i, zeros
from ...core.lib.quaternions import quat_rotate, quat_rotate_inv
from ...core.runtime.arrays.fixed import Fixed, Layout, check_fits
from ...errors import ArrayError, instance
from ..scene.memory import Memory
from ..scene.closed import check_closed
from .dispersion import GRAVITY
from .query import check_surface, ocean_surface
from .spectrum import as_number, on_device

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.runtime.devices.device import Device
    from .query import Surface, SurfaceD

Vectors, Numbers = array(dtype=vec3d), array(dtype=float64)


@struct
class Hull:
    """What floats are: the corners of their mesh [m], water's density [kg/m^3], inertia [kg m^2] and its inverse."""

    points: Vectors
    triangles: array(dtype=vec3i)
    density: float64
    inertia: mat33d
    inverse: mat33d


@struct
class Motion:
    """The arrays of a `FloatState`."""

    position: Vectors
    orientation: array(dtype=quatd)
    velocity: Vectors
    spin: Vectors


@dataclass
class FloatState:
    """Floats at one time: centres of mass [m], orientations, velocities [m/s], angular velocities [rad/s]."""

    position: array
    orientation: array
    velocity: array
    spin: array

    def arrays(self) -> tuple[array, ...]:
        return self.position, self.orientation, self.velocity, self.spin


class Floats(Fixed):
    """Rigid bodies of one shape that float: a closed triangle mesh, from outside counter-clockwise.

    points (n, 3) [m], triangles (m, 3); mass [kg] or density [kg/m^3] of the closed volume. center_of_mass (3,) and
    inertia (3, 3) [kg m^2] about it, in the mesh's axes: by default those of a homogeneous body. drag (C_d), friction
    (C_f), added_mass (C_a, for rotations as well), water_density [kg/m^3]. mass, drag, friction and added_mass may be
    arrays of one float64, with gradients.

    Raises `ModelError` for meshes that are open, `ArrayError` for those that are no meshes or enclose no volume, and
    for numbers that no body has.
    """

    replaceable = ("mass", "drag", "friction", "added_mass")
    constant = ("triangles",)

    @checked
    def __init__(
        self, points: ArrayLike, triangles: ArrayLike, mass: Any = None, density: float | None = None, *,
        drag: Any = 1.0, friction: Any = 0.01, added_mass: Any = 0.5, center_of_mass: ArrayLike | None = None,
        inertia: ArrayLike | None = None, water_density: float = 1025.0, device: Any = None,
    ):  # fmt: skip
        self.device, self.water_density = get_device(device), float(water_density)
        points, triangles = checked_mesh(points, triangles)
        corners = points[triangles]
        self.volume, center, unit_inertia = solid(corners)
        if not self.volume > 0.0 or (mass is None) == (density is None) or not water_density > 0.0:
            raise ArrayError(
                f"volume {self.volume:g} m^3, mass {mass}, density {density}, water {water_density:g} kg/m^3\n"
                "expected: a closed mesh with faces that turn outwards, and either a mass or a density above zero"
            )
        self.mass = self._number(density * self.volume if mass is None else mass, "mass")
        weight = float(self.mass.numpy()[0])
        middle = center if center_of_mass is None else np.asarray(center_of_mass, float)
        about = unit_inertia * weight / self.volume if inertia is None else np.asarray(inertia, float)
        if not weight > 0.0 or not np.all(np.linalg.eigvalsh(about) > 0.0):
            raise ArrayError(f"mass {weight:g} kg, inertia {about.tolist()}\nexpected: above zero, positive definite")
        self.center_of_mass = middle
        self.drag, self.friction = self._number(drag, "drag"), self._number(friction, "friction")
        self.added_mass = self._number(added_mass, "added_mass")
        self.inertia = mat33d(*about.ravel())
        self.inverse_inertia = mat33d(*np.linalg.inv(about).ravel())
        self.points = array(points - middle, dtype=vec3d, device=self.device)
        self.triangles = array(triangles.astype(np.int32), dtype=vec3i, device=self.device)

    def _number(self, value: float | array, name: str) -> array:
        number = as_number(value, name, positive=False)
        if not float(number.numpy()[0]) >= 0.0:
            raise ArrayError(f"{name} is {float(number.numpy()[0]):g}\nexpected: at least 0")
        return number

    def arguments(self) -> dict[str, Any]:
        """See `Savable`: with the centre of mass as the origin."""
        mesh = {"points": self.points.numpy(), "triangles": self.triangles.numpy(), "center_of_mass": np.zeros(3)}
        same = ("mass", "drag", "friction", "added_mass", "water_density")
        inertia = np.array(self.inertia, dtype=np.float64).reshape(3, 3)
        return {**mesh, **{name: getattr(self, name) for name in same}, "inertia": inertia}

    def memory(self) -> Memory:
        """See `Savable`."""
        return {"center_of_mass": np.asarray(self.center_of_mass), "volume": self.volume}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """See `Savable`."""
        self._put(center_of_mass=memory["center_of_mass"], volume=float(memory["volume"]))

    def state(
        self, positions: Sequence[Sequence[float]], orientations: ArrayLike | None = None, requires_grad: bool = False
    ) -> FloatState:
        """Floats at rest: positions (count, 3) [m] of centres of mass, orientations (count, 4) as unit quaternions."""
        count = len(positions)
        turned = np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)) if orientations is None else orientations
        options = {"device": self.device, "requires_grad": requires_grad}
        rest = [zeros(count, vec3d, **options) for _ in range(2)]
        return FloatState(array(positions, dtype=vec3d, **options), array(turned, dtype=quatd, **options), *rest)

    def step(self, state: FloatState, out: FloatState, surface: Surface | SurfaceD, dt: float) -> None:
        """Move for `dt` seconds in the water of `field.surface` at their begin; `out` may be `state`. Recorded.

        Raises `ArrayError` for a `dt` that is not above zero.
        """
        if not 0.0 < dt < math.inf:
            raise ArrayError(f"dt is {dt}\nexpected: a finite time step above zero [s]")
        self.check_replaced("floats")
        count = len(instance(instance(state, FloatState, "state").position, array, "state.position"))
        _check_state(state, count, self.device, "state")
        _check_state(instance(out, FloatState, "out"), count, self.device, "out")
        check_surface(surface)
        shape = (count, len(self.points))
        mass, drag, friction, added = (
            on_device(a, self.device) for a in (self.mass, self.drag, self.friction, self.added_mass)
        )
        sources = (*state.arrays(), mass, drag, friction, added, surface.planes, surface.choppiness)
        wants = any(a.requires_grad for a in sources)
        options = {"device": self.device, "requires_grad": wants}
        depth, flow = zeros(shape, float64, **options), zeros(shape, vec3d, **options)
        launch(
            _wet, shape, [surface, self.points, state.position, state.orientation], [depth, flow], device=self.device
        )
        water = zeros(count, vec3d, **options)
        launch(_accelerate, count, [surface, state.position], [water], device=self.device)
        force, torque = zeros(count, vec3d, **options), zeros(count, vec3d, **options)
        displaced = zeros(count, float64, **options)
        density = float64(self.water_density)
        hull = Hull(self.points, self.triangles, density, self.inertia, self.inverse_inertia)
        inputs = [hull, *state.arrays()[1:], depth, flow, water, drag, friction]
        launch(_press, (count, len(self.triangles)), inputs, [force, torque, displaced], device=self.device)
        inputs = [hull, Motion(*state.arrays()), force, torque, displaced, water, mass, added, float64(dt)]
        launch(_move, count, inputs, [Motion(*out.arrays())], device=self.device)


def _check_state(state: FloatState, count: int, device: Device, name: str) -> None:
    """Raise `ArrayError` for a state whose arrays are not all of so many floats."""
    for field, value in vars(state).items():
        check_fits(value, Layout(quatd if field == "orientation" else vec3d, (count,), device), f"{name}.{field}")


def checked_mesh(points: ArrayLike, triangles: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) and triangles (m, 3) of a closed mesh."""
    points, triangles = numbers(points, "points"), integers(triangles, "triangles")
    shaped = points.ndim == triangles.ndim == 2 and points.shape[1] == triangles.shape[1] == 3
    if not shaped or triangles.dtype.kind not in "iu" or not len(triangles) or not np.isfinite(points).all():
        raise ArrayError(
            f"points of shape {points.shape}, triangles {triangles.dtype} of shape {triangles.shape}\n"
            "expected: finite points (n, 3), and integers (m, 3)"
        )
    if triangles.min() < 0 or triangles.max() >= len(points):
        named = f"{triangles.min()} to {triangles.max()}"
        raise ArrayError(f"triangles name points {named}\nexpected: 0 to {len(points) - 1}")
    check_closed(points, triangles, "the hull")
    return points, triangles


def solid(corners: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centroid and inertia of density 1 about it, of a closed mesh (m, 3, 3), as a sum of tetrahedra."""
    six = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    volume = six.sum() / 6.0
    center = (six[:, None] * corners.sum(1)).sum(0) / 24.0 / (volume or 1.0)
    total = corners.sum(1)
    second = np.einsum("i,ija,ijb->ab", six, corners, corners) + np.einsum("i,ia,ib->ab", six, total, total)
    second = second / 120.0 - volume * np.outer(center, center)
    return float(volume), center, np.trace(second) * np.eye(3) - second


# ----- the water at the hull ------------------------------------------------------------------------


@kernel
def _wet(
    surface: Any, points: Vectors, position: Vectors, orientation: array(dtype=quatd), depth: array2d(dtype=float64),
    flow: array2d(dtype=vec3d),
):  # fmt: skip
    """Depth of every point below the surface over it, and the velocity of the water there."""
    b, n = tid()
    p = position[b] + quat_rotate(orientation[b], points[n])
    x, y = type(surface.size)(p[0]), type(surface.size)(p[1])
    z, _slope, velocity, _up, _found = ocean_surface(surface, x, y)
    depth[b, n] = float64(z) - p[2]
    flow[b, n] = vec3d(float64(velocity[0]), float64(velocity[1]), float64(velocity[2]))


@kernel
def _accelerate(surface: Any, position: Vectors, water: Vectors):
    """The acceleration of the water at the surface over each float."""
    b = tid()
    x, y = type(surface.size)(position[b][0]), type(surface.size)(position[b][1])
    _z, slope, _velocity, up, _found = ocean_surface(surface, x, y)
    water[b] = vec3d(-GRAVITY * float64(slope[0]), -GRAVITY * float64(slope[1]), float64(up))


@func
def cut(a: vec3d, b: vec3d, da: float64, db: float64) -> vec3d:
    """Where the edge from a, which is above, to b, which is below, meets the water."""
    return a + (b - a) * (da / (da - db))


@kernel
def _press(
    hull: Hull, orientation: array(dtype=quatd), velocity: Vectors, spin: Vectors, depth: array2d(dtype=float64),
    flow: array2d(dtype=vec3d), water: Vectors, drag: Numbers, friction: Numbers, force: Vectors, torque: Vectors,
    displaced: Numbers,
):  # fmt: skip
    """Sum pressure and drag on the wetted part of a triangle; a cut one is a triangle, or a triangle less another."""
    b, t = tid()
    face = hull.triangles[t]
    i, j, k = face[0], face[1], face[2]
    di, dj, dk = depth[b, i], depth[b, j], depth[b, k]
    for _ in range(2):  # turn it so that the corner that is alone, above or below, comes first
        if (dj > 0.0) != (dk > 0.0):
            i, j, k = j, k, i
            di, dj, dk = dj, dk, di
    q = orientation[b]
    p0, p1, p2 = quat_rotate(q, hull.points[i]), quat_rotate(q, hull.points[j]), quat_rotate(q, hull.points[k])
    gravity = GRAVITY + water[b][2]
    alone, others = di > 0.0, dj > 0.0
    if alone or others:
        share = vec3d()
        turn = vec3d()
        area, volume = float64(0.0), float64(0.0)
        if others or alone == others:
            share, turn, area, volume = pressure_integrals(p0, p1, p2, di, dj, dk)
        if alone != others:
            tip, turned, piece, room = pressure_integrals(
                p0, cut(p0, p1, di, dj), cut(p0, p2, di, dk), di, float64(0.0), float64(0.0)
            )
            sign = float64(1.0) if alone else float64(-1.0)
            share, turn = share + sign * tip, turn + sign * turned
            area, volume = area + sign * piece, volume + sign * room
        middle = (p0 + p1 + p2) / 3.0
        wind = (flow[b, i] + flow[b, j] + flow[b, k]) / 3.0 - velocity[b] - cross(spin[b], middle)
        n = normalize(cross(p1 - p0, p2 - p0))
        across = dot(wind, n)
        along = wind - across * n
        speed, density = sqrt(dot(along, along) + 1.0e-12), hull.density
        pull = 0.5 * density * area * (0.5 * drag[0] * max(across, -across) * across * n + friction[0] * speed * along)
        atomic_add(force, b, density * gravity * share + pull)
        atomic_add(torque, b, density * gravity * turn + cross(middle, pull))
        atomic_add(displaced, b, volume)


@func
def pressure_integrals(
    a: vec3d, b: vec3d, c: vec3d, da: float64, db: float64, dc: float64
) -> tuple[vec3d, vec3d, float64, float64]:
    """Over a triangle with linear depth d: the integrals of -d n and -d (r x n), its area, and the volume over it."""
    n = 0.5 * cross(b - a, c - a)
    mean = (da + db + dc) / 3.0
    moment = ((2.0 * da + db + dc) * a + (da + 2.0 * db + dc) * b + (da + db + 2.0 * dc) * c) / 12.0
    return -mean * n, -cross(moment, n), length(n), -mean * n[2]


# ----- motion -----------------------------------------------------------------------------------------


@kernel
def _move(
    hull: Hull, before: Motion, force: Vectors, torque: Vectors, displaced: Numbers, water: Vectors, mass: Numbers,
    added: Numbers, dt: float64, after: Motion,
):  # fmt: skip
    """Newton and Euler, with the added mass on both sides."""
    b = tid()
    along = added[0] * hull.density * max(displaced[b], float64(0.0))
    push = force[b] + along * water[b] - vec3d(0.0, 0.0, GRAVITY) * mass[0]
    v = before.velocity[b] + dt / (mass[0] + along) * push
    q = before.orientation[b]
    w = quat_rotate_inv(q, before.spin[b])
    twist = quat_rotate_inv(q, torque[b]) - cross(w, hull.inertia * w)
    w = w + dt / (1.0 + along / mass[0]) * (hull.inverse * twist)
    world = quat_rotate(q, w)
    turned = q + 0.5 * dt * (quatd(world[0], world[1], world[2], 0.0) * q)
    after.position[b] = before.position[b] + dt * v
    after.orientation[b] = normalize(turned)
    after.velocity[b] = v
    after.spin[b] = world
