"""Distance constraint: C = |x_i - x_j| - L, the spring of XPBD (Macklin et al. 2016)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...core.language import array, dot, int32, kernel, length, tid, vec2i, vector, vector_type
from .constraints import Constraints
from .particle import apply_impulse, position

if TYPE_CHECKING:
    from ..scene.control import Control
    from ..scene.model import Model


class Springs(Constraints):
    """Distance constraints of a model; rest lengths follow `Control.spring_activation`."""

    def __init__(self, model: Model, iterated: bool):
        super().__init__(model, model.spring_indices, vec2i, model.dtype, iterated, model.spring_damping)
        self.material = self.make_rows(vector_type(2, model.dtype))
        self.damping = self.make_rows(model.dtype, self.dashpots)

    def prepare(self, control: Control, h: float) -> None:
        """Rest lengths and compliances in order of color."""
        m = self.model
        self.launch_gather(
            gather, m.spring_rest_length, m.spring_compliance, m.spring_damping, control.spring_activation, h,
            self.material, self.damping,
        )  # fmt: skip

    def project(self, x: array) -> None:
        """One Gauss-Seidel iteration."""
        self.launch_projections(project_distance(self.iterated), self.material, self.multipliers, x)

    def damp(self, x: array, v: array) -> None:
        """Slow down what gets longer or shorter."""
        self.launch_dampers(damp, self.damping, x, v)


@kernel
def gather(
    order: array(dtype=int32), rest: array(dtype=Any), compliance: array(dtype=Any), damping: array(dtype=Any),
    activation: array(dtype=Any), h: Any, material: array(dtype=Any), drag: array(dtype=Any),
):  # fmt: skip
    """Per spring: rest length [m] and alpha / h^2 [1/kg]; damping times h [kg] where any spring is damped."""
    c = tid()
    k = order[c]
    material[c] = vector(rest[k] * (1.0 + activation[k]), compliance[k] / (h * h))
    if drag.shape[0] > 0:
        drag[c] = damping[k] * h


@functools.cache
def project_distance(iterated: bool) -> Any:
    """The kernel for springs, with multipliers to remember or without."""

    @kernel
    def project(
        first: int32, pairs: array(dtype=vec2i), material: array(dtype=Any), multiplier: array(dtype=Any),
        x: array(dtype=Any),
    ):  # fmt: skip
        c = first + tid()
        i, j = pairs[c][0], pairs[c][1]
        a, b = x[i], x[j]
        offset = position(a) - position(b)
        distance = length(offset)
        soft = material[c][1]
        w = a[3] + b[3]
        if distance > 0.0 and w + soft > 0.0:
            error = distance - material[c][0]
            if iterated:
                error = error + soft * multiplier[c]
            change = -error / (w + soft)
            if iterated:
                multiplier[c] = multiplier[c] + change
            impulse = offset * (change / distance)
            x[i] = apply_impulse(a, impulse)
            x[j] = apply_impulse(b, -impulse)

    return project


@kernel
def damp(
    first: int32, pairs: array(dtype=vec2i), drag: array(dtype=Any), x: array(dtype=Any), v: array(dtype=Any)
):  # fmt: skip
    """Impulses along a spring against the rate of its length."""
    c = first + tid()
    i, j = pairs[c][0], pairs[c][1]
    a, b = x[i], x[j]
    offset = position(a) - position(b)
    square = dot(offset, offset)
    if square > 0.0:
        share = drag[c] * dot(offset, v[i] - v[j]) / (square * (1.0 + drag[c] * (a[3] + b[3])))
        v[i] = v[i] - (a[3] * share) * offset
        v[j] = v[j] + (b[3] * share) * offset
