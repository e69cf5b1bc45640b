"""Jacobian matrices as colored cells: what `plots` asks matplotlib to draw.

Thick lines separate array elements, thin dashed lines the components of an element, where the cells are
large enough to tell them apart. Zero is in the middle of the scale, or at its beginning where a colormap of one
side shows magnitudes; cells that were not evaluated are hatched.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps, pyplot
from matplotlib.colors import LogNorm, Normalize

_CELL, _SIDE = 0.3, (2.0, 9.0)  # [inch] of a cell, and the least and largest extent of all panels along one side
_SMALLEST_PANEL, _MOST_UNEQUAL = 0.6, 12  # [inch]; a panel is at least one part in so many of the largest
_BAR = 0.9  # [inch] of a bar of colors with its numbers
_SMALLEST_CELL = 0.06  # [inch] cells that are smaller get no lines
_DIVERGING = {"BrBG", "PRGn", "PiYG", "PuOr", "RdBu", "RdGy", "RdYlBu", "RdYlGn", "Spectral", "berlin", "bwr"}
_DIVERGING |= {"coolwarm", "managua", "seismic", "vanimo"}
"""Colormaps whose middle stands for zero."""


@dataclass
class Style:
    """The options of a picture; strides are numbers per array element, by name."""

    input_strides: Mapping[Any, int]
    output_strides: Mapping[Any, int]
    colorbar: bool
    scale_each: bool
    title: str | None
    colormap: str
    log_scale: bool


def draw(
    panels: Mapping[tuple[Any, Any], np.ndarray], sources: Sequence[Any], targets: Sequence[Any], style: Style
) -> Any:
    """One panel for every pair of an input (column) and an output (row), each as large as it has numbers."""
    widths = _shares([max(m.shape[1] for (s, _), m in panels.items() if s == source) for source in sources])
    heights = _shares([max(m.shape[0] for (_, t), m in panels.items() if t == target) for target in targets])
    width, height = (_extent(sum(shares), len(shares)) for shares in (widths, heights))
    bars = 0 if not style.colorbar else len(widths) if style.scale_each else 1
    size = (width + 0.4 * len(widths) + _BAR * bars + 0.5, height + 0.4 * len(heights) + 0.8)
    figure = pyplot.figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    ratios = {"width_ratios": widths, "height_ratios": heights}
    grid = figure.subplots(len(targets), len(sources), squeeze=False, gridspec_kw=ratios)
    for axes in grid.ravel():
        axes.set_axis_off()
    shared = None if style.scale_each else _scale(list(panels.values()), style)
    for (source, target), matrix in panels.items():
        column, row = sources.index(source), targets.index(target)
        axes = grid[row][column]
        axes.set_axis_on()
        image = _panel(axes, matrix, shared or _scale([matrix], style), style)
        extent = (width * widths[column] / sum(widths), height * heights[row] / sum(heights))
        strides = (style.input_strides.get(source, 1), style.output_strides.get(target, 1))
        _lines(axes, matrix.shape, strides, extent)
        lowest = not any((source, below) in panels for below in targets[row + 1 :])
        leftmost = not any((left, target) in panels for left in sources[:column])
        _labels(axes, source if lowest else None, target if leftmost else None)
        if style.colorbar and style.scale_each:
            _own_colorbar(figure, image, axes, extent[0])
    if style.title:
        figure.suptitle(style.title)
    if style.colorbar and not style.scale_each:
        figure.colorbar(image, ax=list(grid.ravel()), fraction=0.05, pad=0.02, aspect=25)
    return figure


def show() -> None:
    """Open the windows of pyplot, or show its pictures in a notebook; a backend that cannot says nothing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Figure.* cannot be shown", UserWarning)
        pyplot.show()


def _shares(numbers: list[int]) -> list[int]:
    """Relative sizes of panels: their numbers, but none so small beside the largest that it cannot be read."""
    return [max(n, -(-max(numbers) // _MOST_UNEQUAL)) for n in numbers]


def _extent(cells: int, panels: int) -> float:
    """Size of all panels along one side [inch]."""
    least, most = _SIDE
    return min(max(_CELL * cells, least, _SMALLEST_PANEL * panels), most)


def _scale(matrices: list[np.ndarray], style: Style) -> tuple[float, float]:
    """The range of colors: symmetric about zero, or from zero for magnitudes; from the least for logarithms."""
    values = np.concatenate([m.ravel() for m in matrices])
    values = values[np.isfinite(values)]
    if style.log_scale:
        values = np.abs(values[values != 0.0])
        return (float(values.min()), float(values.max())) if values.size else (0.1, 1.0)
    largest = float(np.abs(values).max()) if values.size else 0.0
    largest = largest or 1.0
    two_sided = style.colormap.removesuffix("_r") in _DIVERGING or (values.size and values.min() < 0.0)
    return (-largest if two_sided else 0.0), largest


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


def _labels(axes: Any, source: Any, target: Any) -> None:
    """Names and numbers of elements below and to the left, where there are none already."""
    axes.set_xlabel("" if source is None else str(source))
    axes.set_ylabel("" if target is None else str(target))
    axes.tick_params(labelbottom=source is not None, labelleft=target is not None)


def _own_colorbar(figure: Any, image: Any, axes: Any, width: float) -> None:
    """A bar of the same width beside every panel, however narrow that is [inch]."""
    bar = axes.inset_axes((1.0 + 0.08 / width, 0.0, 0.12 / width, 1.0))
    figure.colorbar(image, cax=bar).ax.tick_params(labelsize=8)
