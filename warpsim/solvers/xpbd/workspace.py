"""What a step of XPBD computes with: arrays that every step fills before it reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import array, int32, zeros
from ...core.runtime.arrays.fixed import Fixed
from ..scene.shape_groups import most_met
from .hits import MOST
from .ways import HOLLOWED

if TYPE_CHECKING:
    from ..scene.model import Model


class Workspace(Fixed):
    """Scratch of one solver.

    x: packed particles, vec4 [m], [1/kg]. v: velocities [m/s]. inv_mass: [1/kg], 0 for what is held. start: where the
    substep began [m]. force: [N]. apart: x after contact between particles. touching: how many others a particle
    overlaps with, or has impacts with. arrival, onward, rebound: velocities before impacts, after those with
    shapes, and after all [m/s]. shove: see `self_contact.separate`.
    pose: of shapes now. shape_force: what particles do to them; feels: whether it is measured; share: one by the time
    of the step [1/s]. slots: how many shapes particles remember; hit, push, rub, met, leg, bounced:
    see `hits.Colliding`.
    """

    def __init__(self, model: Model, feels: bool):
        options: dict[str, Any] = {"device": model.device, "requires_grad": True}
        groups = model.shape_groups
        walls = most_met(groups, [MOST if model.shape_type[g.shape] in HOLLOWED else 1 for g in groups])
        self._real, self.share = model.dtype, model.dtype(0.0)
        n, self.slots = model.particle_count, max(1, min(walls, MOST))
        sizes = [n if k < walls else 0 for k in range(MOST)]
        self.x = zeros(n, model.vec4, **options)
        self.inv_mass = zeros(n, model.dtype, **options)
        self.v, self.start, self.force = (zeros(n, model.vec3, **options) for _ in range(3))
        self.arrival, self.onward, self.rebound, self.shove = (zeros(n, model.vec3, **options) for _ in range(4))
        self.still = zeros(0, model.vec3, **options)
        self.touching = zeros(n, int32, model.device)
        self.pose = zeros(model.shape_count, model.transform, **options)
        self.shape_force, self.feels = zeros(model.shape_count, model.spatial_vector, **options), feels
        self.apart = zeros(n, model.vec4, **options)
        self.hit, self.push = (tuple(zeros(k, model.vec4, **options) for k in sizes) for _ in range(2))
        self.rub = tuple(zeros(k, model.vec3, **options) for k in sizes)
        self.met = tuple(zeros(k, int32, model.device) for k in sizes)
        self.bounced, self.leg = zeros(sizes[0], int32, model.device), zeros(sizes[0], model.vec4, **options)

    def begin_step(self, dt: float) -> None:
        """Nothing has been felt yet in a step of `dt` [s]."""
        self._put(share=self._real(1.0 / dt))
        if self.feels:
            self.shape_force.zero_()

    @property
    def arrays(self) -> list[Any]:
        """All of them."""
        own = [a for a in vars(self).values() if isinstance(a, array)]
        return [*own, *self.hit, *self.push, *self.rub, *self.met]
