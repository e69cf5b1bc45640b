"""Jacobian matrices as colored cells: what `plots` asks matplotlib to draw.

Thick lines separate array elements, thin dashed lines the components of an element, where the cells are
large enough to tell them apart. Zero is in the middle of the scale, cells that were not evaluated are
hatched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot
import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

_CELL, _PANEL = 0.22, (1.2, 5.0)  # [inch]: of a cell, and the least and largest extent of a panel
_SMALLEST_CELL = 0.06  # [inch] cells that are smaller get no lines
_WINDOWLESS = {"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"}


@dataclass
class Style:
    """The options of a picture; strides are numbers per array element, by name."""

    input_strides: Mapping[Any, int]
    output_strides: Mapping[Any, int]
    windowed: bool
    colorbar: bool
    scale_each: bool
    title: str | None
    colormap: str
    log_scale: bool


def draw(panels: Mapping[tuple[Any, Any], np.ndarray], style: Style) -> Any:
    """One panel for every pair of an input (column) and an output (row)."""
    sources = list(dict.fromkeys(source for source, _ in panels))
    targets = list(dict.fromkeys(target for _, target in panels))
    widths = [_extent(m.shape[1] for (s, _), m in panels.items() if s == source) for source in sources]
    heights = [_extent(m.shape[0] for (_, t), m in panels.items() if t == target) for target in targets]
    figure = _figure((sum(widths) + 1.0 * len(widths) + 1.4, sum(heights) + 0.7 * len(heights) + 0.8), style.windowed)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    ratios = {"width_ratios": widths, "height_ratios": heights}
    grid = figure.subplots(len(targets), len(sources), squeeze=False, gridspec_kw=ratios)
    shared = None if style.scale_each else _scale(list(panels.values()), style.log_scale)
    drawn = []
    for row, target in enumerate(targets):
        for column, source in enumerate(sources):
            axes, matrix = grid[row][column], panels.get((source, target))
            if matrix is None:
                axes.set_axis_off()
                continue
            drawn.append((_panel(axes, matrix, shared or _scale([matrix], style.log_scale), style), axes))
            strides = (style.input_strides.get(source, 1), style.output_strides.get(target, 1))
            _lines(axes, matrix.shape, strides, (widths[column], heights[row]))
            axes.set_title(f"{target} by {source}", fontsize=10)
    if style.title:
        figure.suptitle(style.title)
    if style.colorbar:
        _colorbars(figure, drawn, grid, shared=not style.scale_each)
    return figure


def _figure(size: tuple[float, float], windowed: bool) -> Any:
    """A figure with a window where one is wanted and possible, else one that only files know."""
    if windowed and _has_windows():
        return matplotlib.pyplot.figure(figsize=size, layout="constrained")
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def show(figure: Any) -> None:
    """Open the window of a figure, if it has one."""
    if _has_windows() and getattr(figure, "number", None) in matplotlib.pyplot.get_fignums():
        matplotlib.pyplot.show()


def _has_windows() -> bool:
    return str(matplotlib.get_backend()).lower() not in _WINDOWLESS


def _extent(cells: Any) -> float:
    """Size of a panel along one side [inch]."""
    return float(min(max(_CELL * max(cells), _PANEL[0]), _PANEL[1]))


def _scale(matrices: list[np.ndarray], log_scale: bool) -> tuple[float, float]:
    """The range of colors: symmetric about zero, from zero for magnitudes, from the least for logarithms."""
    values = np.concatenate([m.ravel() for m in matrices])
    values = values[np.isfinite(values)]
    if log_scale:
        values = np.abs(values[values != 0.0])
        return (float(values.min()), float(values.max())) if values.size else (0.1, 1.0)
    largest = float(np.abs(values).max()) if values.size else 0.0
    largest = largest or 1.0
    return (0.0 if values.size and values.min() >= 0.0 else -largest), largest


def _panel(axes: Any, matrix: np.ndarray, scale: tuple[float, float], style: Style) -> Any:
    """One matrix as colors; cells that are NaN stay bare, with a hatch behind them."""
    low, high = scale
    if style.log_scale:
        norm: Normalize = LogNorm(low, high if high > low else low * 10.0)
        matrix = np.where(matrix == 0.0, low, np.abs(matrix))
    else:
        norm = Normalize(low, high)
    colors = colormaps[style.colormap].with_extremes(bad=(0.0, 0.0, 0.0, 0.0))
    axes.patch.set(facecolor="0.93", hatch="////", edgecolor="0.8")
    return axes.imshow(np.ma.masked_invalid(matrix), cmap=colors, norm=norm, aspect="auto", interpolation="nearest")


def _lines(axes: Any, shape: tuple[int, ...], strides: tuple[int, int], size: tuple[float, float]) -> None:
    """Thick lines between elements, thin dashed ones between components, and element numbers as ticks."""
    rows, columns = shape
    for axis, cells, stride, inches, line in (
        (axes.xaxis, columns, strides[0], size[0], axes.axvline),
        (axes.yaxis, rows, strides[1], size[1], axes.axhline),
    ):
        if inches / max(cells, 1) >= _SMALLEST_CELL:
            for k in range(1, cells):
                between = k % stride == 0
                style = {"linewidth": 1.5} if between else {"linewidth": 0.6, "linestyle": (0, (4, 3))}
                line(k - 0.5, color="0.15" if between else "0.45", **style)
        elements = np.arange(0, max(cells // stride, 1))
        shown = elements[:: max(1, int(np.ceil(len(elements) * 0.2 / inches)))]
        axis.set_ticks(shown * stride + (stride - 1) / 2.0, [str(k) for k in shown])
        axis.set_tick_params(length=0, labelsize=8)


def _colorbars(figure: Any, drawn: list[tuple[Any, Any]], grid: np.ndarray, shared: bool) -> None:
    if shared:
        figure.colorbar(drawn[0][0], ax=list(grid.ravel()), fraction=0.05, pad=0.02)
        return
    for image, axes in drawn:
        figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02)
