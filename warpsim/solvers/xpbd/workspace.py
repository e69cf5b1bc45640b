"""What a step of XPBD computes with: arrays that every step fills before it reads them."""

from __future__ import annotations

from typing import Any

from ...core.language import int32, zeros
from ...core.runtime.arrays.fixed import Fixed
from .hits import MOST


class Workspace(Fixed):
    """Scratch of one solver.

    x: packed particles, vec4 [m], [1/kg]. v: velocities [m/s]. inv_mass: [1/kg], 0 for what is held. start: where the
    substep began [m]. force: [N]. apart: x after contact between particles. touching: how many others a particle
    overlaps with, or has impacts with. arrival, onward, rebound: velocities before impacts, after those with
    shapes, and after all [m/s]. shove: see `self_contact.separate`.
    pose: of shapes now. hit, push, met: shapes that particles met, see `hits.bounce`. leg, bounced: ways of particles
    after swept bounces, see `contact.recheck_with`.
    """

    def __init__(self, model: Any):
        options: dict[str, Any] = {"device": model.device, "requires_grad": True}
        n, shapes = model.particle_count, min(model.shape_count, MOST)
        hits = (n if shapes else 0, max(shapes, 1))
        self.x = zeros(n, model.vec4, **options)
        self.inv_mass = zeros(n, model.dtype, **options)
        self.v, self.start, self.force = (zeros(n, model.vec3, **options) for _ in range(3))
        self.arrival, self.onward, self.rebound, self.shove = (zeros(n, model.vec3, **options) for _ in range(4))
        self.still = zeros(0, model.vec3, **options)
        self.touching = zeros(n, int32, model.device)
        self.pose = zeros(model.shape_count, model.transform, **options)
        self.apart = zeros(n, model.vec4, **options)
        self.hit, self.push = (zeros(hits, model.vec4, **options) for _ in range(2))
        self.met, self.bounced = zeros(hits, int32, model.device), zeros(hits[0], int32, model.device)
        self.leg = zeros(hits[0], model.vec4, **options)

    @property
    def arrays(self) -> list[Any]:
        """All of them."""
        return list(vars(self).values())
