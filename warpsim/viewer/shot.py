"""`Shot`: one frame of a running simulation, copied, so that browsers may take their time with it."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from .bodies import Body, Frames, Moment
from .pack import frame_bytes
from .page import ViewError

_NEAR = 0.02  # part of the extent of a scene within which a particle is where a body was pointed at


class Particles(NamedTuple):
    """What can be dragged: positions (n, 3) [m] and masses (n,) [kg], 0 for what is held."""

    positions: np.ndarray
    masses: np.ndarray


class Shot(Frames):
    """Bodies as they are in one frame.

    number: of the shot, from 1 on. stage: changes with what bodies there are, and how they are drawn. particles: None
    where nothing can be dragged. grounds: names of floors.
    """

    def __init__(
        self, number: int, stage: int, parts: list[tuple[Body, Moment]], up: str, fps: float, floors: set[str],
        particles: Particles | None,
    ):  # fmt: skip
        self.number, self.stage, self.up, self.fps, self.particles = number, stage, up, fps, particles
        self.bodies = [body for body, _ in parts]
        self._moments = {body.name: moment for body, moment in parts}
        self._floors = floors
        self._lock = threading.Lock()
        self._bytes: bytes | None = None
        self._box: tuple[np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return 1

    def moment(self, body: Body, frame: int) -> Moment:
        """A body as it is."""
        return self._moments[body.name]

    def subjects(self) -> list[Body]:
        """All but floors, if there is anything else."""
        return [body for body in self.bodies if body.name not in self._floors] or self.bodies

    def grounds(self) -> list[Body]:
        """The floors."""
        return [body for body in self.bodies if body.name in self._floors]

    def frame_box(self, low: np.ndarray, high: np.ndarray) -> None:
        """Let the picture have room for more than there is: for where everything was at first."""
        self._box = low, high

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest corner (3,) [m] of what the picture has room for."""
        low, high = super().bounds()
        return (low, high) if self._box is None else (np.minimum(low, self._box[0]), np.maximum(high, self._box[1]))

    def packed(self) -> bytes:
        """What moves, as the page takes it apart; packed once for all who ask."""
        with self._lock:
            if self._bytes is None:
                self._bytes = frame_bytes(self, [body for body in self.bodies if body.moving], 0)
            return self._bytes

    def grip(self, body: int, point: int, reach: float) -> np.ndarray:
        """The numbers of the particles around a point of a body, the nearest first, those with mass alone.

        body, point: numbers, the first as in `bodies`. reach: how far around [m]; 0 for the nearest one alone. Raises
        ViewError for numbers of nothing, and where no particle is that could be moved.
        """
        if self.particles is None or not 0 <= body < len(self.bodies):
            raise ViewError(f"there is no body {body} to drag\nexpected: 0 to {len(self.bodies) - 1}, of particles")
        points = self._moments[self.bodies[body].name].points
        if not 0 <= point < len(points):
            raise ViewError(f"the body has no point {point}\nexpected: 0 to {len(points) - 1}")
        low, high = self.bounds()
        near = max(reach, _NEAR * float(np.linalg.norm(high - low)))
        distance = np.linalg.norm(self.particles.positions - points[point], axis=1)
        distance[self.particles.masses <= 0.0] = np.inf
        nearest = int(distance.argmin()) if len(distance) else -1
        if nearest < 0 or distance[nearest] > near:
            raise ViewError("there is no particle that could be moved\nhelp: point at one that has mass")
        others = np.flatnonzero(distance <= reach)
        return np.concatenate([[nearest], others[others != nearest]])
