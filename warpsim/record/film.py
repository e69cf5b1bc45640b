"""`FilmFile`: frames as a film, each image drawn and written when its moment has come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..plot import Balls, Surface
from ..plot.picture import Sight, sight_of
from ..plot.scene import Thing
from ..solvers.scene.soft import surface
from .body import Body, Frame
from .errors import RecordError
from .usd import floors
from .webp import WebpFile

_ROUNDING = 1.0e-6  # of an image: how late a frame may seem
_BELOW = 1.0e-3  # of the box: how far the floor is under what stands on it


class FilmFile:
    """recording.webp, an animated WebP that browsers and most players show.

    fps: images a second of simulated time [1/s]; frames between them are not drawn. size: pixels. azimuth, elevation
    [deg] turn the viewer. box: two corners (3,) [m] of what is in the picture, where the first frame does not tell.
    quality: 1 to 100. One looks into vessels: their near side is left out. The floor is that of the scene, or just
    below the box. Raises `PlotError` for options and scenes that cannot be drawn.
    """

    def __init__(
        self,
        fps: float = 25.0,
        size: tuple[int, int] = (640, 480),
        azimuth: float = 35.0,
        elevation: float = 22.0,
        box: Sequence[Sequence[float]] | None = None,
        quality: int = 75,
    ):
        if not 0.0 < fps <= 1000.0:
            raise RecordError(f"fps is {fps}\nexpected: above 0, at most 1000 images a second")
        self.fps, self.size, self.azimuth, self.elevation = float(fps), size, azimuth, elevation
        self.box, self.quality = box, quality

    def begin(self, folder: Path, first_frame: int) -> None:
        """See `Format`. Raises `RecordError` for a film that cannot be gone on with."""
        path = folder / "recording.webp"
        self._film = WebpFile(path, self.quality)
        self._sight: Sight | None = None
        self._goes_on = first_frame > 0
        if self._goes_on:
            self._film.read()
        else:
            path.unlink(missing_ok=True)

    def write(self, frame: Frame) -> None:
        """See `Format`."""
        image = math.floor((frame.time - frame.setting.start) * self.fps + _ROUNDING)  # its number by the time
        if self._sight is None:
            self._sight = self._sight_of(frame)
            if self._goes_on:
                self._film.cut(self._images_before(image))
        shown = sum(self._film.durations)
        until = round(1000.0 * (image + 1) / self.fps)
        if until > shown:
            eye = self._sight.eye
            pixels = self._sight.image([_thing(body, frame.setting.box, eye) for body in _visible(frame)])
            self._film.add(np.uint8(np.rint(255.0 * np.clip(pixels, 0.0, 1.0))), until - shown)

    def close(self) -> None:
        """See `Format`."""

    def _images_before(self, image: int) -> int:
        """How many images of the film begin by the time of one."""
        begins = np.cumsum([0, *self._film.durations])[:-1]
        return int((begins <= round(1000.0 * image / self.fps)).sum())

    def _sight_of(self, frame: Frame) -> Sight:
        low, high = frame.setting.box if self.box is None else np.asarray(self.box, float)
        corners = np.stack(np.meshgrid(*np.stack([low, high], axis=1), indexing="ij"), axis=-1).reshape(-1, 3)
        below = low - _BELOW * (high - low)
        ground = min(floors(frame), default=float(below["XYZ".index(frame.up_axis)]))
        return sight_of(corners, ground, frame.up_axis, self.azimuth, self.elevation, self.size)


def _visible(frame: Frame) -> list[Body]:
    """Bodies with something to draw; planes have no end, and walls of them would hide what is behind."""
    return [body for body in frame.bodies if len(body.points) and not body.is_backdrop]


def _thing(body: Body, box: np.ndarray, eye: np.ndarray) -> Thing:
    if body.cells is None:
        return Balls(body.points, body.shown_radii(box), body.color)
    cells = surface(body.cells) if body.cells.shape[1] == 4 else body.cells
    if body.is_vessel:
        a, b, c = (body.points[cells[:, k]].astype(float) for k in range(3))
        cells = cells[((eye - a) * np.cross(b - a, c - a)).sum(axis=1) < 0.0]
    return Surface(body.points, cells, body.color)
