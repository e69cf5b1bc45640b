"""The flame chart of a profile: time from left to right, what lies in what downwards, kernels by color.

Neighbours that are too short to be seen by themselves are one box, paler where there is time between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from .report import COMPILATION, PARTS, REST, Report
from .table import cut, site, time
from .timeline import LAUNCH, Book, Span, Timeline
from .trace import label

_KERNELS = ("#4269d0", "#efb118", "#ff725c", "#3ca951", "#9c6b4e", "#a463f2", "#6cc5b0", "#ff8ab7")
_OTHER_KERNELS, _REST = "#8f98a8", "#e4e4e4"
_KINDS = {
    **dict.fromkeys(COMPILATION, "#c9b6e4"), "recording": "#f3e3a2", "backward": "#f6cfc4", "graph": "#d3dbe8",
    "step": "#c3cbd8", "reverse": "#eab8aa", "copy": "#a8d5e2", "allocation": "#cfe8dd", "operation": "#b7dcae",
    "block": "#ececec", "submission": "#dcd3c3", "waiting": "#f0f0f0",
}  # fmt: skip
_WIDTH, _ROW, _CHARACTER = 14.0, 0.28, 0.072  # [inch] of the picture, of a row, of a letter
_LEFT, _RIGHT, _TITLE, _BETWEEN = 2.55, 0.25, 0.55, 0.7
_FEWEST = 150  # spans from which on a part of the time is shown larger
_MOST_BARS, _MOST_LINES = 12, 6
_GAP = 1.0 / 900.0  # of the width: spans of one kind that lie closer are drawn as one


class Box(NamedTuple):
    """Neighbouring spans of one row, drawn as one. Times in nanoseconds from the beginning of the profile.

    busy: the time in the spans, which is less than from start to end where there is time between them.
    """

    row: Any
    start: int
    end: int
    busy: int
    count: int


def draw(title: str, book: Book, report: Report, path: Path) -> None:
    """Draw the chart, a part of it larger if there is much in it, and the most expensive kernels as bars."""
    colors = colors_of(report)
    lines = [line for line in book.all_lines() if line.spans][:_MOST_LINES]
    windows = [(0, book.end - book.start), *crowded_part(lines, book.start, book.end - book.start)]
    rows = sum(depth_of(line) for line in lines) or 1
    bars = min(len(report.launches), _MOST_BARS) + len(report.parts)
    heights = [_ROW * rows] * len(windows) + [_ROW * max(bars, 2)]
    figure = Figure((_WIDTH, sum(heights) + _BETWEEN * len(heights) + _TITLE), dpi=110, facecolor="white")
    words = f"{title}: {time(report.seconds).strip()}"
    figure.text(0.012, 1.0 - 0.3 / figure.get_figheight(), words, size=13, weight="bold", va="center")
    *charts, below = panels_of(figure, heights)
    for axes, window in zip(charts, windows, strict=True):
        chart(axes, lines, window, book.start, colors)
    for first, last in windows[1:]:
        unit, _ = unit_of(windows[0][1])
        charts[0].axvspan(
            first / unit, last / unit, ymin=-0.06, ymax=1.0, color="0.2", alpha=0.18, lw=0.0, clip_on=False
        )
        charts[1].set_xlabel(f"{charts[1].get_xlabel()}, the part above in grey")
    summary(below, report, colors)
    figure.savefig(path, metadata={"Software": None} if path.suffix == ".png" else None)


def panels_of(figure: Figure, heights: Sequence[float]) -> list[Any]:
    """Panels below each other, of these heights [inch]."""
    whole, top, panels = figure.get_figheight(), _TITLE, []
    for height in heights:
        place = (_LEFT / _WIDTH, 1.0 - (top + height) / whole, 1.0 - (_LEFT + _RIGHT) / _WIDTH, height / whole)
        panels.append(figure.add_axes(place))
        top += height + _BETWEEN
    return panels


def colors_of(report: Report) -> dict[str, str]:
    """A color for each of the most expensive kernels, the same for all of its call sites."""
    names = list(dict.fromkeys(one.kernel for one in report.launches))
    return dict(zip(names, _KERNELS, strict=False))


def color(row: Any, colors: dict[str, str]) -> str:
    """The color of a span."""
    return colors.get(label(row), _OTHER_KERNELS) if row.kind == LAUNCH else _KINDS[row.kind]


def depth_of(line: Timeline) -> int:
    """How many spans of a timeline lie in one another."""
    return 1 + max(depth for *_, depth in line.spans)


def crowded_part(lines: Sequence[Timeline], origin: int, span: int) -> list[tuple[int, int]]:
    """The part of the time to show larger: some dozens of spans in the middle of the first timeline with many."""
    line = next((line for line in lines if len(line.spans) > _FEWEST), None)
    if line is None:
        return []
    starts = sorted(start for _, start, _, _ in line.spans)
    middle = len(starts) // 2
    first, last = starts[middle] - origin, starts[min(middle + 60, len(starts) - 1)] - origin
    return [(first, last)] if 0 < last - first < span // 2 else []


# ----- the chart --------------------------------------------------------------------------------


def chart(axes: Any, lines: Sequence[Timeline], window: tuple[int, int], origin: int, colors: dict[str, str]) -> None:
    """The spans of all timelines in a window of the time [ns]."""
    first, last = window
    scale, unit = unit_of(last - first)
    top, ticks = 0, []
    for line in lines:
        ticks.append((top + 0.5, cut(line.name, 28)))
        for depth in range(depth_of(line)):
            spans = [s for s in line.spans if s[3] == depth]
            draw_boxes(axes, boxes_of(spans, window, origin), top + depth, (scale, last - first), colors)
        top += depth_of(line)
        axes.axhline(top, color="0.8", lw=0.6)
    axes.set(xlim=(first / scale, last / scale), ylim=(max(top, 1), 0), xlabel=f"time [{unit}]")
    axes.set_yticks([y for y, _ in ticks], [name for _, name in ticks], size=9)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def unit_of(span: int) -> tuple[float, str]:
    """A unit of time for an axis of so many nanoseconds, and its name."""
    return (1e9, "s") if span > 2e9 else (1e6, "ms") if span > 2e6 else (1e3, "us")


def boxes_of(spans: Iterable[Span], window: tuple[int, int], origin: int) -> list[Box]:
    """Spans in a window as boxes, in order; those of one row that lie close together are one."""
    first, last = window
    gap = int((last - first) * _GAP)
    boxes: list[Box] = []
    for row, begin, finish, _ in sorted(spans, key=lambda s: s[1]):
        start, end = max(begin - origin, first), min(finish - origin, last)
        if end <= first or start >= last:
            continue
        if boxes and boxes[-1].row is row and start - boxes[-1].end <= gap:
            before = boxes[-1]
            boxes[-1] = Box(row, before.start, max(end, before.end), before.busy + end - start, before.count + 1)
        else:
            boxes.append(Box(row, start, end, end - start, 1))
    return boxes


def draw_boxes(axes: Any, boxes: Sequence[Box], level: int, scale: tuple[float, int], colors: dict[str, str]) -> None:
    """Boxes of one level, with their names where these have room. scale: unit and extent of the axis [ns]."""
    unit, extent = scale
    least = extent * _GAP / 2.0  # so that the shortest are seen
    places = [(box.start / unit, max(box.end - box.start, least) / unit) for box in boxes]
    shades = [lighten(color(box.row, colors), box.busy / max(box.end - box.start, 1)) for box in boxes]
    axes.broken_barh(places, (level + 0.06, 0.88), facecolors=shades, edgecolors="white", linewidths=0.3)
    per_letter = extent * _CHARACTER / (_WIDTH - _LEFT - _RIGHT)
    for box, shade in zip(boxes, shades, strict=True):
        letters = int((box.end - box.start) / per_letter) - 1
        name = label(box.row).partition(": ")[2] or label(box.row)
        name += f" \u00d7{box.count}" if box.count > 1 else ""
        if letters >= min(len(name), 9):
            x, text = (box.start + box.end) / 2.0 / unit, cut(name, letters)
            axes.text(x, level + 0.52, text, size=8, ha="center", va="center", color=ink(shade), clip_on=True)


def lighten(shade: str, busy: float) -> str:
    """A color as pale as there is time between the spans of a box."""
    strength = max(0.25, min(busy, 1.0))
    mixed = (round(255 + strength * (int(shade[k : k + 2], 16) - 255)) for k in (1, 3, 5))
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def ink(shade: str) -> str:
    """Black or white, whichever is read better on a color."""
    red, green, blue = (int(shade[k : k + 2], 16) for k in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


# ----- the bars ---------------------------------------------------------------------------------


def summary(axes: Any, report: Report, colors: dict[str, str]) -> None:
    """The most expensive kernels by call site, then the parts of the time, as bars with their numbers."""
    kinds = {part: _KINDS[kind] for kind, part in PARTS.items() if part}
    bars = [
        (
            one.kernel,
            one.total,
            colors.get(one.kernel, _OTHER_KERNELS),
            details(one.count, site(one.place, one.line, 40)),
        )
        for one in report.launches[:_MOST_BARS]
    ]
    parts = [(name, t, kinds.get(name, _REST), "") for name, t in report.parts.items() if name in kinds or name == REST]
    bars += parts
    for level, (_, total, shade, about) in enumerate(bars):
        axes.barh(level + 0.5, total / report.seconds, 0.8, color=shade)
        numbers = f"{time(total).strip()}, {100 * total / report.seconds:.1f} %"
        axes.text(total / report.seconds + 0.004, level + 0.52, f"{numbers}{about}", size=8.5, va="center")
    if parts and len(bars) > len(parts):
        axes.axhline(len(bars) - len(parts), color="0.8", lw=0.6)
    largest = max((total for _, total, _, _ in bars), default=report.seconds)
    axes.set(ylim=(max(len(bars), 1), 0), xlim=(0.0, max(largest / report.seconds, 1e-9) * 1.45))
    axes.set_yticks([k + 0.5 for k in range(len(bars))], [cut(name, 34) for name, *_ in bars], size=8.5)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def details(count: int, place: str) -> str:
    """How often a kernel was launched, and where."""
    return f", {count:,} \u00d7" + (f", {place}" if place else "")
