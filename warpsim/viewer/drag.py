"""A spring that pulls particles while a browser drags them: forces on a state during a frame, and none after it.

By a particle's mass m and the rate f of frames the spring has the stiffness k = m f^2 / 2 and the damper c = 6 m f / 5:
one force for a whole frame brings a free particle to rest in a few frames, and cannot make it swing. In equilibrium it
hangs m g / k = 2 g / f^2 below where it is held, whatever it weighs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from .exchange import Grip

if TYPE_CHECKING:
    from ..solvers.scene.state import State

STIFFNESS, DAMPING = 0.5, 1.2  # by m f^2 and by m f
_LEAST = 30.0  # that a spring can give where it is stretched most [m/s^2]


class Spring:
    """Pulls what a browser holds. fps: forces stay for 1 / fps [s]. reach: how far it is stretched at most [m]."""

    def __init__(self, fps: float):
        self._fps, self.reach = fps, 0.0
        self._particles: np.ndarray | None = None
        self._offsets = np.zeros((0, 3))

    @contextmanager
    def pulling(self, state: State | None, grip: Grip | None) -> Iterator[None]:
        """Forces on the particles of a grip, as long as the block lasts; then those are there that were before."""
        if state is None or grip is None:
            self._particles = None
            yield
            return
        rows, forces = grip.particles, state.particle_f.numpy().copy()
        before = forces[rows].copy()
        forces[rows] += self._forces(state, grip)
        state.particle_f.assign(forces)
        try:
            yield
        finally:
            forces = state.particle_f.numpy().copy()
            forces[rows] = before
            state.particle_f.assign(forces)

    def _forces(self, state: State, grip: Grip) -> np.ndarray:
        """Forces (m, 3) [N] towards the target, and to where each particle was beside the nearest one when grabbed."""
        rows, stiffness = grip.particles, STIFFNESS * self._fps**2
        q = state.particle_q.numpy()[rows].astype(np.float64)
        if self._particles is not rows:
            self._particles, self._offsets = rows, q - q[0]
        away = grip.target + self._offsets - q
        longest = max(self.reach, _LEAST / stiffness)
        length = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1.0e-30)
        pull = stiffness * away * np.minimum(1.0, longest / length)
        damped = DAMPING * self._fps * state.particle_qd.numpy()[rows].astype(np.float64)
        masses: np.ndarray = state.model.particle_mass.numpy()[rows].astype(np.float64)
        return np.asarray((pull - damped) * masses[:, None])
