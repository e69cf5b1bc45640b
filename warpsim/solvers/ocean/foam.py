"""Foam: where crests are about to fold, air is beaten in, and stays for a while.

Coverage c in [0, 1] appears where the stretch of the surface (the smaller eigenvalue of its gradient, see `field`)
falls below a threshold, as 1 - smoothstep over a width, and fades: c <- max(c exp(-dt / lifetime), new).
After Tessendorf 2001, who takes the Jacobian and its eigenvalues as the sign of breaking.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...arguments import checked
from ...core.language import array, array2d, kernel, launch, max, smoothstep, tid, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...errors import ArrayError, instance
from ..scene.memory import Memory
from .field import Field


@kernel
def _spread(stretch: array2d(dtype=Any), threshold: Any, width: Any, remaining: Any, foam: array2d(dtype=Any)):
    i, j = tid()
    new = 1.0 - smoothstep(threshold - width, threshold, stretch[i, j])
    foam[i, j] = max(remaining * foam[i, j], new)


class Foam(Fixed):
    """Coverage (cells, cells) of the water of each cell, carried from time to time.

    threshold: stretch below which foam appears; it is complete `width` lower. lifetime [s]: of the fading to 1/e.
    Raises `ArrayError` for a width or a lifetime that is not above zero, and a threshold that is not finite.
    """

    @checked
    def __init__(self, threshold: float = 0.55, width: float = 0.35, lifetime: float = 4.0):
        if not (width > 0.0 and lifetime > 0.0 and math.isfinite(threshold)):
            raise ArrayError(
                f"threshold is {threshold:g}, width {width:g}, lifetime {lifetime:g} s\n"
                "expected: a finite threshold, and the others above zero"
            )
        self.threshold, self.width, self.lifetime = threshold, width, lifetime
        self.coverage: array | None = None

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        return {name: getattr(self, name) for name in ("threshold", "width", "lifetime")}

    def memory(self) -> Memory:
        """See `Savable`."""
        return {"coverage": self.coverage}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """See `Savable`."""
        self._put(coverage=memory["coverage"])

    @checked
    def step(self, field: Field, dt: float) -> array:
        """Let `dt` >= 0 seconds pass, add what breaks now, and return the coverage; it starts without any."""
        if not dt >= 0.0:
            raise ArrayError(f"dt is {dt}\nexpected: at least 0 [s]")
        like = instance(field, Field, "field").stretch
        if self.coverage is None or self.coverage.shape != like.shape:
            self._put(coverage=zeros(like.shape, like.dtype, like.device, like.requires_grad))
        numbers = map(like.dtype, (self.threshold, self.width, math.exp(-dt / self.lifetime)))
        launch(_spread, like.shape, [like, *numbers], [self.coverage], device=like.device)
        return self.coverage
