"""Contact with shapes: particles leave obstacles along the normal, held back by Coulomb friction, and may bounce.

Position level (M. Mueller et al. 2007; friction: M. Macklin et al. 2014, eq. 24): a particle that is `depth` too deep
moves by depth along the normal n, and what it slid since the substep began, relative to the obstacle, is taken back:
all of it up to mu_static depth, else mu depth. In free sliding depth is a h^2 of the normal acceleration a, so
friction decelerates by mu a.

A particle that arrives faster than gravity can make it within two substeps bounces with restitution e: it leaves as
far as it would have gone since the impact, e depth, so that the moment of impact counts as it should, also in
gradients (Y. Hu et al. 2020, section 4); the velocity update then sets the normal velocity to -e times that of the
impact. Gravity has acted since, for depth / speed: that is little, but how it depends on where the particle came from
is not.
Everything else has no normal velocity afterwards: what pushes a particle out of an obstacle does not throw it.
"""

from __future__ import annotations

from typing import Any

from ...core.language import array, dot, int32, kernel, launch, length, max, min, tid, uint64, vector
from ...core.lib.quaternions import quat_rotate
from ...core.lib.transforms import transform_get_rotation
from ..shapes import for_shape, moved, surface_velocity, to_shape
from .particle import corrected, placed, position


class ShapeContact:
    """Particles against every shape, one launch each.

    depth [m]: how deep inside of a mesh or volume a particle may be and still be led out.
    """

    def __init__(self, model: Any, depth: float):
        self.model, self.depth = model, model.dtype(depth)

    def resolve(self, control: Any, pose: Any, hit: Any, drift: Any, start: Any, v: Any, x: Any, h: Any) -> None:
        """Push particles out of the shapes, which are at `pose`; hit, drift: see `bounce`."""
        m = self.model
        surface = [m.shape_margin, m.shape_mu, m.shape_mu_static, m.shape_restitution, m.shape_scale]
        for s, kind in enumerate(m.shape_type):
            args = [s, pose, control.shape_velocity, *surface, m.shape_source[s], m.shape_heights[s]]
            moving = [control.gravity, self.depth, h, m.particle_radius, start, v, hit, drift, x]
            launch(collide_with(kind), m.particle_count, [*args, *moving], device=m.device)


@kernel
def place_shapes(transform: array(dtype=Any), velocity: array(dtype=Any), t: Any, pose: array(dtype=Any)):
    """Poses `t` [s] after the step began."""
    s = tid()
    pose[s] = moved(transform[s], velocity[s], t)


@for_shape
def collide_with(distance: Any) -> Any:
    """The kernel for one type of shape."""

    @kernel
    def collide(
        s: int32, pose: array(dtype=Any), twist: array(dtype=Any), margin: array(dtype=Any), mu: array(dtype=Any),
        mu_static: array(dtype=Any), restitution: array(dtype=Any), scale: array(dtype=Any), source: uint64,
        heights: array(dtype=Any, ndim=2), gravity: array(dtype=Any), deepest: Any, h: Any, radius: array(dtype=Any),
        start: array(dtype=Any), v: array(dtype=Any), hit: array(dtype=Any), drift: array(dtype=Any),
        x: array(dtype=Any),
    ):  # fmt: skip
        i = tid()
        a = x[i]
        if a[3] > 0.0:
            p = position(a)
            keep = radius[i] + margin[s]
            gap, inward = distance(to_shape(pose[s], p), scale[s], source, heights, keep + deepest)
            depth = keep - gap
            if depth > 0.0:
                n = quat_rotate(transform_get_rotation(pose[s]), inward)
                u = surface_velocity(pose[s], twist[s], p)
                arrival = dot(v[i] - u, n)
                e = h * 0.0
                gained = h * 0.0  # along n from gravity since the impact
                if arrival < -2.0 * h * length(gravity[0]):
                    e = restitution[s]
                    gained = dot(gravity[0], n) * min(-depth / arrival, h)
                slid = p - start[i] - h * u
                slid = slid - dot(slid, n) * n
                far = length(slid)
                push = (1.0 + e) * depth
                stay = 1.0 + h * 0.0
                if far > mu_static[s] * push:
                    stay = mu[s] * push / far
                x[i] = placed(a, p + push * n - min(stay, 1.0 + h * 0.0) * slid)
                hit[i] = vector(n[0], n[1], n[2], max((1.0 + e) * gained - e * arrival, h * 0.0))
                drift[i] = u

    return collide


@kernel
def bounce(
    x: array(dtype=Any), start: array(dtype=Any), hit: array(dtype=Any), drift: array(dtype=Any), h: Any,
    v: array(dtype=Any),
):  # fmt: skip
    """Velocities, as `update_velocity` has them; of what met an obstacle, the component along the normal is replaced.

    hit: the normal of the last obstacle met in this substep and the speed of leaving it [m/s]; zero where none was.
    drift: the velocity of that obstacle [m/s].
    """
    i = tid()
    u = corrected(v[i], start[i], x[i], h)
    n = position(hit[i])
    if dot(n, n) > 0.0:
        u = u + n * (hit[i][3] - dot(u - drift[i], n))
    v[i] = u
