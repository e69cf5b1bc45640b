"""Charts of results: curves, points, fields and images as panels of one figure, by matplotlib.

Guarantees: the same bytes for the same input and the same matplotlib; no pyplot, no display.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure, SubFigure

from warpsim.arguments import checked
from warpsim.atomic_file import AtomicFile
from warpsim.plot.maps import Faces, Links
from warpsim.plot.picture import picture_path
from warpsim.plot.scene import PlotError

_DPI = 100
_ONE, _MANY = {"lw": 1.8}, {"lw": 0.6}
_RING, _CROSS = {"marker": "o", "ms": 10, "mfc": "none", "color": "0.4"}, {"marker": "x", "color": "C3"}


@dataclass(frozen=True)
class Curves:
    """Lines over one axis. lines: values (n,), or several by name; (n, k) for k lines that share a color.

    x: where the values are, (n,), their index by default. levels: dashed horizontal lines by the name of the curve
    that they belong to. log: a logarithmic axis of values. colors: by name. limits: of the values, (low, high).
    """

    lines: Any
    title: str = ""
    xlabel: str = "iteration"
    ylabel: str = ""
    x: Any = None
    levels: Mapping[str, float] = field(default_factory=dict)
    log: bool = False
    colors: Mapping[str, Any] = field(default_factory=dict)
    limits: tuple[float, float] | None = None

    def draw(self, panel: SubFigure) -> None:
        axes = _axes(panel, self.title, self.xlabel, self.ylabel)
        lines = self.lines if isinstance(self.lines, Mapping) else {"": self.lines}
        for k, (name, values) in enumerate(lines.items()):
            columns = np.asarray(values, dtype=np.float64)
            columns = columns.reshape(len(columns), -1)
            x, color = np.arange(len(columns)) if self.x is None else self.x, self.colors.get(name, f"C{k}")
            curves = axes.plot(x, columns, color=color, **(_MANY if columns.shape[1] > 1 else _ONE))
            if curves:
                curves[0].set_label(name)
            if name in self.levels:
                axes.axhline(self.levels[name], color=color, lw=0.8, ls="--")
        if self.log:
            axes.set_yscale("log")
        axes.set_ylim(self.limits)
        if len(lines) > 1:
            axes.legend(frameon=False, fontsize="small")


@dataclass(frozen=True)
class Points:
    """Points of a plane, (n, 2) by name: rings for the first name, crosses for the second."""

    points: Mapping[str, Any]
    title: str = ""
    xlabel: str = ""
    ylabel: str = ""

    def draw(self, panel: SubFigure) -> None:
        axes = _axes(panel, self.title, self.xlabel, self.ylabel)
        for k, (name, points) in enumerate(self.points.items()):
            look = {"ls": "none", "label": name, **(_CROSS if k else _RING)}
            axes.plot(*np.asarray(points, dtype=np.float64).T, **look)
        axes.legend(frameon=False, fontsize="small")


@dataclass(frozen=True)
class Field:
    """Values on a square grid (rows, columns), rows from the top; symmetric: colors of both signs around zero.

    extent: (left, right, bottom, top) [m]. label: of the color bar, with the unit. lines: paths (n, 2) over it. aspect:
    "equal" or "auto", of the units of both axes.
    """

    values: Any
    title: str = ""
    xlabel: str = "x [m]"
    ylabel: str = "y [m]"
    label: str = ""
    extent: tuple[float, float, float, float] | None = None
    symmetric: bool = True
    lines: Sequence[Any] = ()
    aspect: str = "equal"

    def draw(self, panel: SubFigure) -> None:
        axes = panel.subplots()
        values = np.asarray(self.values, dtype=np.float64)
        top = float(np.abs(values).max())
        colors = {"cmap": "RdBu_r", "vmin": -top, "vmax": top} if self.symmetric else {"cmap": "viridis"}
        shown = axes.imshow(values, extent=self.extent, aspect=self.aspect, **colors)
        for line in self.lines:
            axes.plot(*np.asarray(line, dtype=np.float64).T, ".-", color="white", lw=1.0, ms=3.0)
        axes.set(title=self.title, xlabel=self.xlabel, ylabel=self.ylabel)
        panel.colorbar(shown, ax=axes, label=self.label, shrink=0.9)


@dataclass(frozen=True)
class Image:
    """Pixels (h, w, 3), sRGB in [0, 1], such as `mesh_images` makes, that fill a panel."""

    pixels: Any
    title: str = ""

    def draw(self, panel: SubFigure) -> None:
        axes = panel.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.imshow(self.pixels, interpolation="nearest", aspect="auto")
        axes.text(0.04, 0.95, self.title, transform=axes.transAxes, va="top", fontsize=13, color="0.2")


@dataclass(frozen=True)
class Stack:
    """Panels on top of each other in the place of one."""

    panels: Sequence[Any]

    def draw(self, panel: SubFigure) -> None:
        cells = np.ravel(panel.subfigures(len(self.panels), 1, squeeze=False))
        for chart, cell in zip(self.panels, cells, strict=True):
            chart.draw(cell)


Panel = Curves | Points | Field | Faces | Links | Image | Stack


@checked
def render_charts(
    path: str | os.PathLike[str],
    panels: Sequence[Panel],
    *,
    panel: tuple[int, int] = (480, 420),
    columns: int | None = None,
    widths: Sequence[float] | None = None,
) -> Path:
    """Draw `Curves`, `Points`, `Field`, `Faces`, `Links`, `Image` and `Stack` side by side into the PNG file `path`.

    panel: the size of one in pixels; `columns` stand in a row, all by default. widths: of the columns, relative to
    the panel's.

    Raises PlotError for no panels, other widths than columns, or a path that does not end in .png, FileNotFoundError
    for a missing folder.
    """
    target = picture_path(path)
    columns = len(panels) if columns is None else max(1, int(columns))
    widths = [1.0] * columns if widths is None else list(widths)
    if not panels or len(widths) != columns:
        raise PlotError(f"render_charts: {len(panels)} panels, {len(widths)} widths for {columns} columns")
    rows = math.ceil(len(panels) / columns)
    size = (sum(widths) * panel[0] / _DPI, rows * panel[1] / _DPI)
    figure = Figure(size, dpi=_DPI, facecolor="white")
    figure.set_layout_engine("constrained", w_pad=0.04, h_pad=0.04, wspace=0.0, hspace=0.0)
    cells = np.ravel(figure.subfigures(rows, columns, width_ratios=widths, squeeze=False))
    for chart, cell in zip(panels, cells, strict=False):
        chart.draw(cell)
    with AtomicFile(target) as partial:
        figure.savefig(partial, format="png", metadata={"Software": None})
    return target


def _axes(panel: SubFigure, title: str, xlabel: str, ylabel: str) -> Any:
    axes = panel.subplots()
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    return axes
