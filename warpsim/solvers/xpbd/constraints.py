"""What all constraints of few particles share: their order of color, their multipliers, and launches of an iteration.

XPBD (M. Macklin, M. Mueller, N. Chentanez 2016, eq. 18 and 26): a constraint C with compliance alpha, damping beta
changes its multiplier by

    dlambda = (-C - a lambda - g grad C . (x - x0)) / ((1 + g) grad C . W grad C + a)

with a = alpha / h^2, g = alpha beta / h,

and positions by W grad C dlambda. Multipliers start at zero in every substep, never between iterations: else the
stiffness would depend on how many there are. With one iteration they are zero when read, so none are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.language import array, launch, zeros
from .coloring import Coloring
from .jacobi import Copies


class Constraints:
    """Constraints of one kind, in order of color.

    A kind gathers its materials once a step (`prepare`), then solves all its colors in turn (`project`).
    """

    def __init__(self, model: Any, indices: Any, index_type: Any, multiplier: Any, iterated: bool):
        rows = np.asarray(indices).reshape(len(indices), -1)
        self.model, self.count, self.iterated = model, len(rows), iterated
        self.coloring = Coloring(rows, model.particle_count)
        order = self.coloring.order
        self.order = array(order, dtype=int, device=model.device)
        self.indices = array(np.squeeze(rows[order], axis=1) if rows.shape[1] == 1 else rows[order],
                             dtype=index_type, device=model.device)  # fmt: skip
        self.copies: Copies | None = None
        self.scratch: list[Any] = []
        self.multipliers = self.gathered(multiplier, self.count if iterated else 0)

    def gathered(self, dtype: Any, count: int | None = None) -> Any:
        """An array for materials in order of color."""
        rows = zeros(self.count if count is None else count, dtype, self.model.device, requires_grad=True)
        self.scratch.append(rows)
        return rows

    def reset(self) -> None:
        """Start a substep: no force has acted yet."""
        if self.iterated:
            self.multipliers.zero_()

    def launch_gather(self, kernel: Any, *args: Any) -> None:
        """One thread for each constraint, with its number in the model."""
        launch(kernel, self.count, [self.order, *args], device=self.model.device)

    def solve_at_once(self, relaxation: float) -> None:
        """Take all constraints at once from now on, instead of color by color; those of one particle have no need."""
        rows = self.indices.numpy().reshape(self.count, -1)
        if rows.shape[1] > 1:
            self.copies = Copies(self.model, rows, self.indices.dtype, relaxation)
            self.scratch += self.copies.scratch

    def launch_projections(self, kernel: Any, *args: Any) -> None:
        """One iteration; the last two arguments are where the substep began, and where particles are.

        One launch for every color, one after the other: Gauss-Seidel, as no two of a color share a particle.
        """
        if self.copies is not None:
            *materials, start, x = args
            self.copies.solve(kernel, self.count, materials, start, x)
            return
        for first, count in self.coloring.ranges:
            launch(kernel, count, [first, self.indices, *args], device=self.model.device)
