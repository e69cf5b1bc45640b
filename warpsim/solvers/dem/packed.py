"""Grains in the order of the cells they lie in, with all that a substep reads and writes."""

from __future__ import annotations

from typing import Any

from ...core.language import array, float32, int32, kernel, tid, vector, zeros
from ...core.types.compounds import quaternion as quaternion_type
from ..neighbours.verlet_list import note_moved, position
from ..shapes import turned
from .grains import SOLID


class Packed:
    """Arrays of one order of the grains.

    number: which grain of the model comes k-th. q: centre and radius, vec4 [m]; seen: q when lists were built. v [m/s],
    w: angular velocity [rad/s]. rotation: quaternions. pull: forces from outside [N]. inv_mass [1/kg], kind: number of
    the material. force [N], torque [N m]: of all contacts. springs [m], wound [rad]: of sliding and rolling, by row of
    the lists; wall_springs, wall_wound: by shape, and by grain.
    """

    def __init__(self, model: Any, rolling: bool):
        self.model, self.rolling = model, rolling
        n, options = model.particle_count, {"device": model.device, "requires_grad": True}
        self.number, self.kind = (zeros(n, int32, model.device) for _ in range(2))
        self.inv_mass = zeros(n, model.dtype, **options)
        self.q, self.seen = (zeros(n, model.vec4, **options) for _ in range(2))
        self.v, self.w, self.pull, self.force, self.torque = (zeros(n, model.vec3, **options) for _ in range(5))
        self.rotation = zeros(n, quaternion_type(model.dtype), **options)
        shapes = range(model.shape_count)
        self.wall_springs = [zeros(n, model.vec3, **options) for _ in shapes]
        self.wall_wound = [zeros(n if rolling else 0, model.vec3, **options) for _ in shapes]
        self.reserve(0)

    def reserve(self, capacity: int) -> None:
        """Make room for so many rows of the lists."""
        options = {"device": self.model.device, "requires_grad": True}
        self.springs = zeros(capacity, self.model.vec3, **options)
        self.wound = zeros(capacity if self.rolling else 0, self.model.vec3, **options)

    @property
    def moving(self) -> list[Any]:
        """Arrays with a row for each grain that go with it into another order, all but q."""
        walls = [*self.wall_springs, *(self.wall_wound if self.rolling else ())]
        return [self.number, self.kind, self.inv_mass, self.v, self.w, self.pull, self.rotation, *walls]


@kernel
def load(
    number: array(dtype=int32), particle_q: array(dtype=Any), particle_qd: array(dtype=Any),
    particle_w: array(dtype=Any), particle_rotation: array(dtype=Any), particle_f: array(dtype=Any),
    radius: array(dtype=Any), inverse: array(dtype=Any), seen: array(dtype=Any), moved: array(dtype=float32),
    q: array(dtype=Any), v: array(dtype=Any), w: array(dtype=Any), rotation: array(dtype=Any), pull: array(dtype=Any),
    inv_mass: array(dtype=Any),
):  # fmt: skip
    """Put a state into the order of the cells."""
    k = tid()
    i = number[k]
    p = particle_q[i]
    q[k] = vector(p[0], p[1], p[2], radius[i])
    v[k] = particle_qd[i]
    w[k] = particle_w[i]
    rotation[k] = particle_rotation[i]
    pull[k] = particle_f[i]
    inv_mass[k] = inverse[i]
    note_moved(moved, p - position(seen[k]))


@kernel
def store(
    number: array(dtype=int32), q: array(dtype=Any), v: array(dtype=Any), w: array(dtype=Any),
    rotation: array(dtype=Any), particle_q: array(dtype=Any), particle_qd: array(dtype=Any),
    particle_w: array(dtype=Any), particle_rotation: array(dtype=Any),
):  # fmt: skip
    """Put a state back into the order of the model."""
    k = tid()
    i = number[k]
    particle_q[i] = position(q[k])
    particle_qd[i] = v[k]
    particle_w[i] = w[k]
    particle_rotation[i] = rotation[k]


@kernel
def integrate(
    gravity: array(dtype=Any), dt: Any, inv_mass: array(dtype=Any), force: array(dtype=Any), torque: array(dtype=Any),
    pull: array(dtype=Any), seen: array(dtype=Any), moved: array(dtype=float32), q: array(dtype=Any),
    v: array(dtype=Any), w: array(dtype=Any), rotation: array(dtype=Any),
):  # fmt: skip
    """Semi-implicit Euler: velocities by the forces, then positions by the new velocities."""
    i = tid()
    a = q[i]
    u, spin = v[i], w[i]
    inverse = inv_mass[i]
    if inverse > 0.0:
        u = u + ((force[i] + pull[i]) * inverse + gravity[0]) * dt
        spin = spin + torque[i] * (inverse * dt / (inverse.dtype(SOLID) * a[3] * a[3]))
    p = position(a) + u * dt
    q[i] = vector(p[0], p[1], p[2], a[3])
    v[i] = u
    w[i] = spin
    rotation[i] = turned(rotation[i], spin, dt)
    note_moved(moved, p - position(seen[i]))
