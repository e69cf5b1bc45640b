"""Distance constraint: C = |x_i - x_j| - L, the spring of XPBD (Macklin et al. 2016)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...core.language import array, dot, int32, kernel, length, tid, vec2i, vector, vector_type
from .constraints import Constraints
from .particle import position, pushed


class Springs(Constraints):
    """Distance constraints of a model; rest lengths follow `Control.spring_activation`."""

    def __init__(self, model: Any, iterated: bool):
        super().__init__(model, model.spring_indices, vec2i, model.dtype, iterated)
        self.damped = bool(np.any(model.spring_damping.numpy() > 0.0))
        self.material = self.gathered(vector_type(2, model.dtype))
        self.damping = self.gathered(model.dtype, self.count if self.damped else 0)
        self.kernel = project_distance(self.damped, iterated)

    def prepare(self, control: Any, h: Any) -> None:
        """Rest lengths and compliances in order of color."""
        m = self.model
        self.launch_gather(
            gather, m.spring_rest_length, m.spring_compliance, m.spring_damping, control.spring_activation, h,
            self.material, self.damping,
        )  # fmt: skip

    def project(self, x: Any, start: Any) -> None:
        """One Gauss-Seidel iteration."""
        self.launch_projections(self.kernel, self.material, self.damping, self.multipliers, start, x)


@kernel
def gather(
    order: array(dtype=int32), rest: array(dtype=Any), compliance: array(dtype=Any), damping: array(dtype=Any),
    activation: array(dtype=Any), h: Any, material: array(dtype=Any), gamma: array(dtype=Any),
):  # fmt: skip
    """Per spring: rest length [m] and alpha / h^2 [1/kg]; alpha beta / h [-] where any spring is damped."""
    c = tid()
    k = order[c]
    alpha = compliance[k]
    material[c] = vector(rest[k] * (1.0 + activation[k]), alpha / (h * h))
    if gamma.shape[0] > 0:
        gamma[c] = alpha * damping[k] / h


@functools.cache
def project_distance(damped: bool, iterated: bool) -> Any:
    """The kernel for springs with or without damping, and with or without multipliers to remember."""

    @kernel
    def project(
        first: int32, pairs: array(dtype=vec2i), material: array(dtype=Any), damping: array(dtype=Any),
        multiplier: array(dtype=Any), start: array(dtype=Any), x: array(dtype=Any),
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
            if damped:
                error = error + damping[c] * dot(offset, offset - (start[i] - start[j])) / distance
                w = w * (1.0 + damping[c])
            change = -error / (w + soft)
            if iterated:
                multiplier[c] = multiplier[c] + change
            impulse = offset * (change / distance)
            x[i] = pushed(a, impulse)
            x[j] = pushed(b, -impulse)

    return project
