"""What all constraints of few particles share: their order of color, their multipliers, and launches of an iteration.

XPBD (M. Macklin, M. Mueller, N. Chentanez 2016, eq. 18): a constraint C of compliance alpha changes its multiplier by

    dlambda = (-C - a lambda) / (grad C . W grad C + a)    with a = alpha / h^2

and positions by W grad C dlambda. Multipliers start at zero in every substep, never between iterations: else the
stiffness would depend on how many there are. With one iteration they are zero when read, so none are kept. Held
tetrahedra start from the positions and multipliers that `bearing` finds.

A damping of c acts on velocities, once they are known (`damp`): the impulse along grad C is

    -h c dC/dt / (1 + h c grad C . W grad C)

The terms of eq. 26 in the same paper would do that within the projection, and multiply what it has to converge against:
with one iteration a damped body would sag more than others. This way damping does not act on what is at rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Kernel, array, launch, zeros
from ...core.runtime.arrays.fixed import Fixed
from ..scene.coloring import Coloring
from .jacobi import Copies

if TYPE_CHECKING:
    from ..scene.model import Model

Stages = tuple[tuple[Any, ...], ...]
"""Kernels, each with its materials."""


class Constraints(Fixed):
    """Constraints of one kind, in order of color.

    A kind gathers its materials once a step (`prepare`), solves all its colors in turn (`project`), and damps
    velocities (`damp`).
    """

    constant = ("order", "indices")

    def __init__(
        self, model: Model, indices: array | np.ndarray, index_type: type, multiplier: type, iterated: bool,
        damping: array | None = None,
    ):  # fmt: skip
        rows = np.asarray(indices).reshape(len(indices), -1)
        self.model, self.count, self.iterated = model, len(rows), iterated
        self._damping = damping if damping is not None and damping.requires_grad else None
        self.damped = damping is not None and bool(damping.numpy().any())
        self.dashpots = self.count if self.damped or self._damping is not None else 0
        self.coloring = Coloring(rows, model.particle_count)
        order = self.coloring.order
        self.order = array(order, dtype=int, device=model.device)
        self.indices = array(np.squeeze(rows[order], axis=1) if rows.shape[1] == 1 else rows[order],
                             dtype=index_type, device=model.device)  # fmt: skip
        self.copies: Copies | None = None
        self.scratch: list[Any] = []
        self.multipliers = self.make_rows(multiplier, self.count if iterated else 0)

    def make_rows(self, dtype: type, count: int | None = None) -> Any:
        """An array for materials in order of color."""
        rows = zeros(self.count if count is None else count, dtype, self.model.device, requires_grad=True)
        self.scratch.append(rows)
        return rows

    def reset(self, x: array) -> None:
        """Start a substep, with particles where they move freely: no force has acted yet."""
        if self.iterated:
            self.multipliers.zero_()

    def launch_gather(self, kernel: Kernel, *args: object) -> None:
        """One thread for each constraint, with its number in the model."""
        launch(kernel, self.count, [self.order, *args], device=self.model.device)

    def solve_at_once(self, relaxation: float) -> None:
        """Take all constraints at once from now on, instead of color by color; those of one particle have no need."""
        rows = self.indices.numpy().reshape(self.count, -1)
        if rows.shape[1] > 1:
            copies = Copies(self.model, rows, self.indices.dtype, relaxation)
            self.scratch += copies.scratch
            self._put(copies=copies)

    def launch_projections(self, kernel: Kernel, *args: Any, then: Stages = ()) -> None:
        """One iteration; the last argument is where particles are. then: kernels that follow, and their materials.

        One launch for every color, one after the other: Gauss-Seidel, as no two of a color share a particle.
        """
        *materials, x = args
        stages = ((kernel, *materials), *then)
        if self.copies is not None:
            self.copies.solve(stages, self.count, x)
            return
        self._launch_colors(stages, x)

    def damps(self, differentiable: bool) -> bool:
        """Whether damping does anything, or has a derivative that may be asked for: it has one where it is zero, too.

        It is looked at in every step of models with gradients, whose arrays are there to be changed.
        """
        if self._damping is None:
            return self.damped
        return differentiable or not self._damping.device.shares_host_memory or bool(self._damping.numpy().any())

    def damp(self, x: array, v: array) -> None:
        """Once a substep where `damps` says so, when velocities are known."""
        raise NotImplementedError

    def launch_dampers(self, kernel: Kernel, *args: Any, then: Stages = ()) -> None:
        """Damping of all constraints; the last two arguments are where particles are, and their velocities. then: as in
        `launch_projections`."""
        *materials, x, v = args
        stages = ((kernel, *materials), *then)
        if self.copies is not None:
            self.copies.damp(stages, self.count, x, v)
            return
        self._launch_colors(stages, x, v)

    def _launch_colors(self, stages: Stages, *particles: array) -> None:
        for first, count in self.coloring.ranges:
            for kernel, *materials in stages:
                of_color = [self.of_color(material, count) for material in materials]
                launch(kernel, count, [first, self.indices, *of_color, *particles], device=self.model.device)

    def of_color(self, material: Any, count: int) -> Any:
        """A material as kernels of a color take it that has so many constraints."""
        return material
