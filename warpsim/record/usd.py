"""`UsdFile`: frames as an animation in USD, written by `UsdWriter`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from ..solvers.scene.soft import surface
from ..usd import UsdWriter
from .body import Body, Frame
from .series import frame_of

_SHARE = 10.0  # of the time that a copy takes: so long until the next one


class UsdFile:
    """recording.usdc, one time code a frame; a recording that is gone on with begins recording_FRAME.usdc.

    fps: frames a second [1/s]. Balls become points, triangles and the surface of tetrahedra meshes, each with its
    velocities; a plane across the up axis becomes a ground, others are left out, since they hide what is behind.

    The file appears under its name with the first frame, and is replaced by one of all frames so far as often as takes
    no more than a tenth of the time: a program that is killed leaves the last one.
    """

    def __init__(self, fps: float = 60.0):
        self.fps = fps

    def begin(self, folder: Path, first_frame: int) -> None:
        """See `Format`."""
        self._path = folder / (f"recording_{first_frame:06}.usdc" if first_frame else "recording.usdc")
        self._writer: UsdWriter | None = None
        self._corners: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._next_copy = 0.0
        for path in folder.glob("*recording*.usdc"):  # of earlier recordings that went on, and of one that was killed
            if path.name.startswith(".") or frame_of(path.name) >= first_frame:
                path.unlink()

    def write(self, frame: Frame) -> None:
        """See `Format`. Raises `UsdError` for what USD cannot hold: numbers that are not finite, balls of radius 0."""
        if self._writer is None:
            self._writer = UsdWriter(self._path, self.fps, frame.up_axis)
            self._add_ground(self._writer, frame)
        self._writer.frame()
        for body in frame.bodies:
            if not body.is_backdrop:
                self._add(self._writer, body, frame.setting.box)
        now = time.monotonic()
        if now >= self._next_copy:
            self._writer.publish()
            done = time.monotonic()
            self._next_copy = done + _SHARE * (done - now)

    def close(self) -> None:
        """See `Format`."""
        if self._writer is not None:
            self._writer.close()

    def _add_ground(self, writer: UsdWriter, frame: Frame) -> None:
        size = float(2.0 * np.linalg.norm(frame.setting.box, axis=1).max())
        for height in floors(frame)[:1]:
            writer.ground(max(size, 1.0e-3), height)

    def _add(self, writer: UsdWriter, body: Body, box: np.ndarray) -> None:
        motion: dict[str, Any] = {"color": body.color, "velocities": body.velocities}
        if body.cells is None:
            writer.points(body.name, body.points, body.shown_radii(box), ids=body.ids, **motion)
            return
        rows, faces = self._surface(body)
        if body.velocities is not None:
            motion["velocities"] = body.velocities[rows]
        writer.mesh(body.name, body.points[rows], faces, **motion)

    def _surface(self, body: Body) -> tuple[Any, np.ndarray]:
        """Which points are on the outside, and faces that name them in this order."""
        cells = body.cells
        if cells.shape[1] == 3:
            return slice(None), cells
        if body.name not in self._corners:
            rows, faces = np.unique(surface(cells), return_inverse=True)
            self._corners[body.name] = rows, faces.reshape(-1, 3)
        return self._corners[body.name]


def floors(frame: Frame) -> list[float]:
    """Heights [m] of planes across the up axis."""
    up = "XYZ".index(frame.up_axis)
    heights = [
        body.points[4 * k : 4 * k + 4, up]
        for body in frame.bodies
        if body.is_backdrop
        for k in range(len(body.points) // 4)
    ]
    reach = float(np.ptp(frame.setting.box, axis=0).max())
    return sorted(float(h[0]) for h in heights if np.ptp(h) <= 1.0e-3 * reach)
