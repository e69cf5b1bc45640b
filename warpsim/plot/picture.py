"""Several moments of a scene side by side: drawn by `draw`, laid out by matplotlib.

Guarantees: one camera and one light for all panels, so that sizes compare; the same bytes for the
same input and the same matplotlib; the PNG appears whole or not at all; no pyplot, no display.
"""

import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from warpsim.arguments import checked
from warpsim.atomic_file import AtomicFile
from warpsim.plot.camera import look_at
from warpsim.plot.panel import BACKDROP, OVERSAMPLE, Stage, draw
from warpsim.plot.scene import PlotError, Thing
from warpsim.plot.shade import encode

_MARGIN = 0.09
_DPI = 100
_UP = {"Y": np.array([0.0, 1.0, 0.0]), "Z": np.array([0.0, 0.0, 1.0])}


@checked
def render_meshes(
    path: str | os.PathLike[str],
    frames: Sequence[Sequence[Thing]],
    *,
    captions: Sequence[str] | None = None,
    ground: float | None = 0.0,
    up_axis: str = "Y",
    azimuth: float = 35.0,
    elevation: float = 22.0,
    panel: tuple[int, int] = (480, 440),
    columns: int | None = None,
) -> Path:
    """Draw one panel per entry of `frames`, each a list of surfaces and balls, into the PNG file `path`.

    `ground` is the height [m] of a floor that takes shadows, None for no floor.  `azimuth` and
    `elevation` [deg] turn the viewer around the scene; `panel` is the size of one panel in pixels;
    `columns` panels stand in a row, all by default.

    Raises PlotError for an empty scene, wrong options or a path that does not end in .png,
    FileNotFoundError for a missing folder.
    """
    target = picture_path(path)
    captions = _captions(captions, len(frames))
    columns = len(frames) if columns is None else max(1, int(columns))
    options = {"ground": ground, "up_axis": up_axis, "azimuth": azimuth, "elevation": elevation}
    data = _layout(mesh_images(frames, panel=panel, **options), captions, panel, columns)
    with AtomicFile(target) as path:
        path.write_bytes(data)
    return target


@checked
def mesh_images(
    frames: Sequence[Sequence[Thing]],
    *,
    ground: float | None = 0.0,
    up_axis: str = "Y",
    azimuth: float = 35.0,
    elevation: float = 22.0,
    panel: tuple[int, int] = (480, 440),
) -> list[np.ndarray]:
    """The panels of `render_meshes` as sRGB images (h, w, 3) in [0, 1], for figures of one's own.

    Arguments as of `render_meshes`.  Raises PlotError for an empty scene or wrong options.
    """
    if not any(len(surfaces) for surfaces in frames):
        raise PlotError(
            "render_meshes: found no surface to draw; pass one list of surfaces or more, not all empty"
        )
    everything = np.concatenate([thing.outline for things in frames for thing in things])
    sight = sight_of(everything, ground, up_axis, azimuth, elevation, panel)
    return [sight.image(things) for things in frames]


@dataclass(frozen=True)
class Sight:
    """One camera and one light for any number of images; lengths are scaled around `center` (3,) by `radius` [m]."""

    stage: Stage
    center: np.ndarray
    radius: float

    @property
    def eye(self) -> np.ndarray:
        """Where the viewer is, (3,) [m]."""
        return self.center + self.radius * self.stage.view.eye

    def image(self, things: Sequence[Thing]) -> np.ndarray:
        """An sRGB image (h, w, 3) in [0, 1]."""
        return draw([thing.scaled(self.center, self.radius) for thing in things], self.stage)


def sight_of(
    points: np.ndarray, ground: float | None, up_axis: str, azimuth: float, elevation: float, panel: tuple[int, int]
) -> Sight:
    """A view of all points (n, 3) [m]; arguments as of `render_meshes`. Raises PlotError for wrong options."""
    if up_axis not in _UP:
        raise PlotError(f"render_meshes: up_axis is {up_axis!r}, expected 'Y' or 'Z'")
    if not -85.0 <= elevation <= 85.0:
        raise PlotError(f"render_meshes: elevation is {elevation:g} degrees, expected -85 to 85")
    up = _UP[up_axis]
    center, radius = _bounds(points, ground, up)
    fine = (OVERSAMPLE * panel[0], OVERSAMPLE * panel[1])
    view = look_at(_direction(azimuth, elevation, up), up, fine)
    view = view.fit((points - center) / radius, _MARGIN)
    height = None if ground is None else (ground - float(center @ up)) / radius
    return Sight(Stage(view, up, _direction(azimuth - 70.0, 52.0, up), height), center, radius)


def picture_path(path) -> Path:
    """The path of a picture. Raises PlotError unless it ends in .png, FileNotFoundError for a missing folder."""
    target = Path(os.fspath(path))
    if target.suffix.lower() != ".png":
        raise PlotError(
            f"render_meshes: {target.name!r} has the extension {target.suffix!r}, expected .png"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"render_meshes: folder {str(target.parent)!r} does not exist; make it first"
        )
    return target


def _captions(captions, count: int) -> Sequence[str]:
    captions = [""] * count if captions is None else captions
    if len(captions) != count:
        raise PlotError(
            f"render_meshes: found {len(captions)} captions, expected {count}, one per frame"
        )
    return captions


def _direction(azimuth: float, elevation: float, up: np.ndarray) -> np.ndarray:
    """Unit vector `elevation` [deg] above the floor and `azimuth` [deg] around `up`."""
    a, e = math.radians(azimuth), math.radians(elevation)
    front = np.array([0.0, 0.0, 1.0]) if up[1] else np.array([0.0, -1.0, 0.0])
    side = np.cross(up, front)
    return math.cos(e) * (math.cos(a) * front + math.sin(a) * side) + math.sin(e) * up


def _bounds(points: np.ndarray, ground: float | None, up: np.ndarray) -> tuple[np.ndarray, float]:
    """A ball around all points: centre (3,) and radius [m]."""
    low, high = points.min(0), points.max(0)
    if ground is not None:
        low = np.where(up > 0, np.minimum(low, ground), low)
    center = 0.5 * (low + high)
    return center, max(float(np.linalg.norm(points - center, axis=1).max()), 1e-6)


def _layout(images, captions, panel: tuple[int, int], columns: int) -> bytes:
    rows = math.ceil(len(images) / columns)
    width, height = columns * panel[0], rows * panel[1]
    red, green, blue = encode(BACKDROP).tolist()
    figure = Figure((width / _DPI, height / _DPI), dpi=_DPI, facecolor=(red, green, blue))
    canvas = FigureCanvasAgg(figure)
    for k, (image, caption) in enumerate(zip(images, captions, strict=True)):
        row, column = divmod(k, columns)
        corner = (column / columns, 1.0 - (row + 1) / rows)
        axes = figure.add_axes((*corner, 1.0 / columns, 1.0 / rows))
        axes.set_axis_off()
        axes.imshow(image, interpolation="nearest", aspect="auto")
        axes.text(0.04, 0.95, caption, transform=axes.transAxes, va="top", fontsize=13, color="0.2")
    buffer = io.BytesIO()
    canvas.print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()
