"""Panels of charts that show a plane of space: values on triangles, and links between discs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.figure import SubFigure
from matplotlib.patches import Circle

from warpsim.arguments import integers, numbers
from warpsim.plot.scene import PlotError

_WIDEST = 6.0  # line of a link [points]


@dataclass(frozen=True)
class Faces:
    """A value for each triangle of a plane, such as the stretch of a cloth on its pattern.

    points: (n, 2) [m]; triangles: integers (m, 3); values: (m,); label: of the color bar, with the unit. symmetric:
    colors of both signs around zero. Raises PlotError, when drawn, for other shapes.
    """

    points: Any
    triangles: Any
    values: Any
    title: str = ""
    xlabel: str = "x [m]"
    ylabel: str = "y [m]"
    label: str = ""
    symmetric: bool = False

    def draw(self, panel: SubFigure) -> None:
        axes = _plane(panel, self.title, self.xlabel, self.ylabel)
        points, triangles = numbers(self.points, "points", (-1, 2)), integers(self.triangles, "triangles")
        values = numbers(self.values, "values", (-1,))
        if triangles.shape != (len(values), 3):
            raise PlotError(f"triangles have shape {triangles.shape}, values {values.shape}, expected (m, 3) and (m,)")
        top = float(np.abs(values).max(initial=0.0))
        colors = {"cmap": "RdBu_r", "vmin": -top, "vmax": top} if self.symmetric else {"cmap": "viridis"}
        shown = axes.tripcolor(*points.T, triangles, facecolors=values, edgecolors="face", lw=0.2, **colors)
        panel.colorbar(shown, ax=axes, label=self.label, shrink=0.9)


@dataclass(frozen=True)
class Links:
    """Discs, and lines between points that are the wider and darker the larger their value, such as grains of a slice
    and the forces between them.

    centers: (n, 2) [m]; radii: (n,) or one for all [m]; ends: of lines, (m, 2, 2) [m]; values: (m,), above 0; label: of
    the color bar, with the unit. Raises PlotError, when drawn, for other shapes.
    """

    centers: Any
    radii: Any
    ends: Any
    values: Any
    title: str = ""
    xlabel: str = "x [m]"
    ylabel: str = "y [m]"
    label: str = ""

    def draw(self, panel: SubFigure) -> None:
        axes = _plane(panel, self.title, self.xlabel, self.ylabel)
        centers, ends = numbers(self.centers, "centers", (-1, 2)), numbers(self.ends, "ends", (-1, 2, 2))
        values = numbers(self.values, "values", (-1,))
        if len(values) != len(ends):
            raise PlotError(f"there are {len(ends)} lines and {len(values)} values, expected one for each")
        radii = np.broadcast_to(numbers(self.radii, "radii"), len(centers))
        discs = [Circle(tuple(c), r) for c, r in zip(centers.tolist(), radii, strict=True)]
        axes.add_collection(PatchCollection(discs, facecolor="0.94", edgecolor="0.78", lw=0.5))
        order, top = np.argsort(values), float(values.max(initial=0.0)) or 1.0
        widths = _WIDEST * values[order] / top
        lines = LineCollection(list(ends[order]), cmap="YlOrRd", capstyle="round", linewidths=widths)
        lines.set(array=values[order], clim=(-0.3 * top, top))
        axes.add_collection(lines)
        axes.autoscale_view()
        bar = panel.colorbar(lines, ax=axes, label=self.label, shrink=0.9)
        bar.ax.set_ylim(0.0, top)


def _plane(panel: SubFigure, title: str, xlabel: str, ylabel: str) -> Any:
    axes = panel.subplots()
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel, aspect="equal")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
