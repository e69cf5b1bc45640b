"""What a step of XPBD computes with: arrays that every step fills before it reads them."""

from __future__ import annotations

from typing import Any

from ...core.language import int32, zeros
from ...core.runtime.arrays.fixed import Fixed


class Workspace(Fixed):
    """Scratch of one solver.

    x: packed particles, vec4 [m], [1/kg]. v: velocities [m/s]. inv_mass: [1/kg], 0 for what is held. start: where the
    substep began [m]. force: [N]. apart: x after contact between particles. arrival, rebound: velocities before and
    after they bounce off each other [m/s]. pose: of shapes now. hit, met: what particles met, see `contact`.
    """

    def __init__(self, model: Any):
        options: dict[str, Any] = {"device": model.device, "requires_grad": True}
        n, met = model.particle_count, model.particle_count if model.shape_count else 0
        self.x = zeros(n, model.vec4, **options)
        self.inv_mass = zeros(n, model.dtype, **options)
        self.v, self.start, self.force = (zeros(n, model.vec3, **options) for _ in range(3))
        self.arrival, self.rebound = (zeros(n, model.vec3, **options) for _ in range(2))
        self.pose = zeros(model.shape_count, model.transform, **options)
        self.apart = zeros(n, model.vec4, **options)
        self.hit, self.met = zeros(met, model.vec4, **options), zeros(met, int32, model.device)

    @property
    def arrays(self) -> list[Any]:
        """All of them."""
        return list(vars(self).values())
