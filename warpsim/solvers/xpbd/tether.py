"""Tethers: C = |x - anchor| - L <= 0, how far a particle may get from one that is held.

Long range attachments (T.-Y. Kim, N. Chentanez, M. Mueller 2012): cloth that hangs on fixed particles stretches no
further than its rest shape allows, however few iterations its springs get. An anchor does not move, so that every
tether is a matter of one particle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import array, int32, kernel, length, tid
from .constraints import Constraints
from .particle import move_to, position

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model


class Tethers(Constraints):
    """Tethers of a model, in order of colors of their particles."""

    def __init__(self, model: Model, iterated: bool):
        rows = model.tether_indices.numpy()
        super().__init__(model, rows[:, :1].copy(), int32, model.dtype, False)
        self.anchor = array(rows[self.coloring.order, 1], dtype=int32, device=model.device)
        self.limit = self.make_rows(model.dtype)

    def prepare(self, control: Control, h: float) -> None:
        """Lengths in order of color."""
        self.launch_gather(gather, self.model.tether_length, self.limit)

    def project(self, x: array) -> None:
        """One Gauss-Seidel iteration."""
        self.launch_projections(project_tether, self.anchor, self.limit, x)


@kernel
def gather(order: array(dtype=int32), length: array(dtype=Any), limit: array(dtype=Any)):
    c = tid()
    limit[c] = length[order[c]]


@kernel
def project_tether(
    first: int32, particle: array(dtype=int32), anchor: array(dtype=int32), limit: array(dtype=Any), x: array(dtype=Any)
):
    c = first + tid()
    i = particle[c]
    a, hold = x[i], position(x[anchor[c]])
    offset = position(a) - hold
    distance = length(offset)
    if a[3] > 0.0 and distance > limit[c]:
        x[i] = move_to(a, hold + offset * (limit[c] / distance))
