"""What a step of bodies computes with: arrays that every step fills before it reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, int32, matrix_type, zeros
from ...core.runtime.arrays.fixed import Fixed
from .motion import FreeMotion, Moving

if TYPE_CHECKING:
    from ..scene.model import Model


class Workspace(Fixed):
    """Scratch of one solver.

    rows: how many `Moving` has, `moving` is it. world: the row of the world. obstacles: int32 (n,), shapes without a
    body, whose rows come after it. shape_row: the row of each shape, int32 (shapes,), on the host. free: `FreeMotion`.
    """

    def __init__(self, model: Model):
        self.shape_row = model.shape_body.numpy().copy()
        obstacles = np.flatnonzero(self.shape_row < 0).astype(np.int32)
        self.world = model.body_count
        self.rows = model.body_count + 1 + len(obstacles)
        self.shape_row[obstacles] = self.world + 1 + np.arange(len(obstacles), dtype=np.int32)
        self.obstacles = array(obstacles, dtype=int32, device=model.device)
        self._arrays: list[Any] = []
        n, real, matrix = model.body_count, model.dtype, matrix_type((3, 3), model.dtype)
        self.pose, twist = self._many(model.transform, self.rows), self._many(model.spatial_vector, self.rows)
        self.inv_mass, inv_inertia = self._many(real, self.rows), self._many(matrix, self.rows)
        identity = self.pose.numpy()
        identity[:, 6] = 1.0
        self.pose.assign(identity)
        self.moving = Moving[real](self.pose, twist, self.inv_mass, inv_inertia)
        inertia, inverse = (self._many(matrix, n) for _ in range(2))
        momentum, midpoint, self.pull, torque = (self._many(model.vec3, n) for _ in range(4))
        self.free = FreeMotion[real](inertia, inverse, momentum, midpoint, self.pull, torque)

    def _many(self, dtype: type, count: int) -> Any:
        """An array of this many elements, with gradients."""
        self._arrays.append(zeros(count, dtype, self.obstacles.device, requires_grad=True))
        return self._arrays[-1]

    @property
    def arrays(self) -> list[Any]:
        """Arrays that every step fills before it reads them."""
        return list(self._arrays)
