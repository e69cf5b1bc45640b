"""Impulses of surfaces that go through each other within a substep, at the moment of impact.

C = n . (sum_k b_k x_k) - r >= 0, with weights b and normal n of the moment at which a corner is in the triangle, or
both edges cross; n points to where the one came from. r: both radii, interpolated, but at most half of how far apart
they were along n when the substep began. What has met slides on from where it was r apart: friction takes back what the
two points that met have moved along each other since, up to mu times the impulse. So n, b and the moment have
derivatives.

All impacts of a substep are solved at once, sweep by sweep, with those that came up in earlier rounds: they are linear
in x, and the places where the substep began fulfil all of them (inelastic projection: D. Harmon, E. Vouga,
R. Tamstorf, E. Grinspun 2008). How strong each one is says `surface_contact`; momentum is conserved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import Kernel, abs, array, dot, float64, int32, kernel, launch, min, tid, vec4i, vector
from ...core.runtime.arrays.fixed import Fixed
from ..contact.impacts import impact_plane
from ..contact.surface_impacts import places_of, ways_of
from .friction import friction_loss
from .particle import position
from .surface_contact import separate, sum_weights

if TYPE_CHECKING:
    from ..contact.surface_contacts import SurfaceContacts
    from ..contact.surface_impacts import SurfaceImpacts
    from ..scene.model import Model
    from .workspace import Workspace

_SWEEPS = 12  # of a round


class SurfaceImpactConstraints(Fixed):
    """What surfaces of a model do to each other where they meet."""

    def __init__(self, model: Model):
        self.model = model

    def aim(self, impacts: SurfaceImpacts, workspace: Workspace) -> None:
        """Weights and normals of the impacts that were found last."""
        m, w = self.model, workspace
        near = [impacts.span, impacts.corners, impacts.moments, m.particle_radius, w.start, w.x]
        self._run(take_aim, len(impacts.corners), *near, impacts.shares, impacts.normal, impacts.keep)

    def press(self, contacts: SurfaceContacts, going: array, workspace: Workspace) -> None:
        """Push apart what has met; nothing in worlds where `going` is zero, see `Sweeps`."""
        m, w, impacts = self.model, workspace, contacts.impacts
        planes = [impacts.shares, impacts.normal, impacts.keep, contacts.friction]
        own = [impacts.firsts, impacts.around, contacts.weights]
        parts = [impacts.corners, contacts.push, contacts.crowd, w.inv_mass]
        for _ in range(_SWEEPS):
            near = [going, m.particle_world, impacts.span, impacts.corners, *planes, w.start, w.x]
            self._run(measure_impacts, len(impacts.corners), *near, contacts.push, contacts.weights)
            self._run(sum_weights, m.particle_count, *own, contacts.crowd)
            self._run(separate, m.particle_count, *own, *parts, w.x)

    def _run(self, kernel: Kernel, dim: int, *args: object) -> None:
        launch(kernel, dim, args, device=self.model.device)


@kernel
def take_aim(
    span: array(dtype=int32), corners: array(dtype=vec4i), moments: array(dtype=float64), radius: array(dtype=Any),
    start: array(dtype=Any), x: array(dtype=Any), shares: array(dtype=Any), normal: array(dtype=Any),
    keep: array(dtype=Any),
):  # fmt: skip
    n = tid()
    if n >= span[0] and n < span[1]:
        k, moment = corners[n], moments[n]
        face = moment >= 0.0
        if not face:
            moment = moment + 2.0
        p, way = places_of(k, start), ways_of(k, start, x)
        b, up = impact_plane(face, moment, p, way)
        apart = dot(up, b[0] * p[0] + b[1] * p[1] + b[2] * p[2] + b[3] * p[3])
        touch = abs(b[0]) * float64(radius[k[0]]) + abs(b[1]) * float64(radius[k[1]])
        touch = touch + abs(b[2]) * float64(radius[k[2]]) + abs(b[3]) * float64(radius[k[3]])
        shares[n] = vector(keep.dtype(b[0]), keep.dtype(b[1]), keep.dtype(b[2]), keep.dtype(b[3]))
        normal[n] = vector(keep.dtype(up[0]), keep.dtype(up[1]), keep.dtype(up[2]))
        keep[n] = keep.dtype(min(touch, 0.5 * apart))


@kernel
def measure_impacts(
    going: array(dtype=int32), world: array(dtype=int32), span: array(dtype=int32), corners: array(dtype=vec4i),
    shares: array(dtype=Any), normal: array(dtype=Any), keep: array(dtype=Any), mu: array(dtype=Any),
    start: array(dtype=Any), x: array(dtype=Any), push: array(dtype=Any), weights: array(dtype=Any),
):  # fmt: skip
    """How deep each impact is, and what friction takes back."""
    n = tid()
    if n < span[1]:
        b, k, up = shares[n], corners[n], normal[n]
        gap = b[0] * position(x[k[0]]) + b[1] * position(x[k[1]])
        gap = gap + b[2] * position(x[k[2]]) + b[3] * position(x[k[3]])
        above = dot(gap, up)
        depth = keep[n] - above
        total = gap * 0.0
        if depth > 0.0 and going[1 + world[k[0]]] != 0:
            before = b[0] * start[k[0]] + b[1] * start[k[1]] + b[2] * start[k[2]] + b[3] * start[k[3]]
            apart = dot(before, up)
            slid = gap - above * up
            if apart > keep[n]:  # they touched before the moment
                slid = slid - keep[n] / apart * (before - apart * up)
            total = depth * up - friction_loss(slid, mu[0] * depth, mu[0] * depth)
        else:
            b = b * 0.0
        push[n] = total
        weights[n] = b
